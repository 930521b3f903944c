// What every transport must do: the same calls give the same results over HTTP and on an embedded engine.
import type { Test } from 'tap'
import {
  AnnalError,
  and,
  type Change,
  type ChangesRequest,
  type Client,
  type DiffRequest,
  defineCollection,
  denseField,
  eq,
  exists,
  gte,
  lt,
  multiVectorField,
  ne,
  noneOf,
  not,
  type ObjectInput,
  oneOf,
  or,
  range,
  type SpaceType,
  sparseField,
  textField,
} from '../src/index.ts'

async function code(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason) => reason,
  )
  if (error instanceof AnnalError) return error.code
  throw error
}

function close(found: ArrayLike<number> | undefined, wanted: readonly number[], step: number): boolean {
  return (
    wanted.length === found?.length && wanted.every((value, i) => Math.abs(value - (found[i] ?? Number.NaN)) <= step)
  )
}

export async function indexSuite(t: Test, client: Client): Promise<void> {
  await t.test('an index is created, listed, described and deleted', async (t) => {
    await client.createIndex({ name: 'short_lived', dimension: 8, spaceType: 'ip', precision: 'float32', m: 8 })
    const described = { name: 'short_lived', dimension: 8, spaceType: 'ip', precision: 'float32', m: 8, count: 0 }
    t.match(await client.listIndexes(), [{ ...described, hybrid: false }])
    t.match(await client.index('short_lived').describe(), { ...described, efConstruction: 128, sparseDimension: 0 })
    t.equal(await code(client.createIndex({ name: 'short_lived', dimension: 8 })), 'collection_exists')
    await client.deleteIndex('short_lived')
    t.same(await client.listIndexes(), [])
    t.equal(await code(client.index('short_lived').describe()), 'collection_not_found')
  })

  for (const spaceType of ['cosine', 'l2', 'ip'] satisfies SpaceType[]) {
    await t.test(`vectors of a ${spaceType} index are returned unchanged`, async (t) => {
      const index = await client.createIndex({ name: `films_${spaceType}`, dimension: 3, spaceType })
      await index.upsert([
        { id: 'alien', vector: [3, 0, 4], meta: { title: 'Alien' }, filter: { year: 1979, genre: 'horror' } },
        { id: 'é/ü', vector: Float32Array.of(0, 2, 0), meta: Uint8Array.of(1, 2, 3) },
      ])
      const stored = await index.get('alien')
      t.match(stored, { id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979, genre: 'horror' } })
      t.strictSame(stored?.vector, Float32Array.of(3, 0, 4))
      t.equal(stored?.norm, 5)
      t.match((await index.get('é/ü'))?.meta, Uint8Array.of(1, 2, 3))
      t.equal(await index.get('nobody'), undefined)

      const [best, second] = await index.query({ vector: [6, 0, 8], topK: 2, includeVectors: true })
      t.match(best, { id: 'alien', meta: { title: 'Alien' } })
      t.strictSame(best?.vector, Float32Array.of(3, 0, 4))
      const exact = { cosine: [1, 0], l2: [-25, -104], ip: [50, 0] }[spaceType]
      t.ok(close([best?.similarity ?? 0, second?.similarity ?? 0], exact, 1.5), `similarities of ${spaceType}`)
      const fromSimilarity = (similarity: number) => (spaceType === 'cosine' ? 1 - similarity : -similarity)
      t.equal(best?.distance, fromSimilarity(best?.similarity ?? 0))
    })
  }

  await t.test('filters select, are updated, and delete', async (t) => {
    const index = await client.createIndex({ name: 'numbers', dimension: 2, spaceType: 'l2' })
    await index.upsert(
      Array.from({ length: 100 }, (_, i) => ({
        id: `n${i}`,
        vector: [i, 1],
        filter: { parity: i % 2 === 0 ? 'even' : 'odd', value: i },
      })),
    )
    const even = await index.query({ vector: [50, 1], topK: 3, filter: [{ parity: { $eq: 'even' } }] })
    t.same(even.map(({ id }) => id).sort(), ['n48', 'n50', 'n52'])
    const range = await index.query({ vector: [0, 1], topK: 10, filter: [{ value: { $range: [10, 12] } }] })
    t.same(range.map(({ id }) => id).sort(), ['n10', 'n11', 'n12'])
    t.equal(
      await index.updateFilters([
        { id: 'n10', filter: { parity: 'none' } },
        { id: 'nobody', filter: {} },
      ]),
      1,
    )
    t.same((await index.get('n10'))?.filter, { parity: 'none' })
    t.equal(await index.deleteWhere([{ parity: { $in: ['odd', 'none'] } }]), 51)
    t.equal(await index.deleteWhere([]), 0)
    t.equal(await index.delete('n50'), true)
    t.equal(await index.delete('n50'), false)
    t.equal((await index.describe()).count, 48)
  })

  await t.test('a hybrid index stores and returns sparse terms', async (t) => {
    const index = await client.createIndex({
      name: 'hybrid',
      dimension: 2,
      spaceType: 'cosine',
      sparseDimension: 1_000,
    })
    await index.upsert([{ id: 'a', vector: [1, 0], sparse: { indices: [7, 900], values: [0.5, 2] } }])
    t.match(await index.describe(), { hybrid: true, sparseDimension: 1_000 })
    t.match((await index.get('a'))?.sparse, { indices: Uint32Array.of(7, 900), values: Float32Array.of(0.5, 2) })
  })
}

function* numbers(count: number): Generator<ObjectInput> {
  for (let i = 0; i < count; i += 1) {
    const filter = { parity: i % 2 === 0 ? 'even' : 'odd', value: i, tags: i % 10 === 0 ? ['round', 'ten'] : ['odd'] }
    yield {
      id: `n${i}`,
      meta: { i },
      filter,
      fields: { place: [i, 1], words: { indices: [i, 1_000], values: [1, 0.5] } },
    }
  }
}

