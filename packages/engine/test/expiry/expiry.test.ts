// Objects expire: from their expiry on every read hides them, and some time later a record deletes them for good.
import type { Collection, Engine, ObjectVersion, VersionPage } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import { test } from 'tap'
import { at, hourMs, openAt, openThings, until } from './rig.ts'

const near = { fields: { dense: { query: [0, 0, 0, 0], limit: 3 } } }

async function foundBy(collection: Pick<Collection, 'search'>, more: object = {}): Promise<string[]> {
  const { results } = await collection.search({ ...near, ...more })
  return (results.dense ?? []).map(({ id }) => id)
}

async function versionsOf(engine: Engine, id: string) {
  const versions: ObjectVersion[] = []
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page: VersionPage = await engine.database().history.versions({ collection: 'things', id, from })
    versions.push(...page.versions)
    from = page.next
  }
  return versions
}

test('every read hides an object from its expiry on, and not a millisecond earlier', async (t) => {
  const { clock, things } = await openThings(t)
  await things.upsert([
    { id: 'a', fields: at(0), filter: { color: 'red' }, ttlSeconds: 10 },
    { id: 'b', fields: at(1), filter: '{"color": "red"}', expiresAt: clock.ms + 20_000 },
    { id: 'c', fields: at(2), filter: { color: 'blue' } },
    { id: 'd', fields: at(3), expiresAt: new Date(clock.ms + 30_000).toISOString() },
    { id: 'e', fields: at(4), ttlSeconds: null },
  ])
  const start = clock.ms
  const words = { fields: { words: { query: { indices: [1], values: [1] }, limit: 5 } } }
  const seen = async () => {
    const { results } = await things.search(words)
    const [all, red] = [things.count().count, things.count([{ color: { $eq: 'red' } }]).count]
    const { values } = await things.facets({ key: 'color' })
    return {
      near: await foundBy(things),
      exact: await foundBy(things, { exact: true }),
      words: results.words?.map(({ id }) => id).sort(),
      all,
      red,
      filtered: await foundBy(things, { filter: [{ color: { $eq: 'red' } }] }),
      got: (await things.getMany(['a', 'b', 'c', 'd', 'e'])).map(({ id }) => id),
      page: (await things.scroll({})).objects.map(({ id }) => id),
      colors: Object.fromEntries(values.map(({ value, count }) => [value, count])),
      described: things.describe().objects,
    }
  }
  const whole = {
    near: ['a', 'b', 'c'],
    exact: ['a', 'b', 'c'],
    words: ['a', 'b', 'c', 'd', 'e'],
    all: 5,
    red: 2,
    filtered: ['a', 'b'],
    got: ['a', 'b', 'c', 'd', 'e'],
    page: ['a', 'b', 'c', 'd', 'e'],
    colors: { red: 2, blue: 1 },
    described: 5,
  }
  t.strictSame(await seen(), whole)
  clock.ms = start + 9_999
  t.strictSame(await seen(), whole)
  clock.ms = start + 10_000
  const withoutA = {
    near: ['b', 'c', 'd'],
    exact: ['b', 'c', 'd'],
    words: ['b', 'c', 'd', 'e'],
    all: 4,
    red: 1,
    filtered: ['b'],
    got: ['b', 'c', 'd', 'e'],
    page: ['b', 'c', 'd', 'e'],
    colors: { red: 1, blue: 1 },
    described: 4,
  }
  t.strictSame(await seen(), withoutA)
  clock.ms = start + 20_000
  t.strictSame(await foundBy(things), ['c', 'd', 'e'])
  clock.ms = start + 30_000
  t.strictSame(await foundBy(things), ['c', 'e'])
  t.equal((await things.recall({ field: 'dense' })).sample, 2)
  t.equal((await things.recall({ field: 'dense' })).recall, 1)
  await t.rejects(things.search({ fields: { dense: { query: { id: 'a' } } } }), { code: 'object_not_found' })
  // A clock that goes back shows the objects again: they are still there.
  clock.ms = start + 9_999
  t.strictSame(await seen(), whole)
})

test('reads return the filter without the expiry, and the expiry', async (t) => {
  const { clock, things } = await openThings(t)
  const expiresAt = clock.ms + 5_000
  await things.upsert([{ id: 'a', fields: at(0), filter: '{ "n": 1 }', expiresAt }])
  const read = await things.get('a')
  t.strictSame([read?.filterText, read?.filter, read?.expiresAt], ['{ "n": 1 }', { n: 1 }, expiresAt])
  t.match(JSON.parse(JSON.stringify(read)), { id: 'a', filter: { n: 1 }, expiresAt })
  const [hit] = (await things.search(near)).results.dense ?? []
  t.strictSame([hit?.filterText, hit?.filter], ['{ "n": 1 }', { n: 1 }])
  await things.upsert([{ id: 'b', fields: at(1) }])
  t.equal((await things.get('b'))?.expiresAt, undefined)
})

