// Clones, restores, and backups of a cluster over HTTP, with the files in JetStream and in a bucket: the same from each node, after the loss
// of the leader, and on a node that could not reach the bucket.
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import {
  ClusterNode,
  caughtUp,
  createCollection,
  digestsOf,
  leaderOf,
  longLease,
  startNodes,
  write,
} from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'
import { ObjectServer } from './object-server.ts'

tap.setTimeout(600_000)

const api = '/api/v2'
const ids = Array.from({ length: 300 }, (_, i) => `o${i}`)
const settings = { ...longLease, NDD_NUM_SERVER_THREADS: '2' }

/** Waits until a node knows that another one leads. */
async function knowsLeader({ url }: ClusterNode, leader: ClusterNode): Promise<void> {
  await until(async () => {
    const { leader: known } = (await send(url, 'GET', `${api}/cluster`)).json() as { leader?: { node: string } }
    return known?.node === leader.name
  })
}

async function clone(t: Test, { url }: ClusterNode, from: string, to: string): Promise<void> {
  const json = { target_collection_name: to }
  const reply = await send(url, 'POST', `${api}/collection/${from}/clone`, { json })
  t.equal(reply.status, 201, reply.text)
}

/** Makes a backup, and waits until this node says that it is complete. */
async function backUp(t: Test, { url }: ClusterNode, name: string): Promise<void> {
  const begun = await send(url, 'POST', `${api}/collection/things/backup`, { json: { name } })
  t.equal(begun.status, 202, begun.text)
  const status = async () => (await send(url, 'GET', `${api}/status/backup`)).json() as { status: string; name: string }
  await until(async () => (await status()).status !== 'running')
  t.match(await status(), { status: 'completed' })
}

async function restore(t: Test, { url }: ClusterNode, name: string, to: string): Promise<void> {
  const reply = await send(url, 'POST', `${api}/backups/${name}/restore`, { json: { target_collection_name: to } })
  t.equal(reply.status, 201, reply.text)
}

async function download({ url }: ClusterNode, name: string): Promise<Buffer> {
  const reply = await fetch(`${url}${api}/backups/${name}/download`)
  return Buffer.from(await reply.arrayBuffer())
}

async function list({ url }: ClusterNode): Promise<unknown> {
  return (await send(url, 'GET', `${api}/backups`)).json()
}

test('clones and backups through any node, with the files in JetStream', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  // One that outlives a busy machine, and that the test can wait for.
  const nodes = await startNodes(t, nats, 3, { ...settings, NDD_CLUSTER_LEASE_MS: '6000' })
  const leader = await leaderOf(nodes)
  const [follower, other] = nodes.filter((node) => node !== leader) as [ClusterNode, ClusterNode]
  for (const node of [follower, other]) await knowsLeader(node, leader)
  t.equal(await createCollection(leader, 'things'), 200)
  await write(leader, 'things', ids)
  await clone(t, follower, 'things', 'copy')
  await backUp(t, follower, 'b1')
  t.match(await list(leader), { b1: { original_index: 'things' } })
  for (const node of [follower, other]) t.same(await list(node), await list(leader))
  const bytes = await download(leader, 'b1')
  for (const node of [follower, other]) t.ok(bytes.equals(await download(node, 'b1')), 'each node sends the same bytes')
  await restore(t, other, 'b1', 'restored')
  const uploaded = await fetch(`${follower.url}${api}/backups/upload?name=b2`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-tar' },
    body: bytes,
  })
  t.equal(uploaded.status, 201, await uploaded.text())
  const again = await send(other.url, 'POST', `${api}/collection/things/backup`, { json: { name: 'b2' } })
  t.match([again.status, again.json()], [409, { code: 'backup_exists' }])
  const verified = await send(follower.url, 'POST', `${api}/backups/b2/verify`, { json: { deep: true } })
  t.match(verified.json(), { status: 'ok' })
  t.equal((await send(other.url, 'DELETE', `${api}/backups/b1`)).status, 200)
  t.strictSame(Object.keys((await list(leader)) as object), ['b2'])

  t.comment('the past')
  const deleted = await send(follower.url, 'DELETE', `${api}/collection/things/objects/${ids[0]}`)
  t.equal(deleted.status, 200, deleted.text)
  const { lsn } = deleted.json() as { lsn: number }
  const restorePast = (node: ClusterNode, target: string, moment: number) =>
    send(node.url, 'POST', `${api}/collection/things/restore`, {
      json: { target_collection_name: target, lsn: moment },
    })
  const past = await restorePast(follower, 'past', lsn - 1)
  t.equal(past.status, 201, past.text)
  const described = await send(leader.url, 'GET', `${api}/collection/past`)
  t.match(described.json(), { total_elements: ids.length }, 'with the object that was deleted')
  const early = await restorePast(other, 'early', 1)
  t.equal(early.status, 201, early.text)
  const late = await restorePast(other, 'late', 1e6)
  t.match([late.status, late.json()], [400, { code: 'restore_unreachable' }])
  const eventsOf = async ({ url }: ClusterNode) =>
    ((await send(url, 'GET', `${api}/log/events?from=1&limit=500`)).json() as { events: readonly { lsn: number }[] })
      .events
  await caughtUp(leader, nodes)
  const events = await eventsOf(leader)
  t.ok(events.length > 5)
  for (const node of [follower, other]) t.same(await eventsOf(node), events)

  t.comment('the leader is lost')
  await leader.signal('SIGKILL')
  const second = await leaderOf([follower, other])
  for (const node of [follower, other]) if (node !== second) await knowsLeader(node, second)
  await restore(t, follower, 'b2', 'after')
  await leader.start()
  await caughtUp(second, nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: 'after', ids })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})

