// The server as an application that can listen on an address or be injected into by tests: limits, authentication, routes, and
// one form of errors.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { FastifyHttpOptions, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import fastify, { LogController } from 'fastify'
import { addAccess } from './access/access.ts'
import { type Attempts, createAttempts } from './access/attempts.ts'
import { createGuard, tokenModeOf } from './access/auth.ts'
import type { TlsOptions } from './access/tls.ts'
import { Schedules } from './backups/schedules.ts'
import type { Collector } from './collector.ts'
import type { Config } from './config.ts'
import type { EngineSlot } from './engine-slot.ts'
import { ServerError } from './errors.ts'
import { addArchiveHooks } from './hooks/archive-hooks.ts'
import { addClusterHooks } from './hooks/cluster-hooks.ts'
import { addRequestHooks, requestFacts } from './hooks/request-hooks.ts'
import { healthEveryMs } from './hot/shared-health.ts'
import { addBodyParsers } from './http/bodies.ts'
import { addBodyKeys, isPublished } from './http/body-keys.ts'
import { sendError } from './http/error-replies.ts'
import type { DescribedRoute } from './http/openapi/described-route.ts'
import { addQueryKeys } from './http/query-keys.ts'
import { answerRefusedBytes, refuseBytes } from './http/refused-bytes.ts'
import { addReplyBudget } from './http/replies.ts'
import { closeUnread } from './http/reply-progress.ts'
import { addRequestKeys } from './http/request-keys.ts'
import { methodsOf } from './http/route-methods.ts'
import { lazyValidators } from './http/validators.ts'
import { licensePlace } from './license/license-place.ts'
import { Licensing } from './license/licensing.ts'
import { builtInPublicKey } from './license/public-key.ts'
import * as limits from './limits.ts'
import { memoryLimit } from './memory-limit.ts'
import { Metrics } from './metrics/metrics.ts'
import type { MetricsExport } from './metrics/metrics-export.ts'
import { type Audit, noAudit } from './observe/audit.ts'
import type { LogExport } from './observe/log-export.ts'
import { createRequestLog } from './observe/request-log.ts'
import type { Tracing } from './observe/tracing.ts'
import type { RouteContext } from './route-context.ts'
import { v1BackupRoutes, v2BackupRoutes } from './routes/backups.ts'
import { dashboardRoutes } from './routes/dashboard.ts'
import { readMetricsState } from './routes/metrics-state.ts'
import { configurationRoute, logsRoute, metricsRoute, openapiRoute } from './routes/operations.ts'
import { v1RebuildRoutes, v2RebuildRoutes } from './routes/rebuilds.ts'
import { v2ScheduleRoutes } from './routes/schedules.ts'
import { infoRoute, openHealth, providersRoute, systemRoutes, userRoutes } from './routes/system.ts'
import { v1IndexRoutes } from './routes/v1-indexes.ts'
import { v1VectorRoutes } from './routes/v1-vectors.ts'
import { v2AdminRoutes } from './routes/v2-admin.ts'
import { v2AsOfRoutes } from './routes/v2-as-of.ts'
import { v2ChangeRoutes } from './routes/v2-changes.ts'
import { v2ClusterRoutes } from './routes/v2-cluster.ts'
import { v2CollectionRoutes } from './routes/v2-collections.ts'
import { v2HistoryRoutes } from './routes/v2-history.ts'
import { v2LicenseRoutes } from './routes/v2-license.ts'
import { v2LogRoutes } from './routes/v2-log.ts'
import { v2AliasRoutes, v2BranchRoutes } from './routes/v2-names.ts'
import { v2ObjectRoutes } from './routes/v2-objects.ts'
import { v2QueryRoutes } from './routes/v2-queries.ts'
import { v2TokenRoutes } from './routes/v2-tokens.ts'
import { connectThreads } from './serving/connect-threads.ts'
import { createGranting } from './serving/granting.ts'
import { watchServing } from './serving/serving-figures.ts'
import { SharedState } from './serving/shared-state.ts'
import type { ReportedRequest } from './serving/thread-observer.ts'
import { canSharePort, ThreadedServer } from './serving/threaded-server.ts'
import { decodablePath } from './wire/path-id.ts'

