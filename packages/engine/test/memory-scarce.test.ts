// An engine with little memory refuses what makes memory grow before anything is appended, and continues with everything else. The test says how
// much memory is in use.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { memoryReserve } from '../src/admission/memory-guard.ts'
import { openEngine } from '../src/engine.ts'
import { denseField, temporaryDirectory } from './backup/rig.ts'

const limit = 2 ** 30
const scarce = limit - memoryReserve(limit)
const none = limit - memoryReserve(limit) / 8
const refused = { code: 'memory_exhausted', details: { field: 'memory', limit } }

async function opened(t: Parameters<typeof temporaryDirectory>[0]) {
  const dataDir = await temporaryDirectory(t)
  const memory = { used: 0 }
  let scarceCalls = 0
  const parts = { readMemory: () => [{ limit, used: memory.used, source: 'group' } as const] }
  const onScarce = () => {
    scarceCalls += 1
  }
  const open = () => openEngine({ dataDir, threads: 1, memory: { onScarce } }, parts)
  const engine = await open()
  t.teardown(() => engine.close())
  return { engine, dataDir, memory, open, scarceCalls: () => scarceCalls }
}

/** A reading is used for a moment. */
const nextReading = () => new Promise((resolve) => setTimeout(resolve, 100))

const objects = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ id: `o${from + i}`, fields: { v: [1, 2, 3, 4, 5, 6, 7, from + i] } }))

test('growth is refused before the append, and everything else goes on', async (t) => {
  const { engine, memory, scarceCalls } = await opened(t)
  const database = engine.database()
  const films = await database.createCollection({ name: 'films', fields: [denseField()] })
  await database.createCollection({ name: 'other', fields: [denseField()] })
  await films.upsert(objects(100))
  await database.backups.create('films', 'one')
  await database.backups.settled()
  memory.used = scarce
  await nextReading()
  const lsn = engine.lsnApplied
  await t.rejects(films.upsert(objects(10, 200)), refused)
  await t.rejects(films.upsert([{ id: 'x', fields: { v: [1, 2, 3, 4, 5, 6, 7, 8] } }], { atomic: true }), refused)
  await t.rejects(films.patch([{ id: 'o1', meta: { $set: { a: 1 } } }]), refused)
  await t.rejects(films.updateFilters([{ id: 'o1', filter: { a: 1 } }]), refused)
  await t.rejects(films.rebuild(), refused)
  await t.rejects(films.vacuum(), refused)
  await t.rejects(database.createCollection({ name: 'new', fields: [denseField()] }), refused)
  await t.rejects(database.backups.clone('films', 'copy'), refused)
  await t.rejects(database.branch('films', { name: 'branch' }), refused)
  await t.rejects(database.backups.restore('one', 'restored'), refused)
  t.equal(engine.lsnApplied, lsn, 'nothing was appended')
  t.ok(scarceCalls() >= 1, 'the host program could free memory before')
  t.match(engine.health(), { status: 'degraded', reasons: [/^writes are rejected because memory is scarce/] })
  t.match(engine.stats().memoryRoom, { limit, used: scarce, usable: scarce, pending: 0 })
  t.ok((engine.stats().memoryRoom?.refused ?? 0) >= 10)

  t.equal((await films.search({ fields: { v: { query: [1, 2, 3, 4, 5, 6, 7, 8] } } })).results.v?.length, 10)
  t.equal((await films.getMany(['o1', 'o2'])).length, 2)
  await database.backups.create('films', 'two')
  await database.backups.settled()
  t.ok(
    database.backups.list().some(({ name }) => name === 'two'),
    'backups go on',
  )
  t.equal((await films.delete(['o1'])).deleted.length, 1)
  t.equal((await films.deleteWhere([{ none: { $eq: 1 } }])).deleted, 0)
  await database.deleteCollection('other')
  t.ok(engine.lsnApplied >= lsn + 2, 'deletes and drops were appended')

  memory.used = 0
  await nextReading()
  t.equal((await films.upsert(objects(10, 200))).upserted, 10)
  t.equal(engine.health().status, 'ok')
})

test('writes at one time wait for each other where only a few fit', async (t) => {
  const { engine, memory } = await opened(t)
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  memory.used = scarce - 3 * 2 ** 20
  await nextReading()
  const writes = Array.from({ length: 64 }, (_, i) => i)
  const upserts = writes.map((i) => films.upsert(objects(10, 10 * i), i % 2 === 0 ? {} : { requestKey: `key-${i}` }))
  t.match(engine.stats().memoryRoom, { refused: 0 })
  t.same(
    (await Promise.all(upserts)).map(({ upserted }) => upserted),
    writes.map(() => 10),
  )
  const patches = writes.map((i) => films.patch([{ id: `o${i}`, meta: { $set: { i } } }]))
  const filters = writes.map((i) => films.updateFilters([{ id: `o${i}`, filter: { i } }]))
  const conditional = writes.map((i) => films.upsert(objects(1, 1_000 + i), { atomic: true }))
  await Promise.all([...patches, ...filters, ...conditional])
  t.equal(films.count().count, 64 * 10 + 64)
  t.match(engine.stats().memoryRoom, { refused: 0, pending: 0, waiting: 0 })
})

test('objects are written in the place of deleted ones while memory is scarce', async (t) => {
  const { engine, memory } = await opened(t)
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  await films.upsert(objects(200))
  await films.delete(objects(100).map(({ id }) => id))
  // Ordinals are free some versions later.
  for (let i = 0; i < 20; i++) await films.delete([`o${100 + i}`])
  memory.used = scarce + 1
  await nextReading()
  t.equal((await films.upsert(objects(50, 1_000))).upserted, 50)
  await t.rejects(films.upsert(objects(100, 2_000)), refused, 'there are not enough places')
})

test('a start without memory for a collection serves the others, and all with more memory', async (t) => {
  for (const from of ['a checkpoint', 'the log']) {
    const { engine, dataDir, memory, open } = await opened(t)
    const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
    await films.upsert(objects(100))
    await engine.close()
    if (from === 'the log') await rm(join(dataDir, 'checkpoints'), { recursive: true })
    memory.used = none
    const poor = await open()
    const sound = poor.health()
    const description = poor.database().collections()[0]
    memory.used = 0
    await poor.close()
    const rich = await open()
    const count = rich.database().collection('films').count().count
    const { status } = rich.health()
    await rich.close()
    t.match(description, { condition: 'quarantined', reason: /bytes of memory/ }, from)
    t.match(sound, { status: 'degraded' }, from)
    t.equal(count, 100, from)
    t.equal(status, 'ok', from)
  }
})

test('with the option `false`, nothing is refused', async (t) => {
  const parts = { readMemory: () => [{ limit, used: limit, source: 'group' } as const] }
  const engine = await openEngine({ dataDir: await temporaryDirectory(t), threads: 1, memory: false }, parts)
  t.teardown(() => engine.close())
  const films = await engine.database().createCollection({ name: 'films', fields: [denseField()] })
  t.equal((await films.upsert(objects(10))).upserted, 10)
  t.equal(engine.stats().memoryRoom, undefined)
})

test('a wrong limit is refused', async (t) => {
  const wrong = openEngine({ dataDir: await temporaryDirectory(t), memory: { bytesMax: 1 } })
  await t.rejects(wrong, { code: 'invalid_argument', details: { field: 'memory.bytesMax' } })
})
