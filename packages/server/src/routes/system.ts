// Health, stats and info under both prefixes, and the one user of a plain deployment.
import { createHash } from 'node:crypto'
import os from 'node:os'
import type { EngineHealth } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { ServerError } from '../errors.ts'
import type { RouteContext } from '../route-context.ts'
import type { RouteDoc } from '../route-doc.ts'

const servingStates: readonly EngineHealth['status'][] = ['ok', 'degraded', 'read-only']
/** The user that the published servers and dashboards know in a plain deployment. */
const plainUsers = ['endee', 'default']

type ForUser = { Params: { user: string } }

export function systemRoutes(app: FastifyInstance, context: RouteContext, version: 'v1' | 'v2'): void {
  const { slot, guard, metrics, audit } = context
  const health: RouteDoc = {
    summary: 'Whether the server serves. 503 while it starts; without a token no details.',
    reply: { description: 'status is ok, degraded or read-only.' },
  }
  app.get('/health', { config: { open: true, doc: health } }, async (request, reply) => {
    const state = withAudit(slot.health(), audit.fault)
    reply.code(servingStates.includes(state.status) ? 200 : 503)
    const details = guard.passes(request.headers.authorization) ? healthDetails(state) : ''
    // Nanoseconds since 1970 do not fit a double, so the number is written as text into the JSON.
    const timestamp = version === 'v1' ? `${BigInt(Date.now()) * 1_000_000n}` : JSON.stringify(new Date().toISOString())
    return reply
      .type('application/json')
      .send(`{"status":${JSON.stringify(state.status)},"timestamp":${timestamp}${details}}`)
  })

  const stats: RouteDoc = {
    summary: 'Figures of the engine and its log.',
    reply: { description: 'Counts, LSNs, memory by part.' },
  }
  app.get('/stats', { config: { doc: stats } }, async () => {
    const figures = slot.engine().stats()
    return {
      version: context.version,
      uptime: Math.floor(figures.uptimeMs / 1_000),
      total_requests: metrics.requests,
      databases: figures.databases,
      collections: figures.collections,
      objects: figures.objects,
      lsn: { applied: figures.lsnApplied, durable: figures.lsnDurable, checkpoint: figures.lsnCheckpoint },
      log: figures.log,
      memory: figures.memory,
    }
  })
}

export function infoRoute(app: FastifyInstance, { version }: RouteContext): void {
  const machine = createHash('sha256').update(`${os.hostname()} ${os.arch()} ${os.platform()}`).digest('hex')
  const info = {
    version,
    build_arch: os.arch(),
    node: process.version,
    machine_id: machine.slice(0, 32),
    license: null,
  }
  const doc: RouteDoc = { summary: 'What this server is.', reply: { description: 'Version, machine and licence.' } }
  app.get('/info', { config: { doc } }, async () => info)
}

export function userRoutes(app: FastifyInstance, { startedAt }: RouteContext): void {
  const facts = (username: string) => {
    if (plainUsers.includes(username)) return { username, user_type: 'Admin' }
    throw new ServerError('user_not_found', 'User not found', { field: 'user', value: username })
  }
  const type: RouteDoc = {
    summary: 'The kind of the one user of a plain deployment.',
    reply: { description: 'Always Admin.' },
  }
  app.get<ForUser>('/users/:user/type', { config: { doc: type } }, async (request) => facts(request.params.user))
  const info: RouteDoc = { summary: 'The one user of a plain deployment.', reply: { description: 'Always active.' } }
  app.get<ForUser>('/users/:user/info', { config: { doc: info } }, async (request) => ({
    ...facts(request.params.user),
    is_active: true,
    created_at: Math.floor(startedAt / 1_000),
    token_count: 1,
  }))
}

function healthDetails(health: EngineHealth): string {
  const progress = health.progress === undefined ? {} : { progress: health.progress }
  const text = JSON.stringify({ ...(health.reasons.length === 0 ? {} : { reasons: health.reasons }), ...progress })
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

/** A server that cannot write down who changes what still serves, and says so. */
function withAudit(health: EngineHealth, fault: string | undefined): EngineHealth {
  if (fault === undefined || !servingStates.includes(health.status)) return health
  return { ...health, status: health.status === 'ok' ? 'degraded' : health.status, reasons: [...health.reasons, fault] }
}
