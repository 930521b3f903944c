// The public interface of a database's backups. database-backups.ts implements it.
import type { Acknowledgement, FieldDescription } from './object.ts'

/** What is known about a backup without opening it. */
export interface BackupInfo {
  readonly name: string
  readonly database: string
  /** Name of the collection when it was backed up. */
  readonly collection: string
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

export interface Backups {
  /**
   * Begins a backup of a collection and returns its name; the default name consists of the collection's name and the
   * time. One at a time. Throws backup_running, backup_exists, collection_not_found, invalid_argument, read_only.
   */
  create(collection: string, name?: string): Promise<{ readonly name: string }>
  /** The running backup, or the last one since the engine was opened. */
  status(): JobStatus
  /** The running restore or load of a clone, or the last one since the engine was opened. */
  restoreStatus(): JobStatus
  /** Cancels the running backup and removes its files; resolves with whether there was one, after it ended. */
  cancel(): Promise<boolean>
  /**
   * Cancels the last restore if it is still running: its caller gets the error `cancelled`, and no files remain. A
   * clone already exists; delete it like any collection instead.
   */
  cancelRestore(): boolean
  /** Oldest first. */
  list(): readonly BackupInfo[]
  /** Throws backup_not_found. */
  info(name: string): BackupInfo
  remove(name: string): Promise<void>
  /**
   * Creates a new collection from a backup, or from the given moment of the collection it is a backup of. Throws
   * backup_not_found, backup_damaged, collection_exists, restore_unreachable; then nothing has changed.
   */
  restore(name: string, target: string, moment?: Moment): Promise<Acknowledgement>
  /**
   * Creates a new collection with the content of another one at a moment, including deleted collections. Needs no
   * backup, only the log or its archive. Throws collection_not_found, collection_exists, restore_unreachable; then
   * nothing has changed.
   */
  restorePast(collection: string, target: string, moment: Moment): Promise<Acknowledgement>
  /**
   * Creates a new collection with the current content of another one. Resolves when it exists, whatever its size; it is
   * loaded afterwards, and requests wait in the meantime (`Collection.served`). `restoreStatus` reports the progress.
   * Throws collection_not_found, collection_exists, read_only; then nothing has changed. `lsn` is the clone's own
   * record, `contentLsn` the newest record of the source that the clone reflects.
   */
  clone(collection: string, target: string): Promise<Acknowledgement & { readonly contentLsn: number }>
  /** Returns the faults of a backup; normally none. `deep` builds the collection separately and compares its digest. */
  verify(name: string, options?: { readonly deep?: boolean }): Promise<readonly string[]>
  /** Returns the backup as one stream for `upload`, here or elsewhere. */
  download(name: string): { readonly bytes: number; readonly stream: AsyncIterable<Uint8Array> }
  /** Stores a stream of `download` under a name, after everything in it was checked. */
  upload(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo>
  /** Resolves when no backup is running. */
  settled(): Promise<void>
}