/** Parts of an application. Tests replace some of them. */
export interface AppOptions {
  readonly slot: EngineSlot
  readonly config: Config
  /** Where changes and rejected requests are recorded. Default: nowhere. */
  readonly audit?: Audit
  /** Required with a root token: without an active license, every operation that needs one is rejected. */
  readonly licensing?: Licensing
  /** Turns on HTTPS. */
  readonly tls?: TlsOptions | undefined
  /** Where traces of requests are sent. Default: nowhere. */
  readonly tracing?: Tracing | undefined
  /** Where metrics are sent. Default: nowhere; they are at /metrics. */
  readonly metricsExport?: MetricsExport | undefined
  /** Where lines of the log are sent in addition to standard output. Default: nowhere. */
  readonly logExport?: LogExport | undefined
  /** Collects garbage after a load. Default: nothing does. */
  readonly collector?: Collector
  /** Counts wrong tokens. Tests pass one with their own clock. */
  readonly attempts?: Attempts
  /** What serving threads share with this application. Default: there are none. */
  readonly shared?: SharedState
}

interface PackageFile {
  readonly version: string
}

// package.json is one folder up, in the sources and in the build.
export const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as PackageFile)
  .version

/** Creates the application with every route. It does not listen yet. */
export function createApp(given: AppOptions): FastifyInstance {
  const { slot, config, audit = noAudit, tls, tracing, licensing = licensingFor(config, slot) } = given
  const {
    attempts = createAttempts(),
    shared = new SharedState(config, {
      threads: config.serverThreads,
      memoryBytes: memoryLimit(config.memoryMegabytesMax),
    }),
  } = given
  const routes: DescribedRoute[] = []
  const context: RouteContext = {
    slot,
    config,
    version,
    guard: createGuard({ authToken: config.authToken, rootToken: config.rootToken, slot, attempts }),
    metrics: new Metrics(shared.counts),
    requestLog: createRequestLog(limits.requestLogMax, () => shared.newestRequests()),
    audit,
    schedules: schedulesIn(slot),
    licensing,
    tracing,
    collector: given.collector,
    shared,
    serving: () => readServing(),
    grants: createGranting({
      ...{ owner: shared.grants, rates: shared.rates, now: shared.now },
      ...{ mode: tokenModeOf(config), attempts, slot, licensing },
    }),
    routes,
    startedAt: Date.now(),
  }
  // Before the threads get their parts, which happens when the engine is open, too.
  if (config.serverThreads > 1) {
    slot.onOpen(() => slot.engine().control.onChange((change) => shared.controlChanged(change)))
  }
  const options: FastifyServerOptions = {
    logger: loggerOf(config, given.logExport),
    logController: new LogController({ disableRequestLogging: true }),
    // Log lines name the request themselves. A logger for each request would cost time in every request.
    childLoggerFactory: (logger) => logger,
    genReqId: () => randomUUID(),
    bodyLimit: limits.bodyBytesMax,
    // body-watch.ts limits how slowly a body may arrive.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxRequestsPerSocket: limits.requestsPerSocketMax,
    return503OnClosing: false,
    ...(config.trustedProxies.length === 0 ? {} : { trustProxy: [...config.trustedProxies] }),
    rewriteUrl: ({ url = '/' }) => decodablePath(url),
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
    schemaController: lazyValidators(),
    clientErrorHandler: refuseBytes,
    frameworkErrors: (error, request, reply) => sendError(error, request as FastifyRequest, reply as FastifyReply),
  }
  const hasThreads = config.serverThreads > 1 && canSharePort()
  const app = hasThreads ? newThreadedApp(options, { tls, slot, shared, config }) : newApp(options, tls)
  if (config.serverThreads > 1 && !hasThreads) {
    const where = `${process.platform} with Node.js ${process.versions.node}`
    app.log.warn(`threads cannot share a port on ${where}; the main thread serves alone`)
  }
  const readServing = watchServing(app.server, shared)
  given.metricsExport?.observe(async () => context.metrics.families(await readMetricsState(context)))
  app.server.maxConnections = limits.connectionsMax
  answerHalfClosed(app.server)
  continueInOrder(app.server)
  answerRefusedBytes(app.server)
  // Serving threads check their own connections.
  if (!hasThreads) {
    const end = closeUnread(app.server, { isSecure: tls !== undefined })
    app.addHook('onClose', async () => end())
  }
  shared.onReport(({ requests }) => {
    for (const request of requests) recordRequest(request, app, tracing)
  })
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('preClose', async () => attempts.stop())
  addAccess(app, slot)
  addBodyParsers(app)
  addBodyKeys(app)
  addQueryKeys(app, isPublished)
  addRequestKeys(app, slot)
  addReplyBudget(app, shared.budgets, slot)
  addRequestHooks(app, context)
  addClusterHooks(app, context)
  addArchiveHooks(app, slot, config)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsOf(routes, request.url).join(', ')
    if (allowed === '') return sendError(new ServerError('route_not_found', 'there is no such route'), request, reply)
    reply.header('allow', allowed)
    const message = `this path accepts ${allowed}, not ${request.method}`
    sendError(new ServerError('method_not_allowed', message, { limit: allowed }), request, reply)
  })
  addRoutes(app, context)
  if (hasThreads) publishHealth(app, context)
  return app
}

