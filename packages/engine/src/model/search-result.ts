// Results of a search: hits, and what a search reports about itself.

import type { SearchRecall } from './calibration.ts'
import type { ByMember, FieldName, Fields, FieldType } from './fields.ts'
import type { JsonObject } from './json.ts'
import type { AsOfMoment } from './moment.ts'
import type { DenseRow } from './object.ts'
import type { Highlight } from './query.ts'

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
  /** Only with includeTexts: the texts of the object, by field. */
  readonly texts?: { readonly [field: string]: string } | undefined
  /** Only in a text field, if it was requested. */
  readonly highlight?: Highlight | undefined
}

/** A hit of the library: what the client has, and the stored bytes. */
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

/** A hit of a fused list, with its score and its ranks in the lists of the fields. */
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

/** The result of a search: the hits of each field, and with `fusion` and `groupBy` further lists. All are as of one moment. */
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

/** The result of one search of a batch. All searches of a batch see the same version. */
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

/** How one field was searched, and what it cost. `ms` are milliseconds. */
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
