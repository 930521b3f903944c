// A field can have a default recall: for searches that state neither ef nor recall. It is set when the collection is created or later, and
// stays over restarts, rebuilds, clones, and backups.
import { type Collection, openEngine, type SearchRequest, type SearchResult } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import { test } from 'tap'
import { backedUp } from '../backup/rig.ts'
import { denseField, openCollection, openDirectory, openIn, sparseField } from '../search/rig.ts'

const dimension = 8
const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * (i + 1)))
const objects = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `${n}`, fields: { dense: vectorOf(n) } }))

interface Searched {
  search(request: SearchRequest): Promise<SearchResult>
}

async function targetOf(collection: Searched, how: object = {}, more: object = {}) {
  const { recall } = await collection.search({ fields: { dense: { query: vectorOf(3), ...how } }, ...more })
  return recall?.dense?.target
}

function described(collection: Collection) {
  return collection.describe().fields.map(({ kind, params }) => (kind === 'dense' ? params.recall : undefined))
}

test('a field with a default recall uses it where a search states neither', async (t) => {
  const collection = await openCollection(t, [denseField(dimension, { recall: 0.9 }), sparseField()])
  await collection.upsert(objects(50))
  t.strictSame(described(collection), [0.9, undefined])
  t.equal(await targetOf(collection), 0.9)
  t.equal(await targetOf(collection, { recall: 0.5 }), 0.5)
  t.equal(await targetOf(collection, { ef: 100 }), undefined, 'an ef counts more than the default')
  t.equal(await targetOf(collection, {}, { exact: true }), undefined)
  const { lsn } = await collection.updateFields({ dense: { recall: 0.95 } })
  t.equal(collection.describe().lsn, lsn)
  t.equal(await targetOf(collection), 0.95)
  t.strictSame(await collection.updateFields({ dense: { recall: 0.95 } }), { lsn, durable: true }, 'nothing to change')
  t.strictSame(await collection.updateFields({ dense: {} }), { lsn, durable: true })
  t.strictSame(await collection.updateFields({}), { lsn, durable: true })
  await collection.updateFields({ dense: { recall: null } })
  t.equal(await targetOf(collection), undefined)
  t.strictSame(described(collection), [undefined, undefined])
  const words = { query: { indices: [1], values: [1] }, recall: 0.9 }
  const { recall } = await collection.search({ fields: { words } })
  t.equal(recall, undefined, 'no ef is chosen for a field without a graph')
})

test('it stays over a replay, a checkpoint, a rebuild, a clone, and a restore', async (t) => {
  const dataDir = await openDirectory(t)
  let engine = await openEngine({ dataDir, threads: 1, fsync: 'none' }, { checkpointsOnDemand: true })
  const fields = [denseField(dimension, { recall: 0.9 })]
  const collection = await engine.database().createCollection({ name: 'things', fields })
  await collection.upsert(objects(20))
  await collection.updateFields({ dense: { recall: 0.97 } })
  await collection.upsert(objects(5))
  const digest = collection.stateDigest()
  const check = async (name: string, what: string) => {
    const one = engine.database().collection(name)
    await one.get('1')
    t.strictSame(described(one), [0.97], what)
    t.equal(await targetOf(one), 0.97, what)
  }
  await backedUp(engine.database(), 'things', 'before')
  await engine.database().backups.clone('things', 'cloned')
  await engine.database().backups.restore('before', 'restored')
  for (const name of ['things', 'cloned', 'restored']) await check(name, name)
  for (const what of ['from a checkpoint', 'once more']) {
    await engine.close()
    engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
    for (const name of ['things', 'cloned', 'restored']) await check(name, `${name} ${what}`)
    t.equal(engine.database().collection('things').stateDigest(), digest)
  }
  const things = engine.database().collection('things')
  // A change while the rebuild waits for earlier writes is kept.
  const [rebuilt, changed] = [things.rebuild({ dense: { M: 8 } }), things.updateFields({ dense: { recall: 0.8 } })]
  await Promise.all([rebuilt, changed])
  t.strictSame(described(things), [0.8])
  await Promise.all([things.updateFields({ dense: { recall: 0.85 } }), things.rebuild()])
  t.strictSame(described(things), [0.85])
  await engine.close()
})

test('a reader in another thread knows the newest default', async (t) => {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, readers: 2, fsync: 'none' })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'things', fields: [denseField(dimension)] })
  await collection.upsert(objects(30))
  const reader = await attachReader(engine.readerHandle())
  t.teardown(() => reader.close())
  const searched: Searched = { search: (request) => reader.search('things', request) }
  t.equal(await targetOf(searched), undefined)
  await collection.updateFields({ dense: { recall: 0.9 } })
  t.equal(await targetOf(searched), 0.9)
  // A reader that attaches later.
  const later = await attachReader(engine.readerHandle())
  t.teardown(() => later.close())
  const { recall } = await later.search('things', { fields: { dense: { query: vectorOf(3) } } })
  t.equal(recall?.dense?.target, 0.9)
  await collection.updateFields({ dense: { recall: null } })
  t.equal(await targetOf(searched), undefined)
})

test('wrong values are refused before the append', async (t) => {
  const members = { name: 'many', type: 'multi_vector' as const, params: { dimension } }
  const engine = await openIn(t, await openDirectory(t))
  const database = engine.database()
  const collection = await database.createCollection({
    name: 'things',
    fields: [denseField(dimension), sparseField(), members],
  })
  const { lsn } = collection.describe()
  const wrong = [
    [{ dense: { recall: 1 } }, 'limit_exceeded', 'changes.dense.recall'],
    [{ dense: { recall: 0 } }, 'limit_exceeded', 'changes.dense.recall'],
    [{ dense: { recall: '0.9' } }, 'invalid_argument', 'changes.dense.recall'],
    [{ dense: { recall: Number.NaN } }, 'invalid_argument', 'changes.dense.recall'],
    [{ dense: { M: 8 } }, 'invalid_argument', 'changes.dense.M'],
    [{ dense: 0.9 }, 'invalid_argument', 'changes.dense'],
    [{ words: { recall: 0.9 } }, 'field_not_found', 'fields'],
    [{ many: { recall: 0.9 } }, 'field_not_found', 'fields'],
    [{ other: { recall: 0.9 } }, 'field_not_found', 'fields'],
    [[], 'invalid_argument', 'changes'],
    [null, 'invalid_argument', 'changes'],
    ['dense', 'invalid_argument', 'changes'],
  ] as const
  for (const [changes, code, field] of wrong)
    await t.rejects(collection.updateFields(changes as never), { code, details: { field } }, JSON.stringify(changes))
  for (const [type, recall, code] of [
    ['vector', 1, 'limit_exceeded'],
    ['vector', 'high', 'invalid_argument'],
    ['multi_vector', 0.9, 'invalid_argument'],
  ] as const)
    await t.rejects(
      database.createCollection({ name: 'new', fields: [{ name: 'v', type, params: { dimension, recall } } as never] }),
      { code, details: { field: 'fields[0].params.recall' } },
    )
  t.equal(collection.describe().lsn, lsn)
  await database.deleteCollection('things')
  await t.rejects(collection.updateFields({ dense: { recall: 0.9 } }), { code: 'collection_not_found' })
})