/** Writes JSON lines to standard output, and to a collector if there is one. */
function loggerOf(
  { logLevel: level }: Config,
  logExport: LogExport | undefined,
): NonNullable<FastifyServerOptions['logger']> {
  if (level === 'silent') return false
  const options = { level, serializers: { req: requestFacts } }
  if (logExport === undefined) return options
  const write = (line: string): void => {
    process.stdout.write(line)
    logExport.write(line)
  }
  return { ...options, stream: { write } }
}

/** Lets serving threads answer health while this thread is alive. An internal error may be one that health reports, so it is not waited for. */
function publishHealth(app: FastifyInstance, context: RouteContext): void {
  const { health } = context.shared
  const publish = (): void => health.publish(openHealth(context))
  const publishing = setInterval(publish, healthEveryMs).unref()
  context.slot.onOpen(publish)
  app.addHook('onResponse', async (_request, reply) => {
    if (reply.statusCode >= 500) publish()
  })
  app.addHook('preClose', async () => {
    clearInterval(publishing)
    health.publish(undefined)
  })
}

/** A client that ends its side after its requests gets their replies. By default, Node.js drops those that are not written yet. */
function answerHalfClosed(server: Server): void {
  // The types of Node.js lack this property of its HTTP servers.
  Object.assign(server, { httpAllowHalfOpen: true })
}

/**
 * Replies to `Expect: 100-continue`. A request behind another one on its connection begins when the replies before it are sent. Otherwise,
 * Node.js writes the interim reply behind the head of the reply.
 */
function continueInOrder(server: Server): void {
  server.on('checkContinue', (request, response) => {
    const begin = (): void => {
      response.writeContinue()
      server.emit('request', request, response)
    }
    if (response.socket !== null) begin()
    else response.once('socket', begin)
  })
}

/** Records a request that a serving thread answered, as the hooks record those of this thread. */
function recordRequest(request: ReportedRequest, app: FastifyInstance, tracing: Tracing | undefined): void {
  const { requestId: id, method, url, status, seconds } = request
  tracing?.record(request)
  app.log.debug({ req: { id, method, url }, status, seconds }, 'request')
}

/** The backup schedules in the settings of the slot's engine. */
export function schedulesIn(slot: EngineSlot): Schedules {
  return new Schedules(() => slot.engine().control)
}

