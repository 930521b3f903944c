// The tagged union of everything that can happen. An event states an outcome: applying it needs no clock, no chance and
// no question asked of the outside.
import type { FieldDefinition } from '../definition.ts'
import type { HashSeed } from '../memory/id-hash.ts'

interface InCollection {
  /** Milliseconds since 1970, never earlier than the record before. */
  readonly timeMs: number
  readonly collectionId: number
}

export interface CollectionCreated extends InCollection {
  readonly kind: 'collection-created'
  readonly databaseId: number
  readonly name: string
  readonly fields: readonly FieldDefinition[]
  /** Secret of the collection's id table, chosen at random once. */
  readonly hashSeed: HashSeed
}

export interface CollectionDropped extends InCollection {
  readonly kind: 'collection-dropped'
}

/** Values of one dense field for some of the objects of an upsert. */
export interface DenseColumn {
  /** Position in the collection's fields. */
  readonly field: number
  /** Positions of the objects that have the field, ascending. */
  readonly objects: Uint32Array
  /** objects.length x dimension, row-major; of unit length for cosine. */
  readonly vectors: Float32Array
  readonly norms: Float32Array
}

export interface SparseColumn {
  readonly field: number
  readonly objects: Uint32Array
  /** Terms of each of `objects`. */
  readonly counts: Uint32Array
  readonly indices: Uint32Array
  readonly values: Float32Array
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
  readonly fields: readonly FieldDefinition[]
}

export type CatalogEvent = CollectionCreated | CollectionDropped
export type ObjectEvent = ObjectsUpserted | ObjectsDeleted | FiltersReplaced
export type Event = CatalogEvent | ObjectEvent | CollectionRebuilt
