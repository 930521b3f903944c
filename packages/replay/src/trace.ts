// The contents of a trace: events of a log in order, and searches at the positions where they ran.
import type { SearchRequest } from '@annal/engine'
import type { Event } from '@annal/engine/events'

/** What a trace is: where it comes from, and what was made unreadable. */
export interface TraceHead {
  readonly origin: 'recorded' | 'generated'
  /** The source of the trace, a log or a workload, without private data. */
  readonly description: string
  /** `anonymised`: ids, names and texts were replaced. `rotated`: vectors were transformed by a secret rotation. */
  readonly anonymised: boolean
  readonly rotated: boolean
}

/** An event of the log. */
export interface TraceEvent {
  readonly kind: 'event'
  /** Number of the record; 0 for records of the state before the window. */
  readonly lsn: number
  readonly event: Event
}

/** A search, stored after the event that precedes it. */
export interface TraceQuery {
  readonly kind: 'query'
  /** The newest record that was applied when the search ran. */
  readonly lsn: number
  readonly timeMs: number
  readonly collectionId: number
  readonly request: SearchRequest
}

/** An entry of a trace, in the order of the log. */
export type TraceEntry = TraceEvent | TraceQuery

/** Numbers and times of a trace. */
export interface TraceSummary {
  readonly events: number
  readonly queries: number
  /** First and last record of the log in the trace; both 0 if the trace was generated. */
  readonly lsnFirst: number
  readonly lsnLast: number
  /** Times of the first and last event, in milliseconds since 1970. */
  readonly timeFirst: number
  readonly timeLast: number
}

/** The codes of `ReplayError`. */
export type ReplayErrorCode =
  | 'trace_damaged'
  | 'format_too_new'
  | 'invalid_argument'
  | 'window_not_held'
  | 'file_exists'

/** `code` is stable; `details` names the file, the LSN, or the value. */
export class ReplayError extends Error {
  readonly code: ReplayErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ReplayErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = 'ReplayError'
    this.code = code
    this.details = details
  }
}
