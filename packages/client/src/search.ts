// What is asked of a collection, and what comes back.
import type { Filter } from './filter.ts'
import type { Json, JsonObject, SparseVector } from './record.ts'
import type { StoredObject } from './stored-object.ts'

export interface FieldQuery {
  /** A vector, sparse terms, several vectors in a field of several, or `{ id }`: the vector of a stored object, which is itself left out of the results. */
  readonly query: ArrayLike<number> | SparseVector | readonly ArrayLike<number>[] | { readonly id: string }
  /** Results wanted; default 10. */
  readonly limit?: number | undefined
  /** Pool of the graph walk; default 128, at most 1,024. */
  readonly ef?: number | undefined
  /** Hits less similar than this are left out. */
  readonly scoreThreshold?: number | undefined
}

/** One list out of those of the fields, by reciprocal ranks or by similarities as shares of their range. */
export interface Fusion {
  readonly method: 'rrf' | 'relative_score'
  /** Rank constant of rrf; default 60. */
  readonly k?: number | undefined
  /** By field; default 1 each. */
  readonly weights?: { readonly [field: string]: number } | undefined
  /** Fused results wanted; default 10. */
  readonly limit?: number | undefined
}

export interface SearchRequest {
  readonly fields: { readonly [field: string]: FieldQuery }
  readonly filter?: Filter | undefined
  /** When at most so many objects match the filter, each of them is compared. */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Widens the pool of a filtered graph walk by so many per cent; at most 100. */
  readonly filterBoostPercentage?: number | undefined
  readonly includeVectors?: boolean | undefined
  /** Orders the best candidates by the vectors as they came, for fields that keep less than float32 in memory. */
  readonly rescore?: boolean | undefined
  readonly fusion?: Fusion | undefined
  /** Compares every match: the answer that an approximate one is measured by. */
  readonly exact?: boolean | undefined
  /** Adds how the answer was found and what it cost. */
  readonly explain?: boolean | undefined
}

/** One neighbour. */
export interface SearchHit {
  readonly id: string
  /** Higher is more similar: the cosine, the inner product, minus the squared distance, or the weight sum of sparse terms. */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine, minus the inner product, or the squared distance. */
  readonly distance: number
  readonly norm: number
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  /** Only with `includeVectors`. */
  readonly vector?: Float32Array | undefined
  /** Only with `includeVectors`, in a field of several. */
  readonly vectors?: readonly Float32Array[] | undefined
}

export interface FusedHit {
  readonly id: string
  readonly score: number
  readonly meta: JsonObject | Uint8Array
  readonly filter: JsonObject
  /** Where the hit stood in the lists that had it, ranks from 1. */
  readonly fields: { readonly [field: string]: { readonly rank: number; readonly similarity: number } }
}

export interface SearchResult {
  /** By field, best first. */
  readonly results: { readonly [field: string]: readonly SearchHit[] }
  /** Only with `fusion`: best first. */
  readonly fused?: readonly FusedHit[] | undefined
  /** Every field has as many hits as were asked for, or all there are. */
  readonly complete: boolean
  /** The newest event the answer reflects. */
  readonly lsn: number
  /** Only with `explain`. */
  readonly explain?: JsonObject | undefined
}

export interface ScrollRequest {
  readonly filter?: Filter | undefined
  /** Objects of one page; default 100. */
  readonly limit?: number | undefined
  /** Of the page before. */
  readonly cursor?: string | undefined
}

export interface ScrollPage {
  readonly objects: readonly StoredObject[]
  /** Of the next page; undefined on the last. */
  readonly cursor: string | undefined
  readonly lsn: number
}

export interface FacetRequest {
  /** A filter key. */
  readonly key: string
  readonly filter?: Filter | undefined
  /** Values wanted; default 10. */
  readonly limit?: number | undefined
}

export interface Facets {
  /** Most frequent first. */
  readonly values: readonly { readonly value: Json; readonly count: number }[]
  /** Distinct values there are. */
  readonly distinct: number
  readonly lsn: number
}

export interface RecallRequest {
  /** A dense field; the first one when not given. */
  readonly field?: string | undefined
  /** Stored vectors to ask with; default 100. */
  readonly sample?: number | undefined
  readonly limit?: number | undefined
  readonly ef?: number | undefined
}

export interface RecallReport {
  readonly field: string
  readonly sample: number
  /** Share of the exact answer that the index gives. */
  readonly recall: number
  /** Of the worst question. */
  readonly recallWorst: number
  readonly lsn: number
}
