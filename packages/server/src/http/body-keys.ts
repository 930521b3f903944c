// Unknown keys of a body. Annal's own routes refuse them. Routes of the published protocol, whose clients may send more than this
// server knows, accept the body and report the keys in the header `x-annal-warnings` and, in replies that are JSON objects, under
// `warnings`.
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { invalidArgument } from '../errors.ts'
import { errorValueLengthMax } from '../limits.ts'
import { type UnknownKey, unknownKeys, unknownKeysMax, unknownKeysOfEntry } from '../wire/unknown-keys.ts'
import { ArrivingBody } from './arriving-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Warnings about the body, for the client. */
    warnings: readonly string[] | undefined
  }
}

/** Routes of /api/v2 that the published clients call; all of /api/v1 are. */
const publishedRoutes: ReadonlySet<string> = new Set([
  'POST /api/v2/license/generate',
  'POST /api/v2/admin/dbs',
  'PUT /api/v2/admin/dbs/:database/type',
  'POST /api/v2/admin/dbs/:database/tokens',
  'POST /api/v2/tokens',
  'POST /api/v2/collection',
  'POST /api/v2/collection/:name/objects',
  'DELETE /api/v2/collection/:name/objects',
  'POST /api/v2/collection/:name/objects/query',
  'POST /api/v2/collection/:name/filters',
  'POST /api/v2/collection/:name/search',
  'POST /api/v2/collection/:name/rebuild',
  'POST /api/v2/collection/:name/backup',
  'POST /api/v2/backup/:backup/restore',
  'POST /api/v2/backups/:backup/restore',
])

/** Whether published clients call the route with a body. */
export function isPublished(method: string, url: string): boolean {
  return url.startsWith('/api/v1/') || publishedRoutes.has(`${method} ${url}`)
}

export function addBodyKeys(app: FastifyInstance): void {
  app.decorateRequest('warnings', undefined)
  app.addHook('onRoute', (route) => {
    const schema = bodySchemaOf(route)
    if (schema === undefined) return
    const published = isPublished(String(route.method), route.url)
    const check = (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void) => {
      if (request.body instanceof ArrivingBody) {
        watch(request.body, schema, published ? (found) => warn(request, found) : refuse, request)
        return done()
      }
      const found = unknownKeys(schema, request.body)
      const [first] = found
      if (first !== undefined && !published) return done(refusal(first))
      warn(request, found)
      done()
    }
    route.preHandler = [...[route.preHandler ?? []].flat(), check]
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const { warnings } = request
    if (warnings === undefined) return done(null, payload)
    // Header values are ASCII.
    reply.header('x-annal-warnings', warnings.join('; ').replaceAll(/[^\x20-\x7e]/g, '?'))
    const json = typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('application/json')
    done(null, json ? withWarnings(payload, warnings) : payload)
  })
}

/** Routes read lists themselves. */
function watch(
  body: ArrivingBody,
  schema: TSchema,
  report: (found: readonly UnknownKey[]) => void,
  request: FastifyRequest,
): void {
  body.watcher = {
    whole: (value) => report(unknownKeys(schema, value)),
    entry: (value, position) => {
      if ((request.warnings?.length ?? 0) < unknownKeysMax) report(unknownKeysOfEntry(schema, value, position))
    },
  }
}

function refuse([first]: readonly UnknownKey[]): void {
  if (first !== undefined) throw refusal(first)
}

function warn(request: FastifyRequest, found: readonly UnknownKey[]): void {
  if (found.length === 0) return
  const added = found.map((key) => `${sentence(key)} and is ignored${suggestion(key)}`)
  request.warnings = [...(request.warnings ?? []), ...added].slice(0, unknownKeysMax)
}

/** Adds the warnings to a JSON object that has members; `json` may be only its beginning. */
export function withWarnings(json: string, warnings: readonly string[]): string {
  return json.startsWith('{"') ? `{"warnings":${JSON.stringify(warnings)},${json.slice(1)}` : json
}

function bodySchemaOf({ schema, config }: RouteOptions): TSchema | undefined {
  return (schema?.body as TSchema | undefined) ?? config?.doc?.body
}

function refusal(key: UnknownKey): Error {
  return invalidArgument(`${sentence(key)}${suggestion(key)}`, { field: shortened(key.path) })
}

function sentence({ path }: UnknownKey): string {
  return `${JSON.stringify(shortened(path))} is not a key of this body`
}

function suggestion({ meant }: UnknownKey): string {
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
}

function shortened(path: string): string {
  return path.length <= errorValueLengthMax ? path : `${path.slice(0, errorValueLengthMax).toWellFormed()}...`
}
