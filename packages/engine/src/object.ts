// What a user stores and gets back: id, meta, filter values, one value per field.
import type { JsonObject } from './json.ts'

export interface SparseVector {
  /** Unique, each below the field's dimension. */
  readonly indices: ArrayLike<number>
  /** As many as indices; finite. */
  readonly values: ArrayLike<number>
}

/** A cosine vector whose length the caller took out already; `vector` is of unit length and `norm` what it was. */
export interface UnitVector {
  readonly vector: ArrayLike<number>
  readonly norm: number
}

export type FieldValue = ArrayLike<number> | UnitVector | SparseVector

export interface ObjectInput {
  /** 1 to 512 bytes of well-formed text, unique in the collection. */
  readonly id: string
  /** An object is kept as JSON; bytes are kept and given back as they are. */
  readonly meta?: JsonObject | Uint8Array
  /** An object, or its JSON text, which is then given back as it came. */
  readonly filter?: JsonObject | string
  readonly fields: { readonly [field: string]: FieldValue }
}

/** Durable at `lsn`, and visible to every search that starts after it. */
export interface Acknowledgement {
  readonly lsn: number
  readonly durable: boolean
}

/** An object read back. Meta and filter are decoded when asked for; the bytes they were stored as are there too. */
export interface StoredObject {
  readonly id: string
  /** The stored JSON (plain or zlib), or undefined when the bytes are neither or absent. */
  readonly meta: JsonObject | undefined
  /** Empty when the object has no meta. */
  readonly metaBytes: Uint8Array
  readonly filter: JsonObject
  /** '' when the object has no filter. */
  readonly filterText: string
  /** Dense fields of the object. */
  readonly dense: { readonly [field: string]: DenseRow }
  readonly sparse: { readonly [field: string]: { readonly indices: Uint32Array; readonly values: Float32Array } }
}

export interface DenseRow {
  /** De-quantised from the field's precision; of unit length for cosine. */
  readonly row: Float32Array
  readonly norm: number
  /** The vector as it was given: for cosine row times norm, else row. */
  readonly vector: Float32Array
}

export interface FieldQuery {
  readonly query: ArrayLike<number> | SparseVector
  /** Results wanted; default 10. */
  readonly limit?: number
  /** Pool of the graph walk; default 128, raised to `limit` where it is smaller. */
  readonly ef?: number
}

/** One condition per entry, all of which must hold: `{ color: { $eq: 'red' } }`. */
export type FilterInput = readonly JsonObject[]

export interface SearchRequest {
  readonly fields: { readonly [field: string]: FieldQuery }
  readonly filter?: FilterInput
  readonly prefilterCardinalityThreshold?: number
  readonly filterBoostPercentage?: number
  readonly includeVectors?: boolean
}

export interface SearchHit {
  readonly id: string
  /** Higher is more similar: cosine; inner product; minus the squared distance for l2; the weight sum for sparse. */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine; minus the inner product; squared l2. */
  readonly distance: number
  readonly norm: number
  readonly meta: JsonObject | undefined
  readonly metaBytes: Uint8Array
  readonly filter: JsonObject
  readonly filterText: string
  /** Only with includeVectors. `row` is as stored, `vector` as given (see DenseRow). */
  readonly row: Float32Array | undefined
  readonly vector: Float32Array | undefined
  /** Plain values, as JSON.stringify shows them. */
  toJSON(): Record<string, unknown>
}

export interface SearchResult {
  /** Hits per requested field, best first. */
  readonly results: { readonly [field: string]: readonly SearchHit[] }
  /** The newest event the result reflects. */
  readonly lsn: number
}

export interface CollectionDescription {
  readonly name: string
  readonly fields: readonly FieldDescription[]
  readonly objects: number
  /** Milliseconds since 1970, from the event that created it. */
  readonly createdAt: number
  readonly lsn: number
  /** Bytes of memory by part. */
  readonly memory: { readonly [part: string]: number }
  readonly condition: 'ready' | 'loading' | 'quarantined'
  readonly reason?: string
}

export type FieldDescription = import('./definition.ts').FieldDefinition & { readonly elements: number }
