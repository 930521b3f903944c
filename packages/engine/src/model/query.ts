// Queries on a collection, and their results.

import type { SearchRecall } from './calibration.ts'
import type { ByMember, FieldName, Fields, FieldType } from './fields.ts'
import type { Filter } from './filter.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { AsOf, AsOfMoment } from './moment.ts'
import type { DenseRow, MultiVector, SparseVector, StoredObject } from './object.ts'

/** The vector of a stored object in the field; the object itself is excluded from the results. */
export interface StoredQuery {
  readonly id: string
}

/** How the words of a text are combined. */
export const textOperators = ['or', 'and'] as const
export type TextOperator = (typeof textOperators)[number]

interface Boosted {
  /** Multiplies its part of the score, from 0 to 1,000; default 1. */
  readonly boost?: number | undefined
}

/** Words: `or` if one of them is enough, `and` if a text must have all of them. */
export interface WordsClause extends Boosted {
  readonly words: string
  readonly operator?: TextOperator | undefined
}

/** Words one after another. */
export interface PhraseClause extends Boosted {
  readonly phrase: string
  /** How many places the words may be away from where the phrase has them, in total; 0 to 100, default 0. */
  readonly slop?: number | undefined
}

/** The beginning of a term as it is indexed: stemmed, if the field has a language. */
export interface PrefixClause extends Boosted {
  readonly prefix: string
}

/** A word, and terms that differ from it in a few letters. */
export interface FuzzyClause extends Boosted {
  readonly fuzzy: string
  /** Letters that are added, left out, or replaced: 1 or 2; default 1 for words of 3 to 5 letters, 2 for longer ones, 0 for shorter ones. */
  readonly edits?: number | undefined
}

/** A part of a query of a text field. A plain string stands for its words. */
export type TextClause = string | WordsClause | PhraseClause | PrefixClause | FuzzyClause

/** A query of a text field. It has at least one clause in `must` or `should`. */
export interface TextQuery {
  /** Each must match. The words of a string must all be there. */
  readonly must?: readonly TextClause[] | undefined
  /** Raise the score where they match; without `must`, one of them must match. The words of a string count one by one. */
  readonly should?: readonly TextClause[] | undefined
  /** None may match. A string excludes the texts with any of its words. */
  readonly mustNot?: readonly TextClause[] | undefined
}

/** Where the words of a query are in a text. */
export interface Highlight {
  /** The part of the text around most of the words. */
  readonly fragment: string
  /** Where the fragment begins in the text, in units of UTF-16. */
  readonly start: number
  /** The words in the fragment: first unit, and the one after the last, counted in the fragment. */
  readonly ranges: readonly (readonly [from: number, to: number])[]
}

/** A text whose vector the provider of the field makes. */
export interface EmbeddedQuery {
  readonly text: string
}

/** What a field of each type is searched with. */
export interface QueryValues {
  readonly vector: ArrayLike<number> | EmbeddedQuery
  readonly sparse: SparseVector
  /** Words, or a query of several clauses. */
  readonly text: string | TextQuery
  /** 1 to 256 vectors, or a single one. */
  readonly multi_vector: MultiVector | ArrayLike<number>
}

interface AnyFieldQuery<Type extends FieldType> {
  /** A value of the field's type, or `{ id }` for the value of a stored object. */
  readonly query: QueryValues[Type] | StoredQuery
  /** Maximum number of results; default 10. */
  readonly limit?: number | undefined
  /**
   * Beam width of the graph walk; default 128, raised to `limit` when smaller. In a multi-vector field this many
   * candidates are compared member by member.
   */
  readonly ef?: number | undefined
  /**
   * Recall to reach, from 0.01 to 0.999, instead of `ef`, which is then chosen by measurements on this field. The result's `recall` states
   * the choice. For fields with one vector for each object; searches in sparse fields are exact.
   */
  readonly recall?: number | undefined
  /** Hits with a lower similarity are excluded. */
  readonly scoreThreshold?: number | undefined
}

/** What a query of a text field has in addition. */
interface TextQueryOptions {
  /** For words as query: `and` if a text must have all of them; default `or`. */
  readonly operator?: TextOperator | undefined
  /** Hits have a `highlight`. */
  readonly highlight?: boolean | undefined
  /** Instead of that of the field. */
  readonly k1?: number | undefined
  /** Instead of that of the field. */
  readonly b?: number | undefined
}

/** The query of a field of the type; without a type, of any field. */
export type FieldQuery<Type extends FieldType = FieldType> = AnyFieldQuery<Type> &
  ('text' extends Type ? TextQueryOptions : unknown)

