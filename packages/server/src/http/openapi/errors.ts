// The error replies in the description: one for each status, with the codes that have it, and which of them a route can send.
import { needsLicense } from '../../access/access.ts'
import { type AnyCode, errorCodes, retryAfterSeconds, statusOf } from '../../errors.ts'
import { integer, type JsonSchema, list, object, oneOfTexts, ref, text } from './build.ts'
import type { DescribedRoute } from './described-route.ts'
import { time } from './replies/parts.ts'

/** Instead of 503, to clients that follow the leader themselves. */
const misdirected = 421
const codeMeaning = 'The reason; docs/reference/errors.md explains each code.'
const member = { type: ['string', 'number', 'boolean', 'null'] }

function errorSchema(codes: readonly string[]): JsonSchema {
  return object(
    {
      error: text('A message for people.'),
      code: oneOfTexts(codes, codeMeaning),
      request_id: text('The header x-request-id.'),
    },
    {
      field: text('The invalid input.'),
      value: { ...member, description: 'Its value, shortened.' },
      limit: { ...member, description: 'The limit that it exceeds.' },
      leader: text('URL of the node that takes writes, with not_leader.'),
      aliases: list(text(), 'Names of the aliases, with collection_has_aliases.'),
      reach: {
        ...object({ lsn_first: integer(), lsn_last: integer(), time_first: time, time_last: time }),
        description: 'The moments that can be reached, with moment_unreachable.',
      },
      results: { type: 'array', items: ref('WriteResult'), description: 'The result for each object, with conflict.' },
      items: {
        ...list(object({ id: text(), reason: text() })),
        description:
          'Objects whose texts have no vector, with embedding_failed and embedding_timeout. Nothing was written.',
      },
    },
  )
}

/** Codes by status, with those that published clients expect under another status on some routes. */
function codesByStatus(routes: readonly DescribedRoute[]): ReadonlyMap<number, readonly string[]> {
  const pairs = [
    ...errorCodes.map((code) => [statusOf(code as AnyCode), code] as const),
    [misdirected, 'not_leader'] as const,
    ...routes.flatMap(({ config }) => [
      ...Object.entries(config?.statuses ?? {}).map(([code, status]) => [status, code] as const),
      ...(config?.missingCollectionStatus === undefined
        ? []
        : [[config.missingCollectionStatus, 'collection_not_found'] as const]),
    ]),
  ]
  const found = new Map<number, Set<string>>()
  for (const [status, code] of pairs) found.set(status, (found.get(status) ?? new Set()).add(code))
  return new Map([...found].sort(([a], [b]) => a - b).map(([status, codes]) => [status, [...codes].sort()]))
}

export interface ErrorComponents {
  readonly schemas: { readonly [name: string]: JsonSchema }
  readonly responses: { readonly [name: string]: JsonSchema }
}

/** `Error` has every code; `Error404` those that are sent with status 404. */
export function errorComponents(routes: readonly DescribedRoute[]): ErrorComponents {
  const statuses = [...codesByStatus(routes)].filter(([status]) => !otherStatuses.has(status))
  const entries = [
    ['Error', errorSchema([...errorCodes].sort()), errorCodes, 'The request failed.'] as const,
    ...statuses.map(
      ([status, codes]) => [`Error${status}`, errorSchema(codes), codes, meanings.get(status) ?? ''] as const,
    ),
  ]
  return {
    schemas: Object.fromEntries(entries.map(([name, schema]) => [name, schema])),
    responses: Object.fromEntries(
      entries.map(([name, , codes, description]) => [name, errorResponse(name, codes, description)]),
    ),
  }
}

function errorResponse(name: string, codes: readonly string[], description: string): JsonSchema {
  const canRetry = codes.some((code) => retryAfterSeconds(code as AnyCode) !== undefined)
  const retry = { schema: integer(), description: 'Seconds to wait before a retry, if a retry can succeed.' }
  return {
    description,
    ...(canRetry && { headers: { 'Retry-After': retry } }),
    content: { 'application/json': { schema: ref(name) } },
  }
}

const meanings: ReadonlyMap<number, string> = new Map([
  [400, 'The request is invalid.'],
  [401, 'The token is missing or wrong.'],
  [402, 'No license is active.'],
  [403, 'The request is not allowed.'],
  [404, 'The target of the request does not exist.'],
  [409, 'The request contradicts the current state.'],
  [410, 'The server no longer knows the position of the cursor, or the moment of the past cannot be reached.'],
  [413, 'The body is too large.'],
  [415, 'The content type is not supported.'],
  [421, 'Another node leads the cluster, and the request says Annal-Forward: never. Its URL is in Annal-Leader.'],
  [422, 'The request key was used for another request.'],
  [429, 'Too many requests.'],
  [500, 'The server failed.'],
  [502, 'The provider of a field made no vectors.'],
  [503, 'The server cannot handle the request now.'],
  [504, 'The provider of a field made no vectors in time.'],
  [507, 'There is not enough disk space or memory.'],
])

/** References to the replies for the statuses that the route can send besides success. */
export function errorResponses(route: DescribedRoute): { readonly [status: string]: JsonSchema } {
  const statuses = statusesOf(route).map((status) => [status, response(`Error${status}`)] as const)
  return { ...Object.fromEntries(statuses), default: response('Error') }
}

function response(name: string): JsonSchema {
  return { $ref: `#/components/responses/${name}` }
}

/**
 * The statuses of a path that does not accept the method, of an unknown Expect header, and of nodes: no operation sends them. A moment that is being loaded is not an error: as a status of success, it would change the type of every read in generated clients.
 */
const otherStatuses: ReadonlySet<number> = new Set([
  statusOf('method_not_allowed'),
  statusOf('expectation_failed'),
  statusOf('unsupported_in_cluster'),
  statusOf('moment_loading'),
])

/** Reads that can be as of a moment of the past. */
const asOfRoutes = [
  ...['/collection/:name/search', '/search/batch', '/facets', '/recall'],
  ...['/objects/query', '/objects/count', '/objects/scroll'],
]

/** Routes that may call a provider. */
const embedRoutes = ['/objects', '/search', '/search/batch'].map((ending) => `/api/v2/collection/:name${ending}`)

function statusesOf({ method, url, schema, config }: DescribedRoute): number[] {
  const { doc, bodyOptional } = config ?? {}
  const access = doc?.access ?? 'control'
  const hasBody = schema?.body !== undefined || doc?.body !== undefined || bodyOptional === true
  const changes = access === 'write' || (access !== 'open' && String(method) !== 'GET')
  const mayEmbed = embedRoutes.includes(url) && String(method) === 'POST'
  const found = [
    400,
    ...(access === 'open' ? [] : [401]),
    ...(needsLicense(access, String(method)) ? [402] : []),
    403,
    404,
    ...(changes ? [409] : []),
    ...(asOfRoutes.some((ending) => url.endsWith(ending)) ? [statusOf('moment_unreachable')] : []),
    ...(hasBody ? [413, 415] : []),
    ...(access === 'open' || access === 'any' ? [] : [misdirected]),
    ...(config?.requestKey === 'kept' ? [422] : []),
    ...(access === 'open' && url.endsWith('/health') ? [] : [429]),
    500,
    ...(mayEmbed ? [502, 504] : []),
    503,
    ...(changes || access === 'read' || access === 'search' ? [507] : []),
  ]
  return found
}
