// Checks a search as people ask it and brings it to the form the plan works on.
import type { CollectionDefinition, DenseFieldDefinition, SparseFieldDefinition } from '../definition.ts'
import { EngineError } from '../errors.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { printed } from '../ids.ts'
import {
  efDefault,
  efMax,
  filterBoostMax,
  type Limits,
  prefilterThresholdDefault,
  prefilterThresholdMax,
  prefilterThresholdMin,
  topKDefault,
} from '../limits.ts'
import type { FieldQuery, SearchRequest } from '../object.ts'
import { isArrayLike, parseSparse, putDense, type SparseTerms } from '../vectors-in.ts'

interface InField {
  /** Position of the field in the definition. */
  readonly at: number
  readonly k: number
  readonly ef: number
}

export interface DenseTask extends InField {
  readonly kind: 'dense'
  readonly definition: DenseFieldDefinition
  /** Of the field's dimension; of unit length for cosine. */
  readonly query: Float32Array
}

export interface SparseTask extends InField {
  readonly kind: 'sparse'
  readonly definition: SparseFieldDefinition
  readonly query: SparseTerms
}

export interface SearchPlanInput {
  readonly tasks: readonly (DenseTask | SparseTask)[]
  /** Undefined when everything matches. */
  readonly filter: Filter | undefined
  readonly prefilterThreshold: number
  readonly boostPercentage: number
  readonly includeVectors: boolean
}

/** Throws invalid_argument, invalid_filter, limit_exceeded or field_not_found. */
export function parseSearch(request: SearchRequest, definition: CollectionDefinition, limits: Limits): SearchPlanInput {
  const names = Object.keys(request.fields ?? {})
  if (names.length === 0) {
    throw new EngineError('invalid_argument', 'fields must name at least one field to search', { field: 'fields' })
  }
  const tasks = names.map((name) => parseTask(name, request.fields[name] as FieldQuery, definition, limits))
  const filter = request.filter === undefined ? undefined : parseFilter(request.filter)
  return {
    tasks,
    // An empty filter is none: everything matches.
    filter: Array.isArray(request.filter) && request.filter.length === 0 ? undefined : filter,
    prefilterThreshold: number(
      request.prefilterCardinalityThreshold ?? prefilterThresholdDefault,
      'prefilter_cardinality_threshold',
      prefilterThresholdMin,
      prefilterThresholdMax,
    ),
    boostPercentage: number(request.filterBoostPercentage ?? 0, 'filter_boost_percentage', 0, filterBoostMax),
    includeVectors: request.includeVectors === true,
  }
}

function parseTask(
  name: string,
  input: FieldQuery,
  definition: CollectionDefinition,
  limits: Limits,
): DenseTask | SparseTask {
  const at = definition.fields.findIndex((field) => field.name === name)
  const field = definition.fields[at]
  if (field === undefined) {
    const names = definition.fields.map((candidate) => candidate.name).join(', ')
    throw new EngineError('field_not_found', `the collection has no field ${printed(name)}, it has ${names}`, {
      field: 'fields',
      value: name,
    })
  }
  const k = whole(input.limit ?? topKDefault, 'top_k', 1, limits.topKMax)
  const ef = Math.max(k, whole(input.ef ?? efDefault, 'ef', 1, efMax))
  const path = `query for ${name}`
  if (field.kind === 'dense') {
    if (!isArrayLike(input.query)) {
      throw new EngineError('invalid_argument', `${path} must be an array of numbers, got ${printed(input.query)}`, {
        field: path,
        value: printed(input.query),
      })
    }
    const query = new Float32Array(field.params.dimension)
    putDense(input.query, field.params, query, 0, path)
    return { kind: 'dense', at, definition: field, k, ef, query }
  }
  if (isArrayLike(input.query) || typeof input.query !== 'object' || input.query === null) {
    throw new EngineError('invalid_argument', `${path} must be { indices, values }, got ${printed(input.query)}`, {
      field: path,
      value: printed(input.query),
    })
  }
  return { kind: 'sparse', at, definition: field, k, ef, query: parseSparse(input.query, field, path) }
}

function whole(value: unknown, field: string, min: number, max: number): number {
  if (!Number.isInteger(value)) {
    throw new EngineError('invalid_argument', `${field} must be a whole number, got ${printed(value)}`, {
      field,
      value: printed(value),
      limit: [min, max],
    })
  }
  return number(value, field, min, max)
}

function number(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new EngineError('invalid_argument', `${field} must be a finite number, got ${printed(value)}`, {
      field,
      value: printed(value),
      limit: [min, max],
    })
  }
  if (value < min || value > max) {
    throw new EngineError('limit_exceeded', `${field} is ${value}, it must be between ${min} and ${max}`, {
      field,
      value,
      limit: [min, max],
    })
  }
  return value
}
