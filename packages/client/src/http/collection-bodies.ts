// The JSON bodies of the collection API. Options have camelCase names in the client and snake_case names on the wire; this file is where
// they change. JSON.stringify omits undefined members, and the server uses its defaults. Members that are not known here are sent as they
// are, so that the server can refuse them.
import type {
  AsOf,
  BatchedRequest,
  CollectionDefinition,
  ContentOptions,
  DefaultChanges,
  DenseParams,
  FacetRequest,
  FieldChanges,
  FieldDefinition,
  FieldQuery,
  ObjectPatch,
  RebuildChanges,
  ScrollRequest,
  SparseFieldDefinition,
  TextFieldDefinition,
  TextMatch,
  TextQuery,
  WriteConditions,
  WriteExpiry,
} from '../model.ts'
import { checkNumbers, checkSparse, isMany } from './vector.ts'

export function definitionBody({ fields, ttlSeconds, ...definition }: CollectionDefinition): unknown {
  return { ...definition, ttl_seconds: ttlSeconds, fields: Array.isArray(fields) ? fields.map(fieldBody) : fields }
}

function fieldBody(field: FieldDefinition): unknown {
  if (field === null || typeof field !== 'object') return field
  if (field.type === 'sparse') return sparseBody(field)
  if (field.type === 'text') return textBody(field)
  const { params } = field
  return params === null || typeof params !== 'object' ? field : { ...field, params: denseBody(params) }
}

/** Earlier names are those of the wire. The new name counts where a definition has both. */
function denseBody({ spaceType, efConstruction, keepOriginals, ...params }: DenseParams): unknown {
  return {
    ...params,
    space_type: spaceType ?? params.space_type,
    ef_con: efConstruction ?? params.ef_con,
    keep_originals: keepOriginals ?? params.keep_originals,
  }
}

function sparseBody({ params, sparse_model: earlier, ...field }: SparseFieldDefinition): unknown {
  if (params === null || typeof params !== 'object') return { ...field, sparse_model: earlier, params }
  const { model, ...rest } = params
  return { ...field, sparse_model: model ?? earlier, params: rest }
}

function textBody({ params, ...field }: TextFieldDefinition): unknown {
  if (params === null || typeof params !== 'object') return { ...field, params }
  const { stopWords, keptWords, ...rest } = params
  return { ...field, params: { ...rest, stop_words: stopWords, kept_words: keptWords } }
}

/** `where` precedes the names of fields in errors. */
export function searchBody(request: BatchedRequest, where: string): unknown {
  return bodyWith(request, (field, name) => {
    const query = vectorBody(field.query, `${where}fields.${name}.query`)
    return { ...parametersOf(field), query }
  })
}

/** The only vector of a search, and the body without it. Undefined for a search with several vectors or another kind of query. */
export function vectorSearch(
  request: BatchedRequest,
): { readonly vector: ArrayLike<number>; readonly parameters: unknown } | undefined {
  const [only, ...others] = Object.entries(request.fields ?? {})
  const query = only?.[1]?.query
  if (only === undefined || others.length > 0 || query === null || typeof query !== 'object') return undefined
  if ('id' in query || 'indices' in query || 'text' in query || isTextQuery(query) || isMany(query)) return undefined
  checkNumbers(query, `fields.${only[0]}.query`)
  return { vector: query, parameters: bodyWith(request, parametersOf) }
}

function bodyWith(request: BatchedRequest, fieldBody: (field: FieldQuery, name: string) => unknown): unknown {
  const {
    fields,
    prefilterCardinalityThreshold: threshold,
    filterBoostPercentage: boost,
    includeVectors,
    includeTexts,
    groupBy,
    minLsn,
    asOf,
    ...rest
  } = request
  const queries = Object.entries(fields ?? {}).map(([name, field]) => [name, field && fieldBody(field, name)] as const)
  return {
    ...rest,
    fields: Object.fromEntries(queries),
    filter_params:
      threshold === undefined && boost === undefined
        ? undefined
        : { prefilter_threshold: threshold, boost_percentage: boost },
    include_vectors: includeVectors,
    include_texts: includeTexts,
    group_by: groupBy,
    min_lsn: minLsn,
    ...asOfBody(asOf),
  }
}

function parametersOf({ query: _query, ef, scoreThreshold, ...rest }: FieldQuery) {
  return { ...rest, ef_search: ef, score_threshold: scoreThreshold }
}

/** The members of a query of a text field. */
const textMembers = ['must', 'should', 'mustNot']

