// The server as an application that can be listened with or injected: limits, guard, routes, and one shape of error.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify, { LogController } from 'fastify'
import { createGuard, type Guard } from './auth.ts'
import { addBodyParsers } from './bodies.ts'
import { type BodyBudget, createBodyBudget } from './body-budget.ts'
import type { Config } from './config.ts'
import type { EngineSlot } from './engine-slot.ts'
import { type CodedError, errorBody, isCoded, retryAfterSeconds, ServerError, statusOf } from './errors.ts'
import { clientError, fromFramework } from './framework-errors.ts'
import * as limits from './limits.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { DescribedRoute } from './openapi.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import { logsRoute, metricsRoute, openapiRoute } from './routes/operations.ts'
import { infoRoute, systemRoutes, userRoutes } from './routes/system.ts'
import { v1IndexRoutes } from './routes/v1-indexes.ts'
import { v1VectorRoutes } from './routes/v1-vectors.ts'
import { v2CollectionRoutes } from './routes/v2-collections.ts'
import { v2ObjectRoutes } from './routes/v2-objects.ts'

export interface AppOptions {
  readonly slot: EngineSlot
  readonly config: Config
}

/** What every file of routes gets. */
export interface RouteContext extends AppOptions {
  readonly version: string
  readonly guard: Guard
  readonly metrics: Metrics
  readonly bodies: BodyBudgets
  readonly requestLog: RequestLog
  /** Filled while routes are added; complete once the application is ready. */
  readonly routes: readonly DescribedRoute[]
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

interface PackageFile {
  readonly version: string
}

// The file is part of this package, one folder up from source and build alike.
export const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as PackageFile)
  .version

export function createApp({ slot, config }: AppOptions): FastifyInstance {
  const routes: DescribedRoute[] = []
  const context: RouteContext = {
    slot,
    config,
    version,
    guard: createGuard(config.authToken),
    metrics: createMetrics(),
    requestLog: createRequestLog(limits.requestLogMax),
    bodies: {
      small: createBodyBudget(limits.smallBodiesBytesMax),
      large: createBodyBudget(limits.largeBodiesBytesMax),
    },
    routes,
    startedAt: Date.now(),
  }
  const app = fastify({
    logger: config.logLevel === 'silent' ? false : { level: config.logLevel, serializers: { req: requestFacts } },
    logController: new LogController({ disableRequestLogging: true }),
    // The lines that are written name the request themselves; a logger for each request would cost every request.
    childLoggerFactory: (logger) => logger,
    genReqId: () => randomUUID(),
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxRequestsPerSocket: limits.requestsPerSocketMax,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
      maxHeaderSize: limits.headerBytesMax,
    },
    return503OnClosing: false,
    routerOptions: { maxParamLength: limits.pathParamLengthMax },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        verbose: true,
        strictTypes: false,
      },
    },
    clientErrorHandler: clientError,
    frameworkErrors: (error, request, reply) => sendError(error, request as FastifyRequest, reply as FastifyReply),
  })
  app.server.maxConnections = limits.connectionsMax
  app.addHook('onRoute', (route) => void routes.push(route))
  addBodyParsers(app)
  addRequestHooks(app, context)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) =>
    sendError(new ServerError('route_not_found', 'there is no such route'), request, reply),
  )
  addRoutes(app, context)
  return app
}

interface BodyBudgets {
  readonly small: BodyBudget
  readonly large: BodyBudget
}

function addRoutes(app: FastifyInstance, context: RouteContext): void {
  app.register(async (root) => metricsRoute(root, context))
  app.register(
    async (v1) => {
      systemRoutes(v1, context, 'v1')
      userRoutes(v1, context)
      v1IndexRoutes(v1, context)
      v1VectorRoutes(v1, context)
    },
    { prefix: '/api/v1' },
  )
  app.register(
    async (v2) => {
      systemRoutes(v2, context, 'v2')
      infoRoute(v2, context)
      openapiRoute(v2, context)
      logsRoute(v2, context)
      v2CollectionRoutes(v2, context)
      v2ObjectRoutes(v2, context)
    },
    { prefix: '/api/v2' },
  )
}

