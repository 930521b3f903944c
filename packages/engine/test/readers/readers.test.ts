import { type Collection, type Engine, openEngine, type SearchRequest } from '@annal/engine'
import { attachReader, type ReaderSearch } from '@annal/engine/reader'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { clusteredRows } from '../vector/world.ts'
import { type ReaderThread, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const dimension = 24
const late = Date.parse('2999-01-01T00:00:00Z')
const vectors = clusteredRows(3000, dimension, 5)

async function open(t: Test, readers = 2): Promise<Engine> {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers })
  t.teardown(() => engine.close())
  return engine
}

function create(
  engine: Engine,
  name: string,
  precision: 'float32' | 'int8' | 'float16' | 'binary',
  spaceType: 'cosine' | 'l2' | 'ip',
) {
  return engine.database().createCollection({
    name,
    fields: [{ name: 'dense', type: 'vector', params: { dimension, spaceType, precision } }],
  })
}

function rowOf(i: number): Float32Array {
  return vectors.slice(i * dimension, (i + 1) * dimension)
}

function objects(from: number, to: number, text = '') {
  return Array.from({ length: to - from }, (_, i) => ({
    id: `thing ${from + i} ä`,
    meta: { n: from + i, text },
    filter: { third: (from + i) % 3, rare: (from + i) % 500 },
    ...((from + i) % 4 === 1 && { expiresAt: late + from + i }),
    fields: { dense: rowOf(from + i) },
  }))
}

/** The same search by the owner and by a reader must have the same hits, bit for bit. */
async function compare(
  t: Test,
  reader: ReaderThread,
  collection: Collection,
  search: Omit<ReaderSearch, 'field'>,
): Promise<void> {
  const { query, limit, ef, filter, exact, scoreThreshold, boostPercentage, prefilterThreshold } = search
  const expected = await collection.search({
    fields: { dense: { query, limit, ef, ...(scoreThreshold !== undefined && { scoreThreshold }) } },
    ...{ filter, exact, filterBoostPercentage: boostPercentage, prefilterCardinalityThreshold: prefilterThreshold },
  })
  const found = await reader.here(collection.describe().name, { ...search, field: 'dense' })
  if (!found) throw new Error('the reader left the search to the owner')
  t.equal(found.lsn, expected.lsn)
  t.equal(found.complete, expected.complete)
  t.same(
    found.hits,
    expected.results.dense?.map(({ id, similarity, distance, norm, metaBytes, filterText, expiresAt }) => ({
      ...{ id, similarity, distance, norm },
      meta: Buffer.from(metaBytes).toString(),
      filter: filterText,
      expiresAt,
    })),
  )
}

test('a reader finds what the collection finds', async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const filters = [undefined, [], [{ third: { $eq: 1 } }], [{ rare: { $in: [3, 4] } }], [{ third: { $eq: 9 } }]]
  for (const [precision, spaceType] of [
    ['int8', 'cosine'],
    ['float32', 'l2'],
    ['float16', 'ip'],
  ] as const) {
    const collection = await create(engine, precision, precision, spaceType)
    // Empty, unsettled, compared, and walked.
    for (const [from, to] of [
      [0, 0],
      [0, 100],
      [100, 700],
      [700, 1700],
      [1700, 2700],
    ] as const) {
      await collection.upsert(objects(from, to))
      for (const filter of filters)
        for (const ef of [10, 100])
          for (const i of [0, 50, 2699])
            await compare(t, reader, collection, { query: rowOf(i), limit: 10, ef, ...(filter && { filter }) })
    }
    await collection.delete(objects(0, 200).map(({ id }) => id))
    await collection.upsert(objects(150, 160, 'written again'))
    await compare(t, reader, collection, { query: rowOf(155), limit: 100, ef: 200 })
    await compare(t, reader, collection, { query: rowOf(155), limit: 10, ef: 20, scoreThreshold: 0.5 })
    const filter = [{ third: { $eq: 1 } }]
    await compare(t, reader, collection, { query: rowOf(155), limit: 10, ef: 20, filter, boostPercentage: 50 })
    await compare(t, reader, collection, { query: rowOf(155), limit: 10, ef: 20, filter, prefilterThreshold: 1000 })
    await collection.updateFilters([{ id: 'thing 155 ä', filter: { third: 7 } }])
    await compare(t, reader, collection, { query: rowOf(155), limit: 3, ef: 20 })
    await compare(t, reader, collection, { query: rowOf(155), limit: 3, ef: 20, filter: [{ third: { $eq: 7 } }] })
    await collection.rebuild({ dense: { M: 8 } })
    await compare(t, reader, collection, { query: rowOf(155), limit: 30, ef: 60 })
    await collection.vacuum()
    await compare(t, reader, collection, { query: rowOf(155), limit: 30, ef: 60 })
  }
})

