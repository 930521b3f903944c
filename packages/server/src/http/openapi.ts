// openapi.json out of the routes themselves: the schemas that validate, the limits in force, and what each route says about
// itself. Nothing is described by hand a second time.
import type { TSchema } from '@sinclair/typebox'
import type { RouteOptions } from 'fastify'
import { errorCodes } from './errors.ts'
import type { ReplyDoc, RouteDoc } from './route-doc.ts'

/** The parts of a route that the description needs. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

interface JsonMap {
  readonly [key: string]: unknown
}

const anyObject = { type: 'object' }

export function openapiDocument(routes: readonly DescribedRoute[], version: string): JsonMap {
  const paths = new Map<string, [string, JsonMap][]>()
  for (const route of routes) {
    const doc = route.config?.doc
    if (doc === undefined || route.method === 'HEAD') continue
    const path = templateOf(route.url)
    const operations = paths.get(path) ?? []
    operations.push([String(route.method).toLowerCase(), operationOf(route, doc)])
    paths.set(path, operations)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Annal',
      version,
      description: 'A vector database. Errors are explained in docs/reference/errors.md.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, {}],
    paths: Object.fromEntries([...paths].map(([path, operations]) => [path, Object.fromEntries(operations)])),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token, also accepted without the word Bearer.' },
      },
      schemas: { Error: errorSchema },
      responses: {
        Error: {
          description: 'The request failed; `code` is the reason.',
          headers: {
            'Retry-After': {
              schema: { type: 'integer' },
              description: 'Seconds to wait before a retry, if a retry can succeed.',
            },
          },
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

const errorSchema = {
  type: 'object',
  required: ['error', 'code', 'request_id'],
  properties: {
    error: { type: 'string', description: 'A message for people.' },
    code: { type: 'string', enum: errorCodes },
    request_id: { type: 'string' },
    field: { type: 'string', description: 'The invalid input.' },
    value: { description: 'Its value, shortened.' },
    limit: { description: 'The limit that it exceeds.' },
  },
}

function operationOf(route: DescribedRoute, doc: RouteDoc): JsonMap {
  const names = [...templateOf(route.url).matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const body = doc.body ?? (route.schema?.body as TSchema | undefined)
  return {
    operationId: operationId(route),
    summary: doc.summary,
    tags: [route.url.startsWith('/api/v1') ? 'v1' : route.url.startsWith('/api/v2') ? 'v2' : 'operations'],
    ...(doc.access === 'open' ? { security: [] } : {}),
    ...(names.length === 0
      ? {}
      : { parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })) }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, doc.bodyMsgpack) }),
    responses: { [doc.reply.status ?? 200]: response(doc.reply), default: { $ref: '#/components/responses/Error' } },
  }
}

function requestBody(body: TSchema, msgpack: string | undefined): JsonMap {
  const schema = plain(body)
  const content = {
    'application/json': { schema },
    'application/msgpack': { schema: msgpack === undefined ? schema : { description: msgpack } },
  }
  return { required: true, content }
}

function response({ description, text, msgpack, json }: ReplyDoc): JsonMap {
  return {
    description,
    content: {
      ...(msgpack === undefined ? {} : { 'application/msgpack': { schema: { description: msgpack } } }),
      ...(text === undefined ? {} : { 'text/plain': { schema: { type: 'string', examples: [text] } } }),
      'application/json': { schema: json === undefined ? anyObject : plain(json) },
    },
  }
}

/** Without the symbols that the schema library keeps for itself, and without $id, which would rename the schema's place. */
function plain(schema: TSchema): JsonMap {
  const { $id: _id, ...rest } = JSON.parse(JSON.stringify(schema)) as JsonMap & { $id?: string }
  return rest
}

/** `/index/:name/vector/*` as `/index/{name}/vector/{id}`; a wildcard stands for an id. */
function templateOf(url: string): string {
  const wildcard = url.startsWith('/api/v1') ? '{id}/delete' : '{id}'
  return url.replaceAll(/:(\w+)/g, '{$1}').replace('*', wildcard)
}

function operationId(route: DescribedRoute): string {
  const words = templateOf(route.url)
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '' && word !== 'api')
  return [String(route.method).toLowerCase(), ...words]
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
}
