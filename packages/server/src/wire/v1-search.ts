// The request and reply of /index/{name}/search.
import {
  efMax,
  type FieldQuery,
  type Filter,
  type FilterCondition,
  type Fusion,
  recallTargetMax,
  recallTargetMin,
  type SearchRequest,
  topKDefault,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { parseJsonText } from './json-body.ts'
import { floatsFrom, indicesFrom } from './numbers.ts'
import { describedAs, type Infer, optionalInteger, optionalNumber, optionalNumbers, optionalVector } from './schema.ts'
import { readTuning, tuningProperties } from './search-tuning.ts'
import type { IndexShape } from './v1-index.ts'
import { checkDimension, checkSparse } from './v1-upsert.ts'
import { vectorFrom } from './vector-bytes.ts'

const rrfConstantDefault = 60
const rrfWeightDefault = 0.5

/** Body of a search in /api/v1. */
export function searchBody(topKMax: number) {
  return Type.Object(
    {
      k: optionalInteger({ minimum: 1, maximum: topKMax }, 'Number of results; default 10.'),
      ef: optionalInteger(
        { minimum: 1, maximum: efMax },
        'Number of candidates that the graph walk keeps; default 128.',
      ),
      recall: optionalNumber(
        { minimum: recallTargetMin, maximum: recallTargetMax },
        'Recall to reach, instead of ef. The server measures which ef reaches it.',
      ),
      vector: optionalVector('Dense query vector; its length is the dimension of the index.'),
      sparse_indices: optionalNumbers('Indices of the sparse query.'),
      sparse_values: optionalNumbers('Weights of the sparse query, one for each index.'),
      filter: Type.Optional(
        describedAs(Type.Unsafe<string | readonly unknown[] | null>({ type: ['string', 'array', 'null'] }), {
          anyOf: [{ $ref: '#/components/schemas/Filter' }, { type: ['string', 'null'] }],
          description: 'Conditions that must all be true, as an array or as its JSON text.',
        }),
      ),
      ...tuningProperties,
      dense_rrf_weight: optionalNumber(
        { minimum: 0, maximum: 1 },
        'Weight of the dense ranks in a hybrid search; default 0.5.',
      ),
      rrf_rank_constant: optionalNumber({ exclusiveMinimum: 0 }, 'Rank constant of the fusion; default 60.'),
    },
    { $id: 'SearchIndex' },
  )
}
export type SearchBody = Infer<ReturnType<typeof searchBody>>

/** The search that a body requests. */
export function readSearch(body: SearchBody, shape: IndexShape): SearchRequest {
  const fields: { [field: string]: FieldQuery } = {}
  const limit = body.k ?? topKDefault
  const weight = body.dense_rrf_weight ?? rrfWeightDefault
  const dense = body.vector == null ? undefined : vectorFrom(body.vector, 'vector')
  const sparse = readSparse(body, shape)
  if (dense !== undefined) checkDimension(dense, 'vector', shape.dense.dimension)
  if (dense !== undefined && !(sparse !== undefined && weight === 0)) {
    fields[shape.denseField] = { query: dense, limit, ...readEffort(body) }
  }
  if (sparse !== undefined && !(dense !== undefined && weight === 1))
    fields[shape.sparseField] = { query: sparse, limit }
  if (dense === undefined && sparse === undefined) {
    throw invalidArgument('vector or, on a hybrid index, sparse_indices and sparse_values are required', {
      field: 'vector',
    })
  }
  return {
    fields,
    ...readTuning(body, body.filter == null ? undefined : readConditions(body.filter)),
    ...(Object.keys(fields).length < 2 ? {} : { fusion: readFusion(body, weight, shape) }),
  }
}

/** Published clients always send ef. Without it and without recall, the field decides. */
function readEffort({ ef, recall }: SearchBody): Pick<FieldQuery, 'ef' | 'recall'> {
  if (recall == null) return ef == null ? {} : { ef }
  if (ef == null) return { recall }
  throw invalidArgument('the body has both ef and recall; use one of them', { field: 'recall', value: recall })
}

function readFusion(body: SearchBody, weight: number, { denseField, sparseField }: IndexShape): Fusion {
  const weights = { [denseField]: weight, [sparseField]: 1 - weight }
  return { method: 'rrf', k: body.rrf_rank_constant ?? rrfConstantDefault, weights, limit: body.k ?? topKDefault }
}

function readSparse(body: SearchBody, shape: IndexShape): { indices: Uint32Array; values: Float32Array } | undefined {
  const indices = indicesFrom(body.sparse_indices ?? [], 'sparse_indices')
  const values = floatsFrom(body.sparse_values ?? [], 'sparse_values')
  if (indices.length !== values.length) {
    throw invalidArgument(`there are ${indices.length} sparse_indices and ${values.length} sparse_values`, {
      field: 'sparse_values',
      value: values.length,
      limit: indices.length,
    })
  }
  if (indices.length === 0) return undefined
  checkSparse(indices, 'sparse_indices', shape)
  return { indices, values }
}

/** Accepts an array or its JSON text. The engine checks the conditions. */
export function readConditions(filter: unknown, field = 'filter'): Filter {
  const conditions = typeof filter === 'string' ? readConditionText(filter, field) : filter
  if (!Array.isArray(conditions)) {
    throw new ServerError('invalid_filter', `${field} must be an array of conditions`, {
      field,
      value: conditions,
    })
  }
  const items: readonly unknown[] = conditions
  return items.map((condition, i) => {
    if (isObject(condition)) return condition as unknown as FilterCondition
    const message = `${field}[${i}] must be an object such as {"color":{"$eq":"red"}}`
    throw new ServerError('invalid_filter', message, { field: `${field}[${i}]`, value: condition })
  })
}

function readConditionText(text: string, field: string): unknown {
  return text.trim() === '' ? [] : parseJsonText(text, field)
}
