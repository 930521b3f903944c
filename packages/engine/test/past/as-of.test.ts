// Reads as of a moment answer what the collection answered then, after any life of it, and refuse what they cannot reach.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, Engine, SearchRequest } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { openEngine } from '../../src/engine.ts'
import { memoryPerImageByte, pastStatesWaitingMax } from '../../src/limits.ts'
import { denseField, openedEngine, precisions, runRandomLife, spaceTypes, temporaryDirectory } from '../backup/rig.ts'
import { type Answers, answersOf, someSearches } from './recorded.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
/** Every moment is loaded. */
const asOf = { windowSeconds: 0 }

interface Recorded {
  readonly lsn: number
  readonly searches: readonly SearchRequest[]
  readonly answers: Answers
}

test(`as-of reads answer what was answered then (ANNAL_SEED=${seed})`, { timeout: 600_000 }, async (t) => {
  const random = seededRandom(seed)
  const dataDir = await temporaryDirectory(t)
  const options = { dataDir, archive, asOf }
  const precision = precisions[random.below(precisions.length)]
  const space = spaceTypes[random.below(spaceTypes.length)]
  t.comment(`precision ${precision}, space ${space}`)
  const recorded: Recorded[] = []
  let engine: Engine = await openedEngine(t, options)
  let database: Database = engine.database()
  const fields = [denseField('v', precision, space), { name: 's', type: 'sparse' }] as const
  await database.createCollection({ name: 'a', fields })
  for (let round = 0; round < (long ? 30 : 5); round++) {
    const collection = database.collection('a')
    for (let step = 0; step < 4; step++) {
      await runRandomLife(collection, random, 2)
      const searches = someSearches(random, ['v'], { stored: `o${random.below(200)}` })
      recorded.push({ lsn: engine.lsnApplied, searches, answers: await answersOf(collection, searches) })
    }
    if (random.chance(0.5)) await engine.checkpoint()
    if (random.chance(0.3)) await collection.rebuild()
    if (random.chance(0.4)) {
      await engine.close()
      engine = await openedEngine(t, options)
      database = engine.database()
    }
  }
  await database.deleteCollection('a')
  for (const { lsn, searches, answers } of recorded) {
    const past = await database.asOf('a', { lsn })
    t.same(await answersOf(past, searches), answers, `LSN ${lsn}`)
    t.equal(past.asOf.lsn, lsn)
  }
  const [first] = recorded as [Recorded]
  t.match(await (await database.asOf('a', { lsn: first.lsn })).recall(), { field: 'v' })
  t.ok(engine.pastStates().every(({ status, memory }) => status === 'loaded' && memory > 0))
  await engine.close()
  t.notOk((await readdir(dataDir)).includes('asof'), 'no files remain')
})

test('the keys of requests, times and cursors', async (t) => {
  const engine = await openedEngine(t, { archive })
  const database = engine.database()
  const films = await database.createCollection({ name: 'films', fields: [denseField('v', 'float32')] })
  const object = (id: string, n: number) => ({ id, filter: { n }, fields: { v: [n, 1, 0, 0, 0, 0, 0, 0] } })
  const { lsn } = await films.upsert([object('a', 1), object('b', 2)])
  const timeMs = engine.timeMs
  while (Date.now() <= timeMs + 1) await new Promise((resolve) => setTimeout(resolve, 2))
  await films.upsert([object('c', 3)])
  await films.delete(['a'])
  const asOf = { lsn }
  const fields = { v: { query: [1, 1, 0, 0, 0, 0, 0, 0] } }
  const { results, asOf: moment } = await films.search({ fields, asOf })
  t.same(results.v.map(({ id }) => id).sort(), ['a', 'b'])
  t.match(moment, { lsn, timeMs })
  const times = [new Date(timeMs), new Date(timeMs).toISOString()]
  for (const time of times) t.match(await films.facets({ key: 'n', asOf: { time } }), { distinct: 2, asOf: { lsn } })
  const batch = await films.searchBatch([
    { fields, asOf },
    { fields, asOf },
  ])
  t.same(
    batch.map(({ results }) => results.v?.length),
    [2, 2],
  )
  await t.rejects(films.searchBatch([{ fields, asOf }, { fields }]), {
    code: 'invalid_argument',
    details: { field: 'as_of' },
  })
  const page = await films.scroll({ limit: 1, asOf })
  t.same(
    page.objects.map(({ id }) => id),
    ['a'],
  )
  const rest = await films.scroll({ limit: 1, cursor: page.cursor })
  t.same(
    rest.objects.map(({ id }) => id),
    ['b'],
    'the cursor keeps its moment',
  )
  t.match(rest.asOf, { lsn })
  await t.rejects(films.scroll({ cursor: page.cursor, asOf: { lsn: lsn + 1 } }), {
    code: 'invalid_argument',
    details: { field: 'cursor' },
  })
  t.equal((await (await films.asOf(asOf)).count()).count, 2)
  t.match(await films.recall({ asOf }), { sample: 2, recall: 1, asOf })
})

