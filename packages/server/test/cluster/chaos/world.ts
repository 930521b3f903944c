// Three nodes and three NATS servers as processes, with a link on every way between them: from each node to each NATS server, between each two
// NATS servers, and to each node.
import { cp, rm } from 'node:fs/promises'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { Test } from 'tap'
import { eventually, until } from '../../eventually.ts'
import { freePort } from '../../free-port.ts'
import { temporaryDirectory } from '../../running-app.ts'
import { ClusterNode, leaderOf } from '../cluster-nodes.ts'
import { type NatsServer, type NatsServers, startNatsServers } from '../nats-servers.ts'
import { Link } from './link.ts'

const count = 3
/** The name of the cluster's stream. */
export const streamName = 'annal-annal'

/** The processes of a run, and the ways between them. */
export class World {
  readonly nodes: readonly ClusterNode[]
  readonly nats: NatsServers
  /** From node to NATS server. */
  readonly natsLinks: readonly (readonly Link[])[]
  /** Between NATS servers; no link to itself. */
  readonly routes: readonly (readonly (Link | undefined)[])[]
  /** The address of each node for the others. */
  readonly doors: readonly Link[]
  readonly #manager: JetStreamManager
  readonly #gone = new Set<ClusterNode | NatsServer>()
  readonly #stopped = new Set<ClusterNode | NatsServer>()

  constructor(parts: Pick<World, 'nodes' | 'nats' | 'natsLinks' | 'routes' | 'doors'>, manager: JetStreamManager) {
    this.nodes = parts.nodes
    this.nats = parts.nats
    this.natsLinks = parts.natsLinks
    this.routes = parts.routes
    this.doors = parts.doors
    this.#manager = manager
  }

  get manager(): JetStreamManager {
    return this.#manager
  }

  /** The index of the node that leads. */
  async leader(): Promise<number> {
    return this.nodes.indexOf(await leaderOf(this.nodes))
  }

  /** The index of the NATS server that leads the stream. */
  streamLeader(): Promise<number> {
    return eventually(async () => {
      const info = await this.#manager.streams.info(streamName).catch(() => undefined)
      const [, index] = /^n(\d)$/.exec(info?.cluster?.leader ?? '') ?? []
      return index === undefined ? undefined : Number(index)
    })
  }

  /** The links between two groups of NATS servers, with the direction that leads from the first group to the second. */
  between(
    first: readonly number[],
    second: readonly number[],
  ): { readonly link: Link; readonly way: 'there' | 'back' }[] {
    return first.flatMap((a) =>
      second.flatMap((b) => {
        const [there, back] = [this.routes[a]?.[b], this.routes[b]?.[a]]
        return [
          ...(there ? [{ link: there, way: 'there' as const }] : []),
          ...(back ? [{ link: back, way: 'back' as const }] : []),
        ]
      }),
    )
  }

  /** The links between a node and all NATS servers. */
  ofNode(node: number): readonly Link[] {
    return this.natsLinks[node] ?? []
  }

  /** Kills a process until the world heals. */
  async kill(what: ClusterNode | NatsServer): Promise<void> {
    this.#gone.add(what)
    if (what instanceof ClusterNode) await what.signal('SIGKILL')
    else await what.kill()
  }

  /** Stops a process until the world heals. */
  async stop(what: ClusterNode | NatsServer): Promise<void> {
    this.#stopped.add(what)
    await what.signal('SIGSTOP')
  }

  /** Whether this process was neither killed nor stopped. */
  isWhole(what: ClusterNode): boolean {
    return !this.#gone.has(what) && !this.#stopped.has(what)
  }

  /** Ends every fault: links are open, and every process runs. */
  async heal(): Promise<void> {
    for (const link of [...this.natsLinks, ...this.routes].flat()) link?.heal()
    for (const link of this.doors) link.heal()
    for (const what of this.#stopped) await what.signal('SIGCONT')
    this.#stopped.clear()
    for (const what of this.#gone) if (!(what instanceof ClusterNode)) what.start()
    await Promise.all([...this.#gone].map((what) => (what instanceof ClusterNode ? what.start() : undefined)))
    this.#gone.clear()
  }

  /** Runs `act` while these NATS servers are not running. */
  async whileDown(servers: readonly number[], act: () => Promise<void>): Promise<void> {
    const found = servers.map((index) => this.server(index))
    await Promise.all(found.map((server) => server.kill()))
    await act()
    for (const server of found) server.start()
  }

  /** Copies the messages of a NATS server that does not run, and returns the copy. */
  async copyStore(t: Test, index: number): Promise<string> {
    const copy = await temporaryDirectory(t)
    await cp(`${this.server(index).directory}/jetstream`, copy, { recursive: true })
    return copy
  }

  /** Gives a NATS server that does not run the messages of a copy; none without one. */
  async replaceStore(index: number, copy: string | undefined): Promise<void> {
    const store = `${this.server(index).directory}/jetstream`
    await rm(store, { recursive: true })
    if (copy !== undefined) await cp(copy, store, { recursive: true })
  }

  server(index: number): NatsServer {
    const server = this.nats.servers[index]
    if (server === undefined) throw new Error(`there is no NATS server ${index}`)
    return server
  }

  node(index: number): ClusterNode {
    const node = this.nodes[index]
    if (node === undefined) throw new Error(`there is no node ${index}`)
    return node
  }

  /** Waits until one node leads and every other one follows with nothing missing. */
  async serves(): Promise<void> {
    await until(async () => {
      const roles = await Promise.all(this.nodes.map((node) => node.role()))
      const out = roles.indexOf('out-of-service')
      if (out >= 0) throw new Error(`node ${out} left service: ${(await this.node(out).health()).cluster?.reason}`)
      return (
        roles.filter((role) => role === 'leader').length === 1 &&
        roles.every((role) => role === 'leader' || role === 'follower')
      )
    })
  }
}

/** Starts a world that ends with the test. `homes` are the directories of the NATS servers, if the test has its own. */
export async function startWorld(t: Test, leaseMs: number, homes: readonly string[] = []): Promise<World> {
  const routes: (Link | undefined)[][] = Array.from({ length: count }, () =>
    Array.from({ length: count }, () => undefined),
  )
  const via = async (from: number, to: number, port: number) => {
    const link = await Link.open(t, port)
    const row = routes[from]
    if (row !== undefined) row[to] = link
    return link.port
  }
  const nats = await startNatsServers(t, count, { via, homes })
  const natsLinks: Link[][] = []
  const doors: Link[] = []
  const nodes: ClusterNode[] = []
  for (let i = 0; i < count; i++) {
    const links = await Promise.all(nats.servers.map(({ url }) => Link.open(t, Number(new URL(url).port))))
    const port = await freePort()
    const door = await Link.open(t, port)
    const node = new ClusterNode(`node-${i}`, port, await temporaryDirectory(t), {
      NDD_CLUSTER_URL: links.map((link) => `nats://127.0.0.1:${link.port}`).join(','),
      NDD_CLUSTER_REPLICAS: `${count}`,
      NDD_CLUSTER_LEASE_MS: `${leaseMs}`,
      NDD_NODE_URL: `http://127.0.0.1:${door.port}`,
    })
    t.teardown(async () => {
      await node.signal('SIGCONT')
      await node.signal('SIGKILL')
    })
    natsLinks.push(links)
    doors.push(door)
    nodes.push(node)
  }
  await Promise.all(nodes.map((node) => node.start()))
  const manager = await jetstreamManager(await nats.connect('world'), { checkAPI: false, timeout: 1000 })
  return new World({ nodes, nats, natsLinks, routes, doors }, manager)
}
