// Health, stats and info under both prefixes, and the one user of a plain deployment.
import { createHash } from 'node:crypto'
import os from 'node:os'
import type { EngineHealth } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import type { RouteContext } from '../app.ts'
import { ServerError } from '../errors.ts'

const servingStates: readonly EngineHealth['status'][] = ['ok', 'degraded', 'read-only']
/** The user that the published servers and dashboards know in a plain deployment. */
const plainUsers = ['endee', 'default']

export function systemRoutes(app: FastifyInstance, context: RouteContext, version: 'v1' | 'v2'): void {
  const { slot, guard, counters } = context
  app.get('/health', { config: { open: true } }, async (request, reply) => {
    const health = slot.health()
    reply.code(servingStates.includes(health.status) ? 200 : 503)
    const details = guard.passes(request.headers.authorization) ? healthDetails(health) : ''
    // Nanoseconds since 1970 do not fit a double, so the number is written as text into the JSON.
    const timestamp = version === 'v1' ? `${BigInt(Date.now()) * 1_000_000n}` : JSON.stringify(new Date().toISOString())
    return reply
      .type('application/json')
      .send(`{"status":${JSON.stringify(health.status)},"timestamp":${timestamp}${details}}`)
  })

  app.get('/stats', async () => {
    const stats = slot.engine().stats()
    return {
      version: context.version,
      uptime: Math.floor(stats.uptimeMs / 1_000),
      total_requests: counters.requests,
      databases: stats.databases,
      collections: stats.collections,
      objects: stats.objects,
      lsn: { applied: stats.lsnApplied, durable: stats.lsnDurable, checkpoint: stats.lsnCheckpoint },
      log: stats.log,
      memory: stats.memory,
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
  app.get('/info', async () => info)
}

export function userRoutes(app: FastifyInstance, { startedAt }: RouteContext): void {
  const facts = (username: string) => {
    if (plainUsers.includes(username)) return { username, user_type: 'Admin' }
    throw new ServerError('user_not_found', 'User not found', { field: 'user', value: username })
  }
  app.get<{ Params: { user: string } }>('/users/:user/type', async (request) => facts(request.params.user))
  app.get<{ Params: { user: string } }>('/users/:user/info', async (request) => ({
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