export async function collectionSuite(t: Test, client: Client): Promise<void> {
  await t.test('texts are written, searched, highlighted, and returned', async (t) => {
    const notes = await client.createCollection({
      name: 'notes',
      fields: [textField('body', { language: 'en', stopWords: ['the'], k1: 1 }), denseField('v', { dimension: 2 })],
    })
    const [body] = (await notes.describe()).fields
    t.strictSame(body, {
      name: 'body',
      type: 'text',
      params: { language: 'english', analyzer: 1, k1: 1, b: 0.75, stopWords: ['the'] },
      count: 0,
    })
    const texts = { a: 'The quick brown fox', b: 'Slow foxes, the lazy ones', c: 'A dog' }
    await notes.upsert(
      Object.entries(texts).map(([id, text], i) => ({ id, fields: { body: text, v: [1, i] }, ifAbsent: true })),
    )
    const [stored] = await notes.getMany(['b'])
    t.strictSame(stored?.text, { body: texts.b })
    const ids = async (query: Parameters<typeof notes.search>[0]['fields']['body']) => {
      const { results } = await notes.search({ fields: { body: query as { query: string } } })
      return results.body?.map(({ id }) => id)
    }
    t.strictSame(await ids({ query: 'fox' }), ['a', 'b'])
    t.strictSame(await ids({ query: 'fox lazy', operator: 'and' }), ['b'])
    t.strictSame(await ids({ query: { must: ['fox'], mustNot: [{ prefix: 'slo' }] } }), ['a'])
    t.strictSame(await ids({ query: { must: [{ phrase: 'lazy ones' }] } }), ['b'])
    t.strictSame(await ids({ query: { id: 'a' } }), ['b'])
    const shown = await notes.search({ fields: { body: { query: 'dog', highlight: true } } })
    t.strictSame(shown.results.body?.[0]?.highlight, { fragment: 'A dog', start: 0, ranges: [[2, 5]] })
    const batch = await notes.searchBatch([{ fields: { body: { query: 'dog' } } }])
    t.strictSame(
      batch[0]?.results.body?.map(({ id }) => id),
      ['c'],
    )
    const fused = await notes.search({
      fields: { v: { query: [1, 2] }, body: { query: 'dog', highlight: true } },
      fusion: { method: 'rrf' },
    })
    const [, place] = fused.fused?.find(({ hit }) => hit.id === 'c')?.standings ?? []
    t.strictSame(place?.highlight, { fragment: 'A dog', start: 0, ranges: [[2, 5]] })
    const match = { body: { query: { must: ['fox'], mustNot: [{ prefix: 'slo' }] } } }
    t.equal(await notes.count({ match }), 1)
    t.equal(await notes.count({ match: { body: { query: 'fox dog' } }, filter: [{ n: { $exists: false } }] }), 3)
    t.equal(await notes.count({ match: { body: { query: 'fox lazy', operator: 'and' } } }), 1)
    t.equal(await code(notes.count({ match: { v: { query: 'fox' } } })), 'invalid_argument')
    const { distinct } = await notes.facets({ key: 'n', match })
    t.equal(distinct, 0)
    const matching = []
    for await (const { id } of notes.objects({ match, limit: 1 })) matching.push(id)
    t.strictSame(matching, ['a'])
    const page = await notes.scroll({ includeVectors: true })
    t.strictSame(Object.fromEntries(page.objects.map(({ id, text }) => [id, text.body])), texts)
    const texted = await notes.scroll({ includeVectors: false, includeTexts: true, limit: 1 })
    t.strictSame(
      texted.objects.map(({ id, dense, text }) => ({ id, dense, text })),
      [{ id: 'a', dense: {}, text: { body: texts.a } }],
    )
    const [got] = await notes.getMany(['a'], { includeVectors: false, includeTexts: true })
    t.strictSame([got?.dense, got?.text], [{}, { body: texts.a }])
    const quoted = await notes.search({
      fields: { body: { query: 'fox' }, v: { query: [1, 0] } },
      includeTexts: true,
      fusion: { method: 'rrf' },
    })
    const hits = [...quoted.results.body, ...quoted.results.v, ...(quoted.fused ?? []).map(({ hit }) => hit)]
    t.ok(hits.length >= 3)
    for (const hit of hits) t.strictSame(hit.texts, { body: texts[hit.id as keyof typeof texts] })
    const bare = await notes.get('a', { includeVectors: false })
    t.strictSame([bare?.dense, bare?.text], [{}, {}])
    const vectors = await notes.get('a', { includeTexts: false })
    t.strictSame([vectors?.dense, vectors?.text], [(await notes.get('a'))?.dense, {}])
    t.equal(await code(notes.get('a', { includeTexts: 'no' as unknown as boolean })), 'invalid_argument')
    t.equal(await code(notes.upsert([{ id: 'x', fields: { body: 7 as unknown as string } }])), 'invalid_argument')
    t.equal(await code(notes.search({ fields: { body: { query: { must: [] } } } })), 'invalid_argument')
    await client.deleteCollection('notes')
  })

  await t.test('a collection is created, listed, described and deleted', async (t) => {
    const fields = [
      denseField('title', { dimension: 4, spaceType: 'l2', precision: 'float32', m: 8, efConstruction: 64 }),
      sparseField('terms', { dimension: 5_000 }),
    ]
    const films = await client.createCollection({ name: 'films', fields })
    const described = await films.describe()
    t.match(described, { name: 'films', count: 0, condition: 'ready' })
    const params = {
      dimension: 4,
      spaceType: 'l2',
      precision: 'float32',
      M: 8,
      efConstruction: 64,
      keepOriginals: true,
    }
    t.strictSame(
      JSON.parse(JSON.stringify(described.fields)),
      [
        { name: 'title', type: 'vector', params, count: 0 },
        { name: 'terms', type: 'sparse', params: { model: 'default', dimension: 5_000 }, count: 0 },
      ],
      'names are camelCase',
    )
    t.match(
      described.fields,
      [{ params: { space_type: 'l2', ef_con: 64, keep_originals: true } }, { model: 'default', dimension: 5_000 }],
      'earlier names can still be read',
    )
    t.ok(Math.abs(described.createdAt.getTime() - Date.now()) < 600_000)
    t.ok((await client.listCollections()).some(({ name }) => name === 'films'))
    t.equal(await code(client.createCollection({ name: 'films', fields })), 'collection_exists')
    await client.deleteCollection('films')
    t.equal(await code(films.describe()), 'collection_not_found')
    t.equal(await code(films.search({ fields: { title: { query: [1, 2, 3, 4] } } })), 'collection_not_found')
    // Earlier names, which are those of the specification.
    const earlier = { dimension: 4, space_type: 'ip', precision: 'int16', ef_con: 99, keep_originals: false } as const
    const terms = { name: 'terms', type: 'sparse', sparse_model: 'endee_bm25' } as const
    const old = await client.createCollection({
      name: 'old',
      fields: [{ name: 'embedding', type: 'vector', params: earlier }, terms],
    })
    t.match((await old.describe()).fields, [
      { params: { spaceType: 'ip', precision: 'int16', efConstruction: 99, keepOriginals: false } },
      { params: { model: 'endee_bm25' } },
    ])
    await client.deleteCollection('old')
    await client.createCollection({
      name: 'plain',
      fields: [{ name: 'embedding', type: 'vector', params: { dimension: 4 } }],
    })
    // A collection with one dense field of any name is also an index.
    const plain = client.index('plain')
    await plain.upsert([{ id: 'one', vector: [1, 0, 0, 0], meta: { n: 1 } }])
    t.match(await plain.query({ vector: [1, 0, 0, 0], topK: 1 }), [{ id: 'one', meta: { n: 1 } }])
    t.equal((await plain.get('one'))?.vector.length, 4)
    await client.deleteCollection('plain')
  })

  const collection = await client.createCollection({
    name: 'counted',
    fields: [denseField('place', { dimension: 2, spaceType: 'l2', precision: 'float32' }), sparseField('words')],
  })

  await t.test('a definition reaches the fields with all its options, and errors name them', async (t) => {
    const definition = defineCollection({
      name: 'typed',
      fields: [
        {
          name: 'plot',
          type: 'vector',
          params: { dimension: 3, spaceType: 'ip', precision: 'int16', M: 9, efConstruction: 77, keepOriginals: false },
        },
        { name: 'frames', type: 'multi_vector', params: { dimension: 2, spaceType: 'l2', pooling: 'max' } },
        { name: 'words', type: 'sparse', params: { model: 'endee_bm25', dimension: 700 } },
      ],
    })
    const films = (await client.createCollection(definition)).withMetadata<{ title: string } | undefined>()
    t.match((await films.describe()).fields, [
      { params: { spaceType: 'ip', precision: 'int16', M: 9, efConstruction: 77, keepOriginals: false } },
      { params: { spaceType: 'l2', pooling: 'max' } },
      { params: { model: 'endee_bm25', dimension: 700 } },
    ])
    async function* source() {
      yield { id: 'alien', meta: { title: 'Alien' }, fields: { plot: [1, 0, 0], frames: [[1, 2]], words: undefined } }
      yield { id: 'solaris', filter: '{"year":1972}', fields: { plot: [0, 1, 0] } }
    }
    t.match(await films.upsert(source()), { upserted: 2, durable: true })
    t.match(await films.upsert([]), { upserted: 0 })
    const same = client.collection(definition).withMetadata<{ title: string } | undefined>()
    const { results, fused, explain } = await same.search({
      fields: { plot: { query: [1, 0.1, 0] }, frames: { query: [[1, 2]] } },
      includeVectors: true,
      fusion: { method: 'rrf', weights: { frames: 2 } },
      explain: true,
    })
    t.same(
      results.plot.map(({ id, meta }) => [id, meta?.title]),
      [
        ['alien', 'Alien'],
        ['solaris', undefined],
      ],
      'no metadata is undefined',
    )
    t.equal(results.plot[1]?.metaBytes, undefined)
    t.strictSame(results.frames[0]?.members, [{ vector: Float32Array.of(1, 2), norm: Math.sqrt(5) }])
    t.strictSame(results.frames[0]?.vectors, [Float32Array.of(1, 2)], 'the earlier name')
    t.equal(results.frames[0]?.vector, undefined)
    t.match(fused?.[0], { hit: { id: 'alien', meta: { title: 'Alien' } } })
    t.same(
      fused?.[0]?.standings.map(({ field, rank }) => [field, rank]),
      [
        ['plot', 1],
        ['frames', 1],
      ],
    )
    t.equal(explain?.fields.plot.plan, 'scan')
    t.ok((explain?.totalMs ?? -1) >= 0 && (explain?.decorateMs ?? -1) >= 0 && (explain?.fuseMs ?? -1) >= 0)
    t.equal(explain?.filter, undefined)
    const counted = await same.search({
      fields: { plot: { query: { id: 'alien' } } },
      filter: [{ year: { $eq: 1972 } }],
      explain: true,
    })
    t.match(counted.explain?.filter, { matches: 1 })
    t.strictSame((await same.get('alien'))?.multi.frames, [{ vector: Float32Array.of(1, 2), norm: Math.sqrt(5) }])
    t.same(await same.neighbors('plot', 'alien'), ['solaris'])
    t.equal(await code(same.neighbors('plot', 'nobody')), 'object_not_found')
    const page = await same.scroll({ includeVectors: false, limit: 1 })
    t.strictSame(
      page.objects.map(({ id, dense }) => [id, dense]),
      [['alien', {}]],
      'a page without vectors',
    )
    const { lsn } = await same.describe()
    const count = await same.count()
    const found = (await same.search({ fields: { plot: { query: { id: 'alien' } } }, exact: true })).results
    await same.deleteWhere([{ year: { $gte: 0 } }])
    const asOf = { lsn }
    t.equal(await same.count([], { asOf }), count, 'a moment of the past')
    t.ok((await same.count()) < count)
    const past = await same.search({ fields: { plot: { query: { id: 'alien' } } }, exact: true, asOf })
    t.same(past.results, found)
    t.equal(past.asOf?.lsn, lsn)
    t.equal((await same.get('alien', { asOf }))?.id, 'alien')
    const ids: string[] = []
    for await (const { id } of same.objects({ limit: 1, asOf })) ids.push(id)
    t.equal(ids.length, count)
    t.match(await same.facets({ key: 'year', asOf }), { asOf })
    t.match(await same.recall({ field: 'plot' }, { asOf }), { asOf })
    t.equal(await code(same.count([], { asOf: { lsn: 1e9 } })), 'invalid_argument')
    await client.deleteCollection('typed')
    t.equal(await same.count([], { asOf }), count, 'a deleted collection')
  })

  await t.test('objects are loaded from a stream and returned unchanged', async (t) => {
    const reports: number[] = []
    const done = await collection.load(numbers(250), {
      batchSize: 40,
      onProgress: ({ stored }) => reports.push(stored),
    })
    t.strictSame(done, { stored: 250, batches: 7, through: 250 })
    t.equal(reports.length, 7)
    const [first, second, ...more] = await collection.getMany(['n7', 'nobody', 'n100'])
    t.same(more, [])
    t.equal(second?.id, 'n100')
    t.match(first, { id: 'n7', meta: { i: 7 }, filter: { parity: 'odd', value: 7, tags: ['odd'] } })
    t.strictSame(first?.dense.place?.vector, Float32Array.of(7, 1))
    t.strictSame(first?.sparse.words, { indices: Uint32Array.of(7, 1_000), values: Float32Array.of(1, 0.5) })
    t.equal(await collection.get('nobody'), undefined)
    const bytes = Uint8Array.of(1, 2, 250)
    const { lsn, durable } = await collection.upsert([{ id: 'bytes', meta: bytes, fields: { place: [-1, -1] } }])
    t.ok(lsn > 0 && durable)
    t.strictSame((await collection.get('bytes'))?.metaBytes, bytes)
    t.match(await collection.get('bytes'), { meta: undefined, filter: {} })
    t.equal(await collection.delete('bytes'), true)
    t.equal(await collection.delete('bytes'), false)
  })

  await t.test('fields are searched alone, together, and with fusion', async (t) => {
    const dense = await collection.search({ fields: { place: { query: [100, 1], limit: 3 } }, includeVectors: true })
    t.same(dense.results.place?.map(({ id }) => id).sort(), ['n100', 'n101', 'n99'])
    t.match(dense.results.place?.[0], { id: 'n100', similarity: 0, meta: { i: 100 }, filter: { value: 100 } })
    t.equal(Math.abs(dense.results.place?.[0]?.distance ?? 1), 0)
    t.strictSame(dense.results.place?.[0]?.vector, Float32Array.of(100, 1))
    t.equal(dense.complete, true)
    const both = await collection.search({
      fields: {
        place: { query: new Float64Array([50, 1]), limit: 5, ef: 64 },
        words: { query: { indices: [50], values: [2] }, limit: 5 },
      },
      fusion: { method: 'rrf', k: 60, weights: { place: 1, words: 0.5 }, limit: 4 },
      explain: true,
    })
    t.equal(both.results.words?.[0]?.id, 'n50')
    t.equal(both.fused?.length, 4)
    t.match(both.fused?.[0], { id: 'n50', meta: { i: 50 }, fields: { place: { rank: 1 }, words: { rank: 1 } } })
    t.ok(close([both.fused?.[0]?.score ?? 0], [1.5 / 61], 1e-6))
    t.ok(both.explain)
    const like = await collection.search({ fields: { place: { query: { id: 'n10' }, limit: 2 } } })
    t.same(like.results.place?.map(({ id }) => id).sort(), ['n11', 'n9'])
    const near = await collection.search({ fields: { place: { query: [0, 1], scoreThreshold: -2 } } })
    t.same(
      near.results.place?.map(({ id }) => id),
      ['n0', 'n1'],
    )
    const [one, two] = await collection.searchBatch([
      { fields: { place: { query: [1, 1], limit: 1 } } },
      { fields: { place: { query: [2, 1], limit: 1 } } },
    ])
    t.same([one?.results.place?.[0]?.id, two?.results.place?.[0]?.id], ['n1', 'n2'])
  })

  await t.test('hits are grouped, also those of a fused list, and later pages follow', async (t) => {
    const groupBy = { key: 'parity', limit: 2, hits: 2 }
    const found = await collection.search({ fields: { place: { query: [100, 1] } }, groupBy, explain: true })
    t.same(
      found.groups?.place?.map(({ value, hits }) => [value, hits.map(({ id }) => id)]),
      [
        ['even', ['n100', 'n98']],
        ['odd', ['n99', 'n101']],
      ],
    )
    t.same(
      found.results.place?.map(({ id }) => id),
      ['n100', 'n99', 'n101', 'n98'],
    )
    t.equal(found.groups?.place?.[0]?.hits[0], found.results.place?.[0], 'one object')
    t.equal(found.explain?.fields.place?.searches, 1)
    const fields = {
      place: { query: [50, 1] },
      words: { query: { indices: [50], values: [2] } },
    }
    const fused = await collection.search({ fields, fusion: { method: 'rrf' }, groupBy: { ...groupBy, offset: 1 } })
    t.match(fused.fusedGroups, [{ value: 'odd', hits: [{ hit: { meta: { i: 49 } } }, { hit: { meta: { i: 51 } } }] }])
    t.same(fused.fusedGroups?.[0]?.hits, fused.fused)
    t.equal(fused.fusedGroups?.length, 1)
    const [batched] = await collection.searchBatch([
      { fields: { place: { query: [7, 1] } }, groupBy: { key: 'value' } },
    ])
    t.same(
      batched?.groups?.place?.slice(0, 2).map(({ value }) => value),
      [7, 6],
    )
    t.equal(batched?.groups?.place?.length, 10)
    const refused = { fields: { place: { query: [0, 1] } }, groupBy: { key: 'parity', hits: 101 } }
    t.match(await collection.search(refused).catch((error: unknown) => error), { field: 'group_by.hits' })
  })

  await t.test('every kind of condition counts correctly, written by hand or built by a function', async (t) => {
    const counts: readonly [Parameters<typeof collection.count>[0], number][] = [
      [undefined, 250],
      [[eq('parity', 'even')], 125],
      [[{ parity: { $eq: 'even' } }], 125],
      [[ne('parity', 'even')], 125],
      [[oneOf('value', [1, 2, 999])], 2],
      [[noneOf('value', [1, 2, 999])], 248],
      [[range('value', 10, 19)], 10],
      [[gte('value', 240), lt('value', 245)], 5],
      [[exists('value')], 250],
      [[exists('value', false)], 0],
      [[eq('tags', 'round')], 25],
      [[or(eq('value', 1), and(eq('parity', 'even'), lt('value', 4)))], 3],
      [[not(or(eq('parity', 'even'), gte('value', 10)))], 5],
    ]
    for (const [filter, wanted] of counts) t.equal(await collection.count(filter), wanted, JSON.stringify(filter))
    const found = await collection.search({
      fields: { place: { query: [100, 1], limit: 3 } },
      filter: [eq('tags', 'round')],
      prefilterCardinalityThreshold: 1_000,
      filterBoostPercentage: 20,
    })
    t.same(found.results.place?.map(({ id }) => id).sort(), ['n100', 'n110', 'n90'])
    t.match(await collection.facets({ key: 'parity', filter: [lt('value', 3)] }), {
      values: [
        { value: 'even', count: 2 },
        { value: 'odd', count: 1 },
      ],
      distinct: 2,
    })
    t.equal(await code(collection.count([{ value: { $between: [1, 2] } } as never])), 'invalid_filter')
  })

  await t.test('all objects are returned once, page by page', async (t) => {
    const ids: string[] = []
    for await (const { id } of collection.objects({ filter: [eq('parity', 'odd')], limit: 30 })) ids.push(id)
    t.equal(new Set(ids).size, 125)
    t.equal(ids.length, 125)
    const page = await collection.scroll({ limit: 249 })
    t.equal(page.objects.length, 249)
    t.equal((await collection.scroll({ cursor: page.cursor })).objects.length, 1)
  })

  await t.test('filters are updated, and objects deleted by filter', async (t) => {
    const updates = [
      { id: 'n3', filter: { parity: 'three' } },
      { id: 'nobody', filter: {} },
    ]
    t.equal(await collection.updateFilters(updates), 1)
    t.same((await collection.get('n3'))?.filter, { parity: 'three' })
    t.equal(await collection.deleteWhere([]), 0)
    t.equal(await collection.deleteWhere([eq('parity', 'three')]), 1)
    t.equal(await collection.count(), 249)
  })

  await t.test('the graph is rebuilt, measured and vacuumed', async (t) => {
    const rebuilt = async () => {
      while ((await collection.rebuildStatus()).status === 'in_progress')
        await new Promise((done) => setTimeout(done, 20))
    }
    t.equal((await collection.rebuildStatus()).status, 'idle')
    await collection.rebuild([{ field: 'place', m: 20 }])
    await rebuilt()
    t.match((await collection.describe()).fields[0], { params: { M: 20 } }, 'the earlier form')
    await collection.rebuild({ place: { M: 24 } })
    await rebuilt()
    t.match(await collection.rebuildStatus(), { status: 'completed', objects: 249, objectsDone: 249 })
    t.match((await collection.describe()).fields[0], { params: { M: 24 } })
    t.equal((await collection.recall({ field: 'place', sample: 20 })).recall, 1)
    const calibration = await collection.calibrate({ field: 'place', sample: 20 })
    t.match(calibration, { field: 'place', limit: 10, state: 'current', rows: 249, measuredAt: Number, tookMs: Number })
    t.match(await collection.calibrations(), [{ field: 'place', curves: [{ share: 1 }] }])
    const stated = await collection.search({ fields: { place: { query: [1, 2], recall: 0.9 } } })
    t.match(stated.recall, { place: { target: 0.9, calibrated: true, reachable: true } })
    const { lsn } = await collection.updateFields({ place: { recall: 0.95 } })
    t.equal((await collection.getMany(['p1'], { minLsn: lsn })).length <= 1, true)
    await collection.search({ fields: { place: { query: [1, 2] } }, minLsn: lsn })
    const byDefault = await collection.search({ fields: { place: { query: [1, 2] } } })
    t.match(byDefault.recall, { place: { target: 0.95 } })
    const [described] = (await collection.describe()).fields
    t.equal(described?.type === 'vector' ? described.params.recall : undefined, 0.95)
    await collection.updateFields({ place: { recall: null } })
    t.equal((await collection.search({ fields: { place: { query: [1, 2] } } })).recall, undefined)
    t.ok((await collection.vacuum()) >= 0)
    t.ok((await collection.shrink()) >= 0, 'the deprecated name still works')
  })

  await t.test('objects expire', async (t) => {
    const fields = [{ name: 'v', type: 'vector', params: { dimension: 2 } }] as const
    const sessions = await client.createCollection({ name: 'sessions', fields, ttlSeconds: 3_600 })
    t.equal((await sessions.describe()).ttlSeconds, 3_600)
    const late = Date.parse('2999-01-01T00:00:00Z')
    await sessions.upsert([
      { id: 'a', fields: { v: [1, 2] }, expiresAt: '2020-01-01T00:00:00Z' },
      { id: 'b', fields: { v: [1, 3] }, expiresAt: late, filter: { n: 1 } },
      { id: 'c', fields: { v: [1, 4] }, expiresAt: null },
      { id: 'd', fields: { v: [1, 5] } },
    ])
    t.equal(await sessions.count(), 3)
    t.equal(await sessions.get('a'), undefined)
    t.match(await sessions.get('b'), { expiresAt: late, filter: { n: 1 } })
    t.equal((await sessions.get('c'))?.expiresAt, undefined)
    const { results } = await sessions.search({ fields: { v: { query: [1, 3], limit: 9 } } })
    t.strictSame(
      results.v
        .filter(({ id }) => id !== 'd')
        .map(({ id, expiresAt }) => [id, expiresAt])
        .sort(),
      [
        ['b', late],
        ['c', undefined],
      ],
    )
    t.ok(((await sessions.get('d'))?.expiresAt ?? 0) > Date.now())
    await sessions.patch([{ id: 'c', ttlSeconds: 60 }])
    t.ok(((await sessions.get('c'))?.expiresAt ?? 0) > Date.now())
    const { lsn } = await sessions.updateDefaults({ ttlSeconds: null })
    t.ok(lsn > 0)
    t.equal((await sessions.describe()).ttlSeconds, undefined)
    const cleared = await sessions.clone('cleared', { keepExpired: true })
    const branched = await sessions.branch('branched', undefined, { keepExpired: true })
    const kept = await sessions.clone('kept')
    t.strictSame(await Promise.all([cleared.count(), branched.count(), kept.count()]), [4, 4, 3])
    for (const name of ['cleared', 'branched', 'kept']) await client.deleteCollection(name)
    const whole = { lsn, keepExpired: true }
    t.strictSame(
      await Promise.all([sessions.count([], { asOf: { lsn } }), sessions.count([], { asOf: whole })]),
      [3, 4],
    )
    await t.rejects(sessions.upsert([{ id: 'e', fields: { v: [1, 2] }, ttlSeconds: 0 }]), { code: 'limit_exceeded' })
    const undo = { ids: ['a', 'b'], asOf: { lsn }, keepExpired: true }
    t.match(await sessions.undo({ ...undo, dryRun: true }), { restored: 2, deleted: 0 })
    t.match(await sessions.undo({ ...undo, keepExpired: false }), { restored: 0, deleted: 0 })
    t.match(await sessions.undo(undo), { restored: 2, deleted: 0, asOfLsn: lsn })
    t.strictSame(await Promise.all(['a', 'b'].map(async (id) => (await sessions.get(id))?.expiresAt)), [
      undefined,
      undefined,
    ])
    t.equal(await sessions.count(), 4)
    await client.deleteCollection('sessions')
  })

  await t.test('several vectors of one object are stored, found and returned', async (t) => {
    const lines = multiVectorField('lines', { dimension: 2, precision: 'float32', pooling: 'mean' })
    const pages = await client.createCollection({ name: 'pages', fields: [lines] })
    await pages.upsert([
      { id: 'a', fields: { lines: [[1, 0], Float32Array.of(0, 1)] } },
      { id: 'b', fields: { lines: [[-1, 0]] } },
    ])
    t.match((await pages.describe()).fields, [{ type: 'multi_vector', params: { pooling: 'mean' }, count: 2 }])
    t.strictSame((await pages.get('a'))?.multi.lines, [
      { vector: Float32Array.of(1, 0), norm: 1 },
      { vector: Float32Array.of(0, 1), norm: 1 },
    ])
    const { results } = await pages.search({ fields: { lines: { query: [[1, 0.1]] } }, includeVectors: true })
    t.equal(results.lines?.[0]?.id, 'a')
    t.equal(results.lines[0]?.members?.length, 2)
    await client.deleteCollection('pages')
  })

  await t.test('an alias is switched, and a branch is promoted', async (t) => {
    await client.aliases.put('alias', 'counted')
    const followed = client.collection('alias')
    t.equal(await followed.count(), 249)
    const trial = await collection.branch('trial')
    await trial.delete('0')
    const before = await trial.count()
    await client.aliases.put('alias', 'trial')
    t.equal(await followed.count(), before)
    t.match(await client.aliases.list(), [{ name: 'alias', collection: 'trial', changedAt: Date }])
    await t.rejects(client.deleteCollection('trial'), { code: 'collection_has_aliases' })
    const live = await trial.promote({ over: 'counted', keepAs: 'kept' })
    t.equal(live.name, 'counted')
    t.equal(await live.count(), before)
    t.match(await live.branches(), [
      { name: 'kept', objects: 249 },
      { name: 'counted', parentLsn: Number, createdAt: Date },
    ])
    await client.collection('kept').promote({ over: 'counted', keepAs: 'trial' })
    t.equal(await collection.count(), 249)
    t.match(
      await client.aliases.list(),
      [{ name: 'alias', collection: 'counted' }],
      'an alias of the replaced one is moved',
    )
    await client.aliases.delete('alias')
    await client.deleteCollection('trial')
  })

  await t.test('a collection is cloned, backed up, restored, downloaded and uploaded', async (t) => {
    const copy = await collection.clone('copy')
    t.equal(await copy.count(), 249)
    await client.deleteCollection('copy')

    await collection.upsert([{ id: 'late', fields: { place: [7, 7] } }])
    const name = await collection.createBackup('first')
    t.equal(name, 'first')
    const made = await client.backups.completed(name)
    t.match(made, { name, original: 'counted', objects: 250, fields: [{ name: 'place', kind: 'dense', count: 250 }] })
    t.ok(made.logTime.getTime() <= Date.now() && made.logTime.getTime() > 0)
    t.equal((await client.backups.status()).status, 'completed')
    t.same(
      (await client.backups.list()).map((backup) => backup.name),
      ['first'],
    )
    t.same(await client.backups.verify(name, { deep: true }), [])
    t.equal(await code(collection.createBackup('first')), 'backup_exists')

    await client.backups.restore(name, { target: 'again' })
    t.equal(await client.collection('again').count(), 250)
    t.match(await client.backups.restoreStatus(), { status: 'completed', name, collection: 'again' })
    t.equal(await code(client.backups.restore(name, { target: 'again' })), 'collection_exists')
    const future = new Date(Date.now() + 1e9)
    t.equal(await code(client.backups.restore(name, { target: 'never', time: future })), 'restore_unreachable')
    t.equal(await code(client.collection('never').count()), 'collection_not_found')
    t.equal(await code(client.backups.restore('nothing', { target: 'never' })), 'backup_not_found')

    const kept = await collection.upsert([{ id: 'kept', fields: { place: [8, 8] } }])
    const between = await momentAfterNow()
    await collection.upsert([{ id: 'after', fields: { place: [9, 9] } }])
    const past = { 'as-of-event': { lsn: kept.lsn }, 'as-of-moment': { time: between } }
    for (const [target, moment] of Object.entries(past)) {
      await client.backups.restore(name, { target, ...moment })
      const found = await client.collection(target).getMany(['late', 'kept', 'after'])
      t.same(
        found.map(({ id }) => id),
        ['late', 'kept'],
        target,
      )
      await client.deleteCollection(target)
    }
    for (const id of ['kept', 'after']) await collection.delete(id)

    const content = await new Response(await client.backups.download(name)).blob()
    await client.backups.delete(name)
    t.equal(await code(client.backups.info(name)), 'backup_not_found')
    await client.backups.upload('second', content)
    await client.backups.restore('second', { target: 'carried' })
    t.strictSame((await client.collection('carried').get('late'))?.dense.place?.vector, Float32Array.of(7, 7))
    t.equal(await code(client.backups.upload('broken', content.slice(0, 1_000))), 'backup_damaged')
    for (const made of ['again', 'carried']) await client.deleteCollection(made)
    await client.backups.delete('second')
    await collection.delete('late')
  })

  await t.test('a refused call names the field and the value, and stores nothing', async (t) => {
    const tooWide = collection.upsert([
      { id: 'good', fields: { place: [1, 2] } },
      { id: 'wide', fields: { place: [1, 2, 3] } },
    ])
    const wide = await tooWide.then(
      () => undefined,
      (error: AnnalError) => error,
    )
    t.match(wide, { code: 'invalid_argument', field: 'objects[1].fields.place', value: 3, limit: 2 })
    t.equal(await collection.get('good'), undefined)
    t.equal(
      await code(client.collection('counted').search({ fields: { nowhere: { query: [1, 2] } } })),
      'field_not_found',
    )
    t.equal(await code(collection.search({ fields: {} })), 'invalid_argument')
    t.equal(await code(collection.describe({ signal: AbortSignal.abort() })), 'aborted')
  })

  await t.test(
    'a load ends with the first failure, reads no more of its source than necessary, and can be stopped',
    async (t) => {
      let given = 0
      function* broken(): Generator<ObjectInput> {
        for (; given < 10_000; given += 1) yield { id: `b${given}`, fields: { place: given === 25 ? [1] : [given, 2] } }
      }
      const failing = collection.load(broken(), { batchSize: 10, concurrency: 2, recordsBefore: 100 })
      await t.rejects(failing, { code: 'invalid_argument', message: /^record 126 of the source: / })
      t.ok(given < 100, `${given} were taken`)
      const stop = new AbortController()
      const load = collection.load(numbers(1_000), {
        batchSize: 10,
        concurrency: 1,
        signal: stop.signal,
        onProgress: ({ batches }) => batches === 3 && stop.abort(),
      })
      t.equal(await code(load), 'aborted')
    },
  )
}