/** In this order: count, guard, room for the body. All before a byte of the body is read. */
function addRequestHooks(app: FastifyInstance, { guard, metrics, bodies, requestLog }: RouteContext): void {
  let stopping = false
  app.addHook('preClose', async () => {
    stopping = true
  })
  // Callbacks instead of promises: these run on every request.
  app.addHook('onRequest', (request, reply, done) => {
    metrics.started()
    reply.raw.once('close', metrics.closed)
    reply.header('x-request-id', request.id)
    done(
      refusal(() => {
        if (stopping) throw new ServerError('stopping', 'the server is stopping')
        if (request.is404 || request.routeOptions.config.open) return
        guard.check(request.headers.authorization, request.ip)
        if (metrics.inFlight > limits.requestsInFlightMax) {
          throw new ServerError('overloaded', 'too many requests at one time; try again shortly', {
            limit: limits.requestsInFlightMax,
          })
        }
        refuseEncodings(request)
        reserveBody(bodies, request, reply)
      }),
    )
  })
  app.addHook('onResponse', (request, reply, done) => {
    const seconds = reply.elapsedTime / 1_000
    const { method } = request
    const status = reply.statusCode
    metrics.finished(method, request.routeOptions.url ?? 'none', status, seconds)
    const collection = (request.params as { readonly name?: string } | undefined)?.name
    requestLog.add({ at: Date.now(), method, path: pathOf(request), collection, status, seconds })
    if (request.log.level === 'debug' || request.log.level === 'trace') {
      request.log.debug({ req: request, status, seconds }, 'request')
    }
    done()
  })
}

function refusal(check: () => void): Error | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    // The checks throw nothing but errors; whatever else it may be is answered as our mistake.
    return error instanceof Error ? error : new Error(String(error))
  }
}

function refuseEncodings(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return
  throw new ServerError('unsupported_media_type', 'compressed bodies are not taken', {
    field: 'content-encoding',
    value: encoding,
  })
}

/** A body of unknown length may become as large as the route allows. */
function reserveBody(budgets: BodyBudgets, request: FastifyRequest, reply: FastifyReply): void {
  const declared = request.headers['content-length']
  if (declared === undefined && request.headers['transfer-encoding'] === undefined) return
  const bodyMax = request.routeOptions.bodyLimit ?? limits.bodyBytesMax
  const bytes = declared === undefined ? bodyMax : Math.min(Number(declared) || 0, bodyMax)
  const give = (bytes > limits.bodyBytesMax ? budgets.large : budgets.small).take(bytes)
  reply.raw.once('close', give)
}

function sendError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const coded = codedError(error)
  const expected = request.routeOptions?.config?.missingCollectionStatus
  const status = coded.code === 'collection_not_found' && expected !== undefined ? expected : statusOf(coded.code)
  if (status >= 500) request.log.error({ req: request, err: error, code: coded.code }, 'request failed')
  const retryAfter = retryAfterSeconds(coded.code)
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  // A refused request whose body was not read cannot share its connection with a next one.
  if (status === 401 || status === 413 || status === 429) reply.header('connection', 'close')
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(coded, request.id)))
}

/** Everything without a code of ours is our mistake: logged in full, and told to the client without a word of it. */
function codedError(error: FastifyError | Error): CodedError {
  if (isCoded(error)) return error
  return (
    fromFramework(error) ??
    new ServerError('internal', 'the server failed; the log of the server tells more', {}, { cause: error })
  )
}

/** Neither query strings nor headers go into the log. */
function requestFacts(request: FastifyRequest) {
  return { id: request.id, method: request.method, path: pathOf(request) }
}

function pathOf(request: FastifyRequest): string {
  const query = request.url.indexOf('?')
  return query < 0 ? request.url : request.url.slice(0, query)
}
