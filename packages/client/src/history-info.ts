// What a server or an engine returns about its history.

export type EventType =
  | 'collection-created'
  | 'collection-dropped'
  | 'collection-rebuilt'
  | 'collection-restored'
  | 'objects-upserted'
  | 'objects-deleted'
  | 'filters-replaced'
  | 'fields-changed'
  | 'database-created'
  | 'database-dropped'
  | 'database-changed'
  | 'token-put'
  | 'token-dropped'
  | 'setting-put'
  | 'request-answered'

/** The effect of one record of the log, without its data. */
export interface PastEvent {
  readonly lsn: number
  readonly time: Date
  readonly type: EventType
  /** Bytes in the log. */
  readonly bytes: number
  /** The current or former name. */
  readonly collection?: string
  /** The number of objects written, deleted, or with updated filters. */
  readonly objects?: number
  /** Ids of the first few objects. */
  readonly ids?: readonly string[]
  /** Names of the fields of a created collection. */
  readonly fields?: readonly string[]
  /** Name of a created or deleted token. */
  readonly token?: string
  /** Whether a changed database is active. */
  readonly active?: boolean
}

/** At most one of `from`, `before`, and `since`. Without any of them, the newest events are returned. */
export interface EventsRequest {
  /** The first LSN to return. */
  readonly from?: number | undefined
  /** Return the newest events below this LSN. */
  readonly before?: number | undefined
  /** Return events from this time on. */
  readonly since?: Date | undefined
  /** At most 500; default 100. */
  readonly limit?: number | undefined
  /** Only events of this collection, which may have been deleted. */
  readonly collection?: string | undefined
}

export interface EventPage {
  /** Oldest first. */
  readonly events: readonly PastEvent[]
  /** `from` of the page with newer events; undefined if there are none. */
  readonly next?: number
  /** `before` of the page with older events; undefined if there are none. */
  readonly previous?: number
  /** False while the server still reads the log. Another request reads further. */
  readonly complete: boolean
}

export interface ActivityRequest {
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** Approximate maximum number of intervals, at most 1,000; default 120. */
  readonly buckets?: number | undefined
  /** Only events of this collection, which may have been deleted. */
  readonly collection?: string | undefined
}

/** The events of one interval of time. */
export interface ActivityBucket {
  /** Start of the interval. */
  readonly time: Date
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly records: number
  /** Bytes in the log. */
  readonly bytes: number
  /** Numbers of objects. */
  readonly written: number
  readonly deleted: number
  readonly refiltered: number
  /** Records that created, deleted, rebuilt, or changed a collection, a database, or a token. */
  readonly changes: number
}

export interface Activity {
  readonly bucketSeconds: number
  /** Oldest first, without empty ones. */
  readonly buckets: readonly ActivityBucket[]
  /** The oldest state that a restore can reach; undefined if the server does not know it yet, and in an embedded engine. */
  readonly restorableFrom?: { readonly lsn: number; readonly time: Date }
  /** False while the server still reads the log. Another request reads further. */
  readonly complete: boolean
}
