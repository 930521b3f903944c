// The hooks of every request: it is counted, accepted or rejected before its body is read, and logged when its reply is complete.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../access/access.ts'
import { callerOf, type Principal, tokenId, tokenModeOf } from '../access/auth.ts'
import { BodyQueue } from '../access/body-queue.ts'
import { type Decision, type DecisionParts, decide, hasBody } from '../access/decide.ts'
import { hostCheckFor } from '../access/hosts.ts'
import { createCors } from '../access/origins.ts'
import { refusal, ServerError } from '../errors.ts'
import { ArrivingBody } from '../http/arriving-body.ts'
import { createBodyWatch } from '../http/body-watch.ts'
import { createConnectionTurns } from '../http/connection-turns.ts'
import { checkRequestForm } from '../http/request-form.ts'
import * as limits from '../limits.ts'
import type { AuditEvent } from '../observe/audit-chain.ts'
import type { RouteContext } from '../route-context.ts'

/** Checks in this order: count, host, preflight, origin, token, budgets. All run before the body is read. */
export function addRequestHooks(app: FastifyInstance, context: RouteContext): void {
  const { config, guard, grants, licensing, metrics, shared, requestLog, tracing, collector } = context
  const { budgets, rates } = shared
  const mode = tokenModeOf(config)
  const checkHost = hostCheckFor(mode, config)
  const origins = new Set(config.corsOrigins)
  const cors = createCors(origins)
  const arriving = createBodyWatch(app.server)
  app.decorateRequest('unfinished', undefined)
  app.addHook('onClose', async () => arriving.end())
  let stopping = false
  const bodies = new BodyQueue()
  app.addHook('preClose', async () => {
    stopping = true
    bodies.close()
    grants.stop()
  })
  const parts: DecisionParts<Principal> = {
    origins,
    isStopping: () => stopping,
    identify: ({ token, address }) => guard.check(token, address),
    requireLicense: () => licensing?.require(),
    takeRate(_caller, { headers, address }) {
      if (config.rateLimit !== undefined) rates.take(callerOf(mode, headers.authorization, address))
    },
    ...{ reads: budgets.reads, writes: budgets.writes, bodies: budgets.bodies, waitsForRoom: true },
  }
  const turns = createConnectionTurns()
  // Callbacks instead of promises: these run on every request.
  app.addHook('onRequest', (request, reply, done) => {
    const begin = () => beginRequest(request, reply, done)
    const error = refusal(() => turns.take(request.raw.socket, begin))
    if (error === undefined) return
    reply.header('connection', 'close')
    done(error)
  })
  const beginRequest = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const held = [metrics.started()]
    if (hasBody(request.headers)) held.push(arriving.watch(request.raw))
    const release = (): void => {
      for (const give of held) give()
    }
    const { socket } = request.raw
    reply.raw.on('close', () => {
      turns.give(socket)
      if (request.unfinished === undefined) release()
      else void request.unfinished.then(release)
    })
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    const misdirected = refusal(() => {
      checkRequestForm(request.raw)
      checkHost?.(request.headers)
    })
    if (misdirected !== undefined) {
      done(misdirected)
      return
    }
    if (cors?.answer(request, reply)) return
    let takeRoom: Decision<Principal>['takeRoom']
    const accept = () =>
      refusal(() => {
        const { method, headers, ip: address } = request
        // Each read of routeOptions creates a new object.
        const route = request.routeOptions
        const access = request.is404 ? 'open' : accessOf(route)
        const head = {
          method,
          headers,
          access,
          address,
          token: tokenOf(request, route),
          bodyBytesMax: bodyLimitOf(route),
        }
        const decision = decide(
          head,
          parts,
          // A stream that has begun is not a request in progress: it counts among the streams.
          (release) => (route.config.isStream ? release() : void held.push(release)),
          (known) => {
            request.principal = known
          },
        )
        const { caller, bodyRoom } = decision
        takeRoom = decision.takeRoom
        request.bodyRoom = bodyRoom
        request.vectorKey = route.config.vectorKey
        if (caller !== undefined) grants.offer(caller, head)
      })
    const accepted = (error: Error | undefined): void => {
      if (error === undefined && takeRoom !== undefined) bodies.wait(takeRoom, done)
      else done(error)
    }
    const error = accept()
    if (!isWrongToken(error)) {
      accepted(error)
      return
    }
    const acceptLater = async () => {
      await guard.delay()
      // A node of a cluster may learn of a new token after its client.
      return guard.isMade(tokenOf(request, request.routeOptions)) ? accept() : error
    }
    acceptLater().then(accepted, accepted)
  }
  app.addHook('onSend', ({ method }, _reply, payload, done) => {
    if (method !== 'GET' && method !== 'HEAD') shared.health.expire()
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const seconds = reply.elapsedTime / 1_000
    const { method } = request
    const status = reply.statusCode
    const route = request.routeOptions
    metrics.finished(method, route.url ?? 'none', status, seconds)
    const collection = (request.params as { readonly name?: string } | undefined)?.name
    const database = databaseOf(request, context)
    requestLog.add({ timeMs: Date.now(), method, path: pathOf(request), database, collection, status, seconds })
    if (request.log.level === 'debug' || request.log.level === 'trace') {
      request.log.debug({ req: request, status, seconds }, 'request')
    }
    tracing?.record({
      method,
      route: route.url ?? 'none',
      status,
      seconds,
      requestId: request.id,
      parent: request.headers.traceparent as string | undefined,
    })
    auditRequest(context, request, { status, action: route.config?.audit })
    if (request.body instanceof ArrivingBody) collector?.received(request.body.received)
    done()
  })
}

