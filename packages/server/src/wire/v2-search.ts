// The request and reply of /api/v2/collection/{name}/search: one query per field, and their fusion if requested.
import {
  type EmbeddedQuery,
  efMax,
  type FieldQuery,
  type Fusion,
  groupHitsMax,
  type SearchRequest,
  type TextQuery,
  topKDefault,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { asOfOptions } from './as-of.ts'
import { checkQueryForm, type KindOf } from './field-kinds.ts'
import { readOptions } from './read-options.ts'
import { describedAs, filterConditions, type Infer, minLsn, optionalBoolean } from './schema.ts'
import { readTuning, tuningProperties } from './search-tuning.ts'
import { withEntries } from './unknown-keys.ts'
import { readConditions } from './v1-search.ts'
import { readSparseJson } from './v2-objects.ts'
import { isVectorList, vectorFrom, vectorsFrom } from './vector-bytes.ts'

/** Keys of the query of one field, which readQuery checks. */
const queryKeys = Type.Object({
  query: Type.Object({
    id: Type.Unknown(),
    indices: Type.Unknown(),
    values: Type.Unknown(),
    sparse_indices: Type.Unknown(),
    sparse_values: Type.Unknown(),
    text: Type.Unknown(),
    must: Type.Unknown(),
    should: Type.Unknown(),
    must_not: Type.Unknown(),
  }),
  limit: Type.Unknown(),
  ef_search: Type.Unknown(),
  ef: Type.Unknown(),
  recall: Type.Unknown(),
  score_threshold: Type.Unknown(),
  operator: Type.Unknown(),
  highlight: Type.Unknown(),
  k1: Type.Unknown(),
  b: Type.Unknown(),
})

/** How the hits of a search are grouped. */
function groupByOf(topKMax: number) {
  return Type.Object({
    key: Type.String({
      minLength: 1,
      description: 'A filter key; the objects that have a value under it are a group.',
    }),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: topKMax,
        description: 'Number of groups; default: the limit of the field, or that of the fusion.',
      }),
    ),
    hits: Type.Optional(
      Type.Integer({ minimum: 1, maximum: groupHitsMax, description: 'Number of hits of each group; default 1.' }),
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: topKMax, description: 'Number of the best groups to leave out; default 0.' }),
    ),
  })
}

/** Body of a search in /api/v2. */
export function searchCollectionBody(topKMax: number) {
  return Type.Object({
    fields: withEntries(describedAs(Type.Unsafe<object>({ type: ['object', 'array'] }), 'FieldQueries'), queryKeys),
    filter: Type.Optional(filterConditions),
    min_lsn: minLsn(),
    ...asOfOptions,
    ...readOptions,
    ...tuningProperties,
    include_texts: optionalBoolean('Adds the texts of its object to every result.'),
    fusion: Type.Optional(
      Type.Object({
        method: Type.Unsafe<Fusion['method']>({
          type: 'string',
          enum: ['rrf', 'relative_score'],
          description: 'rrf: by reciprocal ranks; relative_score: by similarities scaled to their range.',
        }),
        k: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Rank constant of rrf; default 60.' })),
        weights: Type.Optional(
          Type.Record(Type.String(), Type.Number({ minimum: 0 }), { description: 'By field; default 1 each.' }),
        ),
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: topKMax, description: 'Number of fused results; default 10.' }),
        ),
      }),
    ),
    group_by: Type.Optional(groupByOf(topKMax)),
  })
}
export type SearchCollectionBody = Infer<ReturnType<typeof searchCollectionBody>>

/** The search that a body requests. */
export function readCollectionSearch(body: SearchCollectionBody, topKMax: number, kindOf: KindOf): SearchRequest {
  const queries = queryEntries(body.fields).map(
    ([name, query]) => [name, readQuery(query, `fields.${name}`, { topKMax, kind: kindOf(name) })] as const,
  )
  const fields = Object.fromEntries(queries)
  if (queries.length === 0 || Object.keys(fields).length !== queries.length) {
    throw invalidArgument('fields must name at least one field, and none twice', {
      field: 'fields',
      value: queries.length,
    })
  }
  return {
    fields,
    ...readTuning(body, body.filter === undefined ? undefined : readConditions(body.filter)),
    ...(body.include_texts == null ? {} : { includeTexts: body.include_texts }),
    ...(body.fusion === undefined ? {} : { fusion: body.fusion }),
    ...(body.group_by == null ? {} : { groupBy: body.group_by }),
    ...(body.min_lsn == null ? {} : { minLsn: body.min_lsn }),
  }
}

