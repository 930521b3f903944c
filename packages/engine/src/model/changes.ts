// The change feed of a database: every change of its collections, in the order of the log. change-feed.ts implements it.
import type { ControlEvent, Event } from './event.ts'
import type { Filter } from './filter.ts'
import type { JsonObject } from './json.ts'
import type { Acknowledgement } from './object.ts'
import type { WriteOptions } from './requests.ts'

/** What a record of the log did. Changes of tokens, settings, and the database itself are not part of the feed. */
export type ChangeKind = Exclude<Event['kind'], ControlEvent['kind'] | 'expiries-cleared'>

/** Which changes to deliver, and from where. */
export interface ChangesRequest {
  /** The first LSN to deliver. Default: after the newest record. */
  readonly from?: number | undefined
  /**
   * Name of a cursor: the stream begins after the LSN that it acknowledged. Without that cursor it begins at `from`, which is then
   * required.
   */
  readonly cursor?: string | undefined
  /** Only changes of collections that have one of these names at the change. A collection that is created later counts. Default: all. */
  readonly collections?: readonly string[] | undefined
  /** Only changes of these kinds. Default: all. */
  readonly kinds?: readonly ChangeKind[] | undefined
  /**
   * Only objects whose filter values after the change satisfy all conditions; the ids of other changed objects are in `left`. Changes
   * that write no objects are delivered as without a filter.
   */
  readonly filter?: Filter | undefined
  /** Delivers vectors with written objects. Default: false. */
  readonly includeVectors?: boolean | undefined
  /** Ends the iterator. */
  readonly signal?: AbortSignal | undefined
}

/** A vector, sparse terms, the vectors of a multi-vector field, or a text, as given. */
export type ChangedValue =
  | string
  | Float32Array
  | readonly Float32Array[]
  | { readonly indices: Uint32Array; readonly values: Float32Array }

/** An object after a change, as far as the change wrote it. */
export interface ChangedObject {
  readonly id: string
  /** The metadata; absent if the change did not write it, or if it is not a JSON object. */
  readonly meta?: JsonObject
  /** The filter values; absent if the change did not write them. */
  readonly filter?: JsonObject
  /** Milliseconds since 1970, if the object expires; absent also if the change did not write it. */
  readonly expiresAt?: number
  /** Vectors and texts by field, with `includeVectors`, where the change wrote them. */
  readonly fields?: { readonly [field: string]: ChangedValue }
}

/** The effect of one record of the log. Consumers share it: do not change it. */
export interface RecordedChange {
  readonly kind: ChangeKind
  readonly lsn: number
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** Its name just after the record. Of a change of an alias: where it leads, or led before it was deleted. */
  readonly collection: string
  /** Name of an alias that was put or deleted. */
  readonly alias?: string
  /** The name of the collection that the promoted one, `collection`, replaced, since then. */
  readonly keptAs?: string
  /** Objects that the change wrote, in its order. */
  readonly objects?: readonly ChangedObject[]
  /** Ids that the change deleted. Without a filter only; some may not have existed. */
  readonly deleted?: readonly string[]
  /**
   * With a filter: changed ids whose objects do not satisfy it after the change, or are deleted. Some may not have satisfied it before
   * either, or may not have existed.
   */
  readonly left?: readonly string[]
}

/** The records that the consumer needs next are about to be removed from the log and its archive. */
export interface PlaceNotice {
  readonly kind: 'notice'
  /** The last LSN that was delivered or filtered out. */
  readonly lsn: number
  readonly timeMs: number
  /** Records up to this LSN are removed first. */
  readonly removedNextLsn: number
  /** How many LSNs the consumer must advance before they are. */
  readonly margin: number
}

/** What a consumer of the change feed gets: a change, or a notice that records are about to be removed. */
export type Change = RecordedChange | PlaceNotice

/** Changes that are delivered together. */
export interface ChangeBatch {
  /** In the order of the log; empty if all were filtered out. */
  readonly changes: readonly Change[]
  /** Every change up to this LSN was delivered or filtered out: continue after it. */
  readonly lsn: number
}

/** Changes of a database from an LSN on. It ends when its signal is aborted or the engine closes. Iterate over it once. */
export interface ChangeStream extends AsyncIterable<Change> {
  /**
   * The same changes in batches, with the LSN that each batch reaches.
   *
   * @example
   * ```ts
   * for await (const { changes, lsn } of database.changes({ from: 1 }).batches()) console.log(changes.length, lsn)
   * ```
   */
  batches(): AsyncIterable<ChangeBatch>
}

/** The position of a consumer of the change feed. */
export interface Cursor {
  readonly name: string
  /** The consumer has processed every change up to this LSN. */
  readonly lsn: number
  /** Milliseconds since 1970: when the place was last written to the log. */
  readonly updatedAt: number
}

/**
 * Durable places of consumers, so that one that died continues where it acknowledged. At most 100 in a database. They keep no records of
 * the log: a consumer that is away for longer than the history reaches gets feed_position_lost.
 */
export interface Cursors {
  /**
   * Lists the cursors, with the newest places acknowledged.
   *
   * @example
   * ```ts
   * for (const { name, lsn } of database.cursors.list()) console.log(name, lsn)
   * ```
   */
  list(): readonly Cursor[]
  /**
   * Acknowledges every change up to an LSN, and creates the cursor if it is new. A lower LSN than before changes nothing. The
   * first call for a cursor is durable when it resolves. Later ones are written to the log at most once a second and when the engine
   * closes, so after a crash the consumer may get changes again. Throws invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * await database.cursors.acknowledge('cache', engine.lsnApplied)
   * ```
   */
  acknowledge(name: string, lsn: number): Promise<{ readonly lsn: number; readonly durable: boolean }>
  /**
   * Throws feed_cursor_not_found.
   *
   * @example
   * ```ts
   * await database.cursors.delete('cache')
   * ```
   */
  delete(name: string, options?: WriteOptions): Promise<Acknowledgement>
}
