// The backups of a database.
import type { BackupInfo, BackupStatus } from './backup-info.ts'
import { AnnalError } from './errors.ts'
import type { CallOptions, CopyOptions, Transport } from './transport.ts'

/** Options of a call that waits for a job. `onProgress` is called each time the state is read. */
export interface WatchOptions {
  readonly onProgress?: ((status: BackupStatus) => void) | undefined
}

/** With `deep`, the collection is also built separately, and its digest compared. */
export interface VerifyOptions extends CallOptions {
  readonly deep?: boolean | undefined
}

/** Where a backup is restored, and as of which moment; by default as of the backup. */
export interface RestoreOptions extends CopyOptions, WatchOptions {
  /** The name of the new collection, which must not exist. */
  readonly target: string
  /** Restores the state as of this event. */
  readonly lsn?: number | undefined
  /** Restores the state as of this time. */
  readonly time?: Date | undefined
}

const pollEveryMs = 200

/** Backups of the database of the token. `client.backups`. Calls with an unknown name fail with `backup_not_found`. */
export class Backups {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists the backups of the database.
   *
   * @example
   * ```ts
   * for (const { name, original, createdAt } of await client.backups.list()) console.log(name, original, createdAt)
   * ```
   */
  list(options?: CallOptions): Promise<readonly BackupInfo[]> {
    return this.#transport.call('listBackups', undefined, options)
  }

  /**
   * Describes a backup.
   *
   * @example
   * ```ts
   * const { objects, bytes } = await client.backups.info('before-import')
   * ```
   */
  info(name: string, options?: CallOptions): Promise<BackupInfo> {
    return this.#transport.call('backupInfo', { backup: name }, options)
  }

  /**
   * The running backup, or the last one.
   *
   * @example
   * ```ts
   * const { status, percent } = await client.backups.status()
   * ```
   */
  status(options?: CallOptions): Promise<BackupStatus> {
    return this.#transport.call('backupStatus', undefined, options)
  }

  /**
   * The running restore, undo, or clone, or the last one. `collection` is its target.
   *
   * @example
   * ```ts
   * const { status, percent } = await client.backups.restoreStatus()
   * ```
   */
  restoreStatus(options?: CallOptions): Promise<BackupStatus> {
    return this.#transport.call('restoreStatus', undefined, options)
  }

  /**
   * Cancels the restore or undo that started last: its call fails with `cancelled`, and nothing of it is kept. Returns false if none runs.
   *
   * @example
   * ```ts
   * const wasRunning = await client.backups.cancelRestore()
   * ```
   */
  cancelRestore(options?: CallOptions): Promise<boolean> {
    return this.#transport.call('cancelRestore', undefined, options)
  }

  /**
   * Waits until a started backup is complete. Fails with `backup_failed` if it ended without completing.
   *
   * @example
   * ```ts
   * const name = await films.createBackup('before-import')
   * const { bytes } = await client.backups.completed(name, { onProgress: ({ percent }) => console.log(percent) })
   * ```
   */
  async completed(name: string, options: CallOptions & WatchOptions = {}): Promise<BackupInfo> {
    for (;;) {
      const state = await this.status(options)
      if (state.name === name) options.onProgress?.(state)
      if (state.status === 'failed' && state.name === name) {
        throw new AnnalError('backup_failed', `the backup ${name} failed: ${state.error ?? 'no reason reported'}`)
      }
      if (state.status !== 'running' || state.name !== name) return this.info(name, options)
      await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    }
  }

  /**
   * Reports the faults of a backup. `deep` also restores the collection separately and compares its digest.
   *
   * @example
   * ```ts
   * const faults = await client.backups.verify('before-import', { deep: true })
   * ```
   */
  verify(name: string, { deep = false, ...options }: VerifyOptions = {}): Promise<readonly string[]> {
    return this.#transport.call('verifyBackup', { backup: name, deep }, options)
  }

  /**
   * Restores a backup to a new collection, on request as of an event or a time other than the backup's.
   *
   * @example
   * ```ts
   * await client.backups.restore('before-import', {
   *   target: 'films_before',
   *   onProgress: ({ percent }) => console.log(percent),
   * })
   * ```
   */
  async restore(
    name: string,
    { target, lsn, time, keepExpired, onProgress, ...options }: RestoreOptions,
  ): Promise<void> {
    const ended = new AbortController()
    if (onProgress !== undefined) void this.#watchRestore(target, onProgress, ended.signal)
    try {
      await this.#transport.call('restoreBackup', { backup: name, target, lsn, time, keepExpired }, options)
    } finally {
      ended.abort()
    }
  }

  /** Never fails: the call that restores reports what went wrong. */
  async #watchRestore(target: string, onProgress: (status: BackupStatus) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const state = await this.restoreStatus({ signal }).catch(() => undefined)
      if (!signal.aborted && state?.status === 'running' && state.collection === target) onProgress(state)
      await new Promise((resolve) => setTimeout(resolve, pollEveryMs))
    }
  }

  /**
   * Deletes a backup.
   *
   * @example
   * ```ts
   * await client.backups.delete('before-import')
   * ```
   */
  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteBackup', { backup: name }, options)
  }

  /**
   * The backup as one stream, to store elsewhere.
   *
   * @example
   * ```ts
   * import { writeFile } from 'node:fs/promises'
   *
   * await writeFile('before-import.tar', await client.backups.download('before-import'))
   * ```
   */
  download(name: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    return this.#transport.call('downloadBackup', { backup: name }, options)
  }

  /**
   * Stores a stream from `download` under a new backup name.
   *
   * @example
   * ```ts
   * import { openAsBlob } from 'node:fs'
   *
   * await client.backups.upload('before-import', await openAsBlob('before-import.tar'))
   * ```
   */
  async upload(name: string, content: ReadableStream<Uint8Array> | Blob, options?: CallOptions): Promise<void> {
    await this.#transport.call('uploadBackup', { backup: name, content }, options)
  }
}
