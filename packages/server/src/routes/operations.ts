// Routes about the server itself: metrics, settings, recent requests, and the description of the API.
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { ServerError } from '../errors.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { requestLogDefault, requestLogMax } from '../limits.ts'
import type { RouteContext } from '../route-context.ts'
import { settings } from '../settings.ts'
import type { Infer } from '../wire/schema.ts'
import { readMetricsState } from './metrics-state.ts'

/** Adds GET /metrics. */
export function metricsRoute(app: FastifyInstance, context: RouteContext): void {
  const doc: RouteDoc = {
    access: 'server',
    summary: 'Returns metrics for Prometheus.',
    reply: { description: 'Prometheus text format.', media: 'text/plain' },
  }
  app.get('/metrics', { config: { doc } }, async (_request, reply) => {
    const text = await context.metrics.render(await readMetricsState(context))
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(text)
  })
}

/** Adds GET /configuration. */
export function configurationRoute(app: FastifyInstance, { config }: RouteContext): void {
  const doc: RouteDoc = {
    access: 'server',
    summary: 'Returns the settings in use; for secrets and paths on disk, only whether they are set.',
    reply: { description: 'settings: the name, value, default, and meaning of each.', json: 'Configuration' },
  }
  app.get('/configuration', { config: { doc } }, async () => ({
    settings: config.inForce.map((setting) => {
      const { fallback, meaning } = settings.find(({ name }) => name === setting.name)!
      return { ...setting, fallback, meaning }
    }),
  }))
}

/** Adds GET /openapi.json. */
export function openapiRoute(app: FastifyInstance, { routes, version }: RouteContext): void {
  const doc: RouteDoc = {
    access: 'any',
    summary: 'This description.',
    reply: { description: 'OpenAPI 3.1.', json: 'OpenApi' },
  }
  let document: Promise<object> | undefined
  app.get('/openapi.json', { config: { doc } }, () => {
    document ??= import('../http/openapi/document.ts').then(({ openapiDocument }) => openapiDocument(routes, version))
    return document
  })
}

/** The value is text in a query string, so the route checks the number instead of a coercing schema. */
const logsQuery = Type.Object({ limit: Type.Optional(Type.String({ pattern: '^\\d{1,3}$' })) })

/** Adds GET /logs. */
export function logsRoute(app: FastifyInstance, { requestLog }: RouteContext): void {
  const doc: RouteDoc = {
    access: 'read',
    summary: 'Returns the newest requests, one line each; ?limit= from 0 to 500, default 100.',
    reply: { description: 'count and lines, oldest first.', json: 'LogLines' },
  }
  const options = { schema: { querystring: logsQuery }, config: { doc } }
  app.get<{ Querystring: Infer<typeof logsQuery> }>('/logs', options, async (request) => {
    const limit = request.query.limit === undefined ? requestLogDefault : Number(request.query.limit)
    if (limit > requestLogMax) {
      throw new ServerError('limit_exceeded', `limit is ${limit}, but it must be at most ${requestLogMax}`, {
        field: 'limit',
        value: limit,
        limit: requestLogMax,
      })
    }
    const lines = requestLog.lines(request.database.name, limit)
    return { count: lines.length, lines }
  })
}
