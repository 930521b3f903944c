// The tagged union of all events. An event states an outcome: applying it needs no clock, no randomness, and no other input.
import type { HashSeed } from '../memory/id-hash.ts'
import type { DatabaseType, TokenFacts } from './database-facts.ts'
import type { FieldSchema } from './schema.ts'

interface Timed {
  /** Milliseconds since 1970, never earlier than the previous record. */
  readonly timeMs: number
}

interface InCollection extends Timed {
  readonly collectionId: number
}

interface InDatabase extends Timed {
  readonly databaseId: number
}

/** A new, empty collection with these fields. */
export interface CollectionCreated extends InCollection {
  readonly kind: 'collection-created'
  readonly databaseId: number
  readonly name: string
  readonly fields: readonly FieldSchema[]
  /** Objects expire this many seconds after they are written, unless the write says otherwise. */
  readonly ttlSeconds?: number
  /** Secret of the collection's id table, generated once. */
  readonly hashSeed: HashSeed
}

/** A new collection with the content of an image, whose files stay as long as the log may be replayed. */
export interface CollectionRestored extends Omit<CollectionCreated, 'kind' | 'ttlSeconds'> {
  readonly kind: 'collection-restored'
  /** Name of the folder in `imports/` with the image. */
  readonly importId: string
  readonly imageSha256: string
  /** Digest of the state of the image; empty if it was unknown. */
  readonly digest: string
  /** The collection that it is a branch of. */
  readonly parent?: BranchParent
}

/** Where a branch begins. */
export interface BranchParent {
  readonly id: number
  /** The branch has the content of the parent as of this record. */
  readonly lsn: number
}

/** The collection is deleted with its content. */
export interface CollectionDropped extends InCollection {
  readonly kind: 'collection-dropped'
}

/** An alias is created, or points to this collection from now on. */
export interface AliasPut extends InDatabase {
  readonly kind: 'alias-put'
  readonly name: string
  /** Id of the collection. Not `collectionId`: the record is none of the collection's content. */
  readonly targetId: number
}

/** The alias is deleted. */
export interface AliasDropped extends InDatabase {
  readonly kind: 'alias-dropped'
  readonly name: string
}

/** A collection takes the name of another one, which gets another name, and the aliases that point to the other one. */
export interface CollectionPromoted extends InDatabase {
  readonly kind: 'collection-promoted'
  readonly promotedId: number
  readonly replacedId: number
  /** The name of the replaced collection from now on. */
  readonly keptAs: string
}

/** Includes the first token, so that the database is usable from the start. */
export interface DatabaseCreated extends InDatabase {
  readonly kind: 'database-created'
  readonly name: string
  readonly type: DatabaseType
  readonly token?: TokenFacts
}

/** The database is deleted with its content: the collections listed here, and its tokens. */
export interface DatabaseDropped extends InDatabase {
  readonly kind: 'database-dropped'
  readonly collectionIds: readonly number[]
}

/** Both new values of the database. */
export interface DatabaseChanged extends InDatabase {
  readonly kind: 'database-changed'
  readonly type: DatabaseType
  readonly active: boolean
}

/** A token is created, or replaced under its name; only its hash is stored. */
export interface TokenPut extends InDatabase {
  readonly kind: 'token-put'
  readonly token: TokenFacts
}

/** The token is revoked. */
export interface TokenDropped extends InDatabase {
  readonly kind: 'token-dropped'
  readonly name: string
}

/** A value that the owner of the directory keeps under a key; the engine does not interpret it. */
export interface SettingPut extends Timed {
  readonly kind: 'setting-put'
  readonly key: string
  readonly value: string
}

/** The consumer of this name has processed every change up to an LSN. */
export interface CursorPut extends InDatabase {
  readonly kind: 'cursor-put'
  readonly name: string
  readonly lsn: number
}

/** The position of the consumer is forgotten. */
export interface CursorDropped extends InDatabase {
  readonly kind: 'cursor-dropped'
  readonly name: string
}

/** A write with a request key found nothing to change. The record only keeps the key. */
export interface RequestAnswered extends Timed {
  readonly kind: 'request-answered'
}

/** Values of one dense field for some of the objects of an upsert. */
export interface DenseColumn {
  /** Position of the field in the definition. */
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** objects.length x dimension, row-major; unit vectors for cosine unless `forms` says otherwise. */
  readonly vectors: Float32Array
  readonly norms: Float32Array
  /** A `vectorForm` for each object; absent if all are `unit`. */
  readonly forms?: Uint8Array
}