function isTextQuery(query: FieldQuery['query']): query is TextQuery {
  if (query === null || typeof query !== 'object') return false
  return textMembers.some((member) => member in query)
}

function textQueryBody({ mustNot, ...rest }: TextQuery): unknown {
  // As JSON has it, if the program does not check its types.
  return { ...rest, ...(mustNot !== undefined && { must_not: mustNot }) }
}

function vectorBody(query: FieldQuery['query'], field: string): unknown {
  if (typeof query === 'string') return query
  if (query !== null && typeof query === 'object') {
    if ('id' in query) return { id: query.id }
    if (isTextQuery(query)) return textQueryBody(query)
    if ('text' in query) return query
    if ('indices' in query) {
      checkSparse(query, field)
      return { indices: Array.from(query.indices), values: Array.from(query.values) }
    }
    if (isMany(query)) return Array.from(query, (vector, i) => vectorBody(vector, `${field}[${i}]`))
  }
  checkNumbers(query, field)
  return Array.from(query)
}

/** Conditions on texts; no key if there are none. */
export function matchBody(match: TextMatch | undefined): { readonly match?: unknown } {
  if (typeof match !== 'object' || match === null) return match === undefined ? {} : { match }
  const conditions = Object.entries(match).map(([field, condition]) => {
    const query = condition?.query
    return [
      field,
      typeof query === 'object' && query !== null ? { ...condition, query: textQueryBody(query) } : condition,
    ]
  })
  return { match: Object.fromEntries(conditions) }
}

/** Which contents of their fields objects are returned with. */
export function contentsBody({ includeVectors, includeTexts }: ContentOptions = {}) {
  return { include_vectors: includeVectors, include_texts: includeTexts }
}

export function scrollBody({ includeVectors, includeTexts, match, asOf, ...request }: ScrollRequest): unknown {
  return {
    ...request,
    ...matchBody(match),
    ...contentsBody({ includeVectors, includeTexts }),
    ...asOfBody(asOf),
  }
}

export function facetsBody({ match, asOf, ...request }: FacetRequest): unknown {
  return { ...request, ...matchBody(match), ...asOfBody(asOf) }
}

/** A moment that is not loaded in this time is requested again, so that no proxy ends a long wait. */
const waitSeconds = 5

/** The keys of a moment of the past; none for the present. */
export function asOfBody(asOf: AsOf | undefined): { readonly as_of?: unknown; readonly wait?: number } {
  if (asOf === undefined) return {}
  const { time, keepExpired, ...rest } = asOf as AsOf & { readonly time?: string | Date }
  return {
    as_of: { ...rest, keep_expired: keepExpired, ...(time !== undefined && { time: textOf(time) }) },
    wait: waitSeconds,
  }
}

/** The same in a query string. */
export function asOfParameters(asOf: AsOf | undefined): [string, string][] {
  if (asOf === undefined) return []
  const moment = 'lsn' in asOf ? String(asOf.lsn) : textOf(asOf.time)
  return [
    ['as_of', moment],
    ['wait', String(waitSeconds)],
  ]
}

/** An invalid date is left to the server, which refuses it by name. */
function textOf(time: string | Date): string {
  return time instanceof Date && Number.isFinite(time.getTime()) ? time.toISOString() : String(time)
}

export function defaultChangesBody({ ttlSeconds, ...others }: DefaultChanges): unknown {
  return { ...others, ttl_seconds: ttlSeconds }
}

export function fieldChangesBody(changes: FieldChanges): unknown {
  return { fields: Object.entries(changes).map(([field, change]) => ({ ...change, field })) }
}

export function rebuildBody(changes: RebuildChanges): unknown {
  return {
    fields: Object.entries(changes).map(([field, { efConstruction, ...change }]) => ({
      field,
      ...change,
      ef_con: efConstruction,
    })),
  }
}

export function patchBody({ id, meta, filter, increment, ...conditions }: ObjectPatch): unknown {
  return { id, meta, filter, increment, ...writeConditionsBody(conditions) }
}

/** The conditions and the expiry of an object as the server names them. */
export function writeConditionsBody({
  ifAbsent,
  ifLsn,
  ifMatch,
  ttlSeconds,
  expiresAt,
}: WriteConditions & WriteExpiry) {
  return {
    ...(ifAbsent !== undefined && { if_absent: ifAbsent }),
    ...(ifLsn !== undefined && { if_lsn: ifLsn }),
    ...(ifMatch !== undefined && { if_match: ifMatch }),
    ...(ttlSeconds !== undefined && { ttl_seconds: ttlSeconds }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }
}
