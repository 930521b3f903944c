// The public interface of a database's backups. database-backups.ts implements it.
import type { Acknowledgement, FieldDescription } from './object.ts'
import type { RestoreOptions } from './requests.ts'

/** What is known about a backup without opening it. */
export interface BackupInfo {
  readonly name: string
  readonly database: string
  /** Name of the collection when it was backed up. */
  readonly collection: string
  /** Aliases that led to it then. A restore does not create them. */
  readonly aliases: readonly string[]
  /** Milliseconds since 1970. */
  readonly takenAt: number
  /** The newest record of the collection that it reflects. */
  readonly lsn: number
  /** Time of the log's newest record at that moment. */
  readonly timeMs: number
  readonly objects: number
  readonly fields: readonly FieldDescription[]
  /**
   * Hash of the state; empty when the collection was too large or was written in the meantime. A test restore computes
   * it then.
   */
  readonly digest: string
  /** Size of all its files, including those it shares with other backups and checkpoints. */
  readonly bytes: number
}

/** The state of the newest backup or restore. */
export interface JobStatus {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  /** Name of the backup. */
  readonly name?: string
  readonly collection?: string
  /** Milliseconds since 1970. */
  readonly startedAt?: number
  readonly completedAt?: number
  readonly bytesDone?: number
  readonly bytes?: number
  /** How long writers of the collection waited for the cut, once it is made. */
  readonly heldMs?: number
  readonly error?: string
}

/** A moment of the past: the state just after a record, or after the last record not later than a time. */
export type Moment = { readonly lsn: number } | { readonly timeMs: number }

/** The backups of a database. */
export interface Backups {
  /**
   * Begins a backup of a collection and returns its name; the default name consists of the collection's name and the
   * time. One at a time. Throws backup_running, backup_exists, collection_not_found, invalid_argument, read_only.
   *
   * @example
   * ```ts
   * const { name } = await database.backups.create('films')
   * await database.backups.settled()
   * ```
   */
  create(collection: string, name?: string): Promise<{ readonly name: string }>
  /**
   * The running backup, or the last one since the engine was opened.
   *
   * @example
   * ```ts
   * const { status, bytesDone, bytes } = database.backups.status()
   * ```
   */
  status(): JobStatus
  /**
   * The running restore or load of a clone, or the last one since the engine was opened.
   *
   * @example
   * ```ts
   * const { status } = database.backups.restoreStatus()
   * ```
   */
  restoreStatus(): JobStatus
  /**
   * Cancels the running backup and removes its files; resolves with whether there was one, after it ended.
   *
   * @example
   * ```ts
   * const wasRunning = await database.backups.cancel()
   * ```
   */
  cancel(): Promise<boolean>
  /**
   * Cancels the last restore if it is still running: its caller gets the error `cancelled`, and no files remain. A
   * clone already exists; delete it like any collection instead.
   *
   * @example
   * ```ts
   * const wasRunning = database.backups.cancelRestore()
   * ```
   */
  cancelRestore(): boolean
  /**
   * Lists the backups, oldest first.
   *
   * @example
   * ```ts
   * for (const { name, collection, takenAt } of database.backups.list()) console.log(name, collection, new Date(takenAt))
   * ```
   */
  list(): readonly BackupInfo[]
  /**
   * Describes a backup. Throws backup_not_found.
   *
   * @example
   * ```ts
   * const { objects, bytes } = database.backups.info('before-import')
   * ```
   */
  info(name: string): BackupInfo
  /**
   * Deletes a backup. Throws backup_not_found.
   *
   * @example
   * ```ts
   * await database.backups.remove('before-import')
   * ```
   */
  remove(name: string): Promise<void>
  /**
   * Creates a new collection from a backup, or from the given moment of the collection it is a backup of. Throws
   * backup_not_found, backup_damaged, collection_exists, restore_unreachable; then nothing has changed.
   *
   * @example
   * ```ts
   * await database.backups.restore('before-import', 'films_before')
   * ```
   */
  restore(name: string, target: string, moment?: Moment, options?: RestoreOptions): Promise<Acknowledgement>
  /**
   * Creates a new collection with the content of another one at a moment, including deleted collections. Needs no
   * backup, only the log or its archive. Throws collection_not_found, collection_exists, restore_unreachable; then
   * nothing has changed.
   *
   * @example
   * ```ts
   * await database.backups.restorePast('films', 'films_an_hour_ago', { timeMs: Date.now() - 3_600_000 })
   * ```
   */
  restorePast(collection: string, target: string, moment: Moment, options?: RestoreOptions): Promise<Acknowledgement>
  /**
   * Creates a new collection with the current content of another one. Resolves when it exists, whatever its size; it is
   * loaded afterwards, and requests wait in the meantime (`Collection.served`). `restoreStatus` reports the progress.
   * Throws collection_not_found, collection_exists, read_only; then nothing has changed. `lsn` is the clone's own
   * record, `contentLsn` the newest record of the source that the clone reflects.
   *
   * @example
   * ```ts
   * await database.backups.clone('films', 'films_copy')
   * await database.collection('films_copy').served()
   * ```
   */
  clone(
    collection: string,
    target: string,
    options?: RestoreOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }>
  /**
   * Returns the faults of a backup; normally none. `deep` builds the collection separately and compares its digest.
   *
   * @example
   * ```ts
   * const faults = await database.backups.verify('before-import', { deep: true })
   * ```
   */
  verify(name: string, options?: { readonly deep?: boolean }): Promise<readonly string[]>
  /**
   * Returns the backup as one stream for `upload`, here or elsewhere.
   *
   * @example
   * ```ts
   * import { createWriteStream } from 'node:fs'
   * import { pipeline } from 'node:stream/promises'
   *
   * const { stream } = database.backups.download('before-import')
   * await pipeline(stream, createWriteStream('before-import.tar'))
   * ```
   */
  download(name: string): { readonly bytes: number; readonly stream: AsyncIterable<Uint8Array> }
  /**
   * Stores a stream of `download` under a name, after everything in it was checked.
   *
   * @example
   * ```ts
   * import { createReadStream } from 'node:fs'
   *
   * const { objects } = await database.backups.upload('before-import', createReadStream('before-import.tar'))
   * ```
   */
  upload(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo>
  /**
   * Resolves when no backup is running.
   *
   * @example
   * ```ts
   * await database.backups.settled()
   * ```
   */
  settled(): Promise<void>
}
