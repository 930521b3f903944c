// The past of engines that share a log: each of them lists it, and the one that appends restores any moment that the log reaches, from its
// own checkpoints, from those of another engine, or from the first record.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, holdCheckpoint } from '@annal/engine'
import type { Lsn } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { recordsInLog } from '../../src/backup/past-records.ts'
import { openDirectory } from '../search/rig.ts'
import { digestsOf, type Node, openNode, simulate, uuid } from './nodes.ts'
import { SharedMemory, SharedView } from './shared-memory.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const seed = chosenSeed()
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

/** Digest of a collection after each record, with the time of the record. */
type Timeline = { readonly lsn: number; readonly timeMs: number; readonly digest: string }[]

interface World {
  readonly memory: SharedMemory
  readonly first: Node
  readonly second: Node
  readonly dirs: readonly [string, string]
  readonly views: readonly [SharedView, SharedView]
  readonly timeline: Timeline
  /** Writes to the collection, and notes its digest after each write. */
  live(count: number): Promise<void>
}

async function start(t: Test): Promise<World> {
  t.comment(`seed ${seed}`)
  const [world, memory, random] = [simulate(t, seed), new SharedMemory(), seededRandom(seed)]
  const dirs = [await openDirectory(t), await openDirectory(t)] as const
  const views = [new SharedView(memory), new SharedView(memory)] as const
  const clock = { now: () => 1_700_000_000_000 + 1000 * (timeline.length >> 1) }
  const timeline: Timeline = []
  const open = (at: 0 | 1) => openNode(t, world, { dataDir: dirs[at], shared: views[at], clock })
  const [first, second] = [await open(0), await open(1)]
  await first.lead(1)
  const things = await first.engine.database().createCollection({ name: 'things', fields })
  await first.engine.database().createCollection({ name: 'other', fields })
  const live = async (count: number) => {
    for (let i = 0; i < count; i++) {
      if (random.chance(0.3)) await things.delete([`o${random.below(300)}`])
      else await things.upsert(objects(random.below(300), 1 + random.below(4)))
      timeline.push({ lsn: things.describe().lsn, timeMs: first.engine.timeMs, digest: things.stateDigest() })
      const hasOther = first.engine
        .database()
        .collections()
        .some(({ name }) => name === 'other')
      if (hasOther && random.chance(0.2)) await first.engine.database().collection('other').upsert(objects(i, 1))
    }
  }
  await live(30)
  return { memory, first, second, dirs, views, timeline, live }
}

async function restores(t: Test, engine: Engine, timeline: Timeline, lsns: readonly number[]): Promise<void> {
  const database = engine.database()
  for (const lsn of lsns) {
    await database.backups.restorePast('things', 'past', { lsn })
    const expected = timeline.findLast((each) => each.lsn <= lsn)?.digest
    t.equal(database.collection('past').stateDigest(), expected, `LSN ${lsn}`)
    await database.deleteCollection('past')
  }
}

/** Makes the newest checkpoint of a node the one that others can begin with. */
async function share(t: Test, { memory }: World, dataDir: string): Promise<void> {
  const held = await holdCheckpoint({ dataDir, identity: { uuid }, into: await openDirectory(t) })
  if (held === undefined) throw new Error('there is a checkpoint')
  await memory.putCheckpoint(held)
}

test('every moment is restored on the node that leads, and the others have it too', async (t) => {
  const { first, second, timeline, live, memory } = await start(t)
  const [oldest, newest] = [timeline[0], timeline.at(-1)] as [Timeline[0], Timeline[0]]
  await restores(t, first.engine, timeline, [oldest.lsn, (oldest.lsn + newest.lsn) >> 1, newest.lsn])
  await first.engine.checkpoint()
  await live(20)
  await restores(t, first.engine, timeline, [oldest.lsn + 3, newest.lsn, newest.lsn + 9])
  const database = first.engine.database()
  const { timeMs } = timeline[10] as Timeline[0]
  await database.backups.restorePast('things', 'past', { timeMs })
  const expected = timeline.findLast((each) => each.timeMs <= timeMs)?.digest
  t.equal(database.collection('past').stateDigest(), expected)

  t.comment('a restored and a cloned collection, after their images left the disk')
  await database.collection('past').upsert(objects(400, 2))
  const restored = { lsn: first.engine.lsnApplied, digest: database.collection('past').stateDigest() }
  await database.collection('past').upsert(objects(500, 2))
  await database.deleteCollection('past')
  await first.engine.checkpoint()
  await first.engine.checkpoint()
  t.ok(memory.images.size > 0, 'a node that is behind needs the image')
  await database.backups.restorePast('past', 'again', restored)
  t.equal(database.collection('again').stateDigest(), restored.digest)

  await t.rejects(database.backups.restorePast('things', 'r', { lsn: 1e6 }), {
    code: 'restore_unreachable',
    message: /the log ends with LSN/,
  })
  await t.rejects(database.backups.restorePast('nothing', 'r', { lsn: 5 }), { code: 'collection_not_found' })
  await t.rejects(second.engine.database().backups.restorePast('things', 'r', { lsn: 5 }), { code: 'not_leader' })
  await second.engine.whenApplied(first.engine.lsnApplied, 60_000)
  await first.engine.database().backups.settled()
  t.same(digestsOf(second), digestsOf(first))
})