/**
 * Combines the lists of the fields into one. `rrf` adds weight / (k + rank), with ranks from 1 and k = 60 by default.
 * `relative_score` adds the weight times the similarity scaled to the field's range: 0 for its last hit and 1 for its
 * first.
 */
export interface Fusion<Name extends string = string> {
  readonly method: 'rrf' | 'relative_score'
  readonly k?: number | undefined
  /** Keyed by field; default 1. */
  readonly weights?: { readonly [Field in Name]?: number } | undefined
  /** Maximum number of fused results; default 10. */
  readonly limit?: number | undefined
}

/**
 * Returns the best groups of objects instead of the best objects. A group is the objects that have a value under a filter key, such as the
 * chunks of one document; an object with an array is in the group of each of its elements. Objects without a string, number, or boolean
 * under the key are left out.
 */
export interface GroupBy {
  /** A filter key. */
  readonly key: string
  /** Maximum number of groups; default: the `limit` of the field, or that of the fusion. */
  readonly limit?: number | undefined
  /** Maximum number of hits of each group, from 1 to 100; default 1. */
  readonly hits?: number | undefined
  /** Number of the best groups to leave out, for the next page; default 0. */
  readonly offset?: number | undefined
}

export interface SearchRequest<F extends Fields = Fields, Name extends FieldName<F> = FieldName<F>> {
  /** At least one field. */
  readonly fields: { readonly [Field in Name]: FieldQuery<F[Field]> }
  readonly filter?: Filter | undefined
  /**
   * When at most this many objects match, each of them is compared. By default the cheaper of that and the graph walk
   * is used.
   */
  readonly prefilterCardinalityThreshold?: number | undefined
  /** Widens the beam of a filtered walk by this many percent. */
  readonly filterBoostPercentage?: number | undefined
  readonly includeVectors?: boolean | undefined
  /**
   * Reorders the best candidates by the original vectors, read from disk; for fields that store less than float32 in
   * memory. Default: true for fields of `binary`, `int2`, and `int4`, false for others. Without it, a field reports what its codes estimate.
   */
  readonly rescore?: boolean | undefined
  readonly fusion?: Fusion<NoInfer<Name>> | undefined
  /**
   * Groups the hits. Then every `limit` is a number of groups, and the result has `groups`; with fusion the hits of the groups of each field
   * are fused, and the result has `fusedGroups`.
   */
  readonly groupBy?: GroupBy | undefined
  /**
   * Compares the original vector of every match, whatever the cost: the reference for approximate results. Reads them from disk
   * if the field stores less than float32 in memory.
   */
  readonly exact?: boolean | undefined
  /** Adds how the result was found and its cost. */
  readonly explain?: boolean | undefined
  /** The result includes the write with this LSN: the search waits for it, at most 5 s, and fails with `lsn_not_reached`. */
  readonly minLsn?: number | undefined
  /** Searches the collection as of a moment. All searches of a batch have the same. */
  readonly asOf?: AsOf | undefined
}

/** What the vectors of a hit are, by the type of the searched field. */
interface HitRows {
  readonly vector: Float32Array | undefined
  readonly sparse: Float32Array | undefined
  readonly text: Float32Array | undefined
  readonly multi_vector: undefined
}

interface HitMembers<Row> {
  readonly vector: undefined
  readonly sparse: undefined
  readonly text: undefined
  readonly multi_vector: readonly Row[] | undefined
}

/** A hit as the library and the client return it. `Row` is what they return for one member of a multi-vector field. */
export interface FoundObject<Type extends FieldType, Meta extends object | undefined, Row> {
  readonly id: string
  /**
   * Higher is more similar: cosine; inner product; negated squared distance for l2; sum of weights for sparse; BM25 for text. For a
   * multi-vector field the mean, over the vectors of the query, of the similarity to the most similar member.
   */
  readonly similarity: number
  /** Lower is more similar: 1 - cosine; negated inner product; squared l2. */
  readonly distance: number
  /**
   * The norm that came with the vector, otherwise its length; for hits of sparse fields, that of the object's first dense
   * vector, or 1; for hits of multi-vector fields, that of the pooled vector.
   */
  readonly norm: number
  /** Undefined when the object has no metadata, or metadata that is not a JSON object. */
  readonly meta: Meta
  readonly filter: JsonObject
  /** When the object expires, in milliseconds since 1970; undefined: never. */
  readonly expiresAt?: number | undefined
  /** Only with includeVectors: the vector as given; for hits of sparse fields the object's first dense vector, if it has one. */
  readonly vector: HitRows[Type]
  /** Only with includeVectors, for hits of multi-vector fields, which have no `vector`. */
  readonly members: HitMembers<Row>[Type]
  /** Only in a text field, if it was requested. */
  readonly highlight?: Highlight | undefined
}