test('moments that cannot be reached, and wrong ones, are refused', async (t) => {
  const engine = await openedEngine(t)
  const database = engine.database()
  const films = await database.createCollection({ name: 'films', fields: [denseField()] })
  await films.upsert([{ id: 'a', fields: { v: [1, 2, 3, 4, 5, 6, 7, 8] } }])
  const newest = engine.lsnApplied
  const wrong: readonly (readonly [unknown, object])[] = [
    [{ lsn: 0 }, { field: 'as_of.lsn', value: 0, limit: 1 }],
    [{ lsn: 1.5 }, { field: 'as_of.lsn', value: 1.5 }],
    [{ lsn: '3' }, { field: 'as_of.lsn' }],
    [{ lsn: newest + 1 }, { field: 'as_of.lsn', value: newest + 1, limit: newest }],
    [{ time: 'yesterday' }, { field: 'as_of.time' }],
    [{ time: 5 }, { field: 'as_of.time' }],
    [{ time: new Date(Number.NaN) }, { field: 'as_of.time' }],
    [{ time: new Date(Date.now() + 60_000) }, { field: 'as_of.time' }],
    [{}, { field: 'as_of' }],
    [{ lsn: 1, time: '2026-01-01' }, { field: 'as_of' }],
    [5, { field: 'as_of' }],
  ]
  for (const [asOf, details] of wrong)
    await t.rejects(films.asOf(asOf as never), { code: 'invalid_argument', details }, JSON.stringify(asOf))
  await t.rejects(database.asOf('nothing', { lsn: newest }), { code: 'collection_not_found' })
  const early = films.asOf({ time: '1999-01-01' })
  await t.rejects(early, { code: 'collection_not_found' }, 'nothing was there')
  // Without an archive, two checkpoints make the log forget its first records.
  for (let i = 0; i < 3; i++) {
    await films.upsert([{ id: `b${i}`, fields: { v: [1, 2, 3, 4, 5, 6, 7, i] } }])
    await engine.checkpoint()
  }
  const refused = await films.asOf({ lsn: newest }).catch((error) => error)
  if (refused.code === 'moment_unreachable') t.ok(refused.details.reach.lsnFirst > newest)
  else t.equal(refused.asOf?.lsn, newest, 'the log still begins with it')
  const none = await openedEngine(t, { asOf: { ...asOf, loadedBytesMax: 0 } })
  const other = await none.database().createCollection({ name: 'films', fields: [denseField()] })
  const { lsn } = await other.upsert([{ id: 'a', fields: { v: [1, 2, 3, 4, 5, 6, 7, 8] } }])
  t.equal((await (await other.asOf({ lsn })).count()).count, 1, 'nothing changed since')
  await other.delete(['a'])
  await t.rejects(other.asOf({ lsn }), { code: 'moment_unreachable' })
  await t.rejects(openedEngine(t, { asOf: { loadedBytesMax: -1 } }), { code: 'invalid_argument' })
})

