// A follower whose disk is full: it leaves service and says why, here and on other nodes, and the others go on. It comes back when it has
// space. Skipped by name where nothing can be mounted.
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import tap, { test } from 'tap'
import { eventually, until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { ClusterNode, caughtUp, digestsOf, leaderOf, longLease, startNodes } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

const dimension = 768
const collections = '/api/v2/collection'

/** Mounts a small disk. Returns undefined where nothing can be mounted. */
function mountDisk(place: string, size: string, remount = ''): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `${remount}size=${size}`, 'tmpfs', place], { stdio: 'pipe' })
    return place
  } catch {
    return undefined
  }
}

test('a follower without disk space leaves service by name, and comes back with space', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const place = await temporaryDirectory(t)
  if (mountDisk(place, '24m') === undefined) return t.comment('SKIPPED: nothing can be mounted here')
  t.teardown(() => execFileSync('umount', ['-l', place]))
  const nats = await startNatsServers(t, 1)
  const [first] = await startNodes(t, nats, 1, longLease)
  if (first === undefined) throw new Error('a node was started')
  await leaderOf([first])
  const dataDir = path.join(place, 'data')
  const small = new ClusterNode('small', await freePort(), dataDir, first.environment)
  t.teardown(() => small.signal('SIGKILL'))
  await small.start()
  await until(async () => (await small.role()) === 'follower')

  const params = { dimension, space_type: 'l2', precision: 'int8' }
  const json = { name: 'things', fields: [{ name: 'dense', type: 'vector', params }] }
  t.equal((await send(first.url, 'POST', collections, { json })).status, 200)
  let written = 0
  const write = async (count: number) => {
    const objects = Array.from({ length: count }, () => ({ id: `o${written++}`, fields: { dense: someVector() } }))
    return (await send(first.url, 'POST', `${collections}/things/objects`, { json: { objects } })).status
  }
  const isOut = async () => (await small.health()).cluster?.role === 'out-of-service'
  await until(async () => {
    t.equal(await write(200), 200, 'the leader takes writes')
    return isOut()
  })
  const { status, cluster } = await small.health()
  const reason =
    /this node has no disk space or memory for the records of other nodes: the disk has no space for more vectors/
  t.match([status, cluster?.reason], ['failed', reason])
  t.equal((await send(small.url, 'GET', '/api/v2/health')).status, 503)
  const read = await send(small.url, 'POST', `${collections}/things/objects/query`, { json: { ids: ['o0'] } })
  t.match([read.status, read.json()], [503, { code: 'node_out_of_service', error: reason }])
  await until(async () => {
    const { nodes } = (await send(first.url, 'GET', '/api/v2/cluster')).json() as { nodes: Record<string, unknown>[] }
    return nodes.some((each) => each.node === 'small' && reason.test(String(each.reason)))
  })
  t.equal(await write(1), 200)

  // Nothing can be written at the next start, which waits.
  await small.signal('SIGTERM')
  const filler = path.join(place, 'filler')
  await writeFile(filler, Buffer.alloc(24 << 20)).catch((error: unknown) => t.match(error, { code: 'ENOSPC' }))
  const started = small.start()
  await eventually(
    async () => /waiting for disk space: ENOSPC/.test(small.outputSoFar() + small.process.stderr()) || undefined,
  )
  mountDisk(place, '400m', 'remount,')
  await started
  await until(async () => (await small.role()) === 'follower')
  await caughtUp(first, [first, small])
  const { digests, missing } = await digestsOf([first, small], {
    collection: 'things',
    ids: Array.from({ length: written }, (_, i) => `o${i}`),
  })
  t.equal(digests[0], digests[1])
  t.strictSame(missing, [])
})

/** Short in JSON. */
function someVector(): number[] {
  return Array.from({ length: dimension }, () => Math.floor(Math.random() * 9))
}
