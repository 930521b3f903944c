// How long a node with an empty directory takes until it follows, while objects are written: the time, the bytes of the snapshot, and the
// records of the tail. Runs with ANNAL_LONG=1 only; ANNAL_OBJECTS is the number of objects that the cluster has before.
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { test } from 'tap'
import { eventually, until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { ClusterNode, leaderOf, startNodes } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

const objects = Number(process.env.ANNAL_OBJECTS ?? 1_000_000)
const dimension = 128
const batch = 500
const timeout = 6 * 3_600_000
const skip = process.env.ANNAL_LONG === '1' ? skipNats : 'runs with ANNAL_LONG=1'
const path = '/api/v2/collection'

tap.setTimeout(timeout)

test(`a new node of ${objects} x ${dimension} under writes`, { skip, timeout }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const [first] = await startNodes(t, nats, 1, { NDD_NUM_THREADS: '2' })
  if (first === undefined) throw new Error('a node was started')
  await leaderOf([first])
  const params = { dimension, space_type: 'l2', precision: 'int8' }
  const fields = [{ name: 'dense', type: 'vector', params }]
  await send(first.url, 'POST', path, { json: { name: 'things', fields } })
  let written = 0
  const write = async (count: number) => {
    const body = Array.from({ length: count }, () => ({ id: `o${written++}`, fields: { dense: someVector() } }))
    for (;;) {
      const { status } = await send(first.url, 'POST', `${path}/things/objects`, { json: { objects: body } })
      if (status === 200) return
      await sleep(50)
    }
  }
  while (written < objects) await write(Math.min(batch, objects - written))
  await until(async () => (await first.metric('annal_cluster_snapshot_lsn')) > 0)

  let runs = true
  const writing = (async () => {
    while (runs) await write(10)
  })()
  const before = await first.metric('annal_lsn_applied')
  const node = new ClusterNode('node-new', await freePort(), await temporaryDirectory(t), first.environment)
  t.teardown(() => node.signal('SIGKILL'))
  const beganMs = performance.now()
  const seconds = () => ((performance.now() - beganMs) / 1000).toFixed(1)
  const started = node.start()
  const [, lsn, bytes] = await eventually(
    async () => /begins with snapshot (\d+) of node \S+: (\d+) bytes/.exec(node.outputSoFar()) ?? undefined,
  )
  const loaded = seconds()
  await started
  await until(async () => (await node.role()) === 'follower')
  const inService = seconds()
  const at = await node.metric('annal_lsn_applied')
  runs = false
  await writing
  const isEqual = async () =>
    (await node.metric('annal_cluster_digest_lsn')) === (await first.metric('annal_lsn_applied'))
  await until(isEqual)
  t.pass('the digests of both nodes are equal')
  const rows = { objects, snapshotBytes: Number(bytes), snapshotSeconds: loaded, secondsUntilFollower: inService }
  t.comment(JSON.stringify({ ...rows, recordsOfTail: at - Number(lsn), recordsWrittenMeanwhile: at - before }))
})

/** Short in JSON. */
function someVector(): number[] {
  return Array.from({ length: dimension }, () => Math.floor(Math.random() * 19) - 9)
}
