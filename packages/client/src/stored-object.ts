// What a collection stores and gives back: id, meta, filter values, one value per field.
import type { FilterValues } from './filter.ts'
import type { JsonObject, SparseVector } from './record.ts'

/** The numbers of a dense field, the terms of a sparse one, or the vectors of a field of several. */
export type FieldValue = ArrayLike<number> | SparseVector | readonly ArrayLike<number>[]

/** An object to store. The whole object is replaced when its id is there already. */
export interface ObjectRecord {
  readonly id: string
  /** Anything that should come back with the object. Bytes are given back as they are. */
  readonly meta?: JsonObject | Uint8Array | undefined
  /** Values that filters can ask for. */
  readonly filter?: FilterValues | undefined
  /** By name; a field may be left out. Vectors are given as they are, not normalised. */
  readonly fields: { readonly [field: string]: FieldValue }
}

export interface StoredDense {
  /** As it was given, bit for bit, unless the field keeps no originals. */
  readonly vector: Float32Array
  /** Length of the vector as it was given. */
  readonly norm: number
}

export interface StoredSparse {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** An object read back. */
export interface StoredObject {
  readonly id: string
  /** Empty where there is none; bytes where what is stored is not a JSON object. */
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  readonly dense: { readonly [field: string]: StoredDense }
  readonly sparse: { readonly [field: string]: StoredSparse }
  /** Fields of several vectors: as they were given. */
  readonly multi: { readonly [field: string]: readonly Float32Array[] }
}

/** Durable at `lsn` unless the server was told not to wait for the disk, and visible to every search that starts afterwards. */
export interface Acknowledgement {
  readonly lsn: number
  readonly durable: boolean
}
