// Checks a search request and converts it to the form that the plan uses.

import { efDefault, groupHitsDefault, topKDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { isArrayLike, parseMembers, parseSparse, putQuery, type SparseTerms } from '../input/vectors.ts'
import {
  efMax,
  filterBoostMax,
  filterKeyBytesMax,
  groupedHitsMax,
  groupHitsMax,
  type Limits,
  prefilterThresholdMax,
  prefilterThresholdMin,
  queryMembersMax,
  recallTargetMax,
  recallTargetMin,
} from '../limits.ts'
import { checkObject, parseId, printed, shownValue } from '../model/ids.ts'
import { finiteNumber, wholeNumber } from '../model/numbers.ts'
import type { SparseVector } from '../model/object.ts'
import type { FieldQuery, Fusion, GroupBy, SearchRequest, StoredQuery } from '../model/query.ts'
import type {
  CollectionSchema,
  DenseFieldSchema,
  FieldSchema,
  MultiFieldSchema,
  SparseFieldSchema,
  TextFieldSchema,
} from '../model/schema.ts'
import type { FusionPlan } from './fuse.ts'
import { choiceOf } from './parse-contents.ts'
import { parseTextOptions, parseTextSearch, type TextOptions, type TextSearch } from './text-query.ts'

/** Rank constant of reciprocal rank fusion, as in the published clients. */
const rankConstantDefault = 60
/** Larger values lose ranks to rounding. */
const fusionNumberMax = 1e9

interface InField {
  /** Position of the field in the definition. */
  readonly fieldIndex: number
  readonly k: number
  readonly ef: number
  /** The recall that decides ef when the search runs; then `ef` is only a default. Never in a multi-vector field. */
  readonly recall?: number
  readonly scoreThreshold: number | undefined
}

/** A vector, or the id of a stored object whose vector is looked up when the search starts. */
type QuerySource<T> = { readonly kind: 'vector'; readonly query: T } | { readonly kind: 'stored'; readonly id: string }

/** A checked search in a dense field. */
export interface DenseTask extends InField {
  readonly kind: 'dense'
  readonly definition: DenseFieldSchema
  /** A vector of the field's dimension, with unit length for cosine. */
  readonly source: QuerySource<Float32Array>
}

/** A checked search in a sparse field. */
export interface SparseTask extends InField {
  readonly kind: 'sparse'
  readonly definition: SparseFieldSchema
  readonly source: QuerySource<SparseTerms>
}

/** A checked search in a text field. */
export interface TextTask extends InField {
  readonly kind: 'text'
  readonly definition: TextFieldSchema
  readonly source: QuerySource<TextSearch>
  readonly options: TextOptions
}

/** A checked search in a multi-vector field. */
export interface MultiTask extends InField {
  readonly kind: 'multi'
  readonly definition: MultiFieldSchema
  /** The vectors one after another, as given. */
  readonly source: QuerySource<Float32Array>
}

/** A checked search in one field. */
export type Task = DenseTask | SparseTask | TextTask | MultiTask

/** How the hits of a search are grouped. */
export interface GroupPlan {
  readonly key: string
  /** Undefined: as many as the field or the fusion has hits otherwise. */
  readonly limit: number | undefined
  readonly hits: number
  readonly offset: number
}

/** A checked search request. */
export interface SearchPlanInput {
  readonly tasks: readonly Task[]
  /** Undefined if every object matches. */
  readonly filter: Filter | undefined
  readonly prefilterThreshold: number | undefined
  readonly boostPercentage: number
  readonly includeVectors: boolean
  readonly includeTexts: boolean
  /** Undefined if the precision of the field decides. */
  readonly rescore: boolean | undefined
  readonly fusion: FusionPlan | undefined
  /** Undefined if hits are not grouped. */
  readonly groups: GroupPlan | undefined
  readonly exact: boolean
  readonly explain: boolean
}

/** A search with default settings. */
export const plainSearch: SearchPlanInput = {
  tasks: [],
  filter: undefined,
  prefilterThreshold: undefined,
  boostPercentage: 0,
  includeVectors: false,
  includeTexts: false,
  rescore: undefined,
  fusion: undefined,
  groups: undefined,
  exact: false,
  explain: false,
}

/** Whether the search needs ids or filter matches, and therefore a version that is published completely. */
export function needsWholeVersion({ tasks, filter, groups, exact }: SearchPlanInput): boolean {
  return (
    filter !== undefined ||
    groups !== undefined ||
    tasks.some(({ source, kind }) => source.kind === 'stored' || (exact && kind === 'multi'))
  )
}

/** Whether the request searches a text field. */
export function searchesTexts({ fields }: SearchRequest, definition: CollectionSchema): boolean {
  const isText = (name: string) => definition.fields.some((field) => field.kind === 'text' && field.name === name)
  return Object.keys(fields ?? {}).some(isText)
}

/** Throws invalid_argument, invalid_filter, limit_exceeded or field_not_found. */
export function parseSearch(request: SearchRequest, definition: CollectionSchema, limits: Limits): SearchPlanInput {
  checkObject(request, 'request')
  const queries = request.fields ?? {}
  // A field without a query is not searched.
  const names = Object.keys(queries).filter((name) => queries[name] !== undefined)
  if (names.length === 0) {
    throw new EngineError('invalid_argument', 'fields must name at least one field to search', { field: 'fields' })
  }
  const tasks = names.map((name) => parseTask(name, queries[name] as FieldQuery, definition, limits))
  const filter = request.filter === undefined ? undefined : parseFilter(request.filter)
  const fusion = request.fusion === undefined ? undefined : parseFusion(request.fusion, names, limits)
  return {
    tasks,
    // An empty filter matches everything.
    filter: Array.isArray(request.filter) && request.filter.length === 0 ? undefined : filter,
    prefilterThreshold:
      request.prefilterCardinalityThreshold === undefined
        ? undefined
        : finiteNumber(
            request.prefilterCardinalityThreshold,
            'prefilter_cardinality_threshold',
            prefilterThresholdMin,
            prefilterThresholdMax,
          ),
    boostPercentage: finiteNumber(request.filterBoostPercentage ?? 0, 'filter_boost_percentage', 0, filterBoostMax),
    includeVectors: choiceOf(request, 'includeVectors') ?? false,
    includeTexts: choiceOf(request, 'includeTexts') ?? false,
    fusion,
    groups:
      request.groupBy === undefined
        ? undefined
        : parseGroupBy(request.groupBy, fusion ? [fusion.limit] : tasks.map(({ k }) => k), limits),
    exact: choiceOf(request, 'exact') ?? false,
    explain: choiceOf(request, 'explain') ?? false,
    rescore: choiceOf(request, 'rescore'),
  }
}

function parseTask(name: string, input: FieldQuery, definition: CollectionSchema, limits: Limits): Task {
  const fieldIndex = definition.fields.findIndex((field) => field.name === name)
  const field = definition.fields[fieldIndex]
  if (field === undefined) {
    const names = definition.fields.map((candidate) => candidate.name).join(', ')
    throw new EngineError('field_not_found', `the collection has no field ${printed(name)}; it has ${names}`, {
      field: 'fields',
      value: name,
    })
  }
  const own = `fields.${name}`
  const path = `${own}.query`
  checkObject(input, own)
  const k = wholeNumber(input.limit ?? topKDefault, `${own}.limit`, 1, limits.topKMax)
  const ef = Math.max(k, wholeNumber(input.ef ?? efDefault, `${own}.ef`, 1, efMax))
  const recall = parseRecallTarget(input, field, own)
  const scoreThreshold =
    input.scoreThreshold === undefined ? undefined : anyNumber(input.scoreThreshold, `${own}.scoreThreshold`)
  const common = { fieldIndex, k, ef, scoreThreshold, ...(recall !== undefined && { recall }) }
  const options =
    field.kind === 'text' ? { options: parseTextOptions(input, field, own) } : refuseTextOptions(input, own)
  if (isStored(input.query)) {
    const source = { kind: 'stored', id: parseId(input.query.id, `${path}.id`) } as const
    return { ...common, ...options, kind: field.kind, definition: field, source } as Task
  }
  switch (field.kind) {
    case 'dense': {
      const query = parseDense(input.query, field, path)
      return { ...common, kind: field.kind, definition: field, source: { kind: 'vector', query } }
    }
    case 'sparse': {
      const query = parseTerms(input.query, field, path)
      return { ...common, kind: field.kind, definition: field, source: { kind: 'vector', query } }
    }
    case 'text': {
      const query = parseTextSearch(input, field, path, `${own}.operator`)
      return {
        ...common,
        ...options,
        kind: field.kind,
        definition: field,
        source: { kind: 'vector', query },
      } as TextTask
    }
    case 'multi': {
      const query = parseMembers(input.query, field.params, path, queryMembersMax)
      return { ...common, kind: field.kind, definition: field, source: { kind: 'vector', query } }
    }
  }
}

function parseRecallTarget({ ef, recall }: FieldQuery, field: FieldSchema, path: string): number | undefined {
  if (recall === undefined) return ef === undefined && field.kind === 'dense' ? field.params.recall : undefined
  const details = { field: `${path}.recall`, value: shownValue(recall) }
  if (ef !== undefined)
    throw new EngineError('invalid_argument', `${path} has both ef and recall; use one of them`, details)
  if (field.kind === 'multi')
    throw new EngineError('invalid_argument', `${path}: a field of several vectors has ef, not recall`, details)
  return finiteNumber(recall, details.field, recallTargetMin, recallTargetMax)
}

const textOptions = ['operator', 'highlight', 'k1', 'b'] as const

/** Options of text fields mean nothing elsewhere. */
function refuseTextOptions(input: FieldQuery, path: string): undefined {
  const option = textOptions.find((name) => input[name] !== undefined)
  if (option === undefined) return undefined
  const field = `${path}.${option}`
  throw new EngineError('invalid_argument', `${field} is for text fields`, { field, value: shownValue(input[option]) })
}

function isStored(query: FieldQuery['query']): query is StoredQuery {
  return typeof query === 'object' && query !== null && !isArrayLike(query) && 'id' in query
}

function parseDense(query: FieldQuery['query'], field: DenseFieldSchema, path: string): Float32Array {
  if (!isArrayLike(query)) {
    throw new EngineError('invalid_argument', `${path} must be an array of numbers, got ${printed(query)}`, {
      field: path,
      value: shownValue(query),
    })
  }
  const vector = new Float32Array(field.params.dimension)
  putQuery(query as ArrayLike<number>, field.params, vector, 0, path)
  return vector
}

function parseTerms(query: FieldQuery['query'], field: SparseFieldSchema, path: string): SparseTerms {
  if (isArrayLike(query) || typeof query !== 'object' || query === null) {
    throw new EngineError('invalid_argument', `${path} must be { indices, values }, got ${printed(query)}`, {
      field: path,
      value: shownValue(query),
    })
  }
  // parseSparse rejects missing parts, as in an object.
  return parseSparse(query as SparseVector, field, path)
}

function parseFusion(fusion: Fusion, names: readonly string[], limits: Limits): FusionPlan {
  checkObject(fusion, 'fusion')
  const { method, k = rankConstantDefault, weights = {}, limit } = fusion
  checkObject(weights, 'fusion.weights')
  if (method !== 'rrf' && method !== 'relative_score') {
    throw new EngineError('invalid_argument', `fusion.method must be rrf or relative_score, got ${printed(method)}`, {
      field: 'fusion.method',
      value: shownValue(method),
    })
  }
  for (const name of Object.keys(weights)) {
    if (names.includes(name)) continue
    const field = `fusion.weights.${name}`
    throw new EngineError('invalid_argument', `${field} weights a field that is not searched`, { field, value: name })
  }
  const weightOf = (name: string) =>
    finiteNumber(Object.hasOwn(weights, name) ? weights[name] : 1, `fusion.weights.${name}`, 0, fusionNumberMax)
  return {
    method:
      method === 'rrf'
        ? { kind: 'rrf', rankConstant: finiteNumber(k, 'fusion.k', Number.MIN_VALUE, fusionNumberMax) }
        : { kind: 'relative-score' },
    weights: new Map(names.map((name) => [name, weightOf(name)])),
    limit: wholeNumber(limit ?? topKDefault, 'fusion.limit', 1, limits.topKMax),
  }
}

/** `limits` are the numbers of groups without a limit of their own. */
function parseGroupBy(groupBy: GroupBy, defaults: readonly number[], { topKMax }: Limits): GroupPlan {
  checkObject(groupBy, 'group_by')
  const { key, limit: givenLimit, hits: givenHits = groupHitsDefault, offset: givenOffset = 0 } = groupBy
  const isKey = typeof key === 'string' && key !== '' && Buffer.byteLength(key) <= filterKeyBytesMax
  if (!isKey) {
    const message = `group_by.key must be a filter key of at most ${filterKeyBytesMax} bytes, got ${printed(key)}`
    throw new EngineError('invalid_argument', message, {
      field: 'group_by.key',
      value: shownValue(key),
      limit: filterKeyBytesMax,
    })
  }
  const limit = givenLimit === undefined ? undefined : wholeNumber(givenLimit, 'group_by.limit', 1, topKMax)
  const most = limit ?? Math.max(...defaults)
  const hits = wholeNumber(givenHits, 'group_by.hits', 1, groupHitsMax)
  // The groups of a page are found together with those before it.
  const offset = wholeNumber(givenOffset, 'group_by.offset', 0, topKMax - most)
  if (most * hits <= groupedHitsMax) return { key, limit, hits, offset }
  const message = `${most} groups of ${hits} hits are ${most * hits} hits, at most ${groupedHitsMax} are allowed`
  throw new EngineError('limit_exceeded', message, { field: 'group_by.hits', value: hits, limit: groupedHitsMax })
}

function anyNumber(value: unknown, field: string): number {
  return finiteNumber(value, field, -Number.MAX_VALUE, Number.MAX_VALUE)
}
