// Three nodes over three NATS servers, as processes: clients that know one URL, which is not that of the leader. Writes reach the leader, reads
// see what they require, and an error after the loss of the leader or of NATS says what happened.
import { setTimeout as sleep } from 'node:timers/promises'
import { Endee, Precision } from 'endee'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { send } from '../running-app.ts'
import { type ClusterNode, leaderOf, startNodes } from './cluster-nodes.ts'
import { type NatsServers, skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const accept = 'application/json'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
const things = '/api/v2/collection/things'

interface Nodes {
  readonly nats: NatsServers
  readonly nodes: readonly ClusterNode[]
  readonly leader: ClusterNode
  readonly followers: readonly [ClusterNode, ClusterNode]
}

async function start(t: Test): Promise<Pick<Nodes, 'nats' | 'nodes'>> {
  const nats = await startNatsServers(t, 3)
  const settings = { NDD_CLUSTER_LEASE_MS: '3000', NDD_NUM_SERVER_THREADS: '2' }
  return { nats, nodes: await startNodes(t, nats, 3, settings) }
}

/** Waits until every node knows the same leader. */
async function roles({ nats, nodes }: Pick<Nodes, 'nats' | 'nodes'>): Promise<Nodes> {
  const leader = await leaderOf(nodes)
  const followers = nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode]
  for (const { url } of followers) {
    const knows = async () => {
      const { leader: known } = (await send(url, 'GET', '/api/v2/cluster')).json() as { leader?: { node: string } }
      return known?.node === leader.name
    }
    await until(knows)
  }
  return { nats, nodes, leader, followers }
}

function put({ url }: ClusterNode, id: string, headers: Readonly<Record<string, string>> = {}) {
  const json = { objects: [{ id, fields: { dense: [1, 2] } }] }
  return send(url, 'POST', `${things}/objects`, { json, accept, headers })
}

/** Which of the ids a node returns. */
async function idsAt({ url }: ClusterNode, ids: readonly string[], options: object = {}): Promise<readonly string[]> {
  const reply = await send(url, 'POST', `${things}/objects/query`, { json: { ids, ...options }, accept })
  if (reply.status !== 200) throw new Error(reply.text)
  return (reply.json() as unknown as { objects: { id: string }[] }).objects.map(({ id }) => id)
}

test('three nodes serve clients that know one of them', { skip: skipNats }, async (t) => {
  const cluster = await start(t)

  await t.test('the published client works with the URL of a follower, unchanged', async (t) => {
    const { followers, nodes } = await roles(cluster)
    const [follower, other] = followers
    const client = new Endee()
    client.setBaseUrl(`${follower.url}/api/v1`)
    const definition = { name: 'items', dimension: 2, spaceType: 'l2', precision: Precision.FLOAT32 } as const
    t.equal(await client.createIndex(definition), 'Index created successfully')
    const index = await client.getIndex('items')
    const vectors = Array.from({ length: 30 }, (_, i) => ({ id: `v${i}`, vector: [i, 1], meta: { i } }))
    t.equal(await index.upsert(vectors), 'Vectors inserted successfully')
    // Each call sees the one before it.
    for (let i = 0; i < 10; i++) {
      await index.upsert([{ id: 'moving', vector: [100 + i, 1], meta: { i } }])
      const [nearest] = await index.query({ vector: [100 + i, 1], topK: 1 })
      t.match(nearest, { id: 'moving', meta: { i } })
    }
    await index.deleteVector('v3')
    await t.rejects(index.getVector('v3'))

    const created = await send(other.url, 'POST', '/api/v2/collection', { json: { name: 'things', fields } })
    t.equal(created.status, 200, created.text)
    for (let i = 0; i < 20; i++) {
      const [writer, reader] = [nodes[i % 3], nodes[(i + 1) % 3]] as [ClusterNode, ClusterNode]
      const written = await put(writer, `o${i}`)
      const { lsn } = written.json()
      const wanted = [`o${i}`]
      t.strictSame(await idsAt(writer, wanted), wanted, 'the node that took the write shows it')
      t.strictSame(await idsAt(reader, wanted, { min_lsn: lsn }), wanted)
      const next = `p${i}`
      await put(writer, next)
      t.strictSame(await idsAt(reader, [next], { consistency: 'strong' }), [next], 'a strong read, without an LSN')
    }
    const stepped = await send((await leaderOf(nodes)).url, 'POST', '/api/v2/cluster/step-down')
    t.match([stepped.status, stepped.json().role], [200, 'follower'], stepped.text)
    await until(async () => (await put(follower, 'after')).status === 200)
  })

  await t.test('without NATS, reads go on and state their staleness, and nothing else is claimed', async (t) => {
    const { followers, leader, nats } = await roles(cluster)
    const [follower] = followers
    t.equal((await put(follower, 'a')).status, 200)
    const lost = nats.servers.slice(1)
    await Promise.all(lost.map((server) => server.kill()))
    const read = (options: object) =>
      send(follower.url, 'POST', `${things}/objects/query`, { json: { ids: ['a'], ...options }, accept })
    await until(async () => Number((await read({})).headers.get('annal-staleness')) > 1_500)
    t.equal((await read({})).status, 200)
    t.match((await read({ max_staleness_ms: 1_000 })).json(), { code: 'replica_stale', limit: 1_000 })
    t.match((await read({ consistency: 'strong' })).json(), { code: 'not_leader' })
    for (const node of [leader, follower]) {
      const reply = await put(node, 'in doubt')
      t.match([reply.status, reply.json().code], [503, /^(not_leader|outcome_unknown)$/])
    }
    for (const server of lost) server.start()
    await until(async () => (await put(follower, 'b')).status === 200)
    await until(async () => (await read({ max_staleness_ms: 5_000, consistency: 'strong' })).status === 200)
  })

  await t.test('writes through a follower survive the loss of the leader, and say what is not known', async (t) => {
    const { followers, leader } = await roles(cluster)
    const [follower, other] = followers
    const acknowledged: string[] = []
    const refused = new Set<string>()
    let ended = false
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (let i = 0; !ended; i++) {
        const id = `w${writer}-${i}`
        for (;;) {
          const reply = await put(follower, id, { 'Idempotency-Key': id })
          if (reply.status === 200) break
          refused.add(`${reply.status} ${reply.json().code}`)
          await sleep(50)
        }
        acknowledged.push(id)
      }
    })
    const more = async (count: number) => {
      const wanted = acknowledged.length + count
      await until(() => acknowledged.length >= wanted)
    }
    await more(40)
    await leader.signal('SIGKILL')
    await more(40)
    ended = true
    await Promise.all(writers)
    const strangers = [...refused].filter((code) => !/^503 (not_leader|outcome_unknown)$/.test(code))
    t.strictSame(strangers, [])
    t.comment(`${acknowledged.length} acknowledged; refusals: ${[...refused].join(', ')}`)
    for (const node of [follower, other])
      for (let from = 0; from < acknowledged.length; from += 500) {
        const ids = acknowledged.slice(from, from + 500)
        t.strictSame(await idsAt(node, ids, { consistency: 'strong' }), ids)
      }
  })
})