test('the search of a reader gives the same result as that of the collection', async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const collection = await engine.database().createCollection({
    name: 'things',
    fields: [
      { name: 'dense', type: 'vector', params: { dimension, spaceType: 'cosine', precision: 'int8' } },
      { name: 'words', type: 'sparse' },
    ],
  })
  await collection.upsert(
    objects(0, 500).map((object, i) => ({
      ...object,
      fields: { ...object.fields, words: { indices: [i % 7, 10 + (i % 11)], values: [1, 2] } },
    })),
  )
  const dense = { query: rowOf(3), limit: 5 }
  const words = { query: { indices: [3, 12], values: [1, 1] }, limit: 5 }
  const requests: SearchRequest[] = [
    { fields: { dense } },
    { fields: { dense: { query: { id: 'thing 7 ä' } } } },
    { fields: { dense }, includeVectors: true },
    { fields: { dense }, filter: [{ third: { $eq: 2 } }] },
    { fields: { dense }, exact: true },
    { fields: { dense }, rescore: true },
    { fields: { words } },
    { fields: { dense, words }, fusion: { method: 'rrf' } as never },
  ]
  for (const request of requests)
    t.same(
      await reader.do({ kind: 'search', collection: 'things', request }),
      JSON.parse(JSON.stringify(await collection.search(request as never))),
    )
  const ids = ['thing 3 ä', 'none', 'thing 4 ä']
  t.same(
    await reader.do({ kind: 'get', collection: 'things', ids }),
    JSON.parse(JSON.stringify(await collection.getMany(ids))),
  )
  for (const request of [
    { fields: { dense: { query: [1] } } },
    { fields: { none: dense } },
    { fields: { dense }, filter: [{ a: { $no: 1 } }] },
  ] as never[]) {
    const expected = await collection.search(request).then(
      () => undefined,
      (error) => error.code,
    )
    await t.rejects(reader.do({ kind: 'search', collection: 'things', request }), { code: expected })
  }
  await t.rejects(reader.do({ kind: 'search', collection: 'none', request: { fields: { dense } } }), {
    code: 'collection_not_found',
  })
})

test('a reader sees every collection as it is when the change is acknowledged', async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const exists = (collection: string) => reader.do({ kind: 'exists', collection })
  t.equal(await exists('a'), false)
  const a = await create(engine, 'a', 'int8', 'cosine')
  t.equal(await exists('a'), true)
  await a.upsert(objects(0, 300))
  await a.rebuild()
  await compare(t, reader, a, { query: rowOf(5), limit: 5, ef: 20 })
  const { lsn } = await a.delete(['thing 5 ä'])
  t.equal(await reader.do({ kind: 'wait', collection: 'a', lsn, timeoutMs: 0 }), true)
  t.equal(await reader.do({ kind: 'wait', collection: 'a', lsn: lsn + 1, timeoutMs: 1 }), false)
  const later = reader.do({ kind: 'wait', collection: 'a', lsn: lsn + 1, timeoutMs: 60_000 })
  await a.delete(['thing 6 ä'])
  t.equal(await later, true)
  await engine.database().deleteCollection('a')
  t.equal(await exists('a'), false)
  const again = await create(engine, 'a', 'float32', 'l2')
  await again.upsert(objects(0, 10))
  await compare(t, reader, again, { query: rowOf(5), limit: 5, ef: 20 })
  // A reader that attaches later finds the same.
  const second = await startReader(t, engine)
  await compare(t, second, again, { query: rowOf(5), limit: 5, ef: 20 })
})

test('a handle is for one reader, and free again after its thread', async (t) => {
  const none = await open(t, 0)
  t.throws(() => none.readerHandle(), { code: 'limit_exceeded' })
  const engine = await open(t, 1)
  const first = await startReader(t, engine)
  t.throws(() => engine.readerHandle(), { code: 'limit_exceeded', details: { limit: 1 } })
  const collection = await create(engine, 'things', 'int8', 'cosine')
  await collection.upsert(objects(0, 50))
  await first.worker.terminate()
  for (;;) {
    try {
      const second = await startReader(t, engine)
      await compare(t, second, collection, { query: rowOf(5), limit: 5, ef: 20 })
      break
    } catch (error) {
      // The port reports the end of the thread in a later turn.
      if ((error as { code?: string }).code !== 'limit_exceeded') throw error
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})

test('a reader of a closed engine refuses', async (t) => {
  const engine = await open(t)
  const reader = await startReader(t, engine)
  const unused = engine.readerHandle()
  await create(engine, 'things', 'int8', 'cosine')
  await engine.close()
  const request = { fields: { dense: { query: rowOf(0) } } }
  await t.rejects(reader.do({ kind: 'search', collection: 'things', request }), { code: 'closed' })
  t.equal(await reader.do({ kind: 'exists', collection: 'things' }), false)
  const { attachReader } = await import('@annal/engine/reader')
  await t.rejects(attachReader(unused), { code: 'closed' })
  await t.rejects(attachReader({ ...unused, protocol: 99 }), { code: 'version_mismatch', details: { value: 99 } })
  await t.rejects(attachReader({} as never), { code: 'invalid_argument' })
  t.throws(() => engine.readerHandle(), { code: 'closed' })
})

test('the number of readers is checked', async (t) => {
  for (const readers of [-1, 65, 1.5])
    await t.rejects(openEngine({ dataDir: await openDirectory(t), readers }), {
      code: 'invalid_argument',
      details: { field: 'readers' },
    })
})

test('a reader knows whether graph threads have a job', async (t) => {
  const engine = await open(t, 1)
  const collection = await create(engine, 'things', 'float32', 'l2')
  const reader = await attachReader(engine.readerHandle())
  t.teardown(() => reader.close())
  t.equal(reader.isBuilding, false)
  let isStored = false
  const storing = collection.upsert(objects(0, 1000)).finally(() => {
    isStored = true
  })
  let seen = 0
  while (!isStored) {
    if (reader.isBuilding) seen++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await storing
  t.ok(seen > 0, 'while the objects of an upsert are linked')
  t.equal(reader.isBuilding, false, 'not after it')
})
