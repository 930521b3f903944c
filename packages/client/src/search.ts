// Requests to a collection and their results.
import type { Filter } from './filter.ts'
import type { Json, JsonObject, SparseVector } from './record.ts'
import type { StoredObject } from './stored-object.ts'

export interface FieldQuery {
  /**
   * A vector, sparse terms, several vectors in a multi-vector field, or `{ id }`: the vector of a stored object, which is left out of
   * the results.
   */
  readonly query: ArrayLike<number> | SparseVector | readonly ArrayLike<number>[] | { readonly id: string }
  /** Number of results; default 10. */
  readonly limit?: number | undefined
  /** Pool of the graph walk; default 128, at most 1,024. */
  readonly ef?: number | undefined
  /** Leaves out hits that are less similar than this. */
  readonly scoreThreshold?: number | undefined
}

/** Combines the lists of the fields by reciprocal ranks, or by similarities relative to their range. */
export interface Fusion {
  readonly method: 'rrf' | 'relative_score'
  /** Rank constant of rrf; default 60. */
  readonly k?: number | undefined
  /** Weights by field; default 1. */
  readonly weights?: { readonly [field: string]: number } | undefined
  /** Number of fused results; default 10. */
  readonly limit?: number | undefined
}

export interface SearchRequest {
  readonly fields: { readonly [field: string]: FieldQuery }
  readonly filter?: Filter | undefined
  /** If at most this many objects match the filter, each of them is compared. */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Enlarges the pool of a filtered graph walk by this percentage; at most 100. */
  readonly filterBoostPercentage?: number | undefined
  readonly includeVectors?: boolean | undefined
  /** Ranks the best candidates by the original vectors, for fields that keep less than float32 in memory. */
  readonly rescore?: boolean | undefined
  readonly fusion?: Fusion | undefined
  /** Compares every match. The result is exact, and the reference for recall. */
  readonly exact?: boolean | undefined
  /** Adds how the result was found and its cost. */
  readonly explain?: boolean | undefined
}

/** One neighbor. */
export interface SearchHit {
  readonly id: string
  /** Higher is more similar: the cosine, the inner product, minus the squared distance, or the weighted sum of sparse terms. */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine, minus the inner product, or the squared distance. */
  readonly distance: number
  readonly norm: number
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  /** Only with `includeVectors`. */
  readonly vector?: Float32Array | undefined
  /** Only with `includeVectors`, in a multi-vector field. */
  readonly vectors?: readonly Float32Array[] | undefined
}

export interface FusedHit {
  readonly id: string
  readonly score: number
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  /** The hit's position in the lists that contain it, ranks from 1. */
  readonly fields: { readonly [field: string]: { readonly rank: number; readonly similarity: number } }
}

export interface SearchResult {
  /** Hits by field, best first. */
  readonly results: { readonly [field: string]: readonly SearchHit[] }
  /** Only with `fusion`: best first. */
  readonly fused?: readonly FusedHit[] | undefined
  /** True if every field has as many hits as requested, or all there are. */
  readonly complete: boolean
  /** The newest event visible to the search. */
  readonly lsn: number
  /** Only with `explain`. */
  readonly explain?: JsonObject | undefined
}

export interface ScrollRequest {
  readonly filter?: Filter | undefined
  /** Objects per page; default 100. */
  readonly limit?: number | undefined
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined
}

export interface ScrollPage {
  readonly objects: readonly StoredObject[]
  /** The cursor of the next page; undefined on the last page. */
  readonly cursor: string | undefined
  readonly lsn: number
}

export interface FacetRequest {
  /** A filter key. */
  readonly key: string
  readonly filter?: Filter | undefined
  /** Number of values; default 10. */
  readonly limit?: number | undefined
}

export interface Facets {
  /** Most frequent first. */
  readonly values: readonly { readonly value: Json; readonly count: number }[]
  /** Number of distinct values. */
  readonly distinct: number
  readonly lsn: number
}

export interface RecallRequest {
  /** A dense field; by default the first one. */
  readonly field?: string | undefined
  /** Number of stored vectors to use as queries; default 100. */
  readonly sample?: number | undefined
  readonly limit?: number | undefined
  readonly ef?: number | undefined
}

export interface RecallReport {
  readonly field: string
  readonly sample: number
  /** Share of the exact results that the index returned. */
  readonly recall: number
  /** The recall of the worst query. */
  readonly recallWorst: number
  readonly lsn: number
}
