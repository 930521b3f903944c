// The objects that a collection stores and returns: id, meta, filter values and one value per field.
import type { FilterValues } from './filter.ts'
import type { JsonObject, SparseVector } from './record.ts'

/** The numbers of a dense field, the terms of a sparse field, or the vectors of a multi-vector field. */
export type FieldValue = ArrayLike<number> | SparseVector | readonly ArrayLike<number>[]

/** An object to store. It replaces the whole object with the same id. */
export interface ObjectRecord {
  readonly id: string
  /** Data to return with the object. Bytes are returned unchanged. */
  readonly meta?: JsonObject | Uint8Array | undefined
  /** Values that filters can test. */
  readonly filter?: FilterValues | undefined
  /** Values by field; fields are optional. Vectors are the originals, not normalized. */
  readonly fields: { readonly [field: string]: FieldValue }
}

export interface StoredDense {
  /** The original vector, bit for bit, unless the field keeps no originals. */
  readonly vector: Float32Array
  /** Length of the original vector. */
  readonly norm: number
}

export interface StoredSparse {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** A stored object. */
export interface StoredObject {
  readonly id: string
  /** Empty if there is none; bytes if the stored meta is not a JSON object. */
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  readonly dense: { readonly [field: string]: StoredDense }
  readonly sparse: { readonly [field: string]: StoredSparse }
  /** Multi-vector fields: the original vectors. */
  readonly multi: { readonly [field: string]: readonly Float32Array[] }
}

/** Durable at `lsn`, unless the server is configured not to wait for the disk, and visible to every search that starts afterwards. */
export interface Acknowledgement {
  readonly lsn: number
  readonly durable: boolean
}
