// The public interface of a database's history. database-history.ts implements it.

import type { Moment } from './backups.ts'
import type { Event } from './event.ts'
import type { Filter } from './filter.ts'
import type { JsonValue } from './json.ts'
import type { Acknowledgement } from './object.ts'
import type { Author, WriteOptions } from './requests.ts'

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
  /** Absent if it is unknown: in records of earlier versions, and in those of writes without a token and an actor. */
  readonly author?: Author
  /** Name of an alias that was put or deleted; `collection` is where it leads. */
  readonly alias?: string
  /** The name of the collection that the promoted one, `collection`, replaced, since then. */
  readonly keptAs?: string
  /** New properties of a changed database. */
  readonly active?: boolean
}

/** A long log is read in steps. Until all of it was read, `complete` is false and another call reads further. */
export interface HistoryProgress {
  readonly complete: boolean
  readonly segmentsRead: number
  readonly segments: number
}

/** The interval of time whose activity is counted, by default the whole history, and its resolution. */
export interface ActivityRequest {
  /** Milliseconds since 1970. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Approximate maximum number of bars; default 120. */
  readonly buckets?: number
  readonly collection?: string
}

/** The activity of one part of the requested interval: numbers of records, of their bytes, and of objects. */
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

/** The activity of a database in equal intervals of time, in milliseconds. */
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

/** A page of events of a database. */
export interface EventPage extends HistoryProgress {
  /** Oldest first; empty before the log was read. */
  readonly events: readonly PastEvent[]
  /** `from` of the next page, with newer events. */
  readonly next?: number
  /** `before` of the previous page, with older events. */
  readonly previous?: number
}

/** Which versions of an object to return. */
export interface VersionsRequest {
  readonly collection: string
  readonly id: string
  /** The first LSN to return; default 0. */
  readonly from?: number | undefined
  /** The last LSN to return; default the newest. */
  readonly to?: number | undefined
  /** At most 500; default 100. */
  readonly limit?: number | undefined
}

/** Values by key, before and after; absent where the key is. */
export interface ChangedValues {
  readonly [key: string]: { readonly before?: JsonValue; readonly after?: JsonValue }
}

/** A version of an object, as one record of the log made it. */
export interface ObjectVersion {
  readonly lsn: number
  /** Milliseconds since 1970. Absent for `earlier`. */
  readonly timeMs?: number
  /**
   * - `created`: the object did not exist before. `written`: it was replaced, or it is not known whether it existed.
   * - `restored`: an undo gave it the content that it had at `asOfLsn`, or deleted it because it did not exist then.
   * - `expired`: it was deleted because its expiry had passed.
   * - `earlier`: it existed at this LSN; what made it is no longer in the log, and was written at or before this LSN.
   */
  readonly kind: 'created' | 'written' | 'filter-updated' | 'patched' | 'deleted' | 'expired' | 'restored' | 'earlier'
  /** Whether the object exists as of this version. */
  readonly exists: boolean
  readonly asOfLsn?: number
  /** Absent if it is unknown. */
  readonly author?: Author
  /** Absent where the version before is not known. */
  readonly changes?: {
    readonly meta: ChangedValues
    /** Set if meta that is not a JSON object changed. */
    readonly metaBytes?: true
    readonly filter: ChangedValues
    /** The expiry before and after, in milliseconds since 1970, if it changed. */
    readonly expiresAt?: ChangedValues[string]
    /** Names of the fields whose vectors or texts changed. */
    readonly fields: readonly string[]
  }
}

/** A page of versions of an object. */
export interface VersionPage extends HistoryProgress {
  /** Oldest first. May be empty though `next` says that there may be more: a call reads only a part of a long log. */
  readonly versions: readonly ObjectVersion[]
  /** `from` of the next page. */
  readonly next?: number
}

/** Two moments of a collection. */
export interface DiffRequest {
  readonly collection: string
  readonly from: Moment
  /** Default: now. */
  readonly to?: Moment | undefined
}

/** What became of an object between two moments. */
export interface ObjectChange {
  readonly id: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** Which objects to restore, and to which moment. */
export interface UndoRequest {
  readonly collection: string
  /** At most 10,000. Either these or a filter. */
  readonly ids?: readonly string[] | undefined
  /** Objects that match now, and those that matched then. */
  readonly filter?: Filter | undefined
  readonly asOf: Moment
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean | undefined
  /** The objects do not expire, including those that have expired since. By default they get the expiry that they had. */
  readonly keepExpired?: boolean | undefined
}

/** What an undo changed. */
export interface Undone extends Acknowledgement {
  /** Number of restored objects: all that were written or deleted since. */
  readonly restored: number
  /** Number of deleted objects: those that did not exist then. */
  readonly deleted: number
  /** The moment. */
  readonly asOfLsn: number
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
  /**
   * Pages through the versions of an object, oldest first. Throws collection_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * const { versions } = await database.history.versions({ collection: 'films', id: 'alien' })
   * for (const { lsn, kind, author, changes } of versions) console.log(lsn, kind, author?.actor, changes)
   * ```
   */
  versions(request: VersionsRequest): Promise<VersionPage>
  /**
   * Yields the objects that differ between two moments, in the order in which they were first written after the first moment. Builds the collection
   * as of each moment, one after the other, in memory. At most 1,000,000 objects may have been written between them. Throws
   * restore_unreachable, limit_exceeded, collection_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * for await (const { id, change } of database.history.diff({ collection: 'films', from: { lsn: 120 } })) console.log(change, id)
   * ```
   */
  diff(request: DiffRequest): AsyncGenerator<ObjectChange>
  /**
   * Restores the content that objects had at a moment, all or none, and deletes objects that did not exist then. Their content may take at
   * most 32 MiB together. `backups.restoreStatus` reports the progress, and `backups.cancelRestore` cancels it. Throws restore_unreachable, limit_exceeded,
   * cancelled, collection_not_found, invalid_argument, invalid_filter, read_only.
   *
   * @example
   * ```ts
   * const request = { collection: 'films', filter: [{ source: { $eq: 'agent 7' } }], asOf: { lsn: 120 } }
   * const { restored, deleted } = await database.history.undo({ ...request, dryRun: true })
   * console.log(restored, deleted)
   * await database.history.undo(request, { actor: 'operator' })
   * ```
   */
  undo(request: UndoRequest, options?: WriteOptions): Promise<Undone>
}