test('the node that leads makes a scheduled backup, and every node has it', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startNodes(t, nats, 2, settings)
  const leader = await leaderOf(nodes)
  const follower = nodes.find((node) => node !== leader) as ClusterNode
  await knowsLeader(follower, leader)
  t.equal(await createCollection(leader, 'things'), 200)
  await write(leader, 'things', ids)
  const set = await send(follower.url, 'PUT', `${api}/collection/things/schedule`, { json: { every_hours: 1 } })
  t.equal(set.status, 200, set.text)
  // Schedules are looked at once a minute.
  await until(async () => Object.keys((await list(follower)) as object).length > 0)
  t.match(Object.keys((await list(leader)) as object), [/^auto-things-/])
  t.same(await list(follower), await list(leader))
})

test('a node that cannot reach the bucket is out of service until it can', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const server = new ObjectServer(seededRandom(1))
  const { environment, close } = await server.open()
  t.teardown(close)
  const base = {
    ...{ ...settings, ...environment, NDD_CLUSTER_S3: 's3://files/shop' },
    ...{ NDD_CLUSTER_URL: nats.servers.map(({ url }) => url).join(','), NDD_CLUSTER_REPLICAS: '1' },
  }
  const nodes: ClusterNode[] = []
  for (const name of ['node-0', 'node-1']) {
    const own = { ...base, AWS_ACCESS_KEY_ID: name }
    const node = new ClusterNode(name, await freePort(), await temporaryDirectory(t), own)
    t.teardown(() => node.signal('SIGKILL'))
    nodes.push(node)
    await node.start()
  }
  const leader = await leaderOf(nodes)
  const follower = nodes.find((node) => node !== leader) as ClusterNode
  await knowsLeader(follower, leader)
  t.equal(await createCollection(leader, 'things'), 200)
  await write(leader, 'things', ids)
  await caughtUp(leader, nodes)

  server.refusedKey = leader.name
  const refused = await send(follower.url, 'POST', `${api}/collection/things/clone`, {
    json: { target_collection_name: 'copy' },
  })
  t.match([refused.status, refused.json()], [503, { code: 'shared_store_unavailable', error: /credentials/ }])
  server.refusedKey = follower.name
  await clone(t, leader, 'things', 'copy')
  await write(leader, 'things', ['later'])
  await until(async () => (await follower.role()) === 'out-of-service')
  t.match((await follower.health()).cluster?.reason, /^it waits for the image [0-9a-f]+: the bucket files rejects/)
  const read = await send(follower.url, 'GET', `${api}/collection/things`)
  t.match([read.status, read.json()], [503, { code: 'node_out_of_service' }])
  const [part = ''] = server.keys.filter((key) => /images\/.*[0-9a-f]{64}$/.test(key))
  server.damage(part)
  server.refusedKey = undefined
  await until(async () => /damaged/.test((await follower.health()).cluster?.reason ?? ''))
  server.damage(part)
  await until(async () => (await follower.role()) === 'follower')
  await caughtUp(leader, nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: 'copy', ids })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})
