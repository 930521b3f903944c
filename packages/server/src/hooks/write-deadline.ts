// Limits how long a client of a cluster waits for a write. After it, the reply says that the outcome is not known, while the write goes on: a
// record that was sent to the log cannot be taken back. A single server gets no limit, and no wrapper around its handlers.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ServerError } from '../errors.ts'
import { changesOnLeader } from './cluster-routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** A write that goes on after its reply. It holds what it took of the limits until it has settled. */
    unfinished: Promise<unknown> | undefined
  }
}

/** Adds the limit, in milliseconds after the body of a write has arrived. */
export function addWriteDeadline(app: FastifyInstance, timeoutMs: number): void {
  app.addHook('onRoute', (route) => {
    if (!changesOnLeader(route) || route.config?.isLong) return
    const { handler } = route
    route.handler = function (this: FastifyInstance, request, reply) {
      return limited(request, reply, runHandler(this, handler, request, reply), timeoutMs)
    }
  })
}

async function runHandler(
  app: FastifyInstance,
  handler: RouteHandlerMethod,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  return handler.call(app, request, reply)
}

async function limited(
  request: FastifyRequest,
  reply: FastifyReply,
  running: Promise<unknown>,
  timeoutMs: number,
): Promise<unknown> {
  const expired = Promise.withResolvers<'expired'>()
  let timer: NodeJS.Timeout | undefined
  const start = (): void => {
    timer = setTimeout(() => expired.resolve('expired'), timeoutMs)
  }
  const { raw } = request
  if (raw.complete) start()
  else raw.once('end', start)
  const first = await Promise.race([running, expired.promise]).finally(() => {
    raw.off('end', start)
    clearTimeout(timer)
  })
  if (first !== 'expired') return first
  request.unfinished = reportEnd(request, running)
  // The handler still sends its reply, which the framework would report as a mistake of the route.
  reply.log = Object.create(reply.log, { warn: { value: () => undefined } })
  throw new ServerError('outcome_unknown', 'the write was not confirmed in time')
}

async function reportEnd(request: FastifyRequest, running: Promise<unknown>): Promise<void> {
  const outcome = await running.then(
    () => 'was stored',
    (error: unknown) => `failed: ${error instanceof Error ? error.message : String(error)}`,
  )
  request.log.warn({ req: request }, `a write whose outcome was not known ${outcome}`)
}
