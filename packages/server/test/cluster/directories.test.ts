// A data directory of a single server becomes the first node of a cluster, another node joins it, and a node leaves as a single server: the
// same digests all the way, and a refusal by name wherever something else is there.
import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import path from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import tap, { test } from 'tap'
import { annal } from '../../../cli/test/command.ts'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { startProcess } from '../running-process.ts'
import { ClusterNode, caughtUp, digestsOf, leaderOf, longLease, upsert, write } from './cluster-nodes.ts'
import { skipNats, startNatsServers } from './nats-servers.ts'

tap.setTimeout(600_000)

const fields = [
  { name: 'dense', type: 'vector', params: { dimension: 4, spaceType: 'l2', precision: 'float32' } },
] as const
const ids = Array.from({ length: 100 }, (_, i) => `o${i}`)

function digestOf(engine: Engine): string {
  const database = engine.database()
  const found = database.collections().map(({ name }) => database.collection(name).stateDigest())
  return [engine.control.digest(), ...found].join(' ')
}

/** Fills a directory as a single server does. Returns its digest. */
async function fill(dataDir: string): Promise<string> {
  const engine = await openEngine({ dataDir, threads: 1 })
  const things = await engine.database().createCollection({ name: 'things', fields })
  await things.upsert(ids.map((id, i) => ({ id, fields: { dense: [i, 1, 2, 3] } })))
  await engine.checkpoint()
  await things.delete(['o3'])
  await engine.database().backups.clone('things', 'copy')
  await engine.database().collection('copy').delete(['o4'])
  await engine.control.putSetting('theme', 'dark')
  const digest = digestOf(engine)
  await engine.close()
  return digest
}

test('a directory begins a cluster, and a node leaves it', { skip: skipNats }, async (t) => {
  const nats = await startNatsServers(t, 1)
  const settings = {
    NDD_CLUSTER_URL: nats.servers.map(({ url }) => url).join(','),
    NDD_CLUSTER_REPLICAS: '1',
    ...longLease,
  }
  const [dir, other, empty] = await Promise.all([1, 2, 3].map(() => temporaryDirectory(t)))
  if (dir === undefined || other === undefined || empty === undefined) throw new Error('directories are made')
  const digest = await fill(dir)
  await fill(other)
  const before = await temporaryDirectory(t)
  await cp(dir, before, { recursive: true })

  t.match(await annal(['cluster', 'init', '--from', dir]), { code: 64, err: /NDD_CLUSTER_URL/ })
  const absent = await annal(['cluster', 'init', '--from', empty], settings)
  t.match(absent, { code: 65, err: /not the data directory of a single server/ })
  const made = await annal(['cluster', 'init', '--from', dir, '--json'], settings)
  t.equal(made.code, 0, made.err)
  t.equal(JSON.parse(made.out).digest, digest)
  t.match([existsSync(path.join(dir, 'wal')), existsSync(path.join(dir, 'wal-before-cluster'))], [false, true])
  // As if it had been killed before its last step.
  const again = await annal(['cluster', 'init', '--from', before, '--json'], settings)
  t.equal(again.code, 0, again.err)
  t.same(JSON.parse(again.out), JSON.parse(made.out))
  const second = await annal(['cluster', 'init', '--from', other], settings)
  t.match(second, { code: 65, err: /the cluster is not new.*nothing was changed/ })
  const single = await openEngine({ dataDir: other, threads: 1 })
  t.equal(single.database().collection('things').count().count, 99, 'it still is a single server')
  await single.close()

  const nodeOf = async (name: string, dataDir: string) => {
    const node = new ClusterNode(name, await freePort(), dataDir, settings)
    t.teardown(() => node.signal('SIGKILL'))
    return node
  }
  const first = await nodeOf('first', dir)
  await first.start()
  await leaderOf([first])
  await write(first, 'things', ['new'])
  const joined = await nodeOf('joined', empty)
  await joined.start()
  await caughtUp(first, [first, joined])
  const clone = { json: { target_collection_name: 'third' } }
  t.equal((await send(first.url, 'POST', '/api/v2/collection/things/clone', clone)).status, 201)
  await caughtUp(first, [first, joined])
  t.match(await annal(['cluster', 'init', '--from', before], settings), { code: 65 }, 'it is a node')

  const { digests, missing } = await digestsOf([first, joined], { collection: 'third', ids: ['new', 'o0', 'o99'] })
  t.strictSame(missing, [])
  t.equal(new Set(digests).size, 1, digests.join(' | '))

  const left = await annal(['cluster', 'leave', empty, '--json'])
  t.equal(left.code, 0, left.err)
  t.equal(JSON.parse(left.out).digest, digests[0])
  t.match(await annal(['cluster', 'leave', empty]), { code: 65, err: /it is that of a single server/ })
  const alone = { NDD_DATA_DIR: empty, NDD_SERVER_PORT: `${await freePort()}` }
  const server = startProcess(alone)
  await server.serving
  t.equal(await upsert({ url: `http://127.0.0.1:${alone.NDD_SERVER_PORT}` } as ClusterNode, 'things', ['own']), 200)
  server.child.kill('SIGTERM')
  await server.ended
  const restarted = await openEngine({ dataDir: empty, threads: 1 })
  t.equal(restarted.database().collection('things').count().count, 101)
  await restarted.close()
  const back = startProcess({ ...joined.environment })
  back.serving.catch(() => undefined)
  t.match(await back.ended, { code: 65 }, 'what left does not come back with other data')

  await first.start()
  await until(async () => (await first.role()) === 'leader')
  await write(first, 'things', ['later'])
  t.pass('the cluster goes on')
})
