// What happened in a database, as its users see it. database-history.ts implements it.
import type { Event } from '../events/event.ts'

/** What one record of the log did; never what it carried. */
export interface PastEvent {
  readonly lsn: number
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly kind: Event['kind']
  /** In the log. */
  readonly bytes: number
  /** As it is or was called. */
  readonly collection?: string
  /** How many were written, deleted or given other filters; `ids` of the first few. */
  readonly objects?: number
  readonly ids?: readonly string[]
  /** Of a collection that was made: names. */
  readonly fields?: readonly string[]
  /** Name of a token that was made or deleted. */
  readonly token?: string
  /** Of a database that was changed. */
  readonly active?: boolean
}

/** A long log is read in steps. As long as not all of it was read, `complete` is false and another call reads on. */
export interface HistoryProgress {
  readonly complete: boolean
  readonly segmentsRead: number
  readonly segments: number
}

export interface ActivityRequest {
  /** Milliseconds since 1970. */
  readonly fromMs?: number
  readonly toMs?: number
  /** How many bars at most, about; default 120. */
  readonly buckets?: number
  readonly collection?: string
}

export interface ActivityBucket {
  readonly startMs: number
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly records: number
  readonly bytes: number
  /** Objects written, deleted, given other filters. */
  readonly written: number
  readonly deleted: number
  readonly refiltered: number
  /** Records that made, dropped, rebuilt or changed what exists. */
  readonly changes: number
}

export interface Activity extends HistoryProgress {
  readonly bucketMs: number
  /** Oldest first; those in which nothing happened are left out. */
  readonly buckets: readonly ActivityBucket[]
}

/** Of `from`, `before` and `sinceMs` at most one; without any the newest events are given. */
export interface EventsRequest {
  /** The first LSN wanted. */
  readonly from?: number
  /** The newest events below this LSN. */
  readonly before?: number
  /** Events not earlier than this; milliseconds since 1970. */
  readonly sinceMs?: number
  readonly limit?: number
  readonly collection?: string
}

export interface EventPage extends HistoryProgress {
  /** Oldest first; none before the log was read. */
  readonly events: readonly PastEvent[]
  /** Where newer ones begin: `from` of the next page. */
  readonly next?: number
  /** Where older ones end: `before` of the page before. */
  readonly previous?: number
}

/** What happened in a database, as far back as the log and its archive are kept. Calls throw log_damaged. */
export interface History {
  activity(request?: ActivityRequest): Promise<Activity>
  events(request?: EventsRequest): Promise<EventPage>
}
