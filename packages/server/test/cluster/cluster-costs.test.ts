// What a cluster costs next to a single server: acknowledgements over the replicated log, next to a local log and to a plain publish of NATS,
// and the CPU time of a read on a follower. Long runs only, since times depend on the machine.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import tap, { type Test, test } from 'tap'
import { freePort } from '../free-port.ts'
import { temporaryDirectory } from '../running-app.ts'
import { ClusterNode, caughtUp, createCollection, leaderOf, objectsOf, startNodes, upsert } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const seconds = Number(process.env.ANNAL_SECONDS ?? 5)
const turns = Number(process.env.ANNAL_TURNS ?? 5)
/** The compiler of V8 works for some seconds. */
const turnsToWarmUp = 4
const skip = process.env.ANNAL_LONG === '1' ? skipNats : 'long runs only (ANNAL_LONG=1)'
const things = 'things'
/** About what a record of one object takes. */
const recordBytes = 200

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN
}

async function singleServer(t: Test): Promise<ClusterNode> {
  const single = new ClusterNode('single', await freePort(), await temporaryDirectory(t), {})
  await single.start()
  t.teardown(() => single.signal('SIGKILL'))
  return single
}

test('acknowledgements next to a server with a local log', { skip, timeout: 600_000 }, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3)
  const leader = await leaderOf(nodes)
  const single = await singleServer(t)
  for (const node of [leader, single]) t.equal(await createCollection(node, things), 200)
  const connection = await nats.connect('publishes')
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'floor', subjects: ['floor'], num_replicas: 3, storage: StorageType.File })
  const client = jetstream(connection)
  const bytes = Buffer.alloc(recordBytes, 1)
  for (const clients of [1, 64]) {
    const times: Readonly<Record<string, number[]>> = { local: [], replicated: [], publish: [] }
    for (let turn = 0; turn < turns; turn++) {
      times.local?.push(...(await writes(single, clients, `l${clients}-${turn}-`)))
      times.replicated?.push(...(await writes(leader, clients, `r${clients}-${turn}-`)))
      times.publish?.push(...(await load(clients, async () => void (await client.publish('floor', bytes)))))
    }
    for (const [what, each] of Object.entries(times))
      t.comment(
        `${clients} clients, ${what}: ${Math.round(each.length / seconds / turns)}/s, p50 ${quantile(each, 0.5).toFixed(2)} ms, p99 ${quantile(each, 0.99).toFixed(2)} ms`,
      )
    t.comment(`${clients} clients: ratio ${((times.replicated?.length ?? 0) / (times.local?.length ?? 1)).toFixed(2)}`)
  }
})

test('CPU time of a read on a follower next to a single server', { skip, timeout: 600_000 }, async (t) => {
  const nats = await startNatsServers(t, 3)
  const nodes = await startNodes(t, nats, 3)
  const leader = await leaderOf(nodes)
  const follower = nodes.find((node) => node !== leader) as ClusterNode
  const single = await singleServer(t)
  const ids = Array.from({ length: 1000 }, (_, i) => `o${i}`)
  for (const node of [leader, single]) {
    t.equal(await createCollection(node, things), 200)
    t.equal(await upsert(node, things, ids), 200)
  }
  await caughtUp(leader, nodes)
  const costs = new Map<ClusterNode, number[]>([
    [single, []],
    [follower, []],
  ])
  for (let turn = -turnsToWarmUp; turn < turns; turn++)
    for (const [node, found] of costs) {
      const began = cpuMs(node)
      const count = (await searches(node)).length
      const cost = ((cpuMs(node) - began) / count) * 1000
      if (turn >= 0) found.push(cost)
    }
  const [alone = [], following = []] = [...costs.values()]
  const ratios = following.map((cost, i) => cost / (alone[i] ?? Number.NaN))
  t.comment(
    `CPU time of a search: single server ${quantile(alone, 0.5).toFixed(1)} us, follower ${quantile(following, 0.5).toFixed(1)} us`,
  )
  t.comment(
    `ratio of each turn: median ${quantile(ratios, 0.5).toFixed(3)}, ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`,
  )
})

/** CPU time of a process with its threads, in milliseconds. */
function cpuMs({ process: { child } }: ClusterNode): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function writes(node: ClusterNode, clients: number, prefix: string): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  let n = 0
  const path = `${node.url}/api/v2/collection/${things}/objects`
  return load(clients, () => post(agent, path, objectsOf([`${prefix}${n++}`]))).finally(() => agent.destroy())
}

function searches(node: ClusterNode): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const path = `${node.url}/api/v2/collection/${things}/search`
  const body = JSON.stringify({ fields: { dense: { query: [0.1, 0.2, 0.3, 0.4], limit: 10 } } })
  return load(8, () => post(agent, path, body)).finally(() => agent.destroy())
}

/** Acts in each client, one call after the other, and returns the time of each call in milliseconds. */
async function load(clients: number, act: () => Promise<void>): Promise<number[]> {
  const times: number[] = []
  const endMs = performance.now() + seconds * 1000
  const client = async () => {
    while (performance.now() < endMs) {
      const beganMs = performance.now()
      await act()
      times.push(performance.now() - beganMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return times
}

/** Rejects unless the reply is 200. */
function post(agent: Agent, url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', agent, headers }, (reply) => {
      reply.resume()
      reply.on('end', () => (reply.statusCode === 200 ? resolve() : reject(new Error(`${reply.statusCode}`))))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
