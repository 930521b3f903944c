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

/** Vectors of a multi-vector field, 1 to 2,048 of them; a vector alone is one. */
export type MultiVector = ArrayLike<ArrayLike<number>>

export type FieldValue = ArrayLike<number> | UnitVector | SparseVector | MultiVector

export interface ObjectInput {
  /** 1 to 512 bytes of well-formed text, unique in the collection. */
  readonly id: string
  /** An object is kept as JSON; bytes are kept and given back as they are. */
  readonly meta?: JsonObject | Uint8Array
  /** An object, or its JSON text, which is then given back as it came. */
  readonly filter?: JsonObject | string
  readonly fields: { readonly [field: string]: FieldValue }
}

/** The whole filter of one object, in place of the one it has. */
export interface FilterUpdate {
  readonly id: string
  /** An object, or its JSON text; '' for an object without filter values. */
  readonly filter: JsonObject | string
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
  /** Multi-vector fields of the object: its members, in the order in which they were given. */
  readonly multi: { readonly [field: string]: readonly DenseRow[] }
}

export interface DenseRow {
  /** De-quantised from the field's precision (members of multi-vector fields are kept whole); of unit length for cosine. */
  readonly row: Float32Array
  readonly norm: number
  /** The vector as it was given: for cosine row times norm, else row. */
  readonly vector: Float32Array
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

export type FieldDescription = import('./schema.ts').FieldSchema & { readonly elements: number }
