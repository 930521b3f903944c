// Measures how long nobody acknowledges writes after the leader is killed, hangs, or is stopped, and what the replicated log costs next to the
// local one. Long runs only, since times depend on the machine; nothing acknowledged may be lost in any of them.
import { Agent, request } from 'node:http'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { temporaryDirectory } from '../running-app.ts'
import {
  ClusterNode,
  caughtUp,
  createCollection,
  digestsOf,
  leaderOf,
  objectsOf,
  startNodes,
  Writer,
} from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(1_800_000)

const rounds = Number(process.env.ANNAL_ROUNDS ?? 20)
const seconds = Number(process.env.ANNAL_SECONDS ?? 10)
const skip = process.env.ANNAL_LONG === '1' ? skipNats : 'long runs only (ANNAL_LONG=1)'
const things = 'things'

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function report(t: Test, what: string, values: readonly number[]): void {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.round)
  t.comment(`${what}: median ${Math.round(median(values))} ms, ${least} to ${most}, ${values.length} times`)
}

test('failover times with the usual lease', { skip, timeout: 1_800_000 }, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3)
  t.equal(await createCollection(await leaderOf(nodes), things), 200)
  const writers = nodes.map((node) => new Writer([node], things, `${node.name}-`))
  const newest = () => Math.max(...writers.map(({ acknowledgedAt }) => acknowledgedAt.at(-1) ?? 0))
  for (const signal of ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const) {
    const gaps: number[] = []
    for (let round = 0; round < rounds; round++) {
      const leader = await leaderOf(nodes)
      await caughtUp(leader, nodes)
      const before = newest()
      await until(() => newest() > before)
      const beganMs = performance.now()
      const gone = leader.signal(signal)
      const others = writers.filter((_, i) => nodes[i] !== leader)
      const next = () => others.flatMap(({ acknowledgedAt }) => acknowledgedAt.find((at) => at > beganMs) ?? [])
      await until(() => next().length > 0)
      gaps.push(Math.min(...next()) - beganMs)
      await gone
      if (signal === 'SIGSTOP') await leader.signal('SIGCONT')
      else await leader.start()
      await until(async () => (await leader.role()) === 'follower')
    }
    report(t, `${signal}: no acknowledgement for`, gaps)
  }
  await Promise.all(writers.map((writer) => writer.end()))
  await caughtUp(await leaderOf(nodes), nodes)
  const ids = writers.flatMap(({ acknowledged }) => acknowledged)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids })
  t.strictSame(missing, [], `${ids.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1)
})

test('acknowledgements next to a server with a local log', { skip, timeout: 600_000 }, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3)
  const leader = await leaderOf(nodes)
  const single = new ClusterNode('single', await freePort(), await temporaryDirectory(t), {})
  await single.start()
  t.teardown(() => single.signal('SIGKILL'))
  for (const node of [leader, single]) t.equal(await createCollection(node, things), 200)
  for (const clients of [1, 64]) {
    const rates = new Map<string, number>()
    for (const [what, node] of [
      ['local', single],
      ['replicated', leader],
    ] as const) {
      const times = await load(node, clients, `${what}${clients}-`)
      rates.set(what, times.length / seconds)
      t.comment(
        `${what}, ${clients} clients: ${Math.round(times.length / seconds)} writes/s, p50 ${median(times).toFixed(2)} ms`,
      )
    }
    t.comment(`${clients} clients: ratio ${((rates.get('replicated') ?? 0) / (rates.get('local') ?? 1)).toFixed(2)}`)
  }
})

/** Upserts one object at a time in each client, and returns the time of each acknowledgement in milliseconds. */
async function load(node: ClusterNode, clients: number, prefix: string): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const times: number[] = []
  const endMs = performance.now() + seconds * 1000
  let n = 0
  const client = async () => {
    while (performance.now() < endMs) {
      const beganMs = performance.now()
      const status = await post(
        agent,
        `${node.url}/api/v2/collection/${things}/objects`,
        objectsOf([`${prefix}${n++}`]),
      )
      if (status === 200) times.push(performance.now() - beganMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return times
}

function post(agent: Agent, url: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', agent, headers }, (reply) => {
      reply.resume()
      reply.on('end', () => resolve(reply.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
