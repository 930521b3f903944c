// What operators and programmers ask about the server itself: metrics and the description of the API.
import type { FastifyInstance } from 'fastify'
import type { RouteContext } from '../app.ts'
import { openapiDocument } from '../openapi.ts'
import type { RouteDoc } from '../route-doc.ts'

export function metricsRoute(app: FastifyInstance, { slot, metrics, bodies }: RouteContext): void {
  const doc: RouteDoc = {
    summary: 'Figures for Prometheus.',
    reply: { description: 'Prometheus text format.', text: 'annal_objects 60000' },
  }
  app.get('/metrics', { config: { doc } }, async (_request, reply) => {
    const stats = slot.isOpen() ? slot.engine().stats() : undefined
    const bodyBytes = bodies.small.inFlightBytes + bodies.large.inFlightBytes
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(metrics.render({ stats, bodyBytes }))
  })
}

export function openapiRoute(app: FastifyInstance, { routes, version }: RouteContext): void {
  const doc: RouteDoc = { summary: 'This description.', reply: { description: 'OpenAPI 3.1.' } }
  let document: object | undefined
  app.get('/openapi.json', { config: { doc } }, async () => {
    document ??= openapiDocument(routes, version)
    return document
  })
}
