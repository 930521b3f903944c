// The seam between an engine and its log. By default an engine opens a log of local files. A cluster gives it another
// opener, whose log other nodes append to as well.
import { type DataDirectory, type DataDirectoryOptions, type LogRecord, openDataDirectory } from '@annal/wal'
import type { SharedFiles } from './backup/shared-files.ts'
import type { Engine } from './model/engine.ts'
import type { StateDigest } from './model/state-digest.ts'

/** What an engine requests of an opener. */
export interface OpenRequest extends DataDirectoryOptions {
  /** What `positionBefore` returned for the newest checkpoint; undefined if there is none. Known once `findStart` has resolved. */
  checkpointPosition(): string | undefined
}

/** Gives an engine its identity and its log. */
export interface LogOpener {
  /** Opens the log and reads the identity. Rejects with WalError, for example log_damaged or identity_mismatch. */
  open(request: OpenRequest): Promise<DataDirectory>
  /** Where in the log the records after `lsn` begin, or an earlier position. A checkpoint at that LSN keeps it. */
  positionBefore?(lsn: number): string | undefined
  /**
   * Whether files that records name are in the data directory before the records are applied. Then records may create collections from
   * files, and backups are possible while this engine appends.
   */
  readonly bringsFiles?: boolean
  /** Files that every engine on this log can read. Then images are stored there before records name them, and so are backups. */
  readonly shared?: SharedFiles
  /** Why the engine appends nothing at the moment; undefined while this node leads. Absent if it always leads. */
  refusal?(): Error | undefined
}

/** The log of files in the data directory. */
export const fileLogOpener: LogOpener = { open: ({ checkpointPosition: _, ...options }) => openDataDirectory(options) }

/** An engine whose log other nodes append to as well. */
export interface ReplicatedEngine extends Engine {
  /** The newest record up to which all are applied. */
  readonly lsnApplied: number
  /**
   * Applies records that another node appended. They begin after the newest record that was given or appended here. Resolves
   * when further ones may be given.
   */
  applyTailed(records: readonly LogRecord[]): Promise<void>
  /** Resolves to true when every record up to this LSN is applied, and to false after `timeoutMs`. */
  whenApplied(lsn: number, timeoutMs: number): Promise<boolean>
  /**
   * Digests of the newest states, oldest first, at most 2,048; none without `digestEvery`. A collection that is written to is hashed now and then, at the same records
   * in every engine on one log.
   */
  readonly stateDigests: readonly StateDigest[]
  /** The newest applied record of the catalog and of each collection that is in service. */
  readonly stateLsns: readonly Omit<StateDigest, 'digest'>[]
  /** Hashes the catalog, and every collection that had no record since the last call, if its state is not hashed yet. */
  digestQuiet(): Promise<void>
  /**
   * Removes images that no record in the log names, and backups of deleted databases, from the shared files. Only for the engine that appends:
   * `confirm` proves that it still does.
   */
  collectShared(confirm: () => Promise<unknown>): Promise<void>
}
