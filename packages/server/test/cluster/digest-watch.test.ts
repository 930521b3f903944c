// Three nodes compare digests: they stay in service whatever they do, and the one whose state differs leaves service and names the records.
// The third node is in this process, so that one record can be changed before it is applied.
import { rm } from 'node:fs/promises'
import type { LogRecord } from '@annal/wal'
import tap, { test } from 'tap'
import { openClusterNode } from '../../src/cluster/cluster-node.ts'
import type { RoleChange } from '../../src/cluster/node-control.ts'
import { eventually, until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { ClusterNode, createCollection, leaderOf, startNodes, Writer, write } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

const things = 'things'

test('the node whose state differs leaves service, and equal nodes do not', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startNodes(t, nats, 2)
  const first = await leaderOf(nodes)
  t.equal(await createCollection(first, things), 200)
  const { NDD_NODE_NAME: _, NDD_SERVER_PORT: __, ...environment } = first.environment
  const third = new ClusterNode('node-2', await freePort(), await temporaryDirectory(t), environment)
  t.teardown(() => third.signal('SIGKILL'))
  const { cluster, dataDir } = third.config
  if (cluster === undefined) throw new Error('the node has a cluster')
  const changes: RoleChange[] = []
  const { engine, view } = await openClusterNode(
    cluster,
    { dataDir, threads: 1 },
    {
      onRole(change) {
        changes.push(change)
        // It has no address for writes.
        if (change.to === 'leader') view.stepDown().catch(() => undefined)
      },
    },
  )

  t.comment('equal nodes')
  const compared = async (node: ClusterNode) => {
    const lsn = await node.metric('annal_cluster_digest_lsn')
    return lsn === (await node.metric('annal_lsn_applied'))
  }
  const allCompared = async () => {
    for (const node of nodes) await until(() => compared(node))
    await until(() => view.status().digestLsn === engine.lsnApplied)
  }
  const writer = new Writer(nodes, things, 'a')
  await writer.more(50)
  const path = `/api/v2/collection/${things}`
  for (const id of ['a1', 'a2', 'a3']) await send(first.url, 'DELETE', `${path}/objects/${id}`)
  t.equal(
    (await send(first.url, 'POST', `${path}/rebuild`, { json: { fields: [{ field: 'dense', M: 8 }] } })).status,
    202,
  )
  await until(async () => (await send(first.url, 'POST', `${path}/vacuum`)).status === 200)
  await writer.more(20)
  await first.signal('SIGKILL')
  await first.start()
  await writer.more(50)
  await writer.end()
  await allCompared()
  t.strictSame(
    changes.filter(({ to }) => to === 'out-of-service'),
    [],
  )

  t.comment('one record is changed')
  const leader = await leaderOf(nodes)
  await until(() => view.status().role === 'follower')
  const lsnEqual = engine.lsnApplied
  const apply = engine.applyTailed.bind(engine)
  const planted: number[] = []
  engine.applyTailed = (records) => apply(records.map((record) => changed(record, planted)))
  for (const id of ['before', 'planted', 'after']) await write(leader, things, [id])
  await until(() => view.status().role === 'out-of-service')
  const { reason = '' } = view.status()
  t.comment(reason)
  const [, from, to] = /look at records (\d+) to (\d+)$/.exec(reason) ?? []
  // More than one if the leader was slow to confirm it.
  t.ok(planted.length > 0)
  t.ok(Number(from) > lsnEqual && Number(from) <= (planted[0] ?? 0), 'the record is not before the range')
  t.ok((planted[0] ?? 0) <= Number(to) && Number(to) <= engine.lsnApplied, 'nor after it')
  t.match(reason, /^collection "things" differs .* on this node, [0-9a-f]{16} on node-[01], node-[01];/)
  t.match(changes.at(-1), { to: 'out-of-service', reason })
  await allOthersServe()

  t.comment('it leaves service again after a restart, and is in service with an empty directory')
  await view.close()
  await engine.close()
  await third.start()
  const health = await eventually(async () => {
    const found = await third.health()
    return found.cluster?.role === 'out-of-service' ? found : undefined
  })
  t.not(health.status, 'ok')
  t.match(health.cluster?.reason, /no earlier digest was compared, so look at records 1 to/)
  await until(async () => (await third.role()) === 'out-of-service')
  await allOthersServe()
  await third.signal('SIGKILL')
  await rm(dataDir, { recursive: true })
  await third.start()
  await until(() => compared(third))
  t.not(await third.role(), 'out-of-service')

  async function allOthersServe(): Promise<void> {
    for (const node of nodes) await until(async () => ['leader', 'follower'].includes((await node.role()) ?? ''))
    for (const node of nodes) await until(() => compared(node))
  }
})

/** The record that has the id `planted` gets another one of the same length. */
function changed(record: LogRecord, planted: number[]): LogRecord {
  const payload = Buffer.from(record.payload)
  const at = payload.indexOf('planted')
  if (at < 0) return record
  planted.push(record.lsn)
  payload.write('damaged', at)
  return { ...record, payload }
}
