// What a trace holds: events of a log in its order, and searches at the places where they were asked.
import type { SearchRequest } from '@annal/engine'
import type { Event } from '@annal/engine/events'

export interface TraceHead {
  readonly origin: 'recorded' | 'generated'
  /** Of a log, or of a workload: what it was made from, in words that give nothing away. */
  readonly description: string
  /** Ids, names and texts were replaced; vectors as they were, or turned by a secret rotation. */
  readonly anonymised: boolean
  readonly rotated: boolean
}

export interface TraceEvent {
  readonly kind: 'event'
  /** Number of the record; 0 for those that stand for what was there before the window. */
  readonly lsn: number
  readonly event: Event
}

/** A search, after the event it follows in the file. */
export interface TraceQuery {
  readonly kind: 'query'
  /** Every record up to this one had been applied. */
  readonly lsn: number
  readonly timeMs: number
  readonly collectionId: number
  readonly request: SearchRequest
}

export type TraceEntry = TraceEvent | TraceQuery

export interface TraceSummary {
  readonly events: number
  readonly queries: number
  /** First and last record of the log that it holds; 0 and 0 when it was generated. */
  readonly lsnFirst: number
  readonly lsnLast: number
  /** Milliseconds since 1970, of the first and the last event. */
  readonly timeFirst: number
  readonly timeLast: number
}

export type ReplayErrorCode =
  | 'trace_damaged'
  | 'format_too_new'
  | 'invalid_argument'
  | 'window_not_held'
  | 'file_exists'

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