/** A time in the past, after everything that was stored before. */
async function momentAfterNow(): Promise<Date> {
  const moment = Date.now() + 2
  while (Date.now() <= moment + 1) await new Promise((resolve) => setTimeout(resolve, 1))
  return new Date(moment)
}

/** The change feed, from its beginning and from a cursor. */
export async function changeSuite(t: Test, client: Client): Promise<void> {
  const films = await client.createCollection({ name: 'followed', fields: [denseField('plot', { dimension: 2 })] })
  const { lsn } = await films.upsert([
    { id: 'alien', meta: { year: 1979 }, filter: { n: 1 }, fields: { plot: [1, 2] } },
  ])
  await films.upsert([{ id: 'brazil', filter: { n: 2 }, fields: { plot: [3, 4] } }])
  await films.delete('alien')
  const collections = ['followed']
  const first = async (request: ChangesRequest, count: number) => {
    const changes: Change[] = []
    for await (const change of client.changes({ collections, ...request })) if (changes.push(change) === count) break
    return changes
  }
  const all = await first({ from: 1, includeVectors: true }, 4)
  t.match(
    all.map(({ kind, collection }) => [kind, collection]),
    ['collection-created', 'objects-upserted', 'objects-upserted', 'objects-deleted'].map((kind) => [kind, 'followed']),
  )
  const [alien] = all[1]?.objects ?? []
  t.match(alien, { id: 'alien', meta: { year: 1979 }, filter: { n: 1 } })
  t.same(Array.from(alien?.fields?.plot as ArrayLike<number>), [1, 2])
  t.match(all[1]?.time, Date)
  t.same(all[3]?.deleted, ['alien'])
  const filtered = await first({ from: 1, kinds: ['objects-upserted'], filter: [{ n: { $gt: 1 } }] }, 2)
  t.match(filtered, [
    { objects: [], left: ['alien'] },
    { objects: [{ id: 'brazil' }], left: [] },
  ])
  const code = (call: Promise<unknown>) => call.then(() => 'done').catch((error: AnnalError) => error.code)
  t.equal(await code(first({ cursor: 'suite' }, 1)), 'feed_cursor_not_found')
  t.match(await client.cursors.acknowledge('suite', lsn), { lsn, durable: true })
  t.match(await client.cursors.list(), [{ name: 'suite', lsn, updatedAt: Date }])
  t.match(await first({ cursor: 'suite' }, 1), [{ lsn: all[2]?.lsn }])
  await client.cursors.delete('suite')
  t.equal(await code(client.cursors.delete('suite')), 'feed_cursor_not_found')
  t.equal(await code(first({ from: 1e9 }, 1)), 'feed_position_lost')
  const stop = new AbortController()
  const quiet = client.changes({}, { signal: stop.signal }).next()
  setTimeout(() => stop.abort(), 20)
  t.match(await quiet, { done: true }, 'the signal ends it')
  await client.deleteCollection('followed')
}