test('a load that nobody waits for goes on, and little memory keeps only what was used last', async (t) => {
  const engine = await openedEngine(t, { archive, asOf: { ...asOf, loadedBytesMax: 30_000 } })
  const database = engine.database()
  const films = await database.createCollection({ name: 'films', fields: [denseField()] })
  const lsns: number[] = []
  for (let i = 0; i < 6; i++)
    lsns.push((await films.upsert([{ id: `b${i}`, fields: { v: [1, 2, 3, 4, 5, 6, 7, i] } }])).lsn)
  const [first = 0] = lsns
  await t.rejects(films.asOf({ lsn: first }, { waitMs: 0 }), { code: 'moment_loading', details: { field: 'as_of' } })
  t.match(engine.pastStates('default'), [{ collection: 'films' }])
  t.same(engine.pastStates('other'), [])
  for (const [i, lsn] of lsns.entries()) t.equal((await (await films.asOf({ lsn })).count()).count, i + 1)
  const loaded = engine.pastStates().filter(({ status }) => status === 'loaded')
  t.ok(loaded.length >= 1 && loaded.length < lsns.length, `${loaded.length} are kept`)
  t.ok((await readdir(join(engine.dataDir, 'asof'))).length <= loaded.length)
  const again = await films.asOf({ lsn: first })
  t.equal((await again.count()).count, 1, 'what was closed is loaded again')
})

test('a moment for which there is no memory is refused, and is loaded when there is some', async (t) => {
  const memory = { bytes: Number.POSITIVE_INFINITY }
  const dataDir = await temporaryDirectory(t)
  const parts = { readMemory: () => [{ limit: memory.bytes, used: 0, source: 'machine' } as const] }
  const engine = await openEngine({ dataDir, threads: 1, archive, asOf, memory: false }, parts)
  t.teardown(() => engine.close())
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  const lsns: number[] = []
  for (let i = 0; i < 3; i++)
    lsns.push((await films.upsert([{ id: `b${i}`, fields: { v: [1, 2, 3, 4, 5, 6, 7, i] } }])).lsn)
  const [first = 0, second = 0] = lsns
  t.equal((await (await films.asOf({ lsn: first })).count()).count, 1)
  memory.bytes = 100
  const refused = await films.asOf({ lsn: second }).catch((error) => error)
  t.match(refused, { code: 'memory_exhausted', details: { field: 'as_of', limit: 100 } })
  t.ok(refused.details.value > 100 / memoryPerImageByte, 'the bytes of the moment')
  t.ok(
    engine.pastStates().every(({ status }) => status !== 'loaded'),
    'what was loaded made room first',
  )
  memory.bytes = 10 * refused.details.value
  t.equal((await (await films.asOf({ lsn: second })).count()).count, 2)
})

test('a few moments wait to be loaded, and more are refused', async (t) => {
  const engine = await openedEngine(t, { archive, asOf })
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  const lsns: number[] = []
  for (let i = 0; i <= pastStatesWaitingMax; i++)
    lsns.push((await films.upsert([{ id: `b${i}`, fields: { v: [1, 2, 3, 4, 5, 6, 7, i] } }])).lsn)
  await films.delete(['b0'])
  const codes = await Promise.all(
    lsns.map((lsn) =>
      films.asOf({ lsn }, { waitMs: 0 }).then(
        () => 'loaded',
        ({ code }) => code,
      ),
    ),
  )
  t.strictSame(codes, [...lsns.slice(1).map(() => 'moment_loading'), 'overloaded'])
  for (const lsn of lsns) {
    const count = async () => (await (await films.asOf({ lsn })).count()).count
    t.equal(await count(), lsns.indexOf(lsn) + 1, 'each can be read when others are loaded')
  }
})
