// The keys of the bodies of searches in both versions of the API, and how the value of each is read.
import { efMax, filterBoostMax, prefilterThresholdMax, prefilterThresholdMin } from '@annal/engine/reader'
import { fieldsOfIndex } from '../wire/index-fields.ts'
import { type BodyCursor, readLsn } from './body-cursor.ts'
import { flag, integer, keyTable, number, type ReadKey, readKeys } from './read-keys.ts'
import { readQuery } from './read-query.ts'
import type { Draft, FieldDraft } from './search-draft.ts'

/** An option that a hot search does not have, unless it is false. */
const off: ReadKey<Draft> = (cursor) => cursor.boolean() === false

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

function readFilter(asText: boolean): ReadKey<Draft> {
  return (cursor, draft) => {
    const filter = cursor.conditions(asText)
    if (filter === undefined) return false
    draft.filter = filter
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
    const query: FieldDraft = {
      context,
      field,
      query: field.kind === 'dense' ? outside?.(field.params.dimension) : undefined,
    }
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

export const indexKeys = keyTable<Draft>({
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

export const collectionKeys = keyTable<Draft>({
  ...tuningKeys,
  fields: readFields,
  filter: readFilter(false),
  fusion: readFusion,
  min_lsn: readMinLsn,
})

const readOperator: ReadKey<FieldDraft> = (cursor, draft) => {
  const operator = cursor.text()
  // The engine refuses it in other fields.
  if (draft.field.kind !== 'text' || (operator !== 'and' && operator !== 'or')) return false
  draft.operator = operator
  return true
}

function textNumber(key: 'k1' | 'b'): ReadKey<FieldDraft> {
  const read: ReadKey<FieldDraft> = number(key)
  return (cursor, draft) => draft.field.kind === 'text' && read(cursor, draft)
}

const fieldKeys = keyTable<FieldDraft>({
  query: readQuery,
  limit: integer('limit', 1, limitMax),
  ef_search: integer('efSearch', 1, efMax),
  ef: integer('ef', 1, efMax),
  recall: number('recall'),
  score_threshold: number('scoreThreshold'),
  operator: readOperator,
  k1: textNumber('k1'),
  b: textNumber('b'),
})