/** Routes without documentation cannot be added (see access.ts). */
function accessOf(route: FastifyRequest['routeOptions']): Access {
  return route.config.doc?.access ?? 'control'
}

/** A browser that follows a download link sends no header. With the root token, the parameter `db` selects the database. */
export function tokenOf({ headers, query }: FastifyRequest, route: FastifyRequest['routeOptions']): string | undefined {
  if (headers.authorization !== undefined || route.config.tokenInQuery !== true) return headers.authorization
  const { token, db } = query as { readonly token?: unknown; readonly db?: unknown }
  if (typeof token !== 'string') return undefined
  return typeof db === 'string' && !token.includes(':') ? `root/${db}:${token}` : token
}

/** A plain deployment has one database. The root token belongs to none. */
function databaseOf({ principal }: FastifyRequest, { config }: RouteContext): string | undefined {
  if (principal?.kind === 'member') return principal.database.name
  return config.rootToken === undefined ? 'default' : undefined
}

function isWrongToken(error: Error | undefined): error is ServerError {
  return error instanceof ServerError && error.code === 'invalid_token'
}

function bodyLimitOf(route: FastifyRequest['routeOptions']): number {
  return route.bodyLimit ?? limits.bodyBytesMax
}

/** The log gets neither query strings nor headers. */
export function requestFacts(request: Pick<FastifyRequest, 'id' | 'method' | 'url'>) {
  return { id: request.id, method: request.method, path: pathOf(request) }
}

function pathOf(request: Pick<FastifyRequest, 'url'>): string {
  const query = request.url.indexOf('?')
  return query < 0 ? request.url : request.url.slice(0, query)
}

const refusals: ReadonlyMap<number, string> = new Map([
  [401, 'auth.refused'],
  [402, 'license.refused'],
  [403, 'access.refused'],
  [429, 'rate.refused'],
])

/** Records changes of data, and requests that were rejected because of their token or a missing license. */
function auditRequest(
  { audit, slot }: RouteContext,
  request: FastifyRequest,
  { status, action }: { readonly status: number; readonly action: string | undefined },
): void {
  const refused = status >= 400 && refusals.has(status)
  if (action === undefined && !refused) return
  const token = tokenId(request.headers.authorization)
  const object = nameIn(request.params) ?? nameIn(request.body)
  const database =
    request.principal?.kind === 'member' ? request.principal.database.name : textIn(request.params, 'database')
  const event: AuditEvent = {
    action: refusals.get(status) ?? action ?? '',
    ...(object === undefined || refused ? {} : { object }),
    ...(database === undefined ? {} : { database }),
    status,
    request_id: request.id,
    ip: request.ip,
    ...(token === undefined ? {} : { token_id: token }),
    ...(slot.isOpen() ? { lsn: slot.engine().stats().lsnApplied } : {}),
  }
  if (refused) audit.recordSparingly(event)
  else audit.record(event)
}

function nameIn(place: unknown): string | undefined {
  return textIn(place, 'name') ?? textIn(place, 'index_name') ?? textIn(place, 'db_name')
}

function textIn(place: unknown, key: string): string | undefined {
  if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return undefined
  const value = (place as { readonly [name: string]: unknown })[key]
  return typeof value === 'string' ? value : undefined
}
