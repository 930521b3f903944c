// What a node of a cluster does with a request after it was accepted: sends a write to the leader, states in each reply how fresh its data is,
// refuses reads where it is not fresh enough, and lets a strong read wait for the leader. A single server gets no hooks.
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { tokenModeOf } from '../access/auth.ts'
import type { ClusterConfig } from '../cluster/cluster-config.ts'
import type { ClusterView } from '../cluster/cluster-view.ts'
import { Forwarder } from '../cluster/forwarder.ts'
import { refusal, ServerError } from '../errors.ts'
import { lagHeader, leaderHeader, lsnHeader, stalenessHeader } from '../http/forwarded-headers.ts'
import { nodeTls } from '../node-modules.ts'
import type { RouteContext } from '../route-context.ts'
import { freshnessEveryMs } from '../serving/shared-freshness.ts'
import { type ReadOptions, readOptionsOf } from '../wire/read-options.ts'
import { changesOnLeader, needsLeader } from './cluster-routes.ts'
import { type ForwardingParts, forwardRead, forwardWrite, notLeader } from './forwarding.ts'
import { addWriteDeadline } from './write-deadline.ts'

/** Beyond its own deadline, the leader is given this long to reply `outcome_unknown`. */
const replyMarginMs = 1_000
/** How long a read waits for a record that it must include. */
const appliedMsMax = 5_000

/** Adds what a node does, if a cluster is configured; otherwise only the checks of its options. Add it behind the hooks that accept requests. */
export function addClusterHooks(app: FastifyInstance, context: RouteContext): void {
  const { cluster } = context.config
  if (cluster === undefined) {
    checkReadOptions(app)
    return
  }
  addWriteDeadline(app, cluster.writeMs)
  addNodeHooks(app, context, cluster)
  publishFreshness(app, context)
}

/** A single server has every write that it acknowledged, so it only checks what a read requires in its query string. */
function checkReadOptions(app: FastifyInstance): void {
  app.addHook('preHandler', ({ query, url, routeOptions, is404 }, _reply, done) => {
    if (is404 || routeOptions.config.doc?.access !== 'read') return done()
    done(refusal(() => void readOptionsOf({ body: undefined, query, url })))
  })
}

