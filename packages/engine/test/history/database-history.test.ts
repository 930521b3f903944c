// The past of a database as its log and archive tell it: complete, in order, its own alone, and the same however it is paged.
import { type Database, type Engine, EngineError, type PastEvent } from '@annal/engine'
import { type Identity, nodeVfs, readIdentity } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { historyOf } from '../../src/backup/archive.ts'
import type { BackupHost } from '../../src/backup/host.ts'
import { recordsInFiles } from '../../src/backup/past-records.ts'
import { Catalog } from '../../src/catalog/catalog.ts'
import { LogBook } from '../../src/history/log-book.ts'
import { denseField, openedEngine, runRandomLife, someVector, temporaryDirectory } from '../backup/rig.ts'

const seed = chosenSeed()
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
const hash = 'a'.repeat(64)

async function allForwards(database: Database, limit: number): Promise<PastEvent[]> {
  const events: PastEvent[] = []
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page: Awaited<ReturnType<Database['history']['events']>> = await database.history.events({ from, limit })
    events.push(...page.events)
    from = page.next
  }
  return events
}

async function allBackwards(database: Database, limit: number): Promise<PastEvent[]> {
  let events: PastEvent[] = []
  let page = await database.history.events({ limit })
  for (;;) {
    events = [...page.events, ...events]
    if (page.previous === undefined) return events
    page = await database.history.events({ before: page.previous, limit })
  }
}

const sum = (numbers: readonly (number | undefined)[]) => numbers.reduce<number>((total, n) => total + (n ?? 0), 0)

/** A life over several starts; what the log gives up goes to the archive. */
async function withPast(t: Test): Promise<Engine & { readonly dataDir: string }> {
  const random = seededRandom(seed)
  const dataDir = await temporaryDirectory(t)
  for (let round = 0; round < 4; round++) {
    const engine = await openedEngine(t, { dataDir, archive })
    const database = engine.database()
    if (round === 0) {
      await engine.control.createDatabase({ name: 'other', token: { name: 'first', kind: 'rw', hash } })
      await engine.database('other').createCollection({ name: 'a', fields: [denseField()] })
      await engine.control.putSetting('secret-setting', 'secret-value')
      await database.createCollection({ name: 'gone', fields: [denseField()] })
      await runRandomLife(database.collection('gone'), random, 6)
      await database.deleteCollection('gone')
      await database.createCollection({ name: 'a', fields: [denseField(), { name: 's', type: 'sparse' }] })
    }
    await runRandomLife(database.collection('a'), random, 12)
    await runRandomLife(engine.database('other').collection('a'), random, 5)
    await engine.checkpoint()
    await engine.close()
  }
  return openedEngine(t, { dataDir, archive })
}

test('every event is listed once and in order in every direction of paging, and the activity adds up to them', async (t) => {
  t.comment(`seed ${seed}`)
  const engine = await withPast(t)
  const database = engine.database()
  const events = await allForwards(database, 7)
  t.strictSame(await allForwards(database, 500), events)
  t.strictSame(await allBackwards(database, 5), events)
  t.strictSame(
    events.map(({ lsn }) => lsn),
    [...new Set(events.map(({ lsn }) => lsn))].sort((a, b) => a - b),
  )
  t.match(events[0], { kind: 'collection-created', collection: 'gone', fields: ['v'] })
  t.ok(
    events.some(({ kind, collection }) => kind === 'collection-dropped' && collection === 'gone'),
    'what was dropped is still known by its name',
  )
  for (const { ids, objects = 0 } of events) t.ok((ids?.length ?? 0) <= objects && (ids?.length ?? 0) <= 10)

  const activity = await database.history.activity({ buckets: 10 })
  t.ok(activity.complete)
  t.equal(sum(activity.buckets.map(({ records }) => records)), events.length)
  t.equal(sum(activity.buckets.map(({ bytes }) => bytes)), sum(events.map(({ bytes }) => bytes)))
  const written = events.filter(({ kind }) => kind === 'objects-upserted')
  t.equal(sum(activity.buckets.map((bucket) => bucket.written)), sum(written.map(({ objects }) => objects)))
  t.equal(activity.buckets[0]?.lsnFirst, events[0]?.lsn)
  t.equal(activity.buckets.at(-1)?.lsnLast, events.at(-1)?.lsn)

  const middle = events[Math.floor(events.length / 2)] as PastEvent
  const since = await database.history.events({ sinceMs: middle.timeMs, limit: 1 })
  t.equal(since.events[0]?.lsn, events.find(({ timeMs }) => timeMs >= middle.timeMs)?.lsn)
  t.strictSame((await database.history.events({ sinceMs: 9e15 })).events, [], 'nothing has happened yet')

  const ofGone = (await database.history.events({ from: 1, collection: 'gone', limit: 500 })).events
  t.strictSame(
    ofGone,
    events.filter(({ collection }) => collection === 'gone'),
  )
  t.strictSame((await database.history.events({ collection: 'never' })).events, [])

  await database.collection('a').upsert([{ id: 'new', fields: { v: someVector(seededRandom(1)) } }])
  t.match((await database.history.events({ limit: 1 })).events, [
    { kind: 'objects-upserted', ids: ['new'], objects: 1 },
  ])
})

