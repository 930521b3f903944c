// The hooks of every request: it is counted, accepted or rejected before its body is read, and logged when its reply is complete.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Access, checkAccess, needsLicense } from '../access/access.ts'
import { addressKey } from '../access/addresses.ts'
import { tokenId } from '../access/auth.ts'
import { createHostCheck, type HostCheck } from '../access/hosts.ts'
import { checkOrigin, createCors } from '../access/origins.ts'
import { createRateLimit } from '../access/rate-limit.ts'
import type { AuditEvent } from '../observe/audit-chain.ts'
import { createBodyRoom } from './body-room.ts'
import { createBodyWatch } from './body-watch.ts'
import { createBudget } from './budget.ts'
import { refusal, ServerError } from './errors.ts'
import * as limits from './limits.ts'
import type { RouteContext } from './route-context.ts'

/** Checks in this order: count, host, preflight, origin, token, budgets. All run before the body is read. */
export function addRequestHooks(app: FastifyInstance, context: RouteContext): void {
  const { config, guard, licensing, metrics, bodies, requestLog, tracing } = context
  const rates = createRateLimit(config.rateLimit)
  const writes = createBudget(limits.writesInFlightMax, 'writes')
  const reads = createBudget(limits.readsInFlightMax, 'reads')
  const checkHost = hostCheckFor(config)
  const named = new Set(config.corsOrigins)
  const cors = createCors(named)
  const arriving = createBodyWatch(app.server)
  app.addHook('onClose', async () => arriving.end())
  let stopping = false
  app.addHook('preClose', async () => {
    stopping = true
  })
  // Callbacks instead of promises: these run on every request.
  app.addHook('onRequest', (request, reply, done) => {
    const held = [metrics.started()]
    if (hasBody(request)) held.push(arriving.watch(request.raw))
    reply.raw.on('close', () => {
      for (const give of held) give()
    })
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    const misdirected = refusal(() => checkHost?.(request.headers))
    if (misdirected !== undefined) return done(misdirected)
    if (cors?.answer(request, reply)) return
    const error = refusal(() => {
      checkOrigin(request.method, request.headers, named)
      if (stopping) throw new ServerError('stopping', 'the server is stopping')
      // Each read of routeOptions creates a new object.
      const route = request.routeOptions
      const access = request.is404 ? 'open' : accessOf(route)
      if (access === 'open') return
      request.principal = guard.check(tokenOf(request, route), request.ip)
      checkAccess(request.principal, access)
      if (needsLicense(access, request.method)) licensing?.require()
      if (config.rateLimit !== undefined) rates.take(callerOf(request, config))
      held.push((access === 'write' ? writes : reads).take(1))
      refuseEncodings(request)
      if (hasBody(request)) {
        const room = createBodyRoom(bodies)
        held.push(room.release)
        room.growTo(announcedBytes(request, route))
        request.bodyRoom = room
      }
      request.vectorKey = route.config.vectorKey
    })
    if (isWrongToken(error)) void guard.delay().then(() => done(error))
    else done(error)
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
    done()
  })
}

/** A server with a token needs no check: a page that reaches it under another host name does not know the token. */
function hostCheckFor({ authToken, rootToken, host, allowedHosts }: RouteContext['config']): HostCheck | undefined {
  return authToken === undefined && rootToken === undefined ? createHostCheck([host, ...allowedHosts]) : undefined
}

/** Routes without documentation cannot be added (see access.ts). */
function accessOf(route: FastifyRequest['routeOptions']): Access {
  return route.config.doc?.access ?? 'control'
}

/** A browser that follows a download link sends no header. With the root token, the parameter `db` selects the database. */
function tokenOf({ headers, query }: FastifyRequest, route: FastifyRequest['routeOptions']): string | undefined {
  if (headers.authorization !== undefined || route.config.tokenInQuery !== true) return headers.authorization
  const { token, db } = query as { readonly token?: unknown; readonly db?: unknown }
  if (typeof token !== 'string') return undefined
  return typeof db === 'string' && !token.includes(':') ? `root/${db}:${token}` : token
}

/** The owner of the token if tokens identify callers, otherwise the address. */
function callerOf(request: FastifyRequest, { authToken, rootToken }: RouteContext['config']): string {
  const token = authToken ?? rootToken
  return (token === undefined ? undefined : tokenId(request.headers.authorization)) ?? addressKey(request.ip)
}

/** A plain deployment has one database. The root token belongs to none. */
function databaseOf({ principal }: FastifyRequest, { config }: RouteContext): string | undefined {
  if (principal?.kind === 'member') return principal.database.name
  return config.rootToken === undefined ? 'default' : undefined
}

function isWrongToken(error: Error | undefined): error is ServerError {
  return error instanceof ServerError && error.code === 'invalid_token'
}

function refuseEncodings(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return
  throw new ServerError('unsupported_media_type', 'compressed bodies are not accepted', {
    field: 'content-encoding',
    value: encoding,
  })
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Room that a body takes before any of it is read. Without Content-Length that is nothing: its readers take room as it arrives. */
function announcedBytes({ headers }: FastifyRequest, route: FastifyRequest['routeOptions']): number {
  return Math.min(Number(headers['content-length'] ?? 0) || 0, route.bodyLimit ?? limits.bodyBytesMax)
}

/** The log gets neither query strings nor headers. */
export function requestFacts(request: FastifyRequest) {
  return { id: request.id, method: request.method, path: pathOf(request) }
}

function pathOf(request: FastifyRequest): string {
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
