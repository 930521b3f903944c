// What a server or an engine returns about its history.
import type { Filter, JsonValue } from './model.ts'

/** The kind of an event of the log. */
export type EventType =
  | 'collection-created'
  | 'collection-dropped'
  | 'collection-rebuilt'
  | 'collection-restored'
  | 'objects-upserted'
  | 'objects-deleted'
  | 'objects-expired'
  | 'filters-replaced'
  | 'objects-patched'
  | 'fields-changed'
  | 'database-created'
  | 'database-dropped'
  | 'database-changed'
  | 'token-put'
  | 'token-dropped'
  | 'setting-put'
  | 'cursor-put'
  | 'cursor-dropped'
  | 'request-answered'
  | 'alias-put'
  | 'alias-dropped'
  | 'collection-promoted'
  | 'objects-restored'

/** Who made a write. */
export interface Author {
  /** Name of the token: that of a database, `root`, or `owner`. Empty without a token. */
  readonly token: string
  /** What the writer said. Empty if it said nothing. */
  readonly actor: string
}

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
  /** Who made the write; undefined if it is unknown. */
  readonly author?: Author
  /** Name of an alias that was put or deleted; `collection` is where it leads. */
  readonly alias?: string
  /** The name of the collection that the promoted one, `collection`, replaced, since then. */
  readonly keptAs?: string
  /** Whether a changed database is active. */
  readonly active?: boolean
}

/** Values by key, before and after; absent where the key is. */
export interface ChangedValues {
  readonly [key: string]: { readonly before?: JsonValue; readonly after?: JsonValue }
}

/** A version of an object, as one write made it. */
export interface ObjectVersion {
  readonly lsn: number
  /**
   * `written`: it was replaced, or it is not known whether it existed. `earlier`: it existed at this LSN, and was written at or before it.
   * `restored`: an undo gave it the content that it had at `asOfLsn`.
   */
  readonly kind: 'created' | 'written' | 'filter-updated' | 'patched' | 'deleted' | 'expired' | 'restored' | 'earlier'
  /** Whether the object exists as of this version. */
  readonly exists: boolean
  /** Absent for `earlier`. */
  readonly time?: Date
  readonly author?: Author
  readonly asOfLsn?: number
  /** Absent where the version before is not known. */
  readonly changes?: {
    readonly meta: ChangedValues
    /** Set if meta that is not a JSON object changed. */
    readonly metaBytes?: true
    /** The expiry before and after, in milliseconds since 1970, if it changed. */
    readonly expiresAt?: ChangedValues[string]
    readonly filter: ChangedValues
    /** Names of the fields whose vectors or texts changed. */
    readonly fields: readonly string[]
  }
}

/** The LSNs whose versions are returned; by default all, oldest first. */
export interface VersionsRequest {
  /** The first LSN to return. */
  readonly from?: number | undefined
  /** The last LSN to return. */
  readonly to?: number | undefined
  /** At most 500; default 100. */
  readonly limit?: number | undefined
}

/** A page of versions of an object. */
export interface VersionPage {
  /** Oldest first; may be empty though there is a next page. */
  readonly versions: readonly ObjectVersion[]
  /** `from` of the next page; undefined if there is none. */
  readonly next?: number
  /** False while the server still reads the log. Another request reads further. */
  readonly complete: boolean
}

/** A moment of the past: just after a record, or at a time. */
export type PastMoment = { readonly lsn: number } | { readonly time: Date }

/** Two moments of a collection. */
export interface DiffRequest {
  readonly from: PastMoment
  /** Default: now. */
  readonly to?: PastMoment | undefined
}

/** What became of an object between two moments. */
export interface ObjectChange {
  readonly id: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** Which objects to restore, and to which moment. */
export interface UndoRequest {
  /** At most 10,000. Either these or a filter. */
  readonly ids?: readonly string[] | undefined
  /** Objects that match now, and those that matched then. */
  readonly filter?: Filter | undefined
  readonly asOf: PastMoment
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean | undefined
  /** The objects do not expire, including those that have expired since. By default they get the expiry that they had. */
  readonly keepExpired?: boolean | undefined
}

/** What an undo changed: numbers of objects, and the moment. */
export interface Undone {
  readonly lsn: number
  readonly durable: boolean
  readonly restored: number
  /** Number of deleted objects: those that did not exist then. */
  readonly deleted: number
  readonly asOfLsn: number
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

/** A page of events of the database. */
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

/** The interval of time whose activity is counted, by default the whole history, and its resolution. */
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

/** The activity of the database in equal intervals of time. */
export interface Activity {
  readonly bucketSeconds: number
  /** Oldest first, without empty ones. */
  readonly buckets: readonly ActivityBucket[]
  /** The oldest state that a restore can reach; undefined if the server does not know it yet, and in an embedded engine. */
  readonly restorableFrom?: { readonly lsn: number; readonly time: Date }
  /** False while the server still reads the log. Another request reads further. */
  readonly complete: boolean
}
