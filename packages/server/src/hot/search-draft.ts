// What the keys of the body of a search say, and the search that they mean together.
import type {
  CollectionSchema,
  FieldQuery,
  FieldSchema,
  Filter,
  Fusion,
  SearchRequest,
  TextOperator,
} from '@annal/engine'
import { isCoarse, type ReaderSearch, topKDefault } from '@annal/engine/reader'

/** What the meaning of a body depends on. */
export interface SearchContext {
  readonly definition: CollectionSchema
  /** Limits of the database, at most those of the server. */
  readonly topKMax: number
  readonly filterBoostMax: number
  /** The vector, if the body has it outside of its keys. Undefined if it does not have the dimension, or a number is not finite. */
  readonly outside?: (dimension: number) => Float32Array | undefined
}

/** A search that a thread may run itself. */
export type HotSearch =
  /** Of one dense field by a vector, or of one text field by words. Its reply is written from the bytes of the hits. */
  { readonly kind: 'plain'; readonly search: ReaderSearch } | { readonly kind: 'full'; readonly request: SearchRequest }

/** What the keys of a search say. */
export interface Draft {
  readonly context: SearchContext
  readonly fields: FieldDraft[]
  filter?: Filter
  prefilterThreshold?: number
  boost?: number
  prefilterParameter?: number
  boostParameter?: number
  exact?: boolean
  rescore?: boolean
  includeVectors?: boolean
  fusion?: { -readonly [K in keyof Fusion]?: Fusion[K] }
  minLsn?: number
  /** Of a search in /api/v1. */
  limit?: number
  ef?: number
  recall?: number
  vector?: Float32Array
  sparseIndices?: Uint32Array
  sparseValues?: Float32Array
  denseWeight?: number
  rankConstant?: number
}

/** What the keys of the query of one field say. */
export interface FieldDraft {
  readonly context: SearchContext
  readonly field: FieldSchema
  query?: FieldQuery['query'] | undefined
  limit?: number
  ef?: number
  efSearch?: number
  recall?: number
  scoreThreshold?: number
  /** Of a text field. */
  operator?: TextOperator
  k1?: number
  b?: number
}

export function searchOf(draft: Draft): HotSearch | undefined {
  const [only] = draft.fields
  if (only === undefined) return undefined
  if (draft.fields.length === 1 && isPlain(draft, only)) {
    const search = plainSearchOf(draft, only)
    return search && { kind: 'plain', search }
  }
  const request = requestOf(draft)
  return request && { kind: 'full', request }
}

/** Whether nothing but the rows or the lists in memory is needed. */
function isPlain({ includeVectors, rescore, fusion }: Draft, { field, query, ...effort }: FieldDraft): boolean {
  if (includeVectors === true || rescore !== undefined || fusion !== undefined) return false
  if (field.kind === 'dense') return query instanceof Float32Array && !isCoarse(field.params.precision)
  // Efforts mean nothing to texts, but a reply may state a recall.
  const { ef, efSearch, recall } = effort
  return field.kind === 'text' && typeof query === 'string' && (ef ?? efSearch ?? recall) === undefined
}

function plainSearchOf(draft: Draft, only: FieldDraft): ReaderSearch | undefined {
  const { filter, exact, boostPercentage, prefilterThreshold } = tuningOf(draft)
  const { field, query, limit = topKDefault, recall, scoreThreshold, operator, k1, b } = only
  if (!(query instanceof Float32Array || typeof query === 'string') || !isWithinLimits(draft)) return undefined
  const search: { -readonly [K in keyof ReaderSearch]: ReaderSearch[K] } = { field: field.name, query, limit }
  const ef = efOf(only)
  // Also if it has both, which is an error.
  if (ef !== undefined) search.ef = Math.max(limit, ef)
  if (recall !== undefined) search.recall = recall
  if (draft.minLsn !== undefined) search.minLsn = draft.minLsn
  if (filter !== undefined && filter.length > 0) search.filter = filter
  if (exact === true) search.exact = exact
  if (boostPercentage !== undefined) search.boostPercentage = boostPercentage
  if (prefilterThreshold !== undefined) search.prefilterThreshold = prefilterThreshold
  if (scoreThreshold !== undefined) search.scoreThreshold = scoreThreshold
  if (operator !== undefined) search.operator = operator
  if (k1 !== undefined) search.k1 = k1
  if (b !== undefined) search.b = b
  return search
}

export function requestOf(draft: Draft): SearchRequest | undefined {
  const { fields, rescore, includeVectors, fusion, minLsn } = draft
  if (fields.length === 0 || fields.some(({ query }) => query === undefined) || !isWithinLimits(draft)) return undefined
  if (fusion !== undefined && fusion.method === undefined) return undefined
  const { filter, exact, boostPercentage, prefilterThreshold } = tuningOf(draft)
  return {
    fields: Object.fromEntries(fields.map((field) => [field.field.name, fieldQueryOf(field)])),
    ...(filter && { filter }),
    ...(prefilterThreshold !== undefined && { prefilterCardinalityThreshold: prefilterThreshold }),
    ...(boostPercentage !== undefined && { filterBoostPercentage: boostPercentage }),
    ...(rescore !== undefined && { rescore }),
    includeVectors: includeVectors ?? false,
    exact: exact ?? false,
    ...(fusion && { fusion: fusion as Fusion }),
    ...(minLsn !== undefined && { minLsn }),
  }
}

function fieldQueryOf(field: FieldDraft): FieldQuery {
  const { query, limit = topKDefault, recall, scoreThreshold, operator, k1, b } = field
  const ef = efOf(field)
  return {
    query: query as FieldQuery['query'],
    limit,
    ...(ef !== undefined && { ef }),
    ...(recall !== undefined && { recall }),
    ...(scoreThreshold !== undefined && { scoreThreshold }),
    ...(operator !== undefined && { operator }),
    ...(k1 !== undefined && { k1 }),
    ...(b !== undefined && { b }),
  }
}

/** Undefined: the engine chooses it. */
function efOf({ ef, efSearch }: FieldDraft): number | undefined {
  return efSearch ?? ef
}

function tuningOf(draft: Draft) {
  return {
    filter: draft.filter,
    exact: draft.exact,
    boostPercentage: draft.boost ?? draft.boostParameter,
    prefilterThreshold: draft.prefilterThreshold ?? draft.prefilterParameter,
  }
}

/** Whether the limits of the database allow it. */
function isWithinLimits({ context, fields, boost, boostParameter, fusion }: Draft): boolean {
  const { topKMax, filterBoostMax } = context
  if ((boost ?? boostParameter ?? 0) > filterBoostMax || (fusion?.limit ?? 0) > topKMax) return false
  return fields.every(({ limit = topKDefault }) => limit <= topKMax)
}
