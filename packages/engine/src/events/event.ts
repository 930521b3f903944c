// The tagged union of everything that can happen. An event states an outcome: applying it needs no clock, no chance and
// no question asked of the outside.

import type { HashSeed } from '../memory/id-hash.ts'
import type { DatabaseType, TokenFacts } from '../model/database.ts'
import type { FieldSchema } from '../model/schema.ts'

interface Timed {
  /** Milliseconds since 1970, never earlier than the record before. */
  readonly timeMs: number
}

interface InCollection extends Timed {
  readonly collectionId: number
}

interface InDatabase extends Timed {
  readonly databaseId: number
}

export interface CollectionCreated extends InCollection {
  readonly kind: 'collection-created'
  readonly databaseId: number
  readonly name: string
  readonly fields: readonly FieldSchema[]
  /** Secret of the collection's id table, chosen at random once. */
  readonly hashSeed: HashSeed
}

/** A collection that exists from now on with what an image holds: files that stay as long as the log may be replayed. */
export interface CollectionRestored extends Omit<CollectionCreated, 'kind'> {
  readonly kind: 'collection-restored'
  /** Names the folder of `imports/` that holds the image. */
  readonly importId: string
  readonly imageSha256: string
  /** Of the state that the image stands for; empty when it was not known. */
  readonly digest: string
}

export interface CollectionDropped extends InCollection {
  readonly kind: 'collection-dropped'
}

/** With its first token, so that there is no moment in which nobody can use it. */
export interface DatabaseCreated extends InDatabase {
  readonly kind: 'database-created'
  readonly name: string
  readonly type: DatabaseType
  readonly token?: TokenFacts
}

/** It is gone with all it held: the collections named here, its tokens. */
export interface DatabaseDropped extends InDatabase {
  readonly kind: 'database-dropped'
  readonly collectionIds: readonly number[]
}

/** Both facts as they are from now on. */
export interface DatabaseChanged extends InDatabase {
  readonly kind: 'database-changed'
  readonly type: DatabaseType
  readonly active: boolean
}

export interface TokenPut extends InDatabase {
  readonly kind: 'token-put'
  readonly token: TokenFacts
}

export interface TokenDropped extends InDatabase {
  readonly kind: 'token-dropped'
  readonly name: string
}

/** A fact that whoever owns the directory keeps in it under a key; the engine does not know what it means. */
export interface SettingPut extends Timed {
  readonly kind: 'setting-put'
  readonly key: string
  readonly value: string
}

/** Values of one dense field for some of the objects of an upsert. */
export interface DenseColumn {
  /** Position in the collection's fields. */
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** objects.length x dimension, row-major; for cosine of unit length, but where `forms` says otherwise. */
  readonly vectors: Float32Array
  readonly norms: Float32Array
  /** A `vectorForm` for each object; absent where all are `unit`. */
  readonly forms?: Uint8Array
}

export interface SparseColumn {
  readonly field: number
  readonly objects: Uint32Array
  /** Terms of each of `objects`. */
  readonly counts: Uint32Array
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** Members of one multi-vector field for some of the objects of an upsert. */
export interface MultiColumn {
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** Members of each of `objects`, at least one. */
  readonly counts: Uint32Array
  /** As they came; all members of all objects one after another, row-major. */
  readonly vectors: Float32Array
}

export interface ObjectsUpserted extends InCollection {
  readonly kind: 'objects-upserted'
  readonly ids: readonly string[]
  /** One per id; empty for none. */
  readonly metas: readonly Uint8Array[]
  /** One per id; '' for none. */
  readonly filters: readonly string[]
  readonly dense: readonly DenseColumn[]
  readonly sparse: readonly SparseColumn[]
  readonly multi: readonly MultiColumn[]
}

export interface ObjectsDeleted extends InCollection {
  readonly kind: 'objects-deleted'
  readonly ids: readonly string[]
}

export interface FiltersReplaced extends InCollection {
  readonly kind: 'filters-replaced'
  readonly ids: readonly string[]
  readonly filters: readonly string[]
}

/** Every live object is taken over, in the order of ordinals, into a replica with these fields. */
export interface CollectionRebuilt extends InCollection {
  readonly kind: 'collection-rebuilt'
  readonly fields: readonly FieldSchema[]
}

/** Events of what exists besides collections. */
export type ControlEvent = DatabaseCreated | DatabaseDropped | DatabaseChanged | TokenPut | TokenDropped | SettingPut
export type CatalogEvent = CollectionCreated | CollectionRestored | CollectionDropped | ControlEvent
export type ObjectEvent = ObjectsUpserted | ObjectsDeleted | FiltersReplaced
export type Event = CatalogEvent | ObjectEvent | CollectionRebuilt
