// Nodes of a cluster, as processes of a test over real NATS servers, and what a test asks them over HTTP.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openClusterNode } from '../../src/cluster/cluster-node.ts'
import { readConfig } from '../../src/index.ts'
import { eventually, until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { type RunningProcess, startProcess } from '../running-process.ts'
import type { NatsServers } from './nats-servers.ts'

/** For tests that lose no leader: however busy the machine is, the leader renews its lease in time. */
export const longLease = { NDD_CLUSTER_LEASE_MS: '30000' }
/** How long a node that may hang is given for a reply. */
const attemptMs = 2_000

/** What health says of a node. */
export interface NodeHealth {
  readonly status: string
  readonly reasons?: readonly string[]
  readonly cluster?: { readonly role: string; readonly reason?: string }
}

/** One node of a test. */
export class ClusterNode {
  readonly name: string
  readonly url: string
  readonly dataDir: string
  /** The settings of the process. */
  readonly environment: Readonly<Record<string, string>>
  #process: RunningProcess | undefined

  constructor(name: string, port: number, dataDir: string, environment: Readonly<Record<string, string>>) {
    this.name = name
    this.url = `http://127.0.0.1:${port}`
    this.dataDir = dataDir
    this.environment = { ...environment, NDD_NODE_NAME: name, NDD_SERVER_PORT: `${port}`, NDD_DATA_DIR: dataDir }
  }

  get process(): RunningProcess {
    if (this.#process === undefined) throw new Error(`${this.name} was not started`)
    return this.#process
  }

  /** Starts the process, of the sources or of another `main`. Resolves when it serves. */
  async start(more: Readonly<Record<string, string>> = {}, main?: string): Promise<void> {
    this.#process = startProcess({ ...this.environment, ...more }, main)
    await this.#process.serving
  }

  /** What the process has printed; empty before it is started. */
  outputSoFar(): string {
    return this.#process?.stdout() ?? ''
  }

  /** Sends a signal; a killed process is gone when this resolves. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    this.#process?.child.kill(signal)
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await this.#process?.ended
  }

  /** The configuration that the process has. */
  get config() {
    return readConfig(this.environment).config
  }

  /** All metrics, or undefined if the node does not answer. */
  async metrics(): Promise<string | undefined> {
    try {
      const reply = await fetch(`${this.url}/metrics`, { signal: AbortSignal.timeout(attemptMs) })
      return reply.ok ? await reply.text() : undefined
    } catch {
      return undefined
    }
  }

  /** Undefined if the node does not answer. */
  async role(): Promise<string | undefined> {
    return /annal_cluster_role\{role="([a-z-]+)"\} 1/.exec((await this.metrics()) ?? '')?.[1]
  }

  /** The metric of this name, as soon as the node answers. */
  async metric(name: string): Promise<number> {
    const metrics = await eventually(() => this.metrics())
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
  }

  async health(): Promise<NodeHealth> {
    return (await send(this.url, 'GET', '/api/v2/health')).json() as unknown as NodeHealth
  }
}

/** Starts nodes that end with the test. */
export async function startNodes(
  t: Test,
  nats: NatsServers,
  count: number,
  more: Readonly<Record<string, string>> = {},
): Promise<readonly ClusterNode[]> {
  const environment = {
    NDD_CLUSTER_URL: nats.servers.map(({ url }) => url).join(','),
    NDD_CLUSTER_REPLICAS: `${nats.servers.length}`,
    ...more,
  }
  const nodes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const node = new ClusterNode(`node-${index}`, await freePort(), await temporaryDirectory(t), environment)
      t.teardown(async () => {
        await node.signal('SIGCONT')
        await node.signal('SIGKILL')
      })
      return node
    }),
  )
  await Promise.all(nodes.map((node) => node.start()))
  return nodes
}

/** Waits until one of the nodes leads. */
export function leaderOf(nodes: readonly ClusterNode[]): Promise<ClusterNode> {
  return eventually(async () => {
    const roles = await Promise.all(nodes.map((node) => node.role()))
    return nodes[roles.indexOf('leader')]
  })
}

/** Waits until every node has applied what the leader has. */
export async function caughtUp(leader: ClusterNode, nodes: readonly ClusterNode[]): Promise<void> {
  const lsn = await leader.metric('annal_lsn_applied')
  for (const node of nodes) await until(async () => (await node.metric('annal_lsn_applied')) >= lsn)
}

