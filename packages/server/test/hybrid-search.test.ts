// Searches in sparse fields and in several fields, with their options, over HTTP: scores as in the contract.
import { test } from 'tap'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

const accept = 'application/json'
type Hit = [similarity: number, id: string, meta: Uint8Array, filter: string, norm: number, vector: number[]]

async function withHybridIndex(t: Parameters<typeof runningApp>[0]): Promise<RunningApp> {
  const running = await runningApp(t)
  await createIndex(running, { sparse_model: 'default' })
  const objects = [
    {
      id: 'a',
      meta: 'm',
      filter: '{"n":1}',
      norm: 2,
      vector: [1, 0, 0, 0],
      sparse_indices: [1, 2],
      sparse_values: [1, 4],
    },
    { id: 'b', filter: '{"n":2}', vector: [0.6, 0.8, 0, 0], sparse_indices: [2], sparse_values: [3] },
    { id: 'c', filter: '{"n":3}', vector: [0, 1, 0, 0], sparse_indices: [1], sparse_values: [7] },
    { id: 'd', filter: '{"n":4}', vector: [0, 0, 1, 0] },
  ]
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', { json: objects })
  if (inserted.status !== 200) throw new Error(inserted.text)
  return running
}

test('v1 searches by the dense vector, by the sparse one, or by both fused by rank', async (t) => {
  const running = await withHybridIndex(t)
  const ask = async (json: object): Promise<[string, number][]> => {
    const answer = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 3, ...json } })
    t.equal(answer.status, 200, answer.text)
    return (answer.msgpack() as Hit[]).map(([similarity, id]) => [id, similarity])
  }
  const dense = { vector: [1, 0, 0, 0] }
  const sparse = { sparse_indices: [2, 1], sparse_values: [1, 0.25] }
  const near = async (found: Promise<[string, number][]>, expected: [string, number][], what: string) => {
    const list = await found
    t.strictSame(
      list.map(([id]) => id),
      expected.map(([id]) => id),
      what,
    )
    list.forEach(([, score], i) => {
      t.ok(Math.abs(score - expected[i]![1]) < 1e-5, `${what}: ${score}`)
    })
  }
  await near(
    ask(dense),
    [
      ['a', 1],
      ['b', 0.6],
      ['c', 0],
    ],
    'dense only',
  )
  await near(
    ask(sparse),
    [
      ['a', 4.25],
      ['b', 3],
      ['c', 1.75],
    ],
    'sparse only',
  )
  const both = (a: number, b: number, c: number): [string, number][] => [
    ['a', a],
    ['b', b],
    ['c', c],
  ]
  await near(ask({ ...dense, ...sparse }), both(1 / 61, 1 / 62, 1 / 63), 'both')
  const weighted = { ...dense, sparse_indices: [1], sparse_values: [1], dense_rrf_weight: 0.9, rrf_rank_constant: 1 }
  await near(
    ask(weighted),
    [
      ['a', 0.9 / 2 + 0.1 / 3],
      ['b', 0.9 / 3],
      ['c', 0.9 / 4 + 0.1 / 2],
    ],
    'weighted',
  )
  await near(
    ask({ ...dense, ...sparse, dense_rrf_weight: 0 }),
    [
      ['a', 4.25],
      ['b', 3],
      ['c', 1.75],
    ],
    'weight 0',
  )
  await near(
    ask({ ...dense, ...sparse, dense_rrf_weight: 1 }),
    [
      ['a', 1],
      ['b', 0.6],
      ['c', 0],
    ],
    'weight 1',
  )
  const absent = { ...dense, sparse_indices: [99], sparse_values: [1] }
  await near(
    ask(absent),
    [
      ['a', 1],
      ['b', 0.6],
      ['c', 0],
    ],
    'one side found nothing: its raw scores',
  )
  await near(
    ask({ ...dense, ...sparse, filter: '[{"n":{"$gte":2}}]' }),
    [
      ['b', 1 / 61],
      ['c', 1 / 62],
      ['d', 0.5 / 63],
    ],
    'filtered',
  )
})

