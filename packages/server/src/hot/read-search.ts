// Reads the body of a search of one dense field. It knows the same keys as the schemas of the routes (wire/v1-search.ts, wire/v2-search.ts)
// and gives them the same meaning. For everything else, also for what is an error, it returns undefined. hot-routes.test.ts compares both.
import type { CollectionSchema, DenseFieldSchema, Filter } from '@annal/engine'
import {
  efDefault,
  efMax,
  filterBoostMax,
  prefilterThresholdMax,
  prefilterThresholdMin,
  type ReaderSearch,
  topKDefault,
} from '@annal/engine/reader'
import { fieldsOfIndex } from '../wire/index-fields.ts'
import type { BodyCursor } from './body-cursor.ts'

/** What the meaning of a body depends on. */
export interface SearchContext {
  readonly definition: CollectionSchema
  /** Limits of the database, at most those of the server. */
  readonly topKMax: number
  readonly filterBoostMax: number
  /** The vector, if the body has it outside of its keys. Undefined if it does not have the dimension, or a number is not finite. */
  readonly outside?: (dimension: number) => Float32Array | undefined
}

/** What the keys of a body say. */
interface Draft {
  readonly context: SearchContext
  field?: DenseFieldSchema
  query?: Float32Array | undefined
  limit?: number
  ef?: number
  efSearch?: number
  scoreThreshold?: number
  filter?: Filter
  prefilterThreshold?: number
  boost?: number
  prefilterParameter?: number
  boostParameter?: number
  exact?: boolean
}

/** Reads the value of a key. Returns false if the main thread must read the body. */
type ReadKey = (cursor: BodyCursor, draft: Draft) => boolean
type Keys = ReadonlyMap<string, { readonly bit: number; readonly read: ReadKey }>

/** Reads a body of /api/v1. */
export function readIndexSearch(cursor: BodyCursor, context: SearchContext): ReaderSearch | undefined {
  const field = fieldsOfIndex(context.definition.fields)?.dense
  if (field === undefined) return undefined
  const draft: Draft = { context, field, query: context.outside?.(field.params.dimension) }
  return readKeys(cursor, draft, indexKeys) && cursor.ends() ? searchOf(draft) : undefined
}

/** Reads a body of /api/v2. */
export function readCollectionSearch(cursor: BodyCursor, context: SearchContext): ReaderSearch | undefined {
  const draft: Draft = { context }
  return readKeys(cursor, draft, collectionKeys) && cursor.ends() ? searchOf(draft) : undefined
}

function searchOf(draft: Draft): ReaderSearch | undefined {
  const { field, query, filter, limit = topKDefault, ef, efSearch, exact, scoreThreshold } = draft
  if (field === undefined || query === undefined) return undefined
  // The owner has the measurements that choose ef.
  if ((efSearch ?? ef) === undefined && field.params.recall !== undefined) return undefined
  const boostPercentage = draft.boost ?? draft.boostParameter
  const prefilterThreshold = draft.prefilterThreshold ?? draft.prefilterParameter
  const { topKMax, filterBoostMax } = draft.context
  if (limit > topKMax || (boostPercentage ?? 0) > filterBoostMax) return undefined
  const search: { -readonly [K in keyof ReaderSearch]: ReaderSearch[K] } = {
    field: field.name,
    query,
    limit,
    ef: Math.max(limit, efSearch ?? ef ?? efDefault),
  }
  if (filter !== undefined && filter.length > 0) search.filter = filter
  if (exact === true) search.exact = exact
  if (boostPercentage !== undefined) search.boostPercentage = boostPercentage
  if (prefilterThreshold !== undefined) search.prefilterThreshold = prefilterThreshold
  if (scoreThreshold !== undefined) search.scoreThreshold = scoreThreshold
  return search
}

/** Reads an object with these keys, each at most once. */
function readKeys(cursor: BodyCursor, draft: Draft, keys: Keys): boolean {
  let seen = 0
  return cursor.members((name) => {
    const key = keys.get(name)
    if (key === undefined || (seen & key.bit) !== 0) return false
    seen |= key.bit
    return key.read(cursor, draft)
  })
}

