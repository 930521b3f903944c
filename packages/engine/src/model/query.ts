// What a user asks of a collection, and what comes back.
import type { JsonObject, JsonValue } from './json.ts'
import type { DenseRow, MultiVector, SparseVector, StoredObject } from './object.ts'

/** The vector that a stored object has in the field; the object itself is left out of the results. */
export interface StoredQuery {
  readonly id: string
}

export interface FieldQuery {
  /** Of a multi-vector field: 1 to 256 vectors, or one alone. */
  readonly query: ArrayLike<number> | SparseVector | MultiVector | StoredQuery
  /** Results wanted; default 10. */
  readonly limit?: number
  /**
   * Pool of the graph walk; default 128, raised to `limit` where it is smaller. In a multi-vector field so many candidates are
   * compared member by member.
   */
  readonly ef?: number
  /** Hits less similar than this are left out. */
  readonly scoreThreshold?: number
}

/** One condition per entry, all of which must hold: `{ color: { $eq: 'red' } }`. */
export type FilterInput = readonly JsonObject[]

/**
 * One list out of those of the fields. `rrf` adds weight / (k + rank), ranks from 1; k is 60 when not given. `relative_score`
 * adds weight times the similarity as a share of the field's range, 0 for its last hit and 1 for its first.
 */
export interface Fusion {
  readonly method: 'rrf' | 'relative_score'
  readonly k?: number
  /** By field; 1 when not given. */
  readonly weights?: { readonly [field: string]: number }
  /** Fused results wanted; default 10. */
  readonly limit?: number
}

export interface SearchRequest {
  readonly fields: { readonly [field: string]: FieldQuery }
  readonly filter?: FilterInput
  /**
   * When at most so many objects match, each of them is compared. When not given, they are where that is cheaper than walking the
   * graph.
   */
  readonly prefilterCardinalityThreshold?: number
  /** Widens the pool of a filtered walk by so many per cent. */
  readonly filterBoostPercentage?: number
  readonly includeVectors?: boolean
  /** Orders the best candidates by the vectors as they came, read from disk; for fields that keep less than float32 in memory. */
  readonly rescore?: boolean
  readonly fusion?: Fusion
  /** Compares every match, whatever it costs: the answer that an approximate one is measured by. */
  readonly exact?: boolean
  /** Adds how the answer was found and what it cost. */
  readonly explain?: boolean
}

export interface SearchHit {
  readonly id: string
  /**
   * Higher is more similar: cosine; inner product; minus the squared distance for l2; the weight sum for sparse. For a
   * multi-vector field the mean, over the vectors of the query, of the similarity to the most similar member.
   */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine; minus the inner product; squared l2. */
  readonly distance: number
  /**
   * Length of the vector as it was given; for hits of sparse fields, that of the object's first dense vector, or 1; for hits
   * of multi-vector fields, that of the pooled vector.
   */
  readonly norm: number
  readonly meta: JsonObject | undefined
  readonly metaBytes: Uint8Array
  readonly filter: JsonObject
  readonly filterText: string
  /**
   * Only with includeVectors. `row` is as stored, `vector` as given (see DenseRow); for hits of sparse fields both are the
   * object's first dense vector, where it has one.
   */
  readonly row: Float32Array | undefined
  readonly vector: Float32Array | undefined
  /** Only with includeVectors, for hits of multi-vector fields, which have no `row` and `vector`. */
  readonly members: readonly DenseRow[] | undefined
  /** Plain values, as JSON.stringify shows them. */
  toJSON(): Record<string, unknown>
}

/** Where a hit stood in the list of one field, ranks from 1, and what it was worth there. */
export interface Standing {
  readonly field: string
  readonly rank: number
  readonly similarity: number
}

export interface FusedHit {
  /** As the first of its lists has it. */
  readonly hit: SearchHit
  readonly score: number
  readonly standings: readonly Standing[]
}

export interface SearchResult {
  /** Hits per requested field, best first; equal similarities in the order in which the objects were written. */
  readonly results: { readonly [field: string]: readonly SearchHit[] }
  /** Only with fusion: best first, equal scores by id. */
  readonly fused?: readonly FusedHit[]
  /** Every field has as many hits as were asked for, or all there are. */
  readonly complete: boolean
  /** Only with explain. */
  readonly explain?: Explanation
  /** The newest event the result reflects. */
  readonly lsn: number
}

/** How an answer was found. Times in milliseconds. */
export interface Explanation {
  /** Objects that match, counted exactly, and how long that took; undefined without a filter. */
  readonly filter: { readonly matches: number; readonly ms: number } | undefined
  readonly fields: { readonly [field: string]: FieldExplanation }
  readonly decorateMs: number
  readonly fuseMs: number
  readonly totalMs: number
}

export interface FieldExplanation {
  /** `nothing`: nothing can match; `scan`: every match was compared; `walk`: through the graph; `lists`: through inverted lists. */
  readonly plan: 'nothing' | 'scan' | 'walk' | 'lists'
  /** Why this plan, in a sentence. */
  readonly reason: string
  /** Pool of the walk, after boost and widening. */
  readonly ef?: number
  /** What the planner took the plans to cost, in comparisons. */
  readonly costs?: { readonly scan: number; readonly walk: number }
  /** Graph nodes, or postings. */
  readonly visited: number
  /** Comparisons, or rows scored whole. */
  readonly distances: number
  /** Candidates ordered anew by vectors read from disk: those that came, or the members of a multi-vector field. */
  readonly rescored?: number
  readonly ms: number
}

export interface ScrollRequest {
  readonly filter?: FilterInput
  /** Objects wanted; default 100. */
  readonly limit?: number
  /** Of the page before. */
  readonly cursor?: string
  /** Default true; ids, meta and filters alone are far less to read and to send. */
  readonly includeVectors?: boolean
}

export interface ScrollPage {
  readonly objects: readonly StoredObject[]
  /** For the next page; undefined on the last. */
  readonly cursor: string | undefined
  readonly lsn: number
}

export interface FacetRequest {
  /** A filter key. */
  readonly key: string
  readonly filter?: FilterInput
  /** Values wanted; default 10. */
  readonly limit?: number
}

export interface Facets {
  /** Strings, numbers and booleans that objects have under the key, most frequent first, equal counts by value. */
  readonly values: readonly { readonly value: JsonValue; readonly count: number }[]
  /** Distinct values there are. */
  readonly distinct: number
  readonly lsn: number
}

export interface RecallRequest {
  /** A field with a graph; the first one when not given. Of a multi-vector field the pooled vectors are asked for. */
  readonly field?: string
  /** Stored vectors to ask with; default 100, at most 1,000. */
  readonly sample?: number
  /** Results compared; default 10. */
  readonly limit?: number
  readonly ef?: number
}

export interface RecallReport {
  readonly field: string
  readonly sample: number
  /** Share of the exact answer that the index gives, ties counted as found; 1 when there is nothing to ask. */
  readonly recall: number
  readonly recallWorst: number
  readonly lsn: number
}

/** What a caller is ready to hold of one answer. */
export interface AnswerRoom {
  /** A page ends before it would take more bytes; one object it always has. */
  readonly pageBytesMax: number
  /** Called with the bytes of an answer, or of a part of it, before they are taken. Throws to refuse them. */
  take(bytes: number): void
}
