// The backups of a database.
import { AnnalError } from './errors.ts'
import type { CallOptions, Transport } from './transport.ts'

export interface BackupInfo {
  readonly name: string
  /** The collection, as it was named when the backup was made. */
  readonly original: string
  readonly createdAt: Date
  readonly bytes: number
  readonly objects: number
  /** The newest event in it. */
  readonly lsn: number
  /** Hash of the collection's state; empty when it was written meanwhile. */
  readonly digest: string
}

export interface BackupStatus {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  /** The backup that runs, or the last one that did since the server was started. */
  readonly name?: string | undefined
  readonly collection?: string | undefined
  readonly percent?: number | undefined
  readonly error?: string | undefined
}

export interface WatchOptions {
  readonly onProgress?: ((status: BackupStatus) => void) | undefined
}

export interface VerifyOptions extends CallOptions {
  readonly deep?: boolean | undefined
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

  /** The backup that runs, or the last one. */
  status(options?: CallOptions): Promise<BackupStatus> {
    return this.#transport.call('backupStatus', undefined, options)
  }

  /** Waits until a backup that was begun is there; fails with `backup_failed` when it ended without being completed. */
  async completed(name: string, options: CallOptions & WatchOptions = {}): Promise<BackupInfo> {
    for (;;) {
      const state = await this.status(options)
      if (state.name === name) options.onProgress?.(state)
      if (state.status === 'failed' && state.name === name) {
        throw new AnnalError('backup_failed', `the backup ${name} failed: ${state.error ?? 'no reason was given'}`)
      }
      if (state.status !== 'running' || state.name !== name) return this.info(name, options)
      await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    }
  }

  /** What is wrong with a backup: nothing, as a rule. `deep` also builds the collection aside and compares its digest. */
  verify(name: string, { deep = false, ...options }: VerifyOptions = {}): Promise<readonly string[]> {
    return this.#transport.call('verifyBackup', { backup: name, deep }, options)
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