/** Values of one sparse field for some of the objects of an upsert. */
export interface SparseColumn {
  readonly field: number
  readonly objects: Uint32Array
  /** Number of terms of each of `objects`. */
  readonly counts: Uint32Array
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** Texts of one text field for some of the objects of an upsert. */
export interface TextColumn {
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** One for each of `objects`. */
  readonly texts: readonly string[]
}

/** Members of one multi-vector field for some of the objects of an upsert. */
export interface MultiColumn {
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** Number of members of each of `objects`, at least one. */
  readonly counts: Uint32Array
  /** As given: all members of all objects one after another, row-major. */
  readonly vectors: Float32Array
}

/**
 * Objects are inserted, or replace those with the same ids. Values are in columns, one for each field. The expiry of an object is in its
 * filter, see model/stored-text.ts.
 */
export interface ObjectsUpserted extends InCollection {
  readonly kind: 'objects-upserted'
  readonly ids: readonly string[]
  /** One for each id; empty for none. */
  readonly metas: readonly Uint8Array[]
  /** One for each id; '' for none. */
  readonly filters: readonly string[]
  readonly dense: readonly DenseColumn[]
  readonly sparse: readonly SparseColumn[]
  readonly multi: readonly MultiColumn[]
  readonly text: readonly TextColumn[]
}

/** Objects get the content that they had at an earlier moment; those that did not exist then are deleted. */
export interface ObjectsRestored extends Omit<ObjectsUpserted, 'kind'> {
  readonly kind: 'objects-restored'
  readonly deleted: readonly string[]
  /** The moment: the state just after this record. */
  readonly asOfLsn: number
}

/** Objects are deleted by id. */
export interface ObjectsDeleted extends InCollection {
  readonly kind: 'objects-deleted'
  readonly ids: readonly string[]
}

/** Objects have expired: they are deleted for good. */
export interface ObjectsExpired extends InCollection {
  readonly kind: 'objects-expired'
  readonly ids: readonly string[]
}

/** No object expires any more. Such a record follows those of an image; the log has none. */
export interface ExpiriesCleared extends InCollection {
  readonly kind: 'expiries-cleared'
}

/** The filter values of objects are replaced; everything else stays, their expiry as well. */
export interface FiltersReplaced extends InCollection {
  readonly kind: 'filters-replaced'
  readonly ids: readonly string[]
  readonly filters: readonly string[]
}

/** Objects have this meta and these filter values from now on; their vectors stay. */
export interface ObjectsPatched extends InCollection {
  readonly kind: 'objects-patched'
  readonly ids: readonly string[]
  /** The whole meta of each; empty for none. */
  readonly metas: readonly Uint8Array[]
  /** The whole filter of each with its expiry; '' for none. */
  readonly filters: readonly string[]
}

/** The collection has these fields and this default expiry from now on. Only defaults of searches and of writes differ from before. */
export interface FieldsChanged extends InCollection {
  readonly kind: 'fields-changed'
  readonly fields: readonly FieldSchema[]
  readonly ttlSeconds?: number
}

/** Every live object is moved to a replica with these fields, in the order of ordinals. */
export interface CollectionRebuilt extends InCollection {
  readonly kind: 'collection-rebuilt'
  readonly fields: readonly FieldSchema[]
}

/** Events that change the catalog, except those of collections. */
export type ControlEvent =
  | DatabaseCreated
  | DatabaseDropped
  | DatabaseChanged
  | TokenPut
  | TokenDropped
  | SettingPut
  | CursorPut
  | CursorDropped
  | RequestAnswered
/** Events that change which collection a name leads to. */
export type NameEvent = AliasPut | AliasDropped | CollectionPromoted
/** Events that change which collections, databases, tokens, and settings exist. */
export type CatalogEvent = CollectionCreated | CollectionRestored | CollectionDropped | NameEvent | ControlEvent
/** Events that change a collection in place. */
export type ObjectEvent =
  | ObjectsUpserted
  | ObjectsRestored
  | ObjectsDeleted
  | ObjectsExpired
  | ExpiriesCleared
  | FiltersReplaced
  | ObjectsPatched
  | FieldsChanged
/** Any event. */
export type Event = CatalogEvent | ObjectEvent | CollectionRebuilt
