// Clones, restores, and backups of engines that share a log: their images are in a store that every engine can read before a record names
// them. An engine that cannot fetch one waits, and nothing is half applied.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { digestsOf, type Node, openNode, simulate } from './nodes.ts'
import { SharedMemory, SharedView } from './shared-memory.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const fields = [
  { name: 'dense', type: 'vector', params: { dimension: 4, spaceType: 'cosine', precision: 'int8' } },
] as const

function objects(from: number, count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `o${from + i}`,
    filter: { third: (from + i) % 3 },
    fields: { dense: [1, from + i, (from + i) % 7, -1] },
  }))
}

interface World {
  readonly memory: SharedMemory
  readonly first: Node
  readonly second: Node
  readonly views: readonly [SharedView, SharedView]
  readonly dirs: readonly [string, string]
  /** Another engine on the same log. */
  open(dataDir: string, view?: SharedView): Promise<Node>
}

/** Two engines; the first one leads and has a collection. */
async function start(t: Test): Promise<World> {
  const [world, memory] = [simulate(t), new SharedMemory()]
  const open = async (dataDir: string, shared = new SharedView(memory)) => {
    // Before the engine is closed.
    const node = await openNode(t, world, { dataDir, shared })
    t.teardown(() => shared.close())
    return node
  }
  const dirs = [await openDirectory(t), await openDirectory(t)] as const
  const views = [new SharedView(memory), new SharedView(memory)] as const
  const [first, second] = [await open(dirs[0], views[0]), await open(dirs[1], views[1])]
  await first.lead(1)
  const things = await first.engine.database().createCollection({ name: 'things', fields })
  await things.upsert(objects(0, 300))
  await things.delete(['o1'])
  return { memory, first, second, views, dirs, open }
}

