// The vectors that an index stores and returns.
import type { Filter, FilterValues, JsonObject, JsonValue, SparseVector } from './model.ts'

/** @deprecated Use JsonValue. */
export type Json = JsonValue

/** A vector to store. It replaces the whole record with the same id. */
export interface VectorRecord {
  readonly id: string
  /** As many numbers as the index has dimensions, not normalized. They are returned as 32-bit floats. */
  readonly vector: ArrayLike<number>
  /** Data to return with the vector. Bytes are returned unchanged. */
  readonly meta?: JsonObject | Uint8Array | undefined
  /** Values that filters can test. */
  readonly filter?: FilterValues | undefined
  /** Only in an index with a sparse dimension. */
  readonly sparse?: SparseVector | undefined
}

/** A stored vector. */
export interface StoredVector {
  readonly id: string
  /** The original vector, bit for bit, unless the index keeps no originals. */
  readonly vector: Float32Array
  /** Length of the original vector. */
  readonly norm: number
  /** Bytes if the stored meta is not a JSON object. */
  readonly meta: JsonObject | Uint8Array | undefined
  readonly filter: JsonObject
  readonly sparse?: { readonly indices: Uint32Array; readonly values: Float32Array } | undefined
}

/** One neighbor of a query. */
export interface Hit {
  readonly id: string
  /** Higher is more similar: the cosine, the inner product, or minus the squared distance. */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine, minus the inner product, or the squared distance. */
  readonly distance: number
  readonly norm: number
  readonly meta: JsonObject | Uint8Array | undefined
  readonly filter: JsonObject
  /** Only with `includeVectors`, in the form of StoredVector. */
  readonly vector?: Float32Array | undefined
}

/** A search of an index, by a dense vector, sparse terms, or both. */
export interface Query {
  /** The dense query. Optional in a hybrid index if `sparse` is given. */
  readonly vector?: ArrayLike<number> | undefined
  readonly sparse?: SparseVector | undefined
  /** Number of neighbors to return; default 10, at most 512. */
  readonly topK?: number | undefined
  /** Search quality: a larger pool finds more of the true neighbors and takes longer; default 128, at most 1024. */
  readonly ef?: number | undefined
  readonly filter?: Filter | undefined
  /** Also return the vectors; default false. */
  readonly includeVectors?: boolean | undefined
  /** Searches exactly among the matches of the filter if there are at most this many; by default, if that is cheaper than a walk. */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Enlarges the pool of a filtered graph search by this percentage; default 0, at most 100. */
  readonly filterBoostPercentage?: number | undefined
}