test('an object that has expired is deleted by a record, when the clock has run steadily for an hour', async (t) => {
  const { clock, engine, things } = await openThings(t, { fsync: 'always' })
  await things.upsert([
    { id: 'a', fields: at(0), ttlSeconds: 60 },
    { id: 'b', fields: at(1) },
  ])
  const before = things.describe().lsn
  clock.pass(hourMs - 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(things.count().count, 1)
  t.match(engine.stats().expiry, { hidden: 1, deleted: 0, isDeleting: false })
  t.equal(things.describe().lsn, before, 'it is hidden, and still stored')
  clock.pass(1)
  await until(() => engine.stats().expiry.deleted === 1)
  t.match(engine.stats().expiry, { hidden: 0, deleted: 1, clockJumps: 0, isDeleting: true })
  t.ok(things.describe().lsn > before)
  await until(async () => (await versionsOf(engine, 'a')).length === 2)
  const versions = await versionsOf(engine, 'a')
  t.strictSame(
    versions.map(({ kind, exists }) => [kind, exists]),
    [
      ['created', true],
      ['expired', false],
    ],
  )
  clock.ms -= 2 * hourMs
  t.equal(await things.get('a'), undefined, 'no clock brings it back')
})

for (const [way, byMs] of [
  ['forward', 24 * hourMs],
  ['back', -24 * hourMs],
] as const)
  test(`a jump of the clock ${way} stops deletions, which the health says`, async (t) => {
    const sentences: string[] = []
    const { clock, engine, things } = await openThings(t, { onNotice: (sentence) => sentences.push(sentence) })
    const start = clock.ms
    await things.upsert([{ id: 'a', fields: at(0), ttlSeconds: 12 * 3600 }])
    clock.pass(hourMs)
    await until(() => engine.stats().expiry.isDeleting)
    clock.ms += byMs
    await until(() => engine.stats().expiry.clockJumps === 1)
    t.match(engine.health(), { status: 'degraded', reasons: [new RegExp(`clock jumped 86400 s ${way}`)] })
    t.match(sentences, [new RegExp(`clock jumped 86400 s ${way}`)])
    clock.pass(hourMs - 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.match(engine.stats().expiry, { deleted: 0, isDeleting: false })
    // Corrected in the meantime: that is a jump as well.
    clock.ms = start + 2 * hourMs
    await until(() => engine.stats().expiry.clockJumps === 2)
    t.ok(await things.get('a'), 'nothing is gone early')
    clock.pass(hourMs)
    await until(() => engine.stats().expiry.isDeleting)
    t.strictSame(engine.health(), { status: 'ok', reasons: [] })
    clock.pass(9 * hourMs - 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.ok(await things.get('a'))
    clock.pass(1)
    t.equal(await things.get('a'), undefined)
    await until(() => engine.stats().expiry.deleted === 1)
  })

test('the time of the newest record hides objects when the clock is behind it', async (t) => {
  const { clock, dataDir, engine, things } = await openThings(t)
  await things.upsert([{ id: 'a', fields: at(0), ttlSeconds: 60 }])
  clock.pass(60_000)
  await things.upsert([{ id: 'b', fields: at(1) }])
  clock.ms -= 60_000
  t.equal(await things.get('a'), undefined)
  await engine.close()
  // After a downtime of any length.
  clock.ms += 1_000 * hourMs
  const again = await openAt(clock, dataDir)
  const reopened = again.database().collection('things')
  t.strictSame(await foundBy(reopened), ['b'])
  t.match(again.health(), { status: 'ok' })
  clock.pass(hourMs)
  await until(() => again.stats().expiry.deleted === 1)
  await again.close()
})

test('a collection has a default expiry, which a write overrides', async (t) => {
  const { clock, dataDir, engine, things } = await openThings(t, {}, { ttlSeconds: 60 })
  const expiries = async (collection: Collection) =>
    Promise.all(['a', 'b', 'c', 'd'].map(async (id) => ((await collection.get(id))?.expiresAt ?? 0) - clock.ms))
  const never = -clock.ms
  t.equal(things.describe().ttlSeconds, 60)
  await things.upsert([
    { id: 'a', fields: at(0) },
    { id: 'b', fields: at(1), ttlSeconds: 10 },
    { id: 'c', fields: at(2), expiresAt: null },
  ])
  t.strictSame(await expiries(things), [60_000, 10_000, never, never])
  const { lsn } = await things.updateDefaults({ ttlSeconds: 90 })
  t.strictSame(await things.updateDefaults({ ttlSeconds: 90 }), { lsn, durable: true })
  t.strictSame(await things.updateDefaults({}), { lsn, durable: true })
  await things.upsert([{ id: 'd', fields: at(3) }])
  t.strictSame(await expiries(things), [60_000, 10_000, never, 90_000])
  await things.updateFields({ dense: { recall: 0.9 } })
  await things.rebuild()
  t.equal(things.describe().ttlSeconds, 90)
  await engine.close()
  for (const _ of ['after a checkpoint', 'once more']) {
    const again = await openAt(clock, dataDir)
    const reopened = again.database().collection('things')
    t.equal(reopened.describe().ttlSeconds, 90)
    t.strictSame(await expiries(reopened), [60_000, 10_000, never, 90_000])
    await again.close()
  }
  const again = await openAt(clock, dataDir)
  const last = again.database().collection('things')
  await last.updateDefaults({ ttlSeconds: null })
  t.equal(last.describe().ttlSeconds, undefined)
  await last.upsert([{ id: 'a', fields: at(0) }])
  t.strictSame(await expiries(last), [never, 10_000, never, 90_000])
  await again.close()
})

test('patches and updates of filters keep the expiry, unless a patch gives one', async (t) => {
  const { clock, things } = await openThings(t)
  const start = clock.ms
  await things.upsert([{ id: 'a', fields: at(0), filter: { n: 1 }, ttlSeconds: 100 }])
  const state = async () => {
    const read = await things.get('a')
    return [read?.filter, read?.expiresAt === undefined ? undefined : read.expiresAt - start]
  }
  clock.ms += 1_000
  await things.updateFilters([{ id: 'a', filter: { n: 2 } }])
  t.strictSame(await state(), [{ n: 2 }, 100_000])
  await things.patch([{ id: 'a', increment: { n: 1 } }])
  t.strictSame(await state(), [{ n: 3 }, 100_000])
  await things.patch([{ id: 'a', ttlSeconds: 100 }])
  t.strictSame(await state(), [{ n: 3 }, 101_000])
  await things.updateFilters([{ id: 'a', filter: '' }])
  t.strictSame(await state(), [{}, 101_000])
  await things.patch([{ id: 'a', expiresAt: null, filter: { n: 4 } }])
  t.strictSame(await state(), [{ n: 4 }, undefined])
  t.equal(things.count([{ n: { $eq: 4 } }]).count, 1)
})

test('conditional writes take an object that has expired for absent', async (t) => {
  const { clock, things } = await openThings(t)
  const { lsn } = await things.upsert([{ id: 'a', fields: at(0), filter: { n: 1 }, ttlSeconds: 60 }])
  const statusOf = async (more: object) => {
    const { results } = await things.upsert([{ id: 'a', fields: at(1), ...more }])
    return results?.map(({ status, lsn: seen }) => [status, seen])
  }
  t.strictSame(await statusOf({ ifAbsent: true }), [['conflict', lsn]])
  clock.ms += 60_000
  t.strictSame(await statusOf({ ifLsn: lsn }), [['conflict', 0]])
  t.strictSame(await statusOf({ ifMatch: [{ n: { $eq: 1 } }] }), [['conflict', 0]])
  const patched = await things.patch([{ id: 'a', filter: { n: 2 } }])
  t.match(patched.results, [{ status: 'error', error: { code: 'object_not_found' } }])
  t.strictSame((await things.delete(['a'])).deleted, [])
  t.equal((await things.deleteWhere([{ n: { $eq: 1 } }])).deleted, 0)
  t.equal((await things.updateFilters([{ id: 'a', filter: { n: 9 } }])).updated, 0)
  t.match(await statusOf({ ifAbsent: true, ttlSeconds: 60 }), [['ok']])
  t.equal(things.count().count, 1)
})

test('a repetition with a request key returns the first answer, although it says a relative time later', async (t) => {
  const { clock, things } = await openThings(t, {}, { ttlSeconds: 60 })
  const write = (ttlSeconds?: number) =>
    things.upsert([{ id: 'a', fields: at(0), ...(ttlSeconds !== undefined && { ttlSeconds }) }], { requestKey: 'one' })
  const first = await write(10)
  clock.ms += 5_000
  t.strictSame(await write(10), first)
  await t.rejects(write(11), { code: 'request_key_reused' })
  await t.rejects(write(), { code: 'request_key_reused' })
})

test('readers in other threads hide what has expired', async (t) => {
  const { clock, engine, things } = await openThings(t, { readers: 1 })

  await things.upsert([
    { id: 'a', fields: at(0), filter: { n: 1 }, expiresAt: clock.ms + 3_600_000 },
    { id: 'b', fields: at(1), filter: { n: 1 } },
    { id: 'c', fields: at(2), filter: { n: 1 } },
  ])
  const reader = await attachReader(engine.readerHandle())
  t.teardown(() => reader.close())
  const searched = { search: (request: object) => reader.search('things', request as never) } as never
  const filter = [{ n: { $eq: 1 } }]
  const ids = async () => (await reader.getMany('things', ['a', 'b', 'c'])).map(({ id }) => id)
  t.strictSame(await foundBy(searched), ['a', 'b', 'c'])
  t.strictSame(await foundBy(searched, { filter }), ['a', 'b', 'c'])
  t.strictSame(await ids(), ['a', 'b', 'c'])
  const [first] = await reader.getMany('things', ['a'])
  t.strictSame([first?.filter, first?.expiresAt], [{ n: 1 }, clock.ms + 3_600_000])
  // The time of the log goes on, and that of the reader's thread stays behind it.
  clock.ms += 3_600_000
  await things.upsert([{ id: 'd', fields: at(9), filter: { n: 1 } }])
  for (let i = 0; i < 3; i++) {
    t.strictSame(await foundBy(searched), ['b', 'c', 'd'])
    t.strictSame(await foundBy(searched, { filter }), ['b', 'c', 'd'])
    t.strictSame(await foundBy(searched, { exact: true }), ['b', 'c', 'd'])
    t.strictSame(await ids(), ['b', 'c'])
  }
  const both = { fields: { dense: { query: [0, 0, 0, 0] }, words: { query: { indices: [1], values: [1] } } } }
  const { results } = await reader.search('things', both)
  t.strictSame(results.words?.map(({ id }) => id).sort(), ['b', 'c', 'd'])
})

test('wrong values are refused before the append', async (t) => {
  const { engine, things } = await openThings(t)
  await things.upsert([{ id: 'a', fields: at(0) }])
  const { lsn } = things.describe()
  const wrong = [
    [{ ttlSeconds: 0 }, 'limit_exceeded', 'ttlSeconds'],
    [{ ttlSeconds: 3_155_760_001 }, 'limit_exceeded', 'ttlSeconds'],
    [{ ttlSeconds: 1.5 }, 'invalid_argument', 'ttlSeconds'],
    [{ ttlSeconds: '60' }, 'invalid_argument', 'ttlSeconds'],
    [{ ttlSeconds: Number.NaN }, 'invalid_argument', 'ttlSeconds'],
    [{ expiresAt: -1 }, 'limit_exceeded', 'expiresAt'],
    [{ expiresAt: 253_402_300_800_000 }, 'limit_exceeded', 'expiresAt'],
    [{ expiresAt: 'tomorrow' }, 'invalid_argument', 'expiresAt'],
    [{ expiresAt: {} }, 'invalid_argument', 'expiresAt'],
    [{ ttlSeconds: 1, expiresAt: 1 }, 'invalid_argument', 'expiresAt'],
  ] as const
  for (const [more, code, name] of wrong) {
    const input = { id: 'a', fields: at(0), ...more }
    const what = JSON.stringify(more)
    await t.rejects(things.upsert([input as never]), { code, details: { field: `objects[0].${name}` } }, what)
    const patch = { id: 'a', ...more }
    await t.rejects(things.patch([patch as never]), { code, details: { field: `patches[0].${name}` } }, what)
  }
  for (const [changes, code, field] of [
    [{ ttlSeconds: 0 }, 'limit_exceeded', 'changes.ttlSeconds'],
    [{ ttlSeconds: '1' }, 'invalid_argument', 'changes.ttlSeconds'],
    [{ other: 1 }, 'invalid_argument', 'changes.other'],
    [null, 'invalid_argument', 'changes'],
  ] as const)
    await t.rejects(things.updateDefaults(changes as never), { code, details: { field } })
  const definition = { name: 'more', fields: [{ name: 'v', type: 'sparse' }], ttlSeconds: 0 } as const
  await t.rejects(engine.database().createCollection(definition), {
    code: 'limit_exceeded',
    details: { field: 'ttl_seconds' },
  })
  t.equal(things.describe().lsn, lsn)
})