async function same(t: Test, leader: Node, ...followers: Node[]): Promise<void> {
  for (const { engine } of followers) await engine.whenApplied(leader.engine.lsnApplied, 60_000)
  await leader.engine.database().backups.settled()
  for (const { name } of leader.engine.database().collections())
    await leader.engine.database().collection(name).getMany(['o0'])
  for (const follower of followers) t.same(digestsOf(follower), digestsOf(leader))
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await sleep(5)
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function* streamOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

test('clones and restores reach a follower, a new node, and a node that starts again', async (t) => {
  const { memory, first, second, open } = await start(t)
  const { backups } = first.engine.database()
  await backups.clone('things', 'copy')
  await first.engine.database().collection('copy').upsert(objects(500, 20))
  await backups.create('things', 'b1')
  await backups.settled()
  t.match(backups.status(), { status: 'completed' })
  await backups.restore('b1', 'restored')
  await first.engine.database().collection('restored').delete(['o2'])
  await backups.clone('restored', 'again')
  t.equal(memory.images.size, 3)
  await same(t, first, second)
  const third = await open(await openDirectory(t))
  await same(t, first, third)

  // One that started from a checkpoint follows and leads.
  const dir = await openDirectory(t)
  const fourth = await open(dir)
  await same(t, first, fourth)
  await fourth.close()
  const reopened = await open(dir)
  await backups.clone('things', 'late')
  await same(t, first, reopened)
  await second.lead(2)
  await first.stepDown()
  await second.engine.database().backups.clone('late', 'later')
  await same(t, second, first, third, reopened)
})

test('a follower that cannot fetch an image waits, and goes on when it can', async (t) => {
  const { memory, first, second, views, dirs } = await start(t)
  await same(t, first, second)
  views[1].isAway = true
  await first.engine.database().backups.clone('things', 'copy')
  await first.engine.database().collection('things').upsert(objects(900, 1))
  const before = second.engine.lsnApplied
  await until(() => views[1].waiting !== undefined)
  t.match(views[1].waiting, /the store is away/)
  await sleep(50)
  t.equal(second.engine.lsnApplied, before, 'nothing behind it is applied')
  t.throws(() => second.engine.database().collection('copy'), { code: 'collection_not_found' })
  t.equal(second.engine.database().collection('things').count().count, 299, 'it still reads')
  const [image = ''] = memory.images.keys()
  memory.damageImage(image, 'tail.snap')
  views[1].isAway = false
  await until(() => /tail.snap is damaged/.test(views[1].waiting ?? ''))
  t.strictSame(
    (await readdir(join(dirs[1], 'imports'))).filter((name) => !name.startsWith('tmp-')),
    [],
    'a damaged image gets no place',
  )
  memory.damageImage(image, 'tail.snap')
  await same(t, first, second)
  t.equal(views[1].waiting, undefined)
  t.equal(second.engine.health().status, 'ok')
})

test('a node that waits for an image can be closed, and applies it after its next start', async (t) => {
  const { first, second, views, dirs, open } = await start(t)
  await same(t, first, second)
  views[1].isAway = true
  await first.engine.database().backups.clone('things', 'copy')
  await until(() => views[1].waiting !== undefined)
  views[1].close()
  await second.close()
  const again = await open(dirs[1])
  await same(t, first, again)
})

test('an image that cannot be stored creates nothing', async (t) => {
  const { first, second, views, dirs } = await start(t)
  const { backups } = first.engine.database()
  await backups.create('things', 'b1')
  await backups.settled()
  const { lsnApplied } = first.engine
  views[0].isAway = true
  await t.rejects(backups.clone('things', 'copy'), { message: 'the store is away' })
  await t.rejects(backups.restore('b1', 'restored'), { message: 'the store is away' })
  await backups.create('things', 'b2')
  await backups.settled()
  t.match(backups.status(), { status: 'failed', error: 'the store is away' })
  views[0].isAway = false
  t.equal(first.engine.lsnApplied, lsnApplied)
  t.strictSame(await readdir(join(dirs[0], 'imports')), [])
  t.strictSame(await readdir(join(dirs[0], 'backups')), [])
  t.strictSame(
    backups.list().map(({ name }) => name),
    ['b1'],
  )
  await backups.clone('things', 'copy')
  await same(t, first, second)
})

test('backups are the same from every engine, and move to and from a single server', async (t) => {
  const { first, second } = await start(t)
  const { backups } = first.engine.database()
  const { backups: others } = second.engine.database()
  await same(t, first, second)
  await backups.create('things', 'b1')
  await backups.settled()
  t.same(others.list(), backups.list())
  t.same(others.info('b1'), backups.info('b1'))
  const downloaded = await bytesOf(backups.download('b1').stream)
  const { bytes, stream } = others.download('b1')
  t.ok((await bytesOf(stream)).equals(downloaded), 'a follower sends the same bytes')
  t.equal(bytes, downloaded.length)
  t.strictSame(await others.verify('b1'), [])
  const writes: readonly (() => Promise<unknown>)[] = [
    () => others.create('things'),
    () => others.remove('b1'),
    () => others.restore('b1', 'r'),
    () => others.restore('b1', 'r', { lsn: 1 }),
    () => others.restorePast('things', 'r', { lsn: 1 }),
    () => others.clone('things', 'c'),
    () => others.upload('b2', streamOf(downloaded)),
  ]
  for (const write of writes) await t.rejects(write(), { code: 'not_leader' })
  await t.rejects(backups.create('things', 'b1'), { code: 'backup_exists' })

  const single = await openEngine({ dataDir: await openDirectory(t), threads: 1 })
  t.teardown(() => single.close())
  const own = single.database()
  await own.backups.upload('from-cluster', streamOf(downloaded))
  await own.backups.restore('from-cluster', 'things')
  const digest = first.engine.database().collection('things').stateDigest()
  t.equal(own.collection('things').stateDigest(), digest)
  await own.collection('things').upsert(objects(2000, 5))
  await own.backups.create('things', 'single')
  await own.backups.settled()

  await second.lead(2)
  await first.stepDown()
  await others.upload('from-single', own.backups.download('single').stream)
  await others.restore('from-single', 'back')
  await same(t, second, first)
  t.equal(first.engine.database().collection('back').stateDigest(), own.collection('things').stateDigest())
  await others.remove('b1')
  t.strictSame(
    backups.list().map(({ name }) => name),
    ['from-single'],
  )
  t.throws(() => backups.info('b1'), { code: 'backup_not_found' })
})

test('what no record and no database needs is removed from the store', async (t) => {
  const { memory, first, second } = await start(t)
  const confirm = () => first.log.confirm()
  await first.engine.control.createDatabase({ name: 'music' })
  const music = first.engine.database('music')
  await music.createCollection({ name: 'songs', fields })
  await music.backups.create('songs', 'b1')
  await music.backups.settled()
  await first.engine.control.deleteDatabase('music')
  await first.engine.control.createDatabase({ name: 'music' })
  t.strictSame(first.engine.database('music').backups.list(), [], 'it is of another database')
  const { backups } = first.engine.database()
  await backups.clone('things', 'copy')
  const [named] = [...memory.images.keys()]
  memory.images.set('f'.repeat(32), new Map())
  await first.engine.collectShared(confirm)
  t.strictSame([...memory.images.keys()], [named], 'the image that no record names is removed')
  t.equal(memory.backups.size, 0)
  await first.engine.database().deleteCollection('copy')
  await first.engine.checkpoint()
  await first.engine.checkpoint()
  await first.engine.collectShared(confirm)
  t.equal(memory.images.size, 1, 'a node that is behind needs it')
  await same(t, first, second)
  // A log is trimmed at every 64th message.
  for (let i = 0; i < 150; i++) await first.engine.database().collection('things').upsert(objects(i, 1))
  const { lsnApplied } = first.engine
  await first.log.truncateBefore(lsnApplied as Parameters<Node['log']['truncateBefore']>[0])
  await first.engine.checkpoint()
  await first.engine.collectShared(confirm)
  t.equal(memory.images.size, 0)

  await backups.clone('things', 'late')
  await second.lead(2)
  await t.rejects(first.engine.collectShared(confirm), { code: /log_fenced|not_leader/ })
  t.equal(memory.images.size, 1, 'an engine that was replaced removes nothing')
})

test('a restore that another node overtakes leaves nothing to a collection with its id', async (t) => {
  const { first, second, views } = await start(t)
  const { backups } = first.engine.database()
  await backups.create('things', 'b1')
  await backups.settled()
  await same(t, first, second)
  const storing = Promise.withResolvers<void>()
  const [reached, put] = [Promise.withResolvers<void>(), views[0].putImage.bind(views[0])]
  views[0].putImage = async (...image) => {
    reached.resolve()
    await storing.promise
    return put(...image)
  }
  const restoring = backups.restore('b1', 'overtaken')
  restoring.catch(() => undefined)
  await reached.promise
  await second.lead(2)
  await first.stepDown()
  const made = await second.engine.database().createCollection({ name: 'new', fields })
  await made.upsert(objects(0, 400))
  await sleep(50)
  t.throws(() => first.engine.database().collection('new'), { code: 'collection_not_found' }, 'it waits')
  storing.resolve()
  await t.rejects(restoring, { code: 'not_leader' })
  await same(t, second, first)
  await first.engine.checkpoint()
  await made.rebuild({ dense: { M: 8 } })
  await same(t, second, first)
  t.equal(first.engine.health().status, 'ok')
})