test('moments between a trim and the checkpoints of the leader begin with a shared checkpoint', async (t) => {
  const world = await start(t)
  const { first, second, timeline, live, dirs, views, memory } = world
  await live(70)
  const before = first.engine.lsnApplied
  await second.engine.whenApplied(before, 60_000)
  await second.engine.checkpoint()
  await share(t, world, dirs[1])
  const shared = timeline.length
  await live(60)
  await first.engine.database().deleteCollection('other')
  for (let i = 0; i < 2; i++) {
    await first.engine.checkpoint()
    await live(10)
  }
  await first.log.truncateBefore((before + 1) as Lsn)
  const { lsnFirst } = first.log.state()
  t.ok(lsnFirst > 1, `the log begins with LSN ${lsnFirst}`)
  const [from, to] = [timeline[shared - 1], timeline.at(-1)] as [Timeline[0], Timeline[0]]
  await restores(t, first.engine, timeline, [from.lsn, from.lsn + 1, (from.lsn + to.lsn) >> 1, to.lsn])
  const left = (await readdir(join(dirs[0], 'imports'))).filter((name) => name.startsWith('tmp-'))
  t.strictSame(left, [], 'no download is left')
  const { backups } = first.engine.database()
  await backups.restorePast('other', 'late', { lsn: before + 1 })
  t.ok(first.engine.database().collection('late').count().count > 0, 'a collection that no checkpoint of it has')
  const why = { code: 'restore_unreachable', message: new RegExp(`the oldest record in the log is LSN ${lsnFirst}`) }
  await t.rejects(backups.restorePast('things', 'r', { lsn: (timeline[2] as Timeline[0]).lsn }), why)
  await t.rejects(backups.restorePast('things', 'r', { timeMs: 1_600_000_000_000 }), why)
  views[0].isAway = true
  await t.rejects(backups.restorePast('things', 'r', { lsn: from.lsn }), { message: 'the store is away' })
  views[0].isAway = false
  t.equal(memory.checkpoints.size, 1)
})

test('every node lists the same events and activity, however they are paged', async (t) => {
  const { first, second } = await start(t)
  await second.engine.whenApplied(first.engine.lsnApplied, 60_000)
  const [events, others] = [first.engine.database().history, second.engine.database().history]
  const all = await events.events({ from: 1, limit: 500 })
  t.equal(all.complete, true)
  t.strictSame(
    all.events.slice(0, 2).map(({ kind, collection }) => ({ kind, collection })),
    ['things', 'other'].map((collection) => ({ kind: 'collection-created', collection })),
  )
  t.strictSame(await others.events({ from: 1, limit: 500 }), all)
  const page = await others.events({ limit: 7 })
  t.strictSame(page.events, all.events.slice(-7))
  const earlier = await others.events({ before: page.previous ?? 0, limit: 7 })
  t.strictSame(earlier.events, all.events.slice(-14, -7))
  t.strictSame(await others.activity(), await events.activity())
  const { buckets } = await events.activity({ collection: 'things' })
  t.equal(
    buckets.reduce((sum, { records }) => sum + records, 0),
    all.events.filter(({ collection }) => collection === 'things').length,
  )
})

test('a log without segments is read in pieces that a trim replaces', async (t) => {
  const state = { lsnFirst: 1, lsnDurable: 40_000 }
  const records = recordsInLog({
    state: () => state as never,
    async *read(from) {
      for (let lsn = from; lsn <= state.lsnDurable; lsn++) yield { lsn } as never
    },
  })
  const pieces = async () => (await records.pieces()).map(({ lsnFirst }) => lsnFirst)
  t.strictSame(await pieces(), [1, 16_385, 32_769])
  state.lsnFirst = 16_000
  t.strictSame(await pieces(), [16_000, 16_385, 32_769])
  state.lsnFirst = 40_001
  t.strictSame(await pieces(), [])
  const read = async (from: number, to: number) => {
    let count = 0
    for await (const _ of records.records({ from, to })) count++
    return count
  }
  t.equal(await read(39_000, 39_999), 1000)
  await t.rejects(read(39_000, 40_001), { code: 'lsn_not_held' })
})