export interface SearchHit<Type extends FieldType = FieldType, Meta extends object | undefined = JsonObject | undefined>
  extends FoundObject<Type, Meta, DenseRow> {
  readonly metaBytes: Uint8Array
  readonly filterText: string
  /** Only with includeVectors: `vector` as sent (see DenseRow). */
  readonly row: HitRows[Type]
  /** Plain values, suitable for JSON.stringify. */
  toJSON(): Record<string, unknown>
}

/** The position of a hit in the list of one field, ranks from 1, and its score there. */
export interface Standing<Name extends string = string> {
  readonly field: Name
  readonly rank: number
  readonly similarity: number
  /** That of the hit in the list, if the query of a text field requests it. */
  readonly highlight?: Highlight
}

/** A hit of the combined list. */
export interface Fused<Hit, Name extends string = string> {
  /** Taken from the first of its lists. */
  readonly hit: Hit
  readonly score: number
  readonly standings: readonly Standing<Name>[]
}

export type FusedHit<
  F extends Fields = Fields,
  Name extends FieldName<F> = FieldName<F>,
  Meta extends object | undefined = JsonObject | undefined,
> = Fused<SearchHit<F[Name], Meta>, Name>

/** A group of hits, best first. Groups are in the order of their best hits. */
export interface HitGroup<Hit> {
  /** What the objects have under the key: the hits are those of the same search with the filter `{ [key]: { $eq: value } }`. */
  readonly value: string | number | boolean
  /** Each is also in the list of all hits. */
  readonly hits: readonly Hit[]
}

/** The hits of a search in all its lists. */
export interface HitLists<Hit> {
  readonly results: { readonly [field: string]: readonly Hit[] }
  readonly fused?: readonly Fused<Hit>[] | undefined
  readonly groups?: { readonly [field: string]: readonly HitGroup<Hit>[] } | undefined
  readonly fusedGroups?: readonly HitGroup<Fused<Hit>>[] | undefined
}

