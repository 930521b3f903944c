// What a node refuses, by name: a directory of other data, a stream that could lose messages, a log that was rolled back, and to lead with a
// clock that is wrong. A leader that stops hands over.
import { jetstreamManager } from '@nats-io/jetstream'
import tap, { test } from 'tap'
import { eventually, until } from '../eventually.ts'
import { startProcess } from '../running-process.ts'
import { createCollection, leaderOf, startNodes, write } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(300_000)

test('a node refuses what is not its own, and hands over when it stops', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  // A lease that no test waits for.
  const nodes = await startNodes(t, nats, 2, { NDD_CLUSTER_LEASE_MS: '60000' })
  const first = await leaderOf(nodes)
  const second = nodes.find((node) => node !== first)!
  t.equal(await createCollection(first, 'things'), 200)
  await write(first, 'things', ['a'])

  const refusal = async (environment: Readonly<Record<string, string>>) => {
    const running = startProcess({ ...first.environment, NDD_SERVER_PORT: '0', ...environment })
    const { code } = await running.ended
    return `${code} ${running.stderr()}`
  }
  await first.signal('SIGTERM')
  await until(async () => (await second.role()) === 'leader')
  t.pass('the other node leads long before the lease would have ended')
  await write(second, 'things', ['b'])

  t.match(await refusal({ NDD_CLUSTER_NAME: 'other' }), /^65 .*has the data of .*, not of the cluster/s)
  const manager = await jetstreamManager(await nats.connect('tests'), { checkAPI: false })
  await manager.streams.add({ name: 'annal-weak', subjects: ['annal.log.annal-weak'] })
  t.match(
    await refusal({ NDD_CLUSTER_NAME: 'weak' }),
    /^78 .*annal-weak cannot keep the log of a cluster: .*discard is old/s,
  )

  t.comment('the clock of a node is wrong')
  const ahead = encodeURIComponent('const now = Date.now; Date.now = () => now() + 60_000')
  await first.start({ NODE_OPTIONS: `--import=data:text/javascript,${ahead}` })
  await second.signal('SIGTERM')
  const reason = await eventually(async () => {
    const { cluster } = await first.health()
    return /clock of this machine is/.exec(cluster?.reason ?? '')?.input
  })
  t.match(reason, /60 s ahead of that of NATS/)
  await until(async () => (await first.role()) === 'follower')
  await second.start()
  await until(async () => (await second.role()) === 'leader')

  t.comment('the log is rolled back while a node runs')
  const { config } = await manager.streams.info('annal-annal')
  await manager.streams.delete('annal-annal')
  await manager.streams.add(config)
  await until(async () => (await first.role()) === 'out-of-service')
  t.match(await first.health(), { status: 'failed', cluster: { reason: /ends before what this node has read/ } })
  await first.signal('SIGKILL')
  t.match(await refusal({}), /^65 /)
})