test('a fused v1 hit has its meta, filter, norm, and, if requested, its vector', async (t) => {
  const running = await withHybridIndex(t)
  const json = { k: 1, vector: [1, 0, 0, 0], sparse_indices: [2], sparse_values: [1], include_vectors: true }
  const answer = await running.send('POST', '/api/v1/index/docs/search', { json })
  const [[, id, meta, filter, norm, vector]] = answer.msgpack() as [Hit]
  t.strictSame([id, Buffer.from(meta).toString(), filter, norm, vector], ['a', 'm', '{"n":1}', 2, [1, 0, 0, 0]])
  const plain = await running.send('POST', '/api/v1/index/docs/search', {
    accept,
    json: { ...json, vector: undefined },
  })
  t.match(plain.json(), {
    results: [{ id: 'a', similarity: 4, distance: -4, filter: { n: 1 }, norm: 2, vector: [2, 0, 0, 0] }],
  })
})

async function withCollection(
  t: Parameters<typeof runningApp>[0],
): Promise<(route: string, json?: object) => Promise<Record<string, unknown>>> {
  const running = await runningApp(t)
  const fields = [
    { name: 'place', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } },
    { name: 'words', type: 'sparse', sparse_model: 'endee_bm25' },
  ]
  const objects = Array.from({ length: 20 }, (_, i) => ({
    id: `o${i}`,
    filter: { n: i, kind: i % 3 === 0 ? 'third' : 'other' },
    fields: { place: [i, 0], ...(i < 10 && { words: { indices: [i % 4, 100], values: [1 + i, 1] } }) },
  }))
  const ask = async (route: string, json?: object) => {
    const method = json === undefined ? 'GET' : 'POST'
    const answer = await running.send(method, `/api/v2/collection${route}`, { accept, ...(json && { json }) })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.json()
  }
  await ask('', { name: 'docs', fields })
  await ask('/docs/objects', { objects })
  return ask
}

const ids = (hits: unknown) => (hits as { id: string }[]).map(({ id }) => id)

test('v2 returns hits by field, fused by rank or by relative score, with an explanation', async (t) => {
  const ask = await withCollection(t)
  const words = { query: { indices: [2], values: [1] } }
  const place = { query: [2, 0], limit: 2 }
  const found = await ask('/docs/search', {
    fields: { words, place },
    explain: true,
    fusion: { method: 'relative_score' },
  })
  const results = found.results as { words: unknown; place: unknown }
  t.strictSame(
    [ids(results.words), ids(results.place)],
    [
      ['o6', 'o2'],
      ['o2', 'o1'],
    ],
  )
  const rarity = Math.log(1 + (10 - 2 + 0.5) / (2 + 0.5))
  t.match(results.words, [{ similarity: Math.fround(7 * rarity) }, { similarity: Math.fround(3 * rarity) }])
  t.strictSame(ids(found.fused), ['o2', 'o6', 'o1'], 'ties by id')
  t.match(found, { complete: true, explain: { fields: { words: { plan: 'lists' }, place: { plan: 'scan' } } } })
  const exact = await ask('/docs/search', {
    fields: { place },
    exact: true,
    explain: true,
    filter: [{ kind: { $eq: 'third' } }],
  })
  t.match(exact, { explain: { filter: { matches: 7 }, fields: { place: { plan: 'scan' } } } })
  t.strictSame(ids((exact.results as { place: unknown }).place), ['o3', 'o0'])
  const near = await ask('/docs/search', { fields: { place: { query: { id: 'o5' }, score_threshold: -1 } } })
  t.strictSame(ids((near.results as { place: unknown }).place), ['o4', 'o6'])
  await t.rejects(ask('/docs/search', { fields: { place: { query: { id: 'none' } } } }), /object_not_found/)
})