/**
 * Stops the nodes, opens the directory of each, and returns the digest of everything in it, with the ids of the objects of a collection
 * that are there.
 */
export async function digestsOf(
  nodes: readonly ClusterNode[],
  { collection, ids }: { readonly collection: string; readonly ids: readonly string[] },
): Promise<{ readonly digests: readonly string[]; readonly missing: readonly string[] }> {
  await Promise.all(nodes.map((node) => node.signal('SIGTERM')))
  const digests: string[] = []
  const missing: string[] = []
  for (const { config, name } of nodes) {
    if (config.cluster === undefined) throw new Error('the node has a cluster')
    const { engine, view } = await openClusterNode(config.cluster, { dataDir: config.dataDir, threads: 1 })
    const database = engine.database()
    const found = database.collections().map((each) => database.collection(each.name).stateDigest())
    digests.push([engine.control.digest(), ...found].join(' '))
    for (let from = 0; from < ids.length; from += 500) {
      const wanted = ids.slice(from, from + 500)
      const there = new Set((await database.collection(collection).getMany(wanted)).map(({ id }) => id))
      missing.push(...wanted.filter((id) => !there.has(id)).map((id) => `${id} on ${name}`))
    }
    await view.close()
    await engine.close()
  }
  return { digests, missing }
}

/** Writes one object after the other, at the node that leads, until it is ended. Rests in between, so that processors are left for others. */
export class Writer {
  readonly acknowledged: string[] = []
  /** Times of acknowledgements, in milliseconds. */
  readonly acknowledgedAt: number[] = []
  readonly #nodes: readonly ClusterNode[]
  readonly #collection: string
  readonly #prefix: string
  readonly #restMs: number
  #isEnded = false
  readonly #working: Promise<void>

  constructor(nodes: readonly ClusterNode[], collection: string, prefix: string, restMs = 10) {
    this.#nodes = nodes
    this.#collection = collection
    this.#prefix = prefix
    this.#restMs = restMs
    this.#working = this.#work()
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#working
  }

  /** Waits until so many further writes are acknowledged. */
  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count
    await until(() => this.acknowledged.length >= wanted)
  }

  async #work(): Promise<void> {
    let at = 0
    for (let n = 0; !this.#isEnded; ) {
      const id = `${this.#prefix}${n}`
      const node = this.#nodes[at % this.#nodes.length]
      const status = node === undefined ? 0 : await upsert(node, this.#collection, [id], attemptMs)
      if (status === 200) {
        this.acknowledged.push(id)
        this.acknowledgedAt.push(performance.now())
        n++
        await sleep(this.#restMs)
      } else {
        at++
        await sleep(20)
      }
    }
  }
}

const dimension = 4

/**
 * Creates a collection of small vectors, again while there is no leader or the outcome is not known. Returns the status of the reply, 200 if
 * an earlier attempt has created it.
 */
export async function createCollection(node: ClusterNode, name: string): Promise<number> {
  const fields = [{ name: 'dense', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32' } }]
  for (let attempt = 1; ; attempt++) {
    const { status } = await send(node.url, 'POST', '/api/v2/collection', { json: { name, fields } })
    if (status !== 503) return status === 409 && attempt > 1 ? 200 : status
    await sleep(20)
  }
}

/** Upserts objects with these ids, again and again until this node confirms it as the leader. */
export async function write(node: ClusterNode, collection: string, ids: readonly string[]): Promise<void> {
  await until(async () => (await upsert(node, collection, ids)) === 200)
}

/** Upserts objects with these ids. Returns the status of the reply, or 0 without one, which a node that hangs needs a limit for. */
export async function upsert(
  node: ClusterNode,
  collection: string,
  ids: readonly string[],
  timeoutMs?: number,
): Promise<number> {
  try {
    const reply = await fetch(`${node.url}/api/v2/collection/${collection}/objects`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'annal-forward': 'never' },
      body: objectsOf(ids),
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    })
    await reply.arrayBuffer()
    return reply.status
  } catch {
    return 0
  }
}

/** The body of an upsert of objects with these ids. */
export function objectsOf(ids: readonly string[]): string {
  return JSON.stringify({ objects: ids.map((id) => ({ id, fields: { dense: vectorOf(id) } })) })
}

function vectorOf(id: string): number[] {
  let hash = 7
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) >>> 0
  return Array.from({ length: dimension }, (_, i) => ((hash >>> (i * 8)) & 255) / 255)
}
