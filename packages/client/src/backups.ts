// The backups of a database.
import type { JsonObject } from './record.ts'
import type { CallOptions, Transport } from './transport.ts'

export interface BackupInfo {
  readonly name: string
  /** The collection, as it was named when the backup was made. */
  readonly original: string
  readonly createdAt: Date
  readonly sizeMb: number
  /** Parameters of the collection's first dense field, and what else the server tells. */
  readonly details: JsonObject
}

export interface ActiveBackup {
  readonly active: boolean
  readonly name?: string | undefined
  readonly details: JsonObject
}

export interface RestoreOptions extends CallOptions {
  /** A name that no collection has; nothing is ever overwritten. */
  readonly target: string
  /** As of this event. */
  readonly lsn?: number | undefined
  /** As of this moment. */
  readonly time?: Date | undefined
}

const pollEveryMs = 200

export class Backups {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(options?: CallOptions): Promise<readonly BackupInfo[]> {
    return this.#transport.call('listBackups', undefined, options)
  }

  info(name: string, options?: CallOptions): Promise<BackupInfo> {
    return this.#transport.call('backupInfo', { backup: name }, options)
  }

  /** The backup that runs now, if one does. */
  active(options?: CallOptions): Promise<ActiveBackup> {
    return this.#transport.call('activeBackup', undefined, options)
  }

  /** Waits until a backup that was begun is there; fails when it ended without being completed. */
  async completed(name: string, options?: CallOptions): Promise<BackupInfo> {
    while ((await this.active(options)).active) await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    return this.info(name, options)
  }

  /** Makes a new collection of a backup, on request as of another moment than the backup's own. */
  async restore(name: string, { target, lsn, time, ...options }: RestoreOptions): Promise<void> {
    await this.#transport.call('restoreBackup', { backup: name, target, lsn, time }, options)
  }

  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteBackup', { backup: name }, options)
  }

  /** The backup as one stream, to be kept elsewhere. */
  download(name: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    return this.#transport.call('downloadBackup', { backup: name }, options)
  }

  /** Takes what `download` gave, under a name that no backup has. */
  async upload(name: string, content: ReadableStream<Uint8Array> | Blob, options?: CallOptions): Promise<void> {
    await this.#transport.call('uploadBackup', { backup: name, content }, options)
  }
}
