// Unknown parameters of a query string. Annal's own routes reject them, because most are misspelled, and ignoring one would silently ignore what
// the client wanted. Routes that published clients call accept them and report them like unknown keys of a body (see body-keys.ts).
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { invalidArgument } from '../errors.ts'
import { errorValueLengthMax } from '../limits.ts'
import { readOptionsQuery } from '../wire/read-options.ts'
import { nearest, unknownKeysMax } from '../wire/unknown-keys.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Parameters that the route reads without a schema. */
    readonly queryKeys?: readonly string[]
  }
}

const ownPrefix = '/api/v2/'

/** Routes of /api/v2 without a body, or whose body has no schema, that the published clients call; body-keys.ts has those with one. */
const publishedPaths: ReadonlySet<string> = new Set(
  [
    ...['/health', '/stats', '/info', '/logs', '/license/validate'],
    ...['/admin/dbs', '/admin/collection', '/dbs/:database/info', '/admin/dbs/:database'],
    ...['/admin/dbs/:database/activate', '/admin/dbs/:database/deactivate', '/admin/dbs/:database/collection'],
    ...['/admin/dbs/:database/collection/:name', '/admin/dbs/:database/tokens', '/admin/dbs/:database/tokens/:name'],
    ...['/tokens', '/tokens/:name', '/collection', '/collection/:name', '/collection/:name/objects/*'],
    ...['/collection/:name/objects/:id/field/:field/links', '/collection/:name/rebuild/status', '/status/rebuild'],
    ...['/collection/:name/shrink', '/status/backup', '/status/restore'],
    ...[
      '/backup',
      '/backup/active',
      '/backup/:backup/info',
      '/backup/:backup',
      '/backup/:backup/download',
      '/backup/upload',
    ],
    ...['/backups', '/backups/active', '/backups/:backup/info', '/backups/:backup', '/backups/:backup/download'],
    '/backups/upload',
  ].map((path) => `/api/v2${path}`),
)

/** `isPublished` is true for further routes that published clients call. */
export function addQueryKeys(app: FastifyInstance, isPublished: (method: string, url: string) => boolean): void {
  app.addHook('onRoute', (route) => {
    const method = String(route.method)
    if (!route.url.startsWith(ownPrefix) && !route.url.startsWith('/api/v1/')) return
    const known = knownKeys(route)
    const isLenient = isPublished(method, route.url) || publishedPaths.has(route.url)
    const check = (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void) => {
      const unknown = unknownIn(request.query, known)
      const [first] = unknown
      if (first === undefined) return done()
      if (!isLenient) return done(refusal(first, known))
      const added = unknown.map((key) => `${sentence(key)} and is ignored${suggestion(key, known)}`)
      request.warnings = [...(request.warnings ?? []), ...added].slice(0, unknownKeysMax)
      done()
    }
    route.preValidation = [check, ...[route.preValidation ?? []].flat()]
  })
}

/** What the route reads from its query string, and what every read can require of a node. */
function knownKeys({ schema, config }: RouteOptions): readonly string[] {
  const { access } = config?.doc ?? {}
  const own = (schema?.querystring as TSchema | undefined)?.properties as object | undefined
  return [
    ...Object.keys(own ?? {}),
    ...(config?.queryKeys ?? []),
    ...(config?.tokenInQuery === true ? ['token', 'db'] : []),
    ...(access === 'read' || access === 'search' ? Object.keys(readOptionsQuery) : []),
  ]
}

function unknownIn(query: unknown, known: readonly string[]): string[] {
  const found: string[] = []
  // Not Object.keys, which makes an array for every request; most have no query string.
  for (const key in query as object) {
    if (!known.includes(key) && found.length < unknownKeysMax) found.push(key)
  }
  return found
}

function refusal(key: string, known: readonly string[]): Error {
  return invalidArgument(`${sentence(key)}${suggestion(key, known)}`, { field: shortened(key) })
}

function sentence(key: string): string {
  return `${JSON.stringify(shortened(key))} is not a parameter of this route`
}

function suggestion(key: string, known: readonly string[]): string {
  const meant = nearest(key, known)
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
}

function shortened(key: string): string {
  return key.length <= errorValueLengthMax
    ? key.toWellFormed()
    : `${key.slice(0, errorValueLengthMax).toWellFormed()}...`
}