function addNodeHooks(app: FastifyInstance, { slot, config, shared }: RouteContext, cluster: ClusterConfig): void {
  const forwarder = new Forwarder({ idleMsMax: cluster.writeMs + replyMarginMs, ca: caOf(cluster) })
  app.addHook('onClose', async () => forwarder.close())
  const knowsRevocations = tokenModeOf(config) !== 'root'
  const partsOf = (view: ClusterView): ForwardingParts => ({
    ...{ node: cluster.node, view, forwarder },
    // A node that starts forwards too.
    whenApplied: async (lsn, timeoutMs) => slot.isOpen() && slot.whenApplied(lsn, timeoutMs),
    onWritten: () => shared.health.expire(),
  })

  app.addHook('onRequest', (request, reply, done) => {
    const view = slot.cluster
    const { method, config: route } = request.routeOptions
    const access = route.doc?.access ?? 'open'
    if (view === undefined || request.is404) return done()
    const isForLeader = needsLeader({ method: method ?? request.method, config: route })
    if (access === 'open' && !isForLeader) return done()
    const { role, lag, stalenessMs, reason } = view.status()
    reply.header(lagHeader, lag)
    if (Number.isFinite(stalenessMs)) reply.header(stalenessHeader, Math.ceil(stalenessMs))
    if (isForLeader) {
      if (role === 'leader') return done()
      forwardWrite(request, reply, partsOf(view), route.isLong ? { idleMsMax: config.backupMsMax } : {}).catch(done)
      return
    }
    if (role === 'out-of-service' && (access === 'read' || access === 'search')) {
      const why = reason === undefined ? '' : `: ${reason}`
      return done(new ServerError('node_out_of_service', `this node has left service${why}`))
    }
    // A token that was revoked is unknown here until the record is applied. Other tokens are settings, which are not revoked.
    if (!knowsRevocations && request.principal?.kind === 'member' && stalenessMs > cluster.stalenessMs)
      return done(stale(stalenessMs, { limit: cluster.stalenessMs }))
    request.keepsBody = true
    done()
  })

  app.addHook('preHandler', (request, reply, done) => {
    const view = slot.cluster
    if (view === undefined || !request.keepsBody) return done()
    let options: ReadOptions
    try {
      options = readOptionsOf(request)
    } catch (error) {
      return done(error as ServerError)
    }
    const { isStrong, maxStalenessMs, minLsn } = options
    if (!isStrong && maxStalenessMs === undefined && minLsn === undefined) return done()
    const { role, stalenessMs } = view.status()
    if (maxStalenessMs !== undefined && stalenessMs > maxStalenessMs)
      return done(stale(stalenessMs, { field: 'max_staleness_ms', limit: maxStalenessMs }))
    if (isStrong && role !== 'leader') {
      forwardRead(request, reply, request.keptBody, partsOf(view)).catch(done)
      return
    }
    if (!isStrong && minLsn === undefined) return done()
    const confirmed = isStrong ? confirm(view, cluster.writeMs) : Promise.resolve(0)
    confirmed.then((lsn) => waitFor(slot, Math.max(lsn, minLsn ?? 0))).then(() => done(), done)
  })

  app.addHook('onSend', (request, reply, payload, done) => {
    if (slot.cluster === undefined || request.keepsBody || reply.statusCode >= 400) return done(null, payload)
    if (changesOnLeader(request.routeOptions)) {
      // The record of the write is applied, so a node that has applied everything up to here has it.
      reply.header(lsnHeader, slot.engine().lsnApplied)
    }
    done(null, payload)
  })

  app.addHook('onError', (_request, reply, error, done) => {
    if ((error as { readonly code?: string }).code === 'not_leader') {
      const leader = slot.cluster?.leader()
      if (leader !== undefined) reply.header(leaderHeader, leader.url)
    }
    done()
  })
}

/** The LSN that a strong read has to see. */
async function confirm(view: ClusterView, timeoutMs: number): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    return await view.confirm(signal)
  } catch (error) {
    if (!signal.aborted) throw error
    throw notLeader(view, 'the log did not confirm in time that this node still leads; try again')
  }
}

async function waitFor(slot: RouteContext['slot'], lsn: number): Promise<void> {
  if (await slot.whenApplied(lsn, appliedMsMax)) return
  const limit = slot.engine().lsnApplied
  const message = `record ${lsn} is not applied; the newest one is ${limit}`
  throw new ServerError('replica_behind', message, { field: 'min_lsn', value: lsn, limit })
}

function stale(
  stalenessMs: number,
  { field, limit }: { readonly field?: string; readonly limit: number },
): ServerError {
  const message = 'this node has not heard from the log for longer than allowed; read from another node, or try again'
  return new ServerError('replica_stale', message, {
    ...(field && { field }),
    ...(Number.isFinite(stalenessMs) && { value: Math.ceil(stalenessMs) }),
    limit,
  })
}

/** Nodes that serve HTTPS may have certificates of the same authority as the NATS servers. */
function caOf({ ca }: ClusterConfig): readonly string[] | undefined {
  return ca === undefined ? undefined : [...nodeTls().rootCertificates, readFileSync(ca, 'utf8')]
}

/** Serving threads get the state from shared memory. */
function publishFreshness(app: FastifyInstance, { slot, shared, config }: RouteContext): void {
  if (config.serverThreads === 1) return
  const publish = (): void => {
    const status = slot.cluster?.status()
    if (status !== undefined) shared.freshness?.publish({ ...status, isServing: status.role !== 'out-of-service' })
  }
  slot.onOpen(publish)
  const publishing = setInterval(publish, freshnessEveryMs).unref()
  app.addHook('preClose', async () => clearInterval(publishing))
}
