// Queries of a collection besides single searches: batches of searches, counts, facets, pages, recall.
import {
  type CalibrateRequest,
  type CountRequest,
  type FacetRequest,
  type FieldCalibration,
  type Filter,
  type RecallRequest,
  type ScrollPage,
  type ScrollRequest,
  searchesMax,
  type TextMatch,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { isCoded, ServerError } from '../errors.ts'
import { asOfOptions, asOfQuery } from './as-of.ts'
import { contentOptions, readContents } from './contents.ts'
import { asOfMember } from './moment.ts'
import { piecesOf } from './object-replies.ts'
import { withMembers } from './pieces.ts'
import { readOptions } from './read-options.ts'
import { describedAs, filterConditions, type Infer, optionalBoolean, optionalInteger, optionalText } from './schema.ts'
import { withEntries } from './unknown-keys.ts'
import { readConditions } from './v1-search.ts'
import { searchCollectionBody } from './v2-search.ts'

/** Body of a batch of searches. */
export function searchBatchBody(topKMax: number) {
  // Without its name, because a schema with that name already exists.
  const search = Type.Object(searchCollectionBody(topKMax).properties)
  return Type.Object(
    { searches: Type.Array(search, { maxItems: searchesMax }), ...asOfOptions, ...readOptions },
    { $id: 'SearchBatch' },
  )
}
export type SearchBatchBody = Infer<ReturnType<typeof searchBatchBody>>

/** Reads the search at `position` of a batch. Errors of its fields name the position: `searches[1].fields.plot.query`. */
export function ofSearch<T>(position: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!isCoded(error) || error.details?.field === undefined) throw error
    const { field } = error.details
    const named = `searches[${position}].${field}`
    const message = error.message.includes(field)
      ? error.message.replace(field, () => named)
      : `searches[${position}]: ${error.message}`
    throw new ServerError(error.code, message, { ...error.details, field: named }, { cause: error })
  }
}

/** Conditions on texts, which the engine checks. */
const match = Type.Optional(
  withEntries(
    describedAs(Type.Unsafe<TextMatch>({ type: 'object' }), 'TextMatch'),
    Type.Object({
      query: Type.Object({ must: Type.Unknown(), should: Type.Unknown(), must_not: Type.Unknown() }),
      operator: Type.Unknown(),
    }),
  ),
)

/** Body that counts objects. */
export const countBody = Type.Object(
  { filter: Type.Optional(filterConditions), match, ...asOfOptions, ...readOptions },
  { $id: 'CountObjects' },
)
export type CountBody = Infer<typeof countBody>

/** Body that counts the values of a filter key. */
export const facetsBody = Type.Object(
  {
    key: Type.String({ description: 'A filter key.' }),
    filter: Type.Optional(filterConditions),
    match,
    limit: optionalInteger({ minimum: 1, maximum: 10_000 }, 'Number of values; default 10.'),
    ...asOfOptions,
    ...readOptions,
  },
  { $id: 'Facets' },
)
export type FacetsBody = Infer<typeof facetsBody>

/** Body that requests a page of objects. */
export function scrollBody(batchMax: number) {
  return Type.Object(
    {
      filter: Type.Optional(filterConditions),
      match,
      limit: optionalInteger(
        { minimum: 1, maximum: batchMax },
        'Number of objects; default 100. A page of large objects is shorter; its cursor continues.',
      ),
      cursor: optionalText('Cursor from the previous page.'),
      ...contentOptions,
      ...asOfOptions,
      ...readOptions,
    },
    { $id: 'ScrollObjects' },
  )
}
export type ScrollBody = Infer<ReturnType<typeof scrollBody>>

/** The value is text in a query string. The engine checks the number. */
const countText = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{1,6}$', description }))

/** Query string of a recall measurement. */
export const recallQuery = Type.Object({
  field: Type.Optional(Type.String({ description: 'A dense field; by default the first one.' })),
  sample: countText('Number of stored vectors used as queries, at most 1,000; default 100.'),
  limit: countText('Number of results compared; default 10.'),
  ef: countText('Number of candidates that the graph walk keeps; default 128.'),
  ...asOfQuery,
})
export type RecallQuery = Infer<typeof recallQuery>

/** Body that calibrates searches. */
export const calibrateBody = Type.Object(
  {
    field: optionalText('A field of type vector; by default the first one.'),
    limit: optionalInteger({ minimum: 1, maximum: 4_096 }, 'The limit of the searches; default 10.'),
    rescore: optionalBoolean('As in a search.'),
    sample: optionalInteger(
      { minimum: 1, maximum: 1_000 },
      'Number of queries; default 200 to 1,000, fewer for fields that take long.',
    ),
  },
  { $id: 'Calibrate' },
)
export type CalibrateBody = Infer<typeof calibrateBody>

/** The searches to calibrate that a body names. */
export function readCalibrate({ field, limit, rescore, sample }: CalibrateBody): CalibrateRequest {
  return {
    ...(field == null ? {} : { field }),
    ...(limit == null ? {} : { limit }),
    ...(rescore == null ? {} : { rescore }),
    ...(sample == null ? {} : { sample }),
  }
}

/** A calibration as JSON. */
export function calibrationJson({ measuredAt, tookMs, ...calibration }: FieldCalibration) {
  return {
    ...calibration,
    ...(measuredAt !== undefined && { measured_at: measuredAt }),
    ...(tookMs !== undefined && { took_ms: tookMs }),
  }
}

/** Path parameters of an object's field. */
export const neighborParams = Type.Object({ name: Type.String(), id: Type.String(), field: Type.String() })
export type NeighborParams = Infer<typeof neighborParams>

interface ConditionsBody {
  readonly filter?: unknown
  readonly match?: TextMatch | undefined
}

/** The filter of a body, and its conditions on texts; without the members that it does not have. */
function readMatching({ filter, match }: ConditionsBody): { readonly filter?: Filter; readonly match?: TextMatch } {
  return { ...(filter !== undefined && { filter: readConditions(filter) }), ...(match !== undefined && { match }) }
}

/** What a body counts: a filter if it has no conditions on texts. */
export function readCount(body: CountBody): { readonly filter?: Filter } | CountRequest {
  return readMatching(body)
}

/** The facets that a body requests. */
export function readFacets(body: FacetsBody): FacetRequest {
  return { key: body.key, ...readMatching(body), ...(body.limit == null ? {} : { limit: body.limit }) }
}

/** The page that a body requests. */
export function readScroll(body: ScrollBody): ScrollRequest {
  return {
    ...readMatching(body),
    ...(body.limit == null ? {} : { limit: body.limit }),
    ...(body.cursor == null ? {} : { cursor: body.cursor }),
    ...readContents(body),
  }
}

/** The recall measurement that a query string requests. */
export function readRecall({ field, sample, limit, ef }: RecallQuery): RecallRequest {
  return {
    ...(field !== undefined && { field }),
    ...(sample !== undefined && { sample: Number(sample) }),
    ...(limit !== undefined && { limit: Number(limit) }),
    ...(ef !== undefined && { ef: Number(ef) }),
  }
}

/** A page of objects as JSON. */
export function scrollReply({ objects, cursor, lsn, asOf }: ScrollPage, body: ScrollBody): Generator<string> {
  const pieces = piecesOf(objects, readContents(body))
  return withMembers({ cursor: cursor ?? null, lsn, ...asOfMember(asOf) }, [['objects', pieces]])
}
