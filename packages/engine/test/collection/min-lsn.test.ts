// A read can name the write that its result must include.
import { openEngine } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import { test } from 'tap'
import { denseField, openDirectory, openIn } from '../search/rig.ts'

const vector = [1, 2, 3, 4]
const found = async (
  search: Promise<{ readonly results: { readonly [field: string]: readonly { readonly id: string }[] } }>,
) => ((await search).results.dense ?? []).map(({ id }) => id)

test('a read waits for the write that it names, in any collection', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const database = engine.database()
  const one = await database.createCollection({ name: 'one', fields: [denseField(4)] })
  const other = await database.createCollection({ name: 'other', fields: [denseField(4)] })
  const { lsn } = await one.upsert([{ id: 'a', fields: { dense: vector } }])
  const fields = { dense: { query: vector } }
  t.strictSame(await found(one.search({ fields, minLsn: lsn })), ['a'])
  t.strictSame(await found(other.search({ fields, minLsn: lsn })), [], 'another collection is as new')
  await other.waitFor(lsn, 0)
  await t.rejects(one.waitFor(lsn + 1, 0), {
    code: 'lsn_not_reached',
    details: { field: 'min_lsn', value: lsn + 1, limit: lsn },
  })
  // Not written yet: the reads are on their way first.
  const waiting = [one.waitFor(lsn + 1, 60_000), other.waitFor(lsn + 1, 60_000), other.waitFor(lsn + 2, 60_000)]
  const search = found(one.search({ fields, minLsn: lsn + 1 }))
  const batch = one.searchBatch([{ fields }, { fields, minLsn: lsn + 2 }])
  const [second, third] = await Promise.all([
    one.upsert([{ id: 'b', fields: { dense: vector } }]),
    one.upsert([{ id: 'c', fields: { dense: vector } }]),
  ])
  t.strictSame([second.lsn, third.lsn], [lsn + 1, lsn + 2])
  await Promise.all(waiting)
  t.ok((await search).includes('b'))
  t.strictSame(
    (await batch).map(({ results }) => results.dense?.length),
    [3, 3],
  )
  for (const [wrong, code] of [
    [-1, 'limit_exceeded'],
    [1.5, 'invalid_argument'],
    [Number.NaN, 'invalid_argument'],
    ['1', 'invalid_argument'],
    [null, 'invalid_argument'],
  ] as const)
    await t.rejects(
      one.search({ fields, minLsn: wrong as number }),
      { code, details: { field: 'min_lsn' } },
      `${wrong}`,
    )
  await database.deleteCollection('one')
  await t.rejects(one.waitFor(1), { code: 'collection_not_found' })
})

test('a reader in another thread includes it as well, and the owner refuses what it does not have', async (t) => {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, readers: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'things', fields: [denseField(4)] })
  const other = await engine.database().createCollection({ name: 'other', fields: [denseField(4)] })
  const reader = await attachReader(engine.readerHandle())
  t.teardown(() => reader.close())
  const fields = { dense: { query: vector } }
  for (let i = 0; i < 20; i++) {
    const { lsn } = await collection.upsert([{ id: `${i}`, fields: { dense: vector } }])
    t.ok(
      (await found(reader.search('things', { fields: { dense: { query: vector, limit: 50 } }, minLsn: lsn }))).includes(
        `${i}`,
      ),
    )
  }
  const { lsn } = await other.upsert([{ id: 'x', fields: { dense: vector } }])
  t.equal((await found(reader.search('things', { fields, minLsn: lsn }))).length, 10)
  const future = reader.search('things', { fields, minLsn: lsn + 1 })
  await collection.upsert([{ id: 'last', fields: { dense: vector } }])
  t.equal((await found(future)).length, 10)
})

test('a restart knows the newest record', async (t) => {
  const dataDir = await openDirectory(t)
  let engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  const collection = await engine.database().createCollection({ name: 'things', fields: [denseField(4)] })
  const { lsn } = await collection.upsert([{ id: 'a', fields: { dense: vector } }])
  await engine.close()
  engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  await engine.database().collection('things').waitFor(lsn, 0)
  await t.rejects(
    engine
      .database()
      .collection('things')
      .waitFor(lsn + 1, 0),
    { code: 'lsn_not_reached' },
  )
})
