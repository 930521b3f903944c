// Nodes of a cluster in this process: real HTTP servers with real engines, which share one replicated log over a simulated store. Only what
// a node knows about the cluster (its ClusterView) is a fake, which a test sets: roles, the leader, and staleness.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lsn } from '@annal/wal'
import type { SimClient } from '@annal/wal/testing'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { type Node, openNode, simulate } from '../../../engine/test/replicated/nodes.ts'
import { type Attempts, createAttempts } from '../../src/access/attempts.ts'
import type { ClusterConfig } from '../../src/cluster/cluster-config.ts'
import type {
  ClusterStatus,
  ClusterView,
  KnownNode,
  NodeAddress,
  NodeDigests,
  NodeRole,
  StatePart,
} from '../../src/cluster/cluster-view.ts'
import { ServerError } from '../../src/errors.ts'
import { type Config, createApp, readConfig, slotWith } from '../../src/index.ts'
import { licensePlace } from '../../src/license/license-place.ts'
import { Licensing } from '../../src/license/licensing.ts'
import { vendor } from '../licenses.ts'
import { type Answer, type SendOptions, send } from '../running-app.ts'

/** What a node knows, as a test sets it. */
export class FakeView implements ClusterView {
  readonly node: string
  role: NodeRole = 'follower'
  stalenessMs = 0
  reason: string | undefined
  /** Undefined: no leader is known. */
  known: NodeAddress | undefined
  others: () => readonly KnownNode[] = () => []
  lsnToConfirm: (signal: AbortSignal) => Promise<number> = async () => 0
  announced: () => readonly NodeDigests[] = () => []
  requested: () => readonly StatePart[] = () => []
  stepsDown: () => Promise<void> = async () => undefined
  lag = 0
  digestLsn = 0
  version: string | undefined
  refreshes = 0
  failovers = 0
  syncInterval: ClusterStatus['syncInterval'] = 'unverified'

  constructor(node: string) {
    this.node = node
  }

  status(): ClusterStatus {
    const { node, role, lag, stalenessMs, digestLsn, failovers, syncInterval, reason, known } = this
    return {
      ...(this.version !== undefined && { version: this.version }),
      ...{ node, role, epoch: 1, lag, stalenessMs, digestLsn, snapshotLsn: 0, failovers, syncInterval },
      ...(reason !== undefined && { reason }),
      ...(known !== undefined && { leader: { ...known, epoch: 1 } }),
    }
  }

  leader(): NodeAddress | undefined {
    return this.role === 'leader' ? undefined : this.known
  }

  async confirm(signal: AbortSignal): Promise<Lsn> {
    if (this.role !== 'leader') throw new ServerError('not_leader', 'this node follows')
    return (await this.lsnToConfirm(signal)) as Lsn
  }

  nodes(): readonly KnownNode[] {
    return this.others()
  }

  async digests(): Promise<readonly NodeDigests[]> {
    return this.announced()
  }

  async requestDigests(): Promise<readonly StatePart[]> {
    return this.requested()
  }

  stepDown(): Promise<void> {
    return this.stepsDown()
  }

  /** Names of nodes that were removed and admitted. */
  readonly removed: string[] = []

  async removeNode(name: string): Promise<void> {
    this.removed.push(name)
  }

  async admitNode(name: string): Promise<void> {
    this.removed.splice(this.removed.indexOf(name), 1)
  }

  async refreshBackups(): Promise<void> {
    this.refreshes++
  }

  async close(): Promise<void> {
    this.known = undefined
  }
}

export interface HttpNode {
  readonly name: string
  readonly url: string
  readonly app: FastifyInstance
  readonly config: Config
  readonly node: Node
  readonly view: FakeView
  /** Its connection to the store of the log. */
  readonly store: SimClient
  send(method: string, route: string, options?: SendOptions): Promise<Answer>
}

export interface Cluster {
  readonly nodes: readonly HttpNode[]
  /** The node with this index leads, and every node knows it. */
  lead(index: number): Promise<void>
}

export interface ClusterOptions extends Partial<Omit<Config, 'cluster'>> {
  readonly count?: number
  readonly cluster?: Partial<ClusterConfig> | undefined
  /** Creates what counts wrong tokens of a node; by default with the real clock, and without the delay of a wrong token. */
  readonly newAttempts?: () => Attempts
}

/** Starts nodes; the first one leads. */
export async function startNodes(t: Test, { count = 2, cluster, ...changes }: ClusterOptions = {}): Promise<Cluster> {
  const world = simulate(t)
  const nodes: HttpNode[] = []
  for (let i = 0; i < count; i++) nodes.push(await startNode(t, world, `node-${i}`, { cluster, ...changes }))
  let epoch = 0
  const lead = async (index: number): Promise<void> => {
    for (const { node, view } of nodes) {
      if (view.role !== 'leader') continue
      view.role = 'follower'
      await node.stepDown()
    }
    const leader = nodes[index] as HttpNode
    await leader.node.lead(++epoch)
    for (const { view } of nodes) {
      view.role = view === leader.view ? 'leader' : 'follower'
      view.known = { node: leader.name, url: leader.url }
    }
  }
  await lead(0)
  return { nodes, lead }
}

async function startNode(
  t: Test,
  world: ReturnType<typeof simulate>,
  name: string,
  { cluster, newAttempts = () => createAttempts({ later: setImmediate }), ...changes }: Omit<ClusterOptions, 'count'>,
): Promise<HttpNode> {
  const { serverThreads = 1 } = changes
  let store: SimClient | undefined
  const connect = () => (store = world.sim.connect())
  const sim = Object.create(world.sim, { connect: { value: connect } })
  const node = await openNode(t, { ...world, sim }, { readers: serverThreads > 1 ? 2 * serverThreads : 0 })
  const config: Config = {
    ...readConfig({}).config,
    ...{ port: 0, logLevel: 'silent', serverThreads },
    ...changes,
    cluster: { ...clusterConfig(name), ...cluster },
  }
  const slot = slotWith(node.engine)
  const view = new FakeView(name)
  view.lsnToConfirm = async () => node.engine.lsnApplied
  slot.cluster = view
  const licensing = config.rootToken === undefined ? undefined : await licensingOf(config, node)
  const attempts = newAttempts()
  const app = createApp({ slot, config, attempts, ...(licensing === undefined ? {} : { licensing }) })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  if (store === undefined) throw new Error('the log was not opened')
  return {
    name,
    url,
    app,
    config,
    node,
    view,
    store,
    send: (method, route, options) => send(url, method, route, options),
  }
}

/** As the server creates it, with the key of the tests. */
async function licensingOf({ dataDir }: Config, { engine }: Node): Promise<Licensing> {
  const place = licensePlace(dataDir)
  const { publicKey } = vendor
  const licensing = new Licensing({ publicKey, place, isShared: true, engine: () => engine })
  await licensing.open(engine.id)
  return licensing
}

function clusterConfig(node: string): ClusterConfig {
  return {
    ...{ urls: [], name: 'annal', node, url: '', credentials: undefined, ca: undefined, monitorUrls: [] },
    // Writes of a loaded machine are slow.
    ...{ replicas: 1, leaseMs: 3_000, writeMs: 60_000, stalenessMs: 10_000 },
    ...{ filesBucket: undefined, filesBytesMax: 1_000_000_000, snapshotLogBytes: 64_000_000, retentionMs: 0 },
  }
}

/** Resolves when `check` is true. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await sleep(10)
}
