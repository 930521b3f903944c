// Moments of the past that reads name.
/**
 * The moment that a read is as of: just after a record, or after the last record not later than a time. A text is a time in the form of
 * RFC 3339, such as `2026-11-23T10:00:00Z`.
 */
export type AsOf = ({ readonly lsn: number } | { readonly time: string | Date }) & {
  /** Also reads objects that had expired at the moment and were still stored. Default: false. */
  readonly keepExpired?: boolean | undefined
}

/** The moment that a read was as of. */
export interface AsOfMoment {
  /** The record of the moment: the given one, or the last one not later than the given time. */
  readonly lsn: number
  /** The given time, or the time of the record; milliseconds since 1970. */
  readonly timeMs: number
}

/** Options of opening a collection as of a moment. */
export interface AsOfOptions {
  /**
   * How long to wait while the moment is loaded, in milliseconds; then the call rejects with `moment_loading`, and the load continues.
   * By default there is no limit.
   */
  readonly waitMs?: number | undefined
}

/** The moments that can be reached. */
export interface AsOfReach {
  readonly lsnFirst: number
  readonly lsnLast: number
  /** Milliseconds since 1970. */
  readonly timeFirstMs: number
  readonly timeLastMs: number
}

/** A state of the past that was loaded, or is being loaded. */
export interface PastState {
  readonly database: string
  readonly collection: string
  /** The record of the moment; undefined until it is known. */
  readonly lsn: number | undefined
  readonly status: 'loading' | 'loaded' | 'failed'
  readonly bytesDone: number
  /** Bytes to read; 0 until they are known. */
  readonly bytes: number
  /** Bytes of memory that the loaded state takes. */
  readonly memory: number
  readonly error?: string
}
