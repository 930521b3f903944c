// The log as its users see it: an ordered list of records, each identified by its LSN. The interface does not mention
// files; a replicated log can implement it.

/**
 * Number of a record: 1, 2, 3 ... one sequence for a whole data directory. The log's own records (markers, the clean
 * end) take numbers too but are never given to readers, so a reader sees increasing numbers with gaps.
 */
export type Lsn = number & { readonly __brand: 'Lsn' }

/**
 * When an append is acknowledged. `always`: after the sync. `interval`: after the write, durable within the interval.
 * `none`: after the write; the system decides when it becomes durable.
 */
export type FsyncPolicy = 'always' | 'interval' | 'none'

/**
 * One record of the log. `type` is 16..255 (lower numbers belong to the log itself); `version` is the payload's schema
 * version.
 */
export interface LogRecord {
  readonly lsn: Lsn
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array
}

/**
 * A record without a number yet. The payload may consist of pieces, which the log joins. It must not change until the
 * append settles.
 */
export interface NewRecord {
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array | readonly Uint8Array[]
  /**
   * The record frees space or revokes a permission. It is also appended while the log is read-only, into reserved
   * space.
   */
  readonly usesReserve?: boolean
}

/** The acknowledgment of a record. */
export interface Appended {
  readonly lsn: Lsn
  /** True when the record survives a power cut, false when the policy acknowledges earlier. */
  readonly durable: boolean
}

/** The state of a log, as of the call. */
export interface LogState {
  /** The oldest record in the log, or the next LSN when it is empty. */
  readonly lsnFirst: Lsn
  /** The newest record written; 0 when there is none. */
  readonly lsnLast: Lsn
  /** The newest record known to be durable; 0 when there is none. */
  readonly lsnDurable: Lsn
  readonly bytes: number
  readonly segments: number
  readonly appends: number
  readonly syncs: number
  /** Total time of these syncs, in milliseconds. */
  readonly syncMs: number
  readonly queuedBytes: number
  readonly queuedRecords: number
  /**
   * `failed` is final: a sync failed. `read-only` ends automatically when the disk has space again. A replicated log is
   * `following` while another node leads, and `unavailable` while its store does not answer.
   */
  readonly condition: 'ok' | 'read-only' | 'failed' | 'closed' | 'following' | 'unavailable'
  readonly reason?: string
}

/** An append-only list of records. */
export interface Log {
  /**
   * Appends one record. A read-only log accepts only records that use the reserve. LSNs are assigned in the order of
   * the calls, and promises settle in that order. Rejects with a WalError and then appends nothing.
   */
  append(record: NewRecord): Promise<Appended>
  /**
   * Yields records with `from <= lsn` in order, up to the newest durable one at the time of the call. Memory use does
   * not depend on the size of the log.
   */
  read(from: Lsn): AsyncIterable<LogRecord>
  /** Allows the log to remove records below `lsn`. It may keep more than it must, never less. */
  truncateBefore(lsn: Lsn): Promise<void>
  /** Makes everything appended so far durable and returns the newest durable LSN. */
  sync(): Promise<Lsn>
  /** Returns the LSNs and the sizes of the log as of now. */
  state(): LogState
  /** Waits for queued appends, marks the end as clean, and releases the files. Idempotent. */
  close(): Promise<void>
}