function queryEntries(fields: object): [string, unknown][] {
  if (!Array.isArray(fields)) return Object.entries(fields)
  return fields.flatMap((entry: unknown, i) => {
    if (isObject(entry)) return Object.entries(entry)
    throw invalidArgument(`fields[${i}] must be an object with one field`, { field: `fields[${i}]`, value: entry })
  })
}

function readQuery(
  value: unknown,
  field: string,
  { topKMax, kind }: { readonly topKMax: number; readonly kind: ReturnType<KindOf> },
): FieldQuery {
  if (!isObject(value)) throw invalidArgument(`${field} must be an object with a query`, { field, value })
  checkQueryForm(value.query, kind, `${field}.query`)
  return {
    // The engine checks texts and clauses.
    query: isForEngine(value.query, kind) ? (value.query as string) : readVector(value.query, `${field}.query`),
    ...readTextOptions(value),
    limit: readCount(value.limit, `${field}.limit`, topKMax) ?? topKDefault,
    ...readEffort(value, field),
    ...(value.score_threshold == null
      ? {}
      : { scoreThreshold: readScore(value.score_threshold, `${field}.score_threshold`) }),
  }
}

/** Either ef or recall, or neither: then the field decides. The engine checks the range of a recall. */
function readEffort(value: object & Record<string, unknown>, field: string): Pick<FieldQuery, 'ef' | 'recall'> {
  const { recall } = value
  const ef = readCount(value.ef_search ?? value.ef, `${field}.ef_search`, efMax)
  if (recall == null) return ef === undefined ? {} : { ef }
  if (ef !== undefined)
    throw invalidArgument(`${field} has both ef_search and recall; use one of them`, {
      field: `${field}.recall`,
      value: recall,
    })
  if (typeof recall === 'number') return { recall }
  throw invalidArgument(`${field}.recall must be a number`, { field: `${field}.recall`, value: recall })
}

/** The engine checks them. */
function readTextOptions(value: { readonly [key: string]: unknown }): Partial<FieldQuery> {
  const given = Object.entries(value).filter(([name, option]) => textOptions.has(name) && option != null)
  return Object.fromEntries(given)
}

const textOptions: ReadonlySet<string> = new Set(['operator', 'highlight', 'k1', 'b'])
const textClauses = ['must', 'should', 'must_not'] as const

/** Whether a query is a text or clauses, or the field is unknown and it may be. */
function isForEngine(query: unknown, kind: ReturnType<KindOf>): boolean {
  if (kind !== undefined) return kind === 'text' && !(isObject(query) && 'id' in query)
  if (query instanceof Uint8Array) return false
  if (isObject(query)) return !('id' in query || 'indices' in query || 'sparse_indices' in query)
  return !Array.isArray(query) || typeof query[0] === 'string'
}

function readVector(query: unknown, field: string): FieldQuery['query'] {
  if (isObject(query) && 'id' in query) return { id: idFrom(query.id, `${field}.id`) }
  // The engine checks the clauses.
  if (isObject(query) && textClauses.some((name) => name in query)) return query as TextQuery
  // The engine knows whether the field has a provider, and checks the text.
  if (isObject(query) && 'text' in query) return query as unknown as EmbeddedQuery
  if (isObject(query)) return readSparseJson(query, field)
  return isVectorList(query) ? vectorsFrom(query, field) : vectorFrom(query, field)
}

function readScore(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw invalidArgument(`${field} must be a finite number`, { field, value })
}

function idFrom(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  throw invalidArgument(`${field} must be the id of a stored object`, { field, value })
}

function readCount(value: unknown, field: string, max: number): number | undefined {
  if (value == null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalidArgument(`${field} must be a whole number`, { field, value })
  if (value >= 1 && value <= max) return value
  throw new ServerError('limit_exceeded', `${field} is ${value}, but it must be between 1 and ${max}`, {
    field,
    value,
    limit: value < 1 ? 1 : max,
  })
}
