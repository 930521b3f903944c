// A node that is away holds the log back until an operator removes it by name; a removed node stays out until it is admitted again.
import { jetstreamManager } from '@nats-io/jetstream'
import tap, { test } from 'tap'
import { annal } from '../../../cli/test/command.ts'
import { until } from '../eventually.ts'
import { send } from '../running-app.ts'
import { caughtUp, createCollection, digestsOf, leaderOf, startNodes, Writer } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

const things = 'things'

test('a node is removed by name, refuses to come back, and is admitted again', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '3000', NDD_CLUSTER_SNAPSHOT_MB: '0' })
  const leader = await leaderOf(nodes)
  const third = nodes.find((node) => node !== leader)!
  t.equal(await createCollection(leader, things), 200)
  const manager = await jetstreamManager(await nats.connect('tests'), { checkAPI: false })
  const first = async () => (await manager.streams.info('annal-annal')).state.first_seq
  const writer = new Writer(nodes, things, 'a')
  await until(async () => (await first()) > 1)
  const path = `/api/v2/cluster/nodes/${third.name}`

  t.comment('a node that runs is not removed by another one')
  const live = await send(leader.url, 'DELETE', path)
  t.match([live.status, live.json()], [409, { code: 'node_live', error: new RegExp(third.url) }])
  for (const name of ['nobody', '%3E', '*', 'a..b'])
    t.match(
      (await send(leader.url, 'DELETE', `/api/v2/cluster/nodes/${name}`)).json(),
      { code: 'node_not_found' },
      name,
    )

  t.comment('a node that is away holds the log back')
  await third.signal('SIGKILL')
  const snapshots = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const lsn = await leader.metric('annal_cluster_snapshot_lsn')
      await until(async () => (await leader.metric('annal_cluster_snapshot_lsn')) > lsn)
    }
  }
  await snapshots(3)
  const held = await first()
  await snapshots(3)
  t.equal(await first(), held)

  t.comment('it is removed')
  await until(async () => (await send(leader.url, 'DELETE', path)).status === 200)
  t.match((await send(leader.url, 'DELETE', path)).json(), { code: 'node_not_found' })
  await until(async () => (await first()) > held)
  t.pass('the log is trimmed further')
  await until(async () => !(await send(leader.url, 'GET', '/api/v2/cluster')).text.includes(`"${third.name}"`))
  await third.start().catch(() => undefined)
  t.match(await third.process.ended, { code: 78 })
  t.match(third.process.stderr(), new RegExp(`node ${third.name} was removed from the cluster`))

  t.comment('it is admitted, and begins with a snapshot')
  const command = (what: string, { url }: { readonly url: string }) => annal(['cluster', what, third.name, '-s', url])
  t.match(await command('admit', leader), { code: 0 })
  t.match(await command('admit', leader), { code: 76, err: /node_not_found/ })
  await third.start()
  t.match(third.outputSoFar(), /begins with snapshot \d+/)
  await until(async () => (await third.role()) === 'follower')

  t.comment('a node that runs steps out')
  t.match(await command('remove', third), { code: 0 })
  t.match(await third.health(), { cluster: { role: 'out-of-service', reason: /an operator removed this node/ } })
  await third.signal('SIGTERM')
  await third.start().catch(() => undefined)
  t.match(await third.process.ended, { code: 78 })
  t.match(await command('admit', leader), { code: 0 })
  await third.start()
  await writer.end()

  await caughtUp(await leaderOf(nodes), nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids: writer.acknowledged })
  t.strictSame(missing, [], `${writer.acknowledged.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})
