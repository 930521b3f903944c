// The log as its users see it: an ordered list of records, each known by its LSN. Nothing here says "file"; a replicated
// log can stand behind the same interface.

/**
 * Number of a record: 1, 2, 3 ... one sequence for a whole data directory. The log's own records (markers, the clean end)
 * take numbers too and are never given to readers, so a reader sees numbers that grow, not numbers without gaps.
 */
export type Lsn = number & { readonly __brand: 'Lsn' }

/** When an append is acknowledged. `always`: durable first. `interval`: after the write, durable within the interval. `none`: when the system likes. */
export type FsyncPolicy = 'always' | 'interval' | 'none'

/** What the log keeps of one append. `type` is 16..255 (lower numbers belong to the log itself); `version` is the payload's schema version. */
export interface LogRecord {
  readonly lsn: Lsn
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array
}

/** A record not yet numbered. The payload may come in pieces, which are joined in the log; it must not change until the append settles. */
export interface NewRecord {
  readonly type: number
  readonly version: number
  readonly payload: Uint8Array | readonly Uint8Array[]
  /** It frees something, or takes a right away: appended also while the log is read-only, into room that is kept for it. */
  readonly usesReserve?: boolean
}

export interface Appended {
  readonly lsn: Lsn
  /** True when the record survives a power cut, false when the policy acknowledges earlier. */
  readonly durable: boolean
}

export interface LogState {
  /** The oldest record still held, or the next LSN when none is. */
  readonly lsnFirst: Lsn
  /** The newest record written; 0 when there is none. */
  readonly lsnLast: Lsn
  /** The newest record known to be durable; 0 when there is none. */
  readonly lsnDurable: Lsn
  readonly bytes: number
  readonly segments: number
  readonly appends: number
  readonly syncs: number
  /** Time spent in them, in milliseconds. */
  readonly syncMs: number
  readonly queuedBytes: number
  readonly queuedRecords: number
  /** `failed` is final: an fsync was refused. `read-only` ends by itself when the disk has room again. */
  readonly condition: 'ok' | 'read-only' | 'failed' | 'closed'
  readonly reason?: string
}

export interface Log {
  /** Appends one record. While the log is read-only only those that use the reserve. LSNs are given in the order of the calls, and promises settle in that order. Rejects with a WalError and appends nothing. */
  append(record: NewRecord): Promise<Appended>
  /** Reads records with `from <= lsn` in order, up to the newest durable one at the time of the call. Memory use does not grow with the log. */
  read(from: Lsn): AsyncIterable<LogRecord>
  /** Gives up records below `lsn`; the log may keep more than it must, never less. */
  truncateBefore(lsn: Lsn): Promise<void>
  /** Makes everything appended so far durable and returns the newest durable LSN. */
  sync(): Promise<Lsn>
  state(): LogState
  /** Waits for queued appends, marks the end as clean, and releases the files. Idempotent. */
  close(): Promise<void>
}