/** The history names what the other suites did, in any order of them. */
export async function historySuite(t: Test, client: Client): Promise<void> {
  const before = new Date()
  const diary = await client.createCollection({ name: 'diary', fields: [denseField('day', { dimension: 2 })] })
  for (const id of ['a', 'b', 'c']) await diary.upsert([{ id, fields: { day: [1, 0] } }])
  await diary.delete('a')

  await t.test('events are paged forward and backward', async (t) => {
    const all = await client.history.events({ collection: 'diary' })
    t.same(
      all.events.map(({ type }) => type),
      ['collection-created', 'objects-upserted', 'objects-upserted', 'objects-upserted', 'objects-deleted'],
    )
    t.match(all.events[0], { collection: 'diary', fields: ['day'] })
    t.match(all.events[1], { objects: 1, ids: ['a'] })
    t.ok(all.events.every(({ lsn, bytes, time }) => lsn > 0 && bytes > 0 && time instanceof Date))
    t.equal(all.previous, undefined)
    const newest = await client.history.events({ collection: 'diary', limit: 2 })
    t.same(newest.events, all.events.slice(-2))
    const older = await client.history.events({ collection: 'diary', limit: 3, before: newest.previous })
    t.same(older.events, all.events.slice(0, 3))
    const first = await client.history.events({ collection: 'diary', from: all.events[0]?.lsn, limit: 1 })
    t.same(first.events, all.events.slice(0, 1))
    t.equal(first.next, all.events[1]?.lsn)
    t.same((await client.history.events({ collection: 'diary', since: before })).events, all.events)
    t.equal(await code(client.history.events({ from: 1, before: 2 })), 'invalid_argument')
  })

  await t.test('activity counts objects by time', async (t) => {
    const { buckets, bucketSeconds } = await client.history.activity({ collection: 'diary', buckets: 10 })
    t.ok(bucketSeconds > 0)
    const sum = (part: 'written' | 'deleted' | 'records' | 'changes') =>
      buckets.reduce((total, bucket) => total + bucket[part], 0)
    t.same([sum('written'), sum('deleted'), sum('records'), sum('changes')], [3, 1, 5, 1])
    t.ok(buckets.every(({ time, lsnFirst, lsnLast }) => time instanceof Date && lsnFirst <= lsnLast))
    const none = await client.history.activity({ collection: 'diary', to: new Date(0) })
    t.same(none.buckets, [])
  })
  await client.deleteCollection('diary')
}

