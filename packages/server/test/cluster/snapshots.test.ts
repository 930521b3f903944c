// Snapshots of a cluster under writes: the log is trimmed behind them, a new node begins with one, a damaged one is passed over, and every
// node has the same data. Each change makes a snapshot.
import { rm } from 'node:fs/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import tap, { test } from 'tap'
import { openControlBucket } from '../../src/cluster/control-bucket.ts'
import { openSharedStore } from '../../src/cluster/open-shared-store.ts'
import { Roster } from '../../src/cluster/snapshots/roster.ts'
import { eventually, until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { temporaryDirectory } from '../running-app.ts'
import { ClusterNode, caughtUp, createCollection, digestsOf, leaderOf, startNodes, Writer } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'
import { ObjectServer, roughObjects, soundObjects } from './object-server.ts'

tap.setTimeout(300_000)

const things = 'things'

test('a new node begins with a snapshot and the tail of a log that was trimmed', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  const more = { NDD_CLUSTER_LEASE_MS: '3000', NDD_CLUSTER_SNAPSHOT_MB: '0' }
  const nodes = await startNodes(t, nats, 3, more)
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  const connection = await nats.connect('tests')
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const first = async () => (await manager.streams.info('annal-annal')).state.first_seq
  const writer = new Writer(nodes, things, 'a')
  await until(async () => (await first()) > 1)
  t.pass('the log is trimmed while objects are written')

  const third = nodes.find((node) => node !== leader)!
  const empty = async () => {
    await third.signal('SIGKILL')
    await rm(third.dataDir, { recursive: true })
    await third.start()
    await until(async () => (await third.role()) === 'follower')
  }
  await empty()
  t.match(third.process.stdout(), /begins with snapshot \d+ of node node-\d/)

  t.comment('the newest snapshot lost a file')
  const { cluster } = third.config
  if (cluster === undefined) throw new Error('the node has a cluster')
  const shared = await openSharedStore(connection, cluster)
  await third.signal('SIGKILL')
  await writer.end()
  // Nobody makes a newer one then.
  const isLast = async () =>
    (await leader.metric('annal_cluster_snapshot_lsn')) === (await leader.metric('annal_lsn_applied'))
  await until(isLast)
  const listings = await eventually(async () => {
    const found = (await shared.list('snapshots/')).filter((key) => /\/\d{20}-/.test(key)).sort(byName)
    return found.length > 1 ? found : undefined
  })
  await shared.delete(listings.slice(-1))
  await rm(third.dataDir, { recursive: true })
  await third.start()
  t.match(third.process.stdout(), /snapshot \d+ of node node-\d cannot be used: .*is missing/)
  t.match(third.process.stdout(), /begins with snapshot \d+ of node node-\d/)

  await caughtUp(leader, nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids: writer.acknowledged })
  t.strictSame(missing, [], `${writer.acknowledged.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})

test('a follower that wakes behind a trimmed log ends with 75, and begins with a snapshot when it is started again', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const nats = await startNatsServers(t, 1)
  const nodes = await startNodes(t, nats, 3, { NDD_CLUSTER_LEASE_MS: '3000', NDD_CLUSTER_SNAPSHOT_MB: '0' })
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  const writer = new Writer(nodes, things, 'a')
  t.teardown(() => writer.end())
  await writer.more(20)
  const sleeper = nodes.find((node) => node !== leader)!
  await sleeper.signal('SIGSTOP')
  const connection = await nats.connect('tests')
  const manager = await jetstreamManager(connection, { checkAPI: false })
  // A loaded machine may answer late.
  const state = () =>
    eventually(() =>
      manager.streams.info('annal-annal').then(
        (info) => info.state,
        () => undefined,
      ),
    )
  const { last_seq: last } = await state()
  // As if its retention had ended: nothing is kept for it.
  const bucket = await openControlBucket(connection, { name: 'annal-annal', replicas: 1, requestMs: 4000 })
  await new Roster(bucket, sleeper.name).note({ checkpoint: Number.MAX_SAFE_INTEGER })
  await until(async () => (await state()).first_seq > last + 1)
  await writer.end()
  await sleeper.signal('SIGCONT')
  t.match(await sleeper.process.ended, { code: 75 })
  t.match(sleeper.process.stderr(), /was away for too long: .* It begins with the newest snapshot when it is started/)

  await sleeper.start()
  t.match(sleeper.process.stdout(), /begins with snapshot \d+ of node node-\d/)
  await until(async () => (await sleeper.role()) === 'follower')
  await caughtUp(leader, nodes)
  const { digests, missing } = await digestsOf(nodes, { collection: things, ids: writer.acknowledged })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})

test('a new node begins with a snapshot in a bucket that delays, fails, and shows old lists', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const seed = chosenSeed()
  t.comment(`seed ${seed}`)
  const nats = await startNatsServers(t, 1)
  const faults = { ...roughObjects, refuse: 0.1, delayMs: 20 }
  const server = new ObjectServer(seededRandom(seed), faults)
  const { environment, close } = await server.open()
  t.teardown(close)
  const more = {
    ...{ ...environment, NDD_CLUSTER_S3: 's3://files/shop' },
    ...{ NDD_CLUSTER_LEASE_MS: '3000', NDD_CLUSTER_SNAPSHOT_MB: '0' },
  }
  const nodes = await startNodes(t, nats, 2, more)
  const leader = await leaderOf(nodes)
  t.equal(await createCollection(leader, things), 200)
  const connection = await nats.connect('tests')
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const writer = new Writer(nodes, things, 'a')
  t.teardown(() => writer.end())
  await until(async () => (await manager.streams.info('annal-annal')).state.first_seq > 1)
  t.ok(server.keys.some((key) => key.startsWith('shop/snapshots/')))

  // While it starts, the bucket refuses its credentials at first.
  const name = 'node-2'
  const own = { ...(nodes[0] as ClusterNode).environment, AWS_ACCESS_KEY_ID: name }
  const third = new ClusterNode(name, await freePort(), await temporaryDirectory(t), own)
  t.teardown(() => third.signal('SIGKILL'))
  server.refusedKey = name
  const started = third.start()
  await until(() => /waiting: .*rejects/.test(third.outputSoFar()))
  server.refusedKey = undefined
  await started
  t.match(third.process.stdout(), /begins with snapshot \d+ of node node-\d/)
  await writer.end()
  await caughtUp(leader, [...nodes, third])
  server.faults = soundObjects
  const { digests, missing } = await digestsOf([...nodes, third], { collection: things, ids: writer.acknowledged })
  t.strictSame(missing, [], `${writer.acknowledged.length} acknowledged objects are on every node`)
  t.equal(new Set(digests).size, 1, digests.join(' | '))
})

function byName(a: string, b: string): number {
  const nameOf = (key: string) => key.slice(key.lastIndexOf('/') + 1)
  return nameOf(a) < nameOf(b) ? -1 : 1
}