/** Undefined without a root token, because a plain server needs no license. */
export function licensingFor(config: Config, slot: EngineSlot): Licensing | undefined {
  if (config.rootToken === undefined) return undefined
  const publicKey = config.licensePublicKey ?? builtInPublicKey
  return new Licensing({
    ...{ publicKey, place: licensePlace(config.dataDir), isShared: config.cluster !== undefined },
    engine: () => slot.engine(),
  })
}

const nodeLimits = {
  headersTimeout: limits.headersTimeoutMs,
  connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
  maxHeaderSize: limits.headerBytesMax,
  // Node.js replies without a body. request-form.ts rejects these requests.
  requireHostHeader: false,
}

interface ThreadedAppOptions extends Pick<AppOptions, 'tls' | 'slot' | 'config'> {
  readonly shared: SharedState
}

/** Serving threads listen and decrypt. They answer what is hot, and forward the rest to this application. */
function newThreadedApp(
  common: FastifyServerOptions,
  { tls, slot, config, shared }: ThreadedAppOptions,
): FastifyInstance {
  const app: FastifyInstance = fastify({
    ...common,
    // Only for the scheme in the address.
    ...(tls === undefined ? {} : { https: tls }),
    serverFactory: (listener) => {
      const node = { ...nodeLimits, requestTimeout: 0, keepAliveTimeout: limits.keepAliveTimeoutMs }
      const options = {
        ...{ threads: config.serverThreads, tls, node },
        onNotice: (sentence: string) => app.log.warn(sentence),
        onThreadExit: (thread: number) => shared.ended(thread),
      }
      const server = new ThreadedServer(options, listener)
      server.maxRequestsPerSocket = limits.requestsPerSocketMax
      connectThreads({ server, slot, shared, config })
      return server
    },
  } as FastifyHttpOptions<Server>)
  return app
}

/** With or without TLS. Node's limits for headers are the same for both. */
function newApp(common: FastifyServerOptions, tls: TlsOptions | undefined): FastifyInstance {
  const transport =
    tls === undefined
      ? { http: nodeLimits }
      : { https: { ...nodeLimits, handshakeTimeout: limits.headersTimeoutMs, ...tls } }
  // HTTPS changes only the type of `server`, and both types have every property that is used here.
  return fastify({ ...common, ...transport } as FastifyHttpOptions<Server>)
}

function addRoutes(app: FastifyInstance, context: RouteContext): void {
  app.register(async (root) => {
    metricsRoute(root, context)
    dashboardRoutes(root)
  })
  app.register(
    async (v1) => {
      systemRoutes(v1, context, 'v1')
      userRoutes(v1, context)
      v1IndexRoutes(v1)
      v1VectorRoutes(v1, context)
      v1RebuildRoutes(v1)
      v1.register(async (backups) => v1BackupRoutes(backups, context))
    },
    { prefix: '/api/v1' },
  )
  app.register(
    async (v2) => {
      systemRoutes(v2, context, 'v2')
      infoRoute(v2, context)
      providersRoute(v2, context)
      openapiRoute(v2, context)
      configurationRoute(v2, context)
      logsRoute(v2, context)
      v2AdminRoutes(v2, context)
      v2TokenRoutes(v2, context)
      v2LicenseRoutes(v2, context)
      v2ClusterRoutes(v2, context)
      v2CollectionRoutes(v2)
      v2AliasRoutes(v2)
      v2BranchRoutes(v2)
      v2ObjectRoutes(v2, context)
      v2QueryRoutes(v2, context)
      v2AsOfRoutes(v2, context)
      v2RebuildRoutes(v2)
      v2.register(async (backups) => v2BackupRoutes(backups, context))
      v2LogRoutes(v2, context)
      v2HistoryRoutes(v2)
      v2ChangeRoutes(v2, context)
      v2ScheduleRoutes(v2, context)
    },
    { prefix: '/api/v2' },
  )
}
