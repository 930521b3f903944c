// Reads the bodies of searches. It knows the same keys as the schemas of the routes (wire/v1-search.ts, wire/v2-search.ts) and gives them the
// same meaning. For everything else, also for what is an error, it returns undefined. hot-routes.test.ts compares both.
import type { CollectionSchema, FieldQuery, FieldSchema, Filter, Fusion, SearchRequest } from '@annal/engine'
import {
  efMax,
  filterBoostMax,
  isCoarse,
  prefilterThresholdMax,
  prefilterThresholdMin,
  queryMembersMax,
  type ReaderSearch,
  searchesMax,
  topKDefault,
} from '@annal/engine/reader'
import { hotBatchHitsMax } from '../http/limits.ts'
import { fieldsOfIndex, namesOf } from '../wire/index-fields.ts'
import { type BodyCursor, readLsn } from './body-cursor.ts'

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
  /** Of one dense field by a vector. Its reply is written from the bytes of the hits. */
  { readonly kind: 'plain'; readonly search: ReaderSearch } | { readonly kind: 'full'; readonly request: SearchRequest }

/** What the keys of a search say. */
interface Draft {
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
interface FieldDraft {
  readonly context: SearchContext
  readonly field: FieldSchema
  query?: FieldQuery['query'] | undefined
  limit?: number
  ef?: number
  efSearch?: number
  recall?: number
  scoreThreshold?: number
}

/** Reads the value of a key. Returns false if the main thread must read the body. */
type ReadKey<D> = (cursor: BodyCursor, draft: D) => boolean
type Keys<D> = ReadonlyMap<string, { readonly bit: number; readonly read: ReadKey<D> }>

/** Reads a body of /api/v1. */
export function readIndexSearch(cursor: BodyCursor, context: SearchContext): HotSearch | undefined {
  const draft: Draft = { context, fields: [] }
  const { outside } = context
  if (outside !== undefined) {
    const vector = outside(fieldsOfIndex(context.definition.fields)?.dense.params.dimension ?? 0)
    if (vector === undefined) return undefined
    draft.vector = vector
  }
  return readKeys(cursor, draft, indexKeys) && cursor.ends() && searchFieldsOfIndex(draft) ? searchOf(draft) : undefined
}

/** Which fields a search in /api/v1 queries; see readSearch in wire/v1-search.ts. */
function searchFieldsOfIndex(draft: Draft): boolean {
  const { context, vector, sparseIndices, sparseValues, denseWeight = rrfWeightDefault, limit, ef, recall } = draft
  const known = fieldsOfIndex(context.definition.fields)
  if (known === undefined || sparseIndices?.length !== sparseValues?.length) return false
  const hasTerms = sparseIndices !== undefined && sparseIndices.length > 0
  // The main thread refuses terms that the index would ignore.
  if (hasTerms && known.sparse === undefined) return false
  const fields: { -readonly [K in keyof FieldDraft]: FieldDraft[K] }[] = []
  if (vector !== undefined && !(hasTerms && denseWeight === 0))
    fields.push({
      ...{ context, field: known.dense, query: vector },
      ...(ef !== undefined && { ef }),
      ...(recall !== undefined && { recall }),
    })
  // The schema checks a recall that no field uses.
  else if (recall !== undefined) return false
  if (hasTerms && known.sparse !== undefined && !(vector !== undefined && denseWeight === 1))
    fields.push({ context, field: known.sparse, query: { indices: sparseIndices, values: sparseValues ?? noValues } })
  if (limit !== undefined) for (const field of fields) field.limit = limit
  draft.fields.push(...fields)
  if (fields.length < 2) return fields.length === 1
  const { denseField, sparseField } = namesOf(known)
  const weights = { [denseField]: denseWeight, [sparseField]: 1 - denseWeight }
  draft.fusion = { method: 'rrf', k: draft.rankConstant ?? rrfConstantDefault, weights, limit: limit ?? topKDefault }
  return true
}

/** Reads a body of /api/v2. */
export function readCollectionSearch(cursor: BodyCursor, context: SearchContext): HotSearch | undefined {
  const draft: Draft = { context, fields: [] }
  return readKeys(cursor, draft, collectionKeys) && cursor.ends() ? searchOf(draft) : undefined
}

/** Reads the body `{"searches": [...]}`. */
export function readSearchBatch(cursor: BodyCursor, context: SearchContext): readonly SearchRequest[] | undefined {
  let requests: SearchRequest[] | undefined
  let hits = 0
  const isRead = cursor.members((key) => {
    if (key !== 'searches' || requests !== undefined) return false
    const list: SearchRequest[] = []
    requests = list
    return cursor.entries(() => {
      const draft: Draft = { context, fields: [] }
      const isWhole = list.length < searchesMax && readKeys(cursor, draft, collectionKeys)
      const request = isWhole ? requestOf(draft) : undefined
      if (request === undefined) return false
      list.push(request)
      // Not after the last search: reading a long batch takes longer than forwarding it.
      for (const { limit = topKDefault } of draft.fields) hits += limit
      return hits <= hotBatchHitsMax
    })
  })
  return isRead && cursor.ends() ? requests : undefined
}

function searchOf(draft: Draft): HotSearch | undefined {
  const [only] = draft.fields
  if (only === undefined) return undefined
  if (draft.fields.length === 1 && isPlain(draft, only)) {
    const search = plainSearchOf(draft, only)
    return search && { kind: 'plain', search }
  }
  const request = requestOf(draft)
  return request && { kind: 'full', request }
}

/** Whether nothing but the rows in memory is needed. */
function isPlain({ includeVectors, rescore, fusion }: Draft, { field, query }: FieldDraft): boolean {
  if (field.kind !== 'dense' || !(query instanceof Float32Array)) return false
  return includeVectors !== true && rescore === undefined && fusion === undefined && !isCoarse(field.params.precision)
}

function plainSearchOf(draft: Draft, only: FieldDraft): ReaderSearch | undefined {
  const { filter, exact, boostPercentage, prefilterThreshold } = tuningOf(draft)
  const { field, query, limit = topKDefault, recall, scoreThreshold } = only
  if (!(query instanceof Float32Array) || !isWithinLimits(draft)) return undefined
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
  return search
}

function requestOf(draft: Draft): SearchRequest | undefined {
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
  const { query, limit = topKDefault, recall, scoreThreshold } = field
  const ef = efOf(field)
  return {
    query: query as FieldQuery['query'],
    limit,
    ...(ef !== undefined && { ef }),
    ...(recall !== undefined && { recall }),
    ...(scoreThreshold !== undefined && { scoreThreshold }),
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

/** Reads an object with these keys, each at most once. */
function readKeys<D>(cursor: BodyCursor, draft: D, keys: Keys<D>): boolean {
  let seen = 0
  return cursor.members((name) => {
    const key = keys.get(name)
    if (key === undefined || (seen & key.bit) !== 0) return false
    seen |= key.bit
    return key.read(cursor, draft)
  })
}

function keyTable<D>(readers: { readonly [key: string]: ReadKey<D> }): Keys<D> {
  return new Map(Object.entries(readers).map(([name, read], i) => [name, { bit: 1 << i, read }]))
}

/** Reads a whole number into a key of the draft. */
function integer<K extends string>(key: K, minimum: number, maximum: number): ReadKey<{ [P in K]?: number }> {
  return (cursor, draft) => {
    const value = cursor.integer()
    if (value === undefined || value < minimum || value > maximum) return false
    draft[key] = value
    return true
  }
}

/** An option that a hot search does not have, unless it is false. */
const off: ReadKey<Draft> = (cursor) => cursor.boolean() === false

function flag<K extends string>(key: K): ReadKey<{ [P in K]?: boolean }> {
  return (cursor, draft) => {
    const value = cursor.boolean()
    if (value === undefined) return false
    draft[key] = value
    return true
  }
}

const readVector: ReadKey<Draft> = (cursor, draft) => {
  const { outside, definition } = draft.context
  const field = fieldsOfIndex(definition.fields)?.dense
  const vector = outside === undefined && field !== undefined ? cursor.vector(field.params.dimension) : undefined
  if (vector === undefined) return false
  draft.vector = vector
  return true
}

const readSparseIndices: ReadKey<Draft> = (cursor, draft) => {
  // A body with the vector outside of its keys has one field.
  const indices = draft.context.outside === undefined ? cursor.indices() : undefined
  if (indices === undefined) return false
  draft.sparseIndices = indices
  return true
}

const readSparseValues: ReadKey<Draft> = (cursor, draft) => {
  const values = cursor.floats()
  if (values === undefined) return false
  draft.sparseValues = values
  return true
}

/** A vector, the vectors of a multi-vector field, the terms of a sparse field, or a stored object. */
const readQuery: ReadKey<FieldDraft> = (cursor, draft) => {
  const { field, context } = draft
  if (context.outside !== undefined) return false
  const { dimension } = field.params
  if (field.kind === 'sparse') draft.query = readTerms(cursor)
  else if (cursor.next() === 'object') draft.query = readStored(cursor)
  else if (field.kind === 'dense') draft.query = cursor.vector(dimension)
  else draft.query = cursor.nests() ? readMembers(cursor, dimension) : cursor.vector(dimension)
  return draft.query !== undefined
}

/** The query `{"id": ...}`. */
function readStored(cursor: BodyCursor): FieldQuery['query'] | undefined {
  let id: string | undefined
  const isRead = cursor.members((key) => {
    if (key !== 'id' || id !== undefined) return false
    id = cursor.text()
    return id !== undefined
  })
  return isRead && id !== undefined ? { id } : undefined
}

/** The query `{"indices": [...], "values": [...]}`, also with the long names of the keys, or `{"id": ...}`. */
function readTerms(cursor: BodyCursor): FieldQuery['query'] | undefined {
  let id: string | undefined
  let indices: Uint32Array | undefined
  let values: Float32Array | undefined
  const isRead = cursor.members((key) => {
    const isIndices = key === 'indices' || key === 'sparse_indices'
    if (isIndices && indices === undefined) indices = cursor.indices()
    else if ((key === 'values' || key === 'sparse_values') && values === undefined) values = cursor.floats()
    else if (key === 'id' && id === undefined) id = cursor.text()
    else return false
    return (isIndices ? indices : key === 'id' ? id : values) !== undefined
  })
  if (!isRead) return undefined
  if (id !== undefined) return indices === undefined && values === undefined ? { id } : undefined
  return indices === undefined || values === undefined ? undefined : { indices, values }
}

function readMembers(cursor: BodyCursor, dimension: number): FieldQuery['query'] | undefined {
  const members: Float32Array[] = []
  const isRead = cursor.entries(() => {
    const member = members.length < membersMax ? cursor.vector(dimension) : undefined
    if (member !== undefined) members.push(member)
    return member !== undefined
  })
  return isRead && members.length > 0 ? members : undefined
}

function readFilter(asText: boolean): ReadKey<Draft> {
  return (cursor, draft) => {
    const filter = cursor.conditions(asText)
    if (filter === undefined) return false
    draft.filter = filter
    return true
  }
}

/** Reads any number into a key of the draft. */
function number<K extends string>(key: K): ReadKey<{ [P in K]?: number }> {
  return (cursor, draft) => {
    const value = cursor.number()
    if (value === undefined) return false
    draft[key] = value
    return true
  }
}

/** Reads an LSN. */
const readMinLsn: ReadKey<Draft> = (cursor, draft) => {
  const lsn = readLsn(cursor)
  if (lsn === undefined) return false
  draft.minLsn = lsn
  return true
}

/** A number of hybrid searches that the published Python client always sends. A search of one field checks and ignores it. */
function fusionNumber(key: 'denseWeight' | 'rankConstant', isValid: (value: number) => boolean): ReadKey<Draft> {
  return (cursor, draft) => {
    const value = cursor.number()
    if (value === undefined || !isValid(value)) return false
    draft[key] = value
    return true
  }
}

const readFields: ReadKey<Draft> = (cursor, draft) => {
  const { outside } = draft.context
  // A body with the vector outside of its keys does not have a list.
  const isList = outside === undefined && cursor.next() === 'array'
  return isList ? cursor.entries(() => readQueries(cursor, draft)) : readQueries(cursor, draft)
}

function readQueries(cursor: BodyCursor, draft: Draft): boolean {
  const { context, fields } = draft
  const { definition, outside } = context
  return cursor.members((name) => {
    const field = definition.fields.find((candidate) => candidate.name === name)
    if (field === undefined || fields.some((other) => other.field === field)) return false
    // Only one field can have the vector outside of its keys.
    if (outside !== undefined && (field.kind !== 'dense' || fields.length > 0)) return false
    const query: FieldDraft = { context, field, query: outside?.(field.params.dimension) }
    fields.push(query)
    return readKeys(cursor, query, fieldKeys)
  })
}

const readFusion: ReadKey<Draft> = (cursor, draft) => {
  draft.fusion = {}
  return readKeys(cursor, draft, fusionKeys)
}

const readMethod: ReadKey<Draft> = (cursor, { fusion = {} }) => {
  const method = cursor.text()
  if (method !== 'rrf' && method !== 'relative_score') return false
  fusion.method = method
  return true
}

const readRankConstant: ReadKey<Draft> = (cursor, { fusion = {} }) => {
  const k = cursor.number()
  if (k === undefined || k <= 0) return false
  fusion.k = k
  return true
}

const readWeights: ReadKey<Draft> = (cursor, draft) => {
  const { fusion = {}, context } = draft
  const weights = new Map<string, number>()
  fusion.weights = {}
  const isRead = cursor.members((name) => {
    // The engine refuses fields that are not searched.
    if (weights.has(name) || !context.definition.fields.some((field) => field.name === name)) return false
    const weight = cursor.number()
    if (weight === undefined || weight < 0) return false
    weights.set(name, weight)
    return true
  })
  fusion.weights = Object.fromEntries(weights)
  return isRead
}

const readFusedLimit: ReadKey<Draft> = (cursor, { fusion = {} }) => {
  const limit = cursor.integer()
  if (limit === undefined || limit < 1) return false
  fusion.limit = limit
  return true
}

const limitMax = 999_999_999
/** Of /api/v1, as in wire/v1-search.ts. */
const rrfConstantDefault = 60
const rrfWeightDefault = 0.5
const noValues = new Float32Array(0)
/** As many vectors as a query of a multi-vector field may have. */
const membersMax = queryMembersMax
const threshold = [prefilterThresholdMin, prefilterThresholdMax] as const

const parameterKeys = keyTable<Draft>({
  prefilter_threshold: integer('prefilterParameter', ...threshold),
  boost_percentage: integer('boostParameter', 0, filterBoostMax),
})

const tuningKeys: { readonly [key: string]: ReadKey<Draft> } = {
  filter_params: (cursor, draft) => readKeys(cursor, draft, parameterKeys),
  prefilter_cardinality_threshold: integer('prefilterThreshold', ...threshold),
  filter_boost_percentage: integer('boost', 0, filterBoostMax),
  include_vectors: flag('includeVectors'),
  rescore: flag('rescore'),
  explain: off,
  exact: flag('exact'),
}

const indexKeys = keyTable<Draft>({
  ...tuningKeys,
  k: integer('limit', 1, limitMax),
  ef: integer('ef', 1, efMax),
  recall: number('recall'),
  vector: readVector,
  filter: readFilter(true),
  sparse_indices: readSparseIndices,
  sparse_values: readSparseValues,
  dense_rrf_weight: fusionNumber('denseWeight', (weight) => weight >= 0 && weight <= 1),
  rrf_rank_constant: fusionNumber('rankConstant', (constant) => constant > 0),
})

const fusionKeys = keyTable<Draft>({
  method: readMethod,
  k: readRankConstant,
  weights: readWeights,
  limit: readFusedLimit,
})

const collectionKeys = keyTable<Draft>({
  ...tuningKeys,
  fields: readFields,
  filter: readFilter(false),
  fusion: readFusion,
  min_lsn: readMinLsn,
})

const fieldKeys = keyTable<FieldDraft>({
  query: readQuery,
  limit: integer('limit', 1, limitMax),
  ef_search: integer('efSearch', 1, efMax),
  ef: integer('ef', 1, efMax),
  recall: number('recall'),
  score_threshold: number('scoreThreshold'),
})
