// The public interface of a database's history. database-history.ts implements it.
import type { Event } from '../events/event.ts'

/** The effect of one record of the log, without its content. */
export interface PastEvent {
  readonly lsn: number
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly kind: Event['kind']
  /** Bytes in the log. */
  readonly bytes: number
  /** The current or former name. */
  readonly collection?: string
  /** The number of objects written, deleted or with updated filters; `ids` of the first few. */
  readonly objects?: number
  readonly ids?: readonly string[]
  /** Names of the fields of a created collection. */
  readonly fields?: readonly string[]
  /** Name of a created or deleted token. */
  readonly token?: string
  /** New properties of a changed database. */
  readonly active?: boolean
}

/** A long log is read in steps. Until all of it was read, `complete` is false and another call reads further. */
export interface HistoryProgress {
  readonly complete: boolean
  readonly segmentsRead: number
  readonly segments: number
}

export interface ActivityRequest {
  /** Milliseconds since 1970. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Approximate maximum number of bars; default 120. */
  readonly buckets?: number
  readonly collection?: string
}

export interface ActivityBucket {
  readonly startMs: number
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly records: number
  readonly bytes: number
  /** Number of objects written, deleted, and with updated filters. */
  readonly written: number
  readonly deleted: number
  readonly refiltered: number
  /** Records that created, deleted, rebuilt or changed a collection, a database or a token. */
  readonly changes: number
}

export interface Activity extends HistoryProgress {
  readonly bucketMs: number
  /** Oldest first, without empty ones. */
  readonly buckets: readonly ActivityBucket[]
}

/** At most one of `from`, `before` and `sinceMs`; without any, the newest events are returned. */
export interface EventsRequest {
  /** The first LSN to return. */
  readonly from?: number
  /** Return the newest events below this LSN. */
  readonly before?: number
  /** Return events not earlier than this; milliseconds since 1970. */
  readonly sinceMs?: number
  readonly limit?: number
  readonly collection?: string
}

export interface EventPage extends HistoryProgress {
  /** Oldest first; empty before the log was read. */
  readonly events: readonly PastEvent[]
  /** `from` of the next page, with newer events. */
  readonly next?: number
  /** `before` of the previous page, with older events. */
  readonly previous?: number
}

/** The history of a database, as far back as the log and its archive reach. Calls throw log_damaged. */
export interface History {
  /**
   * Numbers of records and objects by time.
   *
   * @example
   * ```ts
   * const { buckets } = await database.history.activity({ fromMs: Date.now() - 86_400_000 })
   * for (const { startMs, written, deleted } of buckets) console.log(new Date(startMs), written, deleted)
   * ```
   */
  activity(request?: ActivityRequest): Promise<Activity>
  /**
   * Pages through the records of the log, without their content.
   *
   * @example
   * ```ts
   * const { events } = await database.history.events({ collection: 'films', limit: 20 })
   * for (const { lsn, timeMs, kind } of events) console.log(lsn, new Date(timeMs), kind)
   * ```
   */
  events(request?: EventsRequest): Promise<EventPage>
}
