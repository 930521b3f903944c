// Three nodes and three NATS servers, as processes: they choose a leader, have the same data, survive the loss of the leader and of NATS,
// and acknowledge nothing that is lost.
import tap, { test } from 'tap'
import { annal } from '../../../cli/test/command.ts'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import {
  ClusterNode,
  caughtUp,
  createCollection,
  digestsOf,
  leaderOf,
  startNodes,
  upsert,
  Writer,
  write,
} from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const things = 'things'

test('nodes survive the loss of the leader, a leader that hangs, and the loss of NATS', {
  skip: skipNats,
  timeout: 600_000,
}, async (t) => {
  const nats = await startNatsServers(t, 3)
  // A busy machine may not renew a shorter lease in time.
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '3000' })
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  await write(leader, things, ['first'])
  await caughtUp(leader, nodes)
  for (const node of nodes)
    if (node !== leader) await until(async () => (await upsert(node, things, ['refused'])) === 421)
  t.equal((await leader.health()).status, 'ok')

  t.comment('the leader is killed')
  const writer = new Writer(nodes, things, 'a')
  await writer.more(50)
  await leader.signal('SIGKILL')
  await writer.more(50)
  const second = await leaderOf(nodes.filter((node) => node !== leader))
  await leader.start()
  await until(async () => (await leader.role()) === 'follower')

  t.comment('the leader hangs')
  await second.signal('SIGSTOP')
  await writer.more(50)
  const third = await leaderOf(nodes.filter((node) => node !== second))
  await second.signal('SIGCONT')
  await until(async () => (await second.role()) === 'follower')
  t.ok((await second.metric('annal_cluster_epoch')) >= 3)
  await until(async () => (await third.role()) === 'leader')

  t.comment('the leader steps down, over HTTP and by the command')
  const stepDowns = [
    async ({ url }: ClusterNode) => (await send(url, 'POST', '/api/v2/cluster/step-down')).status === 200,
    async ({ url }: ClusterNode) => (await annal(['cluster', 'step-down', '-s', url])).code === 0,
  ]
  for (const stepDown of stepDowns) {
    const before = await leaderOf(nodes)
    t.ok(await stepDown(before))
    await leaderOf(nodes.filter((node) => node !== before))
    await writer.more(20)
  }

  t.comment('another process has the name of a node')
  const twin = new ClusterNode(leader.name, await freePort(), await temporaryDirectory(t), leader.environment)
  t.teardown(() => twin.signal('SIGKILL'))
  await twin.start()
  for (const node of [leader, twin])
    await until(async () => (await node.health()).cluster?.reason?.includes('another process has the name') === true)
  await twin.signal('SIGKILL')
  await until(async () => (await leader.health()).cluster?.reason?.includes('another process') !== true)

  t.comment('NATS loses its majority')
  const last = await leaderOf(nodes)
  const [, ...lost] = nats.servers
  await Promise.all(lost.map((server) => server.kill()))
  await until(async () =>
    (await Promise.all(nodes.map((node) => upsert(node, things, ['in doubt'], 2_000)))).every(
      (status) => status !== 200,
    ),
  )
  for (const node of nodes) t.ok((await node.metric('annal_objects')) > 150, 'reads go on')
  await until(async () => !(await Promise.all(nodes.map((node) => node.role()))).includes('leader'))
  await last.signal('SIGTERM')
  t.strictSame(await last.process.ended, { code: 0, signal: null }, 'the leader ends while NATS is away')
  for (const server of lost) server.start()
  await last.start()
  await writer.more(50)
  await writer.end()

  await caughtUp(await leaderOf(nodes), nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids: ['first', ...writer.acknowledged] })
  t.strictSame(missing, [], `${writer.acknowledged.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})
