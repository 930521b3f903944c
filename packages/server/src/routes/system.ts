// Health, statistics, and information in both versions, and the only user of a plain server.
import os from 'node:os'
import type { Database, EngineHealth, EngineStats } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { tokenModeOf } from '../access/auth.ts'
import { rootTokenWeakness } from '../config.ts'
import { ServerError } from '../errors.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import type { ServingFigures } from '../serving/serving-figures.ts'
import { type HealthFacts, healthJson, joinDetails } from '../wire/health-reply.ts'
import { capitalize } from '../wire/v2-admin.ts'
import { clusterJson } from '../wire/v2-cluster.ts'
import { licenseInfo } from '../wire/v2-license.ts'
import { providersJson } from '../wire/v2-providers.ts'

const servingStates: readonly EngineHealth['status'][] = ['ok', 'degraded', 'read-only']
/** Names of the user of a plain server in the published servers and dashboards. */
const plainUsers = ['endee', 'default']

/** What health depends on. */
export type HealthContext = Pick<RouteContext, 'slot' | 'config' | 'audit' | 'licensing' | 'serving'>

type ForUser = { Params: { user: string } }

/** Adds GET /health and GET /stats. */
export function systemRoutes(app: FastifyInstance, context: RouteContext, version: 'v1' | 'v2'): void {
  const { slot, guard, metrics } = context
  const health: RouteDoc = {
    access: 'open',
    summary: 'Returns the health of the server: 503 while it starts. Without a token, no details.',
    reply: { description: 'status is ok, degraded, or read-only.', alsoStatus: 503, json: 'Health' },
  }
  app.get('/health', { config: { doc: health } }, async (request, reply) => {
    const threads = context.serving()
    const state = healthOf(context, threads)
    reply.code(servingStates.includes(state.status) ? 200 : 503)
    const knowsAll = await guard.mayKnowAll(request.headers.authorization, request.ip)
    const facts = { status: state.status, details: knowsAll ? healthDetails(state, threads, slot) : '' }
    return reply.type('application/json').send(healthJson(facts, version, new Date()))
  })

  const stats: RouteDoc = {
    access: 'any',
    summary: 'Returns statistics of the engine and its log.',
    reply: {
      description:
        'Counts, LSNs, and memory by part. With the token of a database, only version, uptime, and requests.',
      json: 'Stats',
    },
  }
  app.get('/stats', { config: { doc: stats } }, async ({ principal }) => {
    const figures = slot.engine().stats()
    const ofServer = {
      version: context.version,
      uptime: Math.floor(figures.uptimeMs / 1_000),
      total_requests: metrics.requests,
    }
    // The token of one database does not show figures of the other databases.
    if (principal?.kind === 'member') return ofServer
    return {
      ...ofServer,
      databases: figures.databases,
      collections: figures.collections,
      objects: figures.objects,
      lsn: { applied: figures.lsnApplied, durable: figures.lsnDurable, checkpoint: figures.lsnCheckpoint },
      log: figures.log,
      backups: backupFigures(figures),
      memory: figures.memory,
    }
  })
}

/** Age of the newest backup, and the earliest moment that can be restored. */
function backupFigures({ backups, reach, timeMs }: EngineStats) {
  const { count, bytes, newestAt } = backups
  return {
    count,
    bytes,
    ...(newestAt !== undefined && { newest_age_seconds: Math.max(0, Math.floor((Date.now() - newestAt) / 1_000)) }),
    ...(reach !== undefined && {
      archive: { bytes: reach.bytes, segments: reach.segments },
      restorable_from: { lsn: reach.lsn, time: new Date(reach.timeMs).toISOString() },
      // Before the first record, no moment can be restored.
      ...(timeMs > 0 && { restorable_to: { time: new Date(timeMs).toISOString() } }),
    }),
  }
}

/** Adds GET /info. */
export function infoRoute(app: FastifyInstance, { version, config, slot, licensing }: RouteContext): void {
  const doc: RouteDoc = {
    access: 'any',
    summary: 'Describes this server.',
    reply: { description: 'Version, machine, and license; a license may be bound to machine_id.', json: 'ServerInfo' },
  }
  app.get('/info', { config: { doc } }, async () => {
    const status = licensing?.status()
    return {
      version,
      mode: config.rootToken === undefined ? 'plain' : 'enterprise',
      build_arch: os.arch(),
      node: process.version,
      machine_id: slot.engine().id,
      request_keys: { max: config.requestKeysMax, hours: config.requestKeyHours },
      license: status === undefined ? null : licenseInfo(status),
    }
  })
}

