// What is stored and what comes back.
import type { Filter, FilterValues } from './filter.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export interface SparseVector {
  /** Positions of the non-zero terms, each once. */
  readonly indices: ArrayLike<number>
  /** As many as indices. */
  readonly values: ArrayLike<number>
}

/** A vector to store. The whole record is replaced when its id is there already. */
export interface VectorRecord {
  readonly id: string
  /** As many numbers as the index has dimensions, not normalized. They come back as float32 has them. */
  readonly vector: ArrayLike<number>
  /** Anything that should come back with the vector. Bytes are given back as they are. */
  readonly meta?: JsonObject | Uint8Array | undefined
  /** Values that filters can ask for. */
  readonly filter?: FilterValues | undefined
  /** Only in an index with a sparse dimension. */
  readonly sparse?: SparseVector | undefined
}

/** A vector read back. */
export interface StoredVector {
  readonly id: string
  /** As it was given, bit for bit, unless the index keeps no originals. */
  readonly vector: Float32Array
  /** Length of the vector as it was given. */
  readonly norm: number
  /** Bytes where what is stored is not a JSON object. */
  readonly meta: JsonObject | Uint8Array | undefined
  readonly filter: JsonObject
  readonly sparse?: { readonly indices: Uint32Array; readonly values: Float32Array } | undefined
}

/** One neighbour of a query. */
export interface Hit {
  readonly id: string
  /** Higher is more similar: the cosine, the inner product, or minus the squared distance. */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine, minus the inner product, or the squared distance. */
  readonly distance: number
  readonly norm: number
  readonly meta: JsonObject | Uint8Array | undefined
  readonly filter: JsonObject
  /** Only with `includeVectors`, and then as in StoredVector. */
  readonly vector?: Float32Array | undefined
}

export interface Query {
  /** The dense query; may be left out in a hybrid index when `sparse` is given. */
  readonly vector?: ArrayLike<number> | undefined
  readonly sparse?: SparseVector | undefined
  /** How many neighbours to return; default 10, at most 512. */
  readonly topK?: number | undefined
  /** Search quality: a larger pool finds more of the true neighbours and takes longer; default 128, at most 1024. */
  readonly ef?: number | undefined
  readonly filter?: Filter | undefined
  /** Also return the vectors; default false. */
  readonly includeVectors?: boolean | undefined
  /** Search exactly among the matches of the filter when there are no more than this; when not given, where that is cheaper than a walk. */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Enlarges the pool of a filtered graph search by this percentage; default 0, at most 100. */
  readonly filterBoostPercentage?: number | undefined
}
