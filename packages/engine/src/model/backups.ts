// Backups of a database as their users see them. database-backups.ts implements it.
import type { Acknowledgement, FieldDescription } from './object.ts'

/** What can be known of a backup without opening it. */
export interface BackupInfo {
  readonly name: string
  readonly database: string
  /** What the collection was called when it was backed up. */
  readonly collection: string
  /** Milliseconds since 1970. */
  readonly takenAt: number
  /** The collection's newest record in it. */
  readonly lsn: number
  /** Time of the log's newest record then. */
  readonly timeMs: number
  readonly objects: number
  readonly fields: readonly FieldDescription[]
  /** Of the state; empty when the collection was too large, or written meanwhile: a restore check finds it then. */
  readonly digest: string
  /** Of all its files; what other backups and checkpoints share with it is counted too. */
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
  /** How long writers of the collection waited for its moment to be taken, once it is. */
  readonly heldMs?: number
  readonly error?: string
}

/** A moment of the past: the state just after a record, or after the last record that is not later than a time. */
export type Moment = { readonly lsn: number } | { readonly timeMs: number }

export interface Backups {
  /**
   * Begins a backup of a collection and gives its name; without one it is made of the collection's name and the time. One at a
   * time. Throws backup_running, backup_exists, collection_not_found, invalid_argument, read_only.
   */
  create(collection: string, name?: string): Promise<{ readonly name: string }>
  /** The backup that runs, or the last one since the engine was opened. */
  status(): JobStatus
  /** The restore that runs, or the clone that is loaded, or the last one since the engine was opened. */
  restoreStatus(): JobStatus
  /** Ends the backup that runs, leaving nothing of it; resolves when it is over, with whether there was one to end. */
  cancel(): Promise<boolean>
  /**
   * Ends the restore that began last, if it still runs: whoever waits for it gets the error `cancelled`, and nothing of it is left. A
   * clone exists already, so that it is dropped like any collection instead.
   */
  cancelRestore(): boolean
  /** Oldest first. */
  list(): readonly BackupInfo[]
  /** Throws backup_not_found. */
  info(name: string): BackupInfo
  remove(name: string): Promise<void>
  /**
   * Makes a new collection out of a backup, or out of the moment given of the collection it is a backup of. Throws
   * backup_not_found, backup_damaged, collection_exists, restore_unreachable; then nothing has changed.
   */
  restore(name: string, target: string, moment?: Moment): Promise<Acknowledgement>
  /**
   * Makes a new collection of what another one held at a moment, also of one that was dropped since. Needs no backup, only the log
   * or its archive. Throws collection_not_found, collection_exists, restore_unreachable; then nothing has changed.
   */
  restorePast(collection: string, target: string, moment: Moment): Promise<Acknowledgement>
  /**
   * A new collection with what another one holds now. Resolves when it exists, however large it is; it is loaded afterwards, and
   * whoever asks it meanwhile waits (`Collection.served`). `restoreStatus` says how far that is. Throws collection_not_found,
   * collection_exists, read_only; then nothing has changed. `lsn` is that of the clone's own record, `contentLsn` the newest record of
   * the source that the clone shows.
   */
  clone(collection: string, target: string): Promise<Acknowledgement & { readonly contentLsn: number }>
  /** What is wrong with a backup; nothing, as a rule. `deep` builds the collection aside and compares its digest. */
  verify(name: string, options?: { readonly deep?: boolean }): Promise<readonly string[]>
  /** The backup as one stream that `upload` takes, here or elsewhere. */
  download(name: string): { readonly bytes: number; readonly stream: AsyncIterable<Uint8Array> }
  /** Takes a stream that `download` gave and keeps it under a name, after everything in it was checked. */
  upload(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo>
  /** Resolves when no backup is being made. */
  settled(): Promise<void>
}