/** Adds GET /providers. */
export function providersRoute(app: FastifyInstance, { config }: RouteContext): void {
  const doc: RouteDoc = {
    access: 'any',
    summary: 'Lists the providers of vectors on this server, by name, without addresses and keys.',
    reply: { description: 'providers: none if the operator configured none.', json: 'Providers' },
  }
  app.get('/providers', { config: { doc } }, async () => ({ providers: providersJson(config.providers) }))
}

/** Adds the routes of users in /api/v1. */
export function userRoutes(app: FastifyInstance, { startedAt, config }: RouteContext): void {
  const facts = (username: string, database: Database) => {
    const { name, type } = database.describe()
    if (config.rootToken !== undefined && username === name) return { username, user_type: capitalize(type) }
    if (config.rootToken === undefined && plainUsers.includes(username)) return { username, user_type: 'Admin' }
    throw new ServerError('user_not_found', 'User not found', { field: 'user', value: username })
  }
  const type: RouteDoc = {
    access: 'read',
    summary: 'Returns the type of the only user of a server without a root token, or the type of a database.',
    reply: { description: 'Admin, or the type of the database.', json: 'UserType' },
  }
  app.get<ForUser>('/users/:user/type', { config: { doc: type } }, async ({ params, database }) =>
    facts(params.user, database),
  )
  const info: RouteDoc = {
    access: 'read',
    summary: 'Returns the only user of a server without a root token.',
    reply: { description: 'Always active.', json: 'UserInfo' },
  }
  app.get<ForUser>('/users/:user/info', { config: { doc: info } }, async ({ params, database }) => ({
    ...facts(params.user, database),
    is_active: true,
    created_at: Math.floor(startedAt / 1_000),
    token_count: 1,
  }))
}

/** What health replies to a caller without a token. Undefined unless the status of the reply is 200. */
export function openHealth(context: HealthContext): HealthFacts | undefined {
  const threads = context.serving()
  const state = healthOf(context, threads)
  if (!servingStates.includes(state.status)) return undefined
  const details = tokenModeOf(context.config) === 'none' ? healthDetails(state, threads, context.slot) : ''
  return { status: state.status, details }
}

/** What health replies as `status`. */
export function healthStatus(context: HealthContext): EngineHealth['status'] {
  return healthOf(context, context.serving()).status
}

function healthOf(context: HealthContext, threads: ServingFigures): EngineHealth {
  return withNotices(withFault(withFault(context.slot.health(), context.audit.fault), threads.fault), context)
}

/** Adds a weak root token and a missing license, which are not faults of the engine. */
function withNotices(health: EngineHealth, { config, slot, licensing }: HealthContext): EngineHealth {
  // Only an engine that serves is queried for its license.
  const serves = slot.isOpen() && servingStates.includes(health.status)
  const notices = [rootTokenWeakness(config.rootToken), serves ? licensing?.fault() : undefined]
  return { ...health, reasons: [...health.reasons, ...notices.filter((notice) => notice !== undefined)] }
}

function healthDetails(
  health: EngineHealth,
  { running, configured, lost, replaced }: ServingFigures,
  { cluster: view, follower }: RouteContext['slot'],
): string {
  const { reasons, progress, calibrations } = health
  const threads = { running, configured, lost, replaced }
  const cluster = view && clusterJson(view)
  return joinDetails(
    { ...(reasons.length > 0 && { reasons }), progress, cluster },
    { calibrations, serving_threads: threads, ...(follower && { follow: follower.status() }) },
  )
}

/** Without an audit log or a serving thread, the server continues to serve, and health reports degraded. */
function withFault(health: EngineHealth, fault: string | undefined): EngineHealth {
  if (fault === undefined || !servingStates.includes(health.status)) return health
  return { ...health, status: health.status === 'ok' ? 'degraded' : health.status, reasons: [...health.reasons, fault] }
}