/** What the result of a search says besides its hits. */
export interface SearchReport<Name extends string = string> {
  /** Whether every field has as many hits as requested, or all that exist. */
  readonly complete: boolean
  /** How ef was chosen, for the fields whose query states a recall. */
  readonly recall?: { readonly [Field in Name]?: SearchRecall }
  /** Only with explain. */
  readonly explain?: Explanation<Name>
  /** The newest event that the result reflects. */
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

export interface SearchResult<
  F extends Fields = Fields,
  Name extends FieldName<F> = FieldName<F>,
  Meta extends object | undefined = JsonObject | undefined,
> extends SearchReport<Name> {
  /** Hits for each requested field, best first; equal similarities in the order in which the objects were written. */
  readonly results: { readonly [Field in Name]: readonly SearchHit<F[Field], Meta>[] }
  /** Only with fusion: best first, equal scores by id. */
  readonly fused?: readonly FusedHit<F, Name, Meta>[]
  /** Only with groupBy. */
  readonly groups?: { readonly [Field in Name]: readonly HitGroup<SearchHit<F[Field], Meta>>[] }
  /** Only with groupBy and fusion. */
  readonly fusedGroups?: readonly HitGroup<FusedHit<F, Name, Meta>>[]
}

/** One of several searches; each of them can search other fields. */
export interface BatchedRequest<F extends Fields = Fields> extends Omit<SearchRequest<F>, 'fields' | 'fusion'> {
  /** At least one field. A field without a query is not searched. */
  readonly fields: { readonly [Field in FieldName<F>]?: FieldQuery<F[Field]> | undefined }
  readonly fusion?: Fusion<FieldName<F>> | undefined
}

export interface BatchedResult<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined>
  extends SearchReport {
  /** Hits for each requested field, best first. */
  readonly results: ByMember<
    string extends keyof F
      ? { readonly [field: string]: readonly SearchHit<FieldType, Meta>[] }
      : { readonly [Field in FieldName<F>]?: readonly SearchHit<F[Field], Meta>[] }
  >
  /** Only with fusion: best first, equal scores by id. */
  readonly fused?: readonly FusedHit<F, FieldName<F>, Meta>[]
  /** Only with groupBy. */
  readonly groups?: ByMember<
    string extends keyof F
      ? { readonly [field: string]: readonly HitGroup<SearchHit<FieldType, Meta>>[] }
      : { readonly [Field in FieldName<F>]?: readonly HitGroup<SearchHit<F[Field], Meta>>[] }
  >
  /** Only with groupBy and fusion. */
  readonly fusedGroups?: readonly HitGroup<FusedHit<F, FieldName<F>, Meta>>[]
}

/** How a result was found. Times in milliseconds. */
export interface Explanation<Name extends string = string> {
  /** The exact number of objects that match, and the time to find them; undefined without a filter. */
  readonly filter: { readonly matches: number; readonly ms: number } | undefined
  readonly fields: { readonly [Field in Name]: FieldExplanation }
  readonly decorateMs: number
  readonly fuseMs: number
  readonly totalMs: number
}

export interface FieldExplanation {
  /**
   * `nothing`: nothing can match; `scan`: every match was compared; `walk`: through the graph; `lists`: through
   * inverted lists.
   */
  readonly plan: 'nothing' | 'scan' | 'walk' | 'lists'
  /** The reason for this plan, in a sentence. */
  readonly reason: string
  /** Beam width of the walk, after boost and widening. */
  readonly ef?: number
  /** The planner's cost estimates, in comparisons. */
  readonly costs?: { readonly scan: number; readonly walk: number }
  /** In a text field: the terms that were searched, and how many texts have each; at most 32. */
  readonly terms?: readonly { readonly term: string; readonly rows: number }[]
  /** Graph nodes, or postings. */
  readonly visited: number
  /** Comparisons, or rows scored in full precision. */
  readonly distances: number
  /** Candidates reordered by vectors read from disk: original vectors, or the members of a multi-vector field. */
  readonly rescored?: number
  /** With groupBy: the number of searches that found the groups. Counts are those of all of them. */
  readonly searches?: number
  readonly ms: number
}

/** What the text of a field must match: the query of a search, and its operator. */
export interface TextCondition {
  readonly query: string | TextQuery
  /** For words as query: `and` if a text must have all of them; default `or`. */
  readonly operator?: TextOperator | undefined
}

/** Conditions on texts, by text field. All must hold. An object without the text does not match. */
export type TextMatch<Name extends string = string> = { readonly [Field in Name]?: TextCondition | undefined }

/** A count of objects with conditions on texts. */
export interface CountRequest {
  readonly filter?: Filter | undefined
  readonly match: TextMatch
}

/** Which contents of their fields objects are returned with. */
export interface ContentOptions {
  /** Default true; ids, meta and filters alone are much less data. Sparse terms count as vectors. */
  readonly includeVectors?: boolean | undefined
  /** Whether objects have their texts; default: as `includeVectors`. */
  readonly includeTexts?: boolean | undefined
}

export interface ScrollRequest extends ContentOptions {
  readonly filter?: Filter | undefined
  readonly match?: TextMatch | undefined
  /** Maximum number of objects; default 100. */
  readonly limit?: number | undefined
  /** From the previous page. */
  readonly cursor?: string | undefined
  /** Pages through the collection as of a moment, which the cursor keeps. */
  readonly asOf?: AsOf | undefined
}

export interface ScrollPage<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined> {
  readonly objects: readonly StoredObject<F, Meta>[]
  /** For the next page; undefined on the last. */
  readonly cursor: string | undefined
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

export interface FacetRequest {
  /** A filter key. */
  readonly key: string
  readonly filter?: Filter | undefined
  readonly match?: TextMatch | undefined
  /** Maximum number of values; default 10. */
  readonly limit?: number | undefined
  /** Counts in the collection as of a moment. */
  readonly asOf?: AsOf | undefined
}

export interface Facets {
  /** Strings, numbers and booleans stored under the key, most frequent first, equal counts by value. */
  readonly values: readonly { readonly value: JsonValue; readonly count: number }[]
  /** Number of distinct values. */
  readonly distinct: number
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

export interface RecallRequest<Name extends string = string> {
  /** A field with a graph; default: the first one. For a multi-vector field the pooled vectors are used. */
  readonly field?: Name | undefined
  /** Number of stored vectors used as queries; default 100, at most 1,000. */
  readonly sample?: number | undefined
  /** Results compared; default 10. */
  readonly limit?: number | undefined
  readonly ef?: number | undefined
  /** Measures the collection as of a moment. */
  readonly asOf?: AsOf | undefined
}

export interface RecallReport {
  readonly field: string
  readonly sample: number
  /**
   * Share of the exact result that a search with default settings finds, ties counted as found; 1 when there are no queries. The
   * exact result of a field that is rescored by default compares the original vectors, that of other precisions the rows in memory.
   */
  readonly recall: number
  readonly recallWorst: number
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

/** The response size that a caller accepts. */
export interface AnswerRoom {
  /** A page ends before it exceeds this many bytes; it always has at least one object. */
  readonly pageBytesMax: number
  /** Called with the bytes of a response, or of a part of it, before they are allocated. Throws to refuse them. */
  take(bytes: number): void
}