function keyTable(readers: { readonly [key: string]: ReadKey }): Keys {
  return new Map(Object.entries(readers).map(([name, read], i) => [name, { bit: 1 << i, read }]))
}

type NumberKey = 'limit' | 'ef' | 'efSearch' | 'prefilterThreshold' | 'prefilterParameter' | 'boost' | 'boostParameter'

function integer(key: NumberKey, minimum: number, maximum: number): ReadKey {
  return (cursor, draft) => {
    const value = cursor.integer()
    if (value === undefined || value < minimum || value > maximum) return false
    draft[key] = value
    return true
  }
}

/** An option that a hot search does not have, unless it is false. */
const off: ReadKey = (cursor) => cursor.boolean() === false

const readVector: ReadKey = (cursor, draft) => {
  if (draft.field === undefined || draft.context.outside !== undefined) return false
  draft.query = cursor.vector(draft.field.params.dimension)
  return draft.query !== undefined
}

function readFilter(asText: boolean): ReadKey {
  return (cursor, draft) => {
    const filter = cursor.conditions(asText)
    if (filter === undefined) return false
    draft.filter = filter
    return true
  }
}

const readScoreThreshold: ReadKey = (cursor, draft) => {
  const value = cursor.number()
  if (value === undefined) return false
  draft.scoreThreshold = value
  return true
}

/** A number of hybrid searches that the published Python client always sends. A search of one field checks and ignores it. */
function ignored(isValid: (value: number) => boolean): ReadKey {
  return (cursor) => {
    const value = cursor.number()
    return value !== undefined && isValid(value)
  }
}

const readExact: ReadKey = (cursor, draft) => {
  const value = cursor.boolean()
  if (value === undefined) return false
  draft.exact = value
  return true
}

const readFields: ReadKey = (cursor, draft) => {
  const { outside } = draft.context
  // A body with the vector outside of its keys does not have a list.
  const isList = outside === undefined && cursor.next() === 'array'
  return isList ? cursor.single(() => readOnlyField(cursor, draft)) : readOnlyField(cursor, draft)
}

function readOnlyField(cursor: BodyCursor, draft: Draft): boolean {
  const { definition, outside } = draft.context
  return cursor.members((name) => {
    const field = definition.fields.find((candidate) => candidate.name === name)
    if (draft.field !== undefined || field?.kind !== 'dense') return false
    draft.field = field
    draft.query = outside?.(field.params.dimension)
    return readKeys(cursor, draft, fieldKeys)
  })
}

const limitMax = 999_999_999
const threshold = [prefilterThresholdMin, prefilterThresholdMax] as const

const parameterKeys = keyTable({
  prefilter_threshold: integer('prefilterParameter', ...threshold),
  boost_percentage: integer('boostParameter', 0, filterBoostMax),
})

const tuningKeys: { readonly [key: string]: ReadKey } = {
  filter_params: (cursor, draft) => readKeys(cursor, draft, parameterKeys),
  prefilter_cardinality_threshold: integer('prefilterThreshold', ...threshold),
  filter_boost_percentage: integer('boost', 0, filterBoostMax),
  include_vectors: off,
  explain: off,
  exact: readExact,
}

const indexKeys = keyTable({
  ...tuningKeys,
  k: integer('limit', 1, limitMax),
  ef: integer('ef', 1, efMax),
  vector: readVector,
  filter: readFilter(true),
  dense_rrf_weight: ignored((weight) => weight >= 0 && weight <= 1),
  rrf_rank_constant: ignored((constant) => constant > 0),
})

const collectionKeys = keyTable({ ...tuningKeys, fields: readFields, filter: readFilter(false) })

const fieldKeys = keyTable({
  query: readVector,
  limit: integer('limit', 1, limitMax),
  ef_search: integer('efSearch', 1, efMax),
  ef: integer('ef', 1, efMax),
  score_threshold: readScoreThreshold,
})
