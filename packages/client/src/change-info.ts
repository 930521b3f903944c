// The change feed as the client returns it.
import type { Filter, JsonObject } from './model.ts'

/** Which changes to follow, and from where. */
export interface ChangesRequest {
  /** The first LSN. By default the feed begins after the newest record. */
  readonly from?: number | undefined
  /** Begin after the position of this cursor; at `from` as long as it does not exist. */
  readonly cursor?: string | undefined
  /** Only changes of collections that have one of these names at the change. */
  readonly collections?: readonly string[] | undefined
  /** Only changes of these kinds. */
  readonly kinds?: readonly ChangeKind[] | undefined
  /** Only objects that satisfy all conditions after the change; the ids of the others are in `left`. */
  readonly filter?: Filter | undefined
  /** Written objects come with their vectors. Default: false. */
  readonly includeVectors?: boolean | undefined
}

/** What a change did. A newer server may have more kinds. */
export type ChangeKind =
  | 'collection-created'
  | 'collection-dropped'
  | 'collection-rebuilt'
  | 'collection-restored'
  | 'fields-changed'
  | 'objects-upserted'
  | 'objects-deleted'
  | 'objects-expired'
  | 'filters-replaced'
  | 'objects-patched'
  | 'objects-restored'
  | 'alias-put'
  | 'alias-dropped'
  | 'collection-promoted'
  | (string & {})

/** A vector, the members of a multi-vector field, a sparse vector, or a text. */
export type ChangedValue =
  | string
  | ArrayLike<number>
  | readonly ArrayLike<number>[]
  | { readonly indices: ArrayLike<number>; readonly values: ArrayLike<number> }

/** An object after a change, as far as the change wrote it. */
export interface ChangedObject {
  readonly id: string
  readonly meta?: JsonObject
  readonly filter?: JsonObject
  /** Milliseconds since 1970, if the object expires; absent also if the change did not write it. */
  readonly expiresAt?: number
  /** Vectors and texts by field, with `includeVectors`. */
  readonly fields?: { readonly [field: string]: ChangedValue }
}

/** The effect of one record of the log. */
export interface Change {
  readonly lsn: number
  readonly time: Date
  readonly kind: ChangeKind
  /**
   * Its name just after the record. Of a change of an alias: where it leads, or led before it was deleted. Absent in a `notice`.
   */
  readonly collection?: string
  /** Name of an alias that was put or deleted. */
  readonly alias?: string
  /** The name of the collection that the promoted one, `collection`, replaced, since then. */
  readonly keptAs?: string
  /** Objects that were written. */
  readonly objects?: readonly ChangedObject[]
  /** Ids that were deleted, without a filter. */
  readonly deleted?: readonly string[]
  /** With a filter: changed ids whose objects do not satisfy it any more, or never did. */
  readonly left?: readonly string[]
  /**
   * Only in a `notice`: the records that are needed next are about to be removed, first those up to `removedNextLsn`, which is `margin` LSNs
   * ahead.
   */
  readonly removedNextLsn?: number
  readonly margin?: number
}

/** Changes that arrived together. */
export interface ChangeBatch {
  readonly changes: readonly Change[]
  /** Continue after this LSN. */
  readonly lsn: number
}

/** The position of a consumer, kept in the log. */
export interface Cursor {
  readonly name: string
  readonly lsn: number
  readonly updatedAt: Date
}

/** The position of a cursor after an acknowledgement. */
export interface CursorPlace {
  readonly lsn: number
  /** Whether it is in the log already; otherwise it is there within about a second. */
  readonly durable: boolean
}