/** Versions of objects, differences, undos, and names, which both transports return in the same form. */
export async function timeSuite(t: Test, client: Client): Promise<void> {
  const field = denseField('place', { dimension: 2, spaceType: 'l2' })
  const notes = await client.createCollection({ name: 'notes', fields: [field] })
  const put = (id: string, n: number) => notes.upsert([{ id, meta: { n }, filter: { n }, fields: { place: [n, 1] } }])
  await put('a', 1)
  const { lsn } = await put('b', 2)
  const then = { lsn }
  const differences = async (request: DiffRequest) => {
    const found: [string, string][] = []
    for await (const { id, change } of notes.diff(request)) found.push([id, change])
    return found
  }

  await t.test('versions of an object say what changed', async (t) => {
    await notes.upsert([{ id: 'a', meta: { n: 3 }, filter: { n: 1 }, fields: { place: [1, 1] } }], { actor: 'agent 7' })
    await notes.patch([{ id: 'a', increment: { n: 4 } }])
    const { versions, complete } = await notes.history('a')
    t.equal(complete, true)
    t.match(versions, [
      { kind: 'created', exists: true, time: Date },
      { kind: 'written', author: { actor: 'agent 7' }, changes: { meta: { n: { before: 1, after: 3 } }, fields: [] } },
      { kind: 'patched', changes: { filter: { n: { before: 1, after: 5 } } } },
    ])
    const [first] = versions
    const page = await notes.history('a', { to: first?.lsn ?? 0 })
    t.same(page.versions, [first])
  })

  await t.test('differences are those between two moments', async (t) => {
    await put('c', 3)
    await notes.delete('b')
    t.same(await differences({ from: then }), [
      ['a', 'changed'],
      ['c', 'added'],
      ['b', 'removed'],
    ])
    t.same(await differences({ from: then, to: then }), [])
    t.same(await differences({ from: then, to: { time: new Date() } }), await differences({ from: then }))
    t.equal(await code(differences({ from: { lsn: -1 } })), 'invalid_argument')
    const stop = new AbortController()
    stop.abort()
    t.equal(await code(notes.diff({ from: then }, { signal: stop.signal }).next()), 'aborted')
  })

  await t.test('an undo restores what was there, and none is running afterwards', async (t) => {
    const request = { ids: ['a', 'b', 'c'], asOf: then }
    t.match(await notes.undo({ ...request, dryRun: true }), { restored: 2, deleted: 1, asOfLsn: lsn })
    t.equal(await notes.count(), 2)
    const undone = await notes.undo(request)
    t.same(await differences({ from: then, to: { lsn: undone.lsn } }), [])
    t.equal((await notes.history('b')).versions.at(-1)?.kind, 'restored')
    t.equal(await client.backups.cancelRestore(), false)
  })

  await t.test('conditions, atomic writes, and increments', async (t) => {
    const taken = await notes.upsert([{ id: 'a', fields: { place: [1, 1] }, ifAbsent: true }])
    t.match(taken, { upserted: 0, results: [{ id: 'a', status: 'conflict' }] })
    const wrong = notes.upsert([{ id: 'a', fields: { place: [1, 1] }, ifLsn: 1 }], { atomic: true })
    const error = (await wrong.catch((reason) => reason)) as AnnalError
    t.match(error, { code: 'conflict', results: [{ id: 'a', status: 'conflict', lsn: Number }] })
    t.equal(await code(notes.delete('a', { ifLsn: 1 }).then(() => undefined)), 'conflict')
    const matched = await notes.patch([{ id: 'a', increment: { n: 1 }, ifMatch: [{ n: { $eq: 1 } }] }], {
      atomic: true,
    })
    t.match(matched, { updated: 1, results: [{ status: 'ok', lsn: matched.lsn }] })
  })

  await t.test('events name aliases and what a promotion kept', async (t) => {
    await client.aliases.put('notebook', 'notes')
    const kept = (await client.deleteCollection('notes').catch((reason) => reason)) as AnnalError
    t.match(kept, { code: 'collection_has_aliases', aliases: ['notebook'] })
    const trial = await notes.branch('notes_trial', then)
    t.equal(await trial.count(), 2)
    const promoted = await trial.promote({ over: 'notes', keepAs: 'notes_old' })
    t.match(await promoted.branches(), [{ name: 'notes_old' }, { name: 'notes', parentLsn: lsn }])
    t.match(await client.aliases.list(), [{ name: 'notebook', collection: 'notes' }])
    const { events } = await client.history.events({ limit: 500 })
    t.match(events.findLast(({ type }) => type === 'alias-put')?.alias, 'notebook')
    t.match(
      events.findLast(({ type }) => type === 'collection-promoted'),
      { collection: 'notes', keptAs: 'notes_old' },
    )
    const kinds = ['objects-patched', 'objects-restored'] as const
    const changed = new Set<string>()
    for await (const { kind } of client.changes({ from: 1, kinds })) if (changed.add(kind).size === kinds.length) break
    t.same([...changed].sort(), kinds)
    await client.aliases.delete('notebook')
    for (const name of ['notes', 'notes_old']) await client.deleteCollection(name)
  })
}