test('filter options have their names of the wire and their long names, and v1 explains as v2 does', async (t) => {
  const running = await runningApp(t)
  const definition = { index_name: 'many', dim: 2, space_type: 'l2', precision: 'float32', sparse_model: 'default' }
  await running.send('POST', '/api/v1/index/create', { json: definition })
  for (let from = 0; from < 2_000; from += 1_000) {
    const json = Array.from({ length: 1_000 }, (_, i) => ({
      id: `${from + i}`,
      filter: { n: from + i },
      vector: [from + i, 1],
      sparse_indices: [i % 10],
      sparse_values: [1],
    }))
    await running.send('POST', '/api/v1/index/many/vector/insert', { json })
  }
  const filter = [{ n: { $lt: 1_200 } }]
  const ask = async (version: 1 | 2, more: object) => {
    const [route, query] =
      version === 1
        ? ['/api/v1/index/many/search', { k: 5, vector: [7, 1], sparse_indices: [3], sparse_values: [1] }]
        : ['/api/v2/collection/many/search', { fields: { dense: { query: [7, 1], limit: 5 } } }]
    const json = { ...query, filter, explain: true, ...more }
    const answer = await running.send('POST', route, { json, accept: 'application/json' })
    return { status: answer.status, ...answer.json() }
  }
  for (const version of [1, 2] as const) {
    const plan = async (more: object) => {
      const { explain } = (await ask(version, more)) as {
        explain?: { fields: { dense: { plan: string; ef?: number } } }
      }
      return [explain?.fields.dense.plan, explain?.fields.dense.ef]
    }
    t.strictSame(await plan({ filter_params: { prefilter_threshold: 1_000 } }), ['walk', 128], `v${version}`)
    t.strictSame(await plan({ filter_params: { prefilter_threshold: 1_200 } }), ['scan', undefined])
    t.strictSame(await plan({ prefilter_cardinality_threshold: 1_200 }), ['scan', undefined])
    t.strictSame(await plan({ prefilter_cardinality_threshold: 1_000, filter_boost_percentage: 50 }), ['walk', 192])
    t.strictSame(
      await plan({ filter_params: { prefilter_threshold: 1_000, boost_percentage: 100 } }),
      ['walk', 256],
      'a boost of 100 doubles the pool',
    )
    t.strictSame(await plan({ exact: true }), ['scan', undefined])
    t.match(await ask(version, { prefilter_cardinality_threshold: 999 }), { status: 400, code: 'limit_exceeded' })
    t.match(await ask(version, { filter_boost_percentage: 101 }), { status: 400 })
  }
  t.match(await ask(1, {}), {
    complete: true,
    lsn: Number,
    explain: {
      filter: { matches: 1_200, ms: Number },
      fields: { dense: { visited: Number, distances: Number, ms: Number, reason: String }, sparse: { plan: 'lists' } },
      decorate_ms: Number,
      fuse_ms: Number,
      total_ms: Number,
    },
  })
})

test('v2 returns batches, counts, facets, pages, and its own recall', async (t) => {
  const ask = await withCollection(t)
  const searches = [
    { fields: { place: { query: [0, 0], limit: 1 } } },
    { fields: { place: { query: [9, 0], limit: 1 } } },
  ]
  const batch = (await ask('/docs/search/batch', { searches })) as { searches: { results: { place: unknown } }[] }
  t.strictSame(
    batch.searches.map(({ results }) => ids(results.place)),
    [['o0'], ['o9']],
  )
  const filter = [{ n: { $lt: 7 } }]
  t.match(await ask('/docs/objects/count', { filter }), { count: 7 })
  t.match(await ask('/docs/objects/count', {}), { count: 20 })
  t.match(await ask('/docs/facets', { key: 'kind', filter }), {
    values: [
      { value: 'other', count: 4 },
      { value: 'third', count: 3 },
    ],
    distinct: 2,
  })
  const page = await ask('/docs/objects/scroll', { limit: 15 })
  t.match([ids(page.objects).length, typeof page.cursor], [15, 'string'])
  const rest = await ask('/docs/objects/scroll', { limit: 15, cursor: page.cursor })
  t.match([ids(rest.objects).length, rest.cursor], [5, null])
  const { links } = (await ask('/docs/objects/o0/field/place/links')) as { links: string[] }
  t.ok(links.length > 0 && !links.includes('o0'))
  t.match(await ask('/docs/recall?sample=5&limit=3'), { field: 'place', sample: 5, recall: 1, recall_worst: 1 })
})