test('a database sees only its own events, and no secret', async (t) => {
  const engine = await withPast(t)
  const mine = await allForwards(engine.database('other'), 50)
  const text = JSON.stringify(mine)
  t.notMatch(text, /gone|secret|default/)
  t.notMatch(text, hash)
  t.match(mine[0], { kind: 'database-created' })
  t.equal(mine.filter(({ kind }) => kind === 'collection-created').length, 1)
  const theirs = await allForwards(engine.database(), 50)
  const own = new Set(mine.map(({ lsn }) => lsn))
  t.notOk(
    theirs.some(({ lsn }) => own.has(lsn)),
    'no event is of two databases',
  )
  t.notMatch(JSON.stringify(theirs), /secret|"other"|database-created/)
})

test('an invalid position in the log is rejected with a code', async (t) => {
  const { history } = (await openedEngine(t)).database()
  t.strictSame((await history.events()).events, [])
  t.strictSame((await history.activity()).buckets, [])
  await t.rejects(history.events({ from: 1, before: 2 }), { code: 'invalid_argument' })
  await t.rejects(history.events({ limit: 0 }), { code: 'limit_exceeded', details: { field: 'limit' } })
  await t.rejects(history.events({ limit: 501 }), EngineError)
  await t.rejects(history.activity({ buckets: 1_001 }), { code: 'limit_exceeded', details: { field: 'buckets' } })
})

test('a long log is read in steps, each of which adds to the result', async (t) => {
  const engine = await withPast(t)
  const { dataDir } = engine
  const lsnDurable = engine.stats().lsnDurable
  await engine.close()
  const vfs = nodeVfs()
  const identity = await readIdentity({ dir: dataDir, vfs })
  // Only what the book asks for: the engine itself is closed.
  const host = {
    ...{ vfs, dataDir, identity: () => identity, catalog: () => new Catalog() },
    log: () => ({ state: () => ({ lsnDurable }) }),
    past: () => recordsInFiles(historyOf({ vfs, dataDir }, identity as Identity)),
  } as unknown as BackupHost
  const book = new LogBook(host, { stepBytesMax: 1 })
  const steps = []
  for (let read = -1; ; ) {
    const step = await book.readOn()
    t.ok(step.read > read, 'each step reads a segment more')
    read = step.read
    steps.push(step)
    if (read === step.total) break
  }
  t.ok(steps.length > 1)
  const [whole] = [await new LogBook(host).readOn()]
  const records = ({ segments }: typeof whole) =>
    sum(segments.flatMap(({ summary }) => [...summary.cells].map((cell) => cell.records)))
  t.equal(records(steps.at(-1) as typeof whole), records(whole), 'in steps as in one')
  t.equal(records(await book.readOn()), records(whole), 'nothing is counted twice')
})

test('a deleted collection can be restored as of any event, without a backup', async (t) => {
  const engine = await openedEngine(t, { archive })
  const database = engine.database()
  t.match(engine.stats().reach, { lsn: 0 }, 'everything can be had back, before there is a checkpoint')
  const random = seededRandom(seed)
  const first = await database.createCollection({ name: 'a', fields: [denseField()] })
  const digests = new Map<number, string>()
  for (let i = 0; i < 5; i++) {
    await runRandomLife(first, random, 2)
    digests.set(first.describe().lsn, first.stateDigest())
  }
  const { lsn: dropped } = await database.deleteCollection('a')
  await engine.checkpoint()
  const second = await database.createCollection({ name: 'a', fields: [denseField()] })
  await runRandomLife(second, random, 2)
  for (const [lsn, digest] of digests) {
    await database.backups.restorePast('a', `a_${lsn}`, { lsn })
    t.equal(database.collection(`a_${lsn}`).stateDigest(), digest, `as of LSN ${lsn}`)
  }
  await database.backups.restorePast('a', 'now', { lsn: second.describe().lsn })
  t.equal(database.collection('now').stateDigest(), second.stateDigest(), 'the newer one of the name')
  await t.rejects(database.backups.restorePast('a', 'x', { lsn: dropped }), { code: 'collection_not_found' })
  await t.rejects(database.backups.restorePast('b', 'x', { lsn: dropped }), { code: 'collection_not_found' })
  await t.rejects(database.backups.restorePast('a', 'now', { lsn: dropped }), { code: 'collection_exists' })
  await t.rejects(database.backups.restorePast('a', 'x', { lsn: 1e9 }), { code: 'restore_unreachable' })
  t.notOk(database.collections().some(({ name }) => name === 'x'))
})
