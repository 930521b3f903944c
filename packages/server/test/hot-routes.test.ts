// A hot route answers with the same bytes as the main path, or not at all.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { deflateSync } from 'node:zlib'
import type { DatabaseType, ReceivedSearch } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import type { Admission, HotReply, HotRoutes } from '../src/hot/contract.ts'
import { createHotRoutes } from '../src/hot/hot-routes.ts'
import { collectionsOf } from '../src/hot/reader-collections.ts'
import { randomRead } from './random-reads.ts'
import { type RandomSearch, randomBatch, randomSearch, type SearchPlace } from './random-searches.ts'
import { type RunningApp, runningApp } from './running-app.ts'
import { bytesOf, vectorBody } from './vector-bodies.ts'

const seedFirst = chosenSeed()
const blocks = process.env.ANNAL_LONG === '1' ? 100 : 1
const rounds = 1_000

const dimension = 6
const metas = [
  Buffer.alloc(0),
  Buffer.from('{"title": "plain", "n": 1.50}'),
  deflateSync('{"title":"packed","list":[1,2,{"a":null}]}'),
  deflateSync('not JSON'),
  Buffer.from([0, 1, 255, 254]),
  Buffer.from('{"broken":'),
  deflateSync(Buffer.alloc(3_000_000, 0x20)),
  deflateSync(`{"text":"${'x'.repeat(100_000)}"}`),
]
const ids = ['plain', 'with "quotes"', 'back\\slash', 'grün', '\ufeffmark', 'line\nbreak', '🎬', ' ', '\u2028', '\x7f']
const filterTexts = [
  '',
  '{"color":"red","size":3}',
  '{ "size" : 2.50, "color" : "grün" }',
  '{"color":["red","blue"],"2":1,"1":2}',
]

const places: { readonly [name: string]: SearchPlace } = {
  docs: { version: 'v1', fields: ['dense'], dimension },
  hybrid: { version: 'v1', fields: ['dense', 'sparse'], dimension },
  films: { version: 'v2', fields: ['title', 'plot', 'parts', 'code', 'words', 'rare', 'body'], dimension },
  small: { version: 'v2', fields: ['title'], dimension },
  none: { version: 'v1', fields: ['dense'], dimension },
}

async function filled(t: Test): Promise<RunningApp> {
  const running = await runningApp(t)
  const random = seededRandom(7)
  const create = async (path: string, json: object) => {
    const answer = await running.send('POST', path, { json })
    t.equal(answer.status, 200, answer.text)
  }
  const index = { dim: dimension, precision: 'float32' }
  await create('/api/v1/index/create', { ...index, index_name: 'docs', space_type: 'cosine' })
  await create('/api/v1/index/create', { ...index, index_name: 'hybrid', space_type: 'l2', sparse_model: 'default' })
  const params = { dimension, space_type: 'ip', precision: 'int8' }
  const fields = [
    { name: 'title', type: 'vector', params },
    { name: 'plot', type: 'vector', params: { ...params, space_type: 'l2' } },
    { name: 'parts', type: 'multi_vector', params },
    { name: 'code', type: 'vector', params: { ...params, space_type: 'cosine', precision: 'binary' } },
    { name: 'words', type: 'sparse' },
    { name: 'rare', type: 'sparse', params: { sparse_model: 'endee_bm25' } },
    { name: 'body', type: 'text', params: { language: 'english' } },
  ]
  await create('/api/v2/collection', { name: 'films', fields })
  await create('/api/v2/collection', { name: 'small', fields: fields.slice(0, 1) })
  const vector = () => Array.from({ length: dimension }, () => random.next() * 2 - 1)
  const rows = Array.from({ length: 60 }, (_, i) => {
    const id = `${ids[i % ids.length]}${i < ids.length ? '' : i}`
    return { id, meta: metas[i % metas.length]!, filter: filterTexts[i % filterTexts.length]! }
  })
  const v1 = rows.map(({ id, meta, filter }, i) => [id, meta, filter, i % 5 === 0 ? 2 : null, vector()])
  const hybrid = v1.map((row, i) => (i % 4 === 0 ? row : [...row, [i % 7, 10 + (i % 5)], [1, 0.5 + i / 60]]))
  const terms = (i: number) => [
    [i % 7, 7 + (i % 5), 12 + (i % 3)],
    [1, 0.5 + i / 60, 0.1],
  ]
  const parts = (i: number) => (i % 3 === 0 ? {} : { parts: Array.from({ length: 1 + (i % 4) }, vector) })
  const v2 = rows.map(({ id, meta, filter }, i) => [
    id,
    meta,
    filter,
    { title: vector(), plot: vector(), code: vector() },
    i % 4 === 0 ? {} : { words: terms(i), rare: terms(i + 1) },
    parts(i),
    i % 5 === 2 ? JSON.stringify({ expires_at: Date.parse('2999-01-01T00:00:00Z') + i }) : '',
    i % 6 === 5 ? {} : { body: `a text ${'and more '.repeat(i % 4)} of number ${i % 9} für grün` },
  ])
  const few = rows.slice(0, 3).map(({ id, meta, filter }, i) => {
    return [id, meta, filter, { title: vector() }, {}, {}, JSON.stringify(i === 1 ? { ttl_seconds: 10_000 } : {})]
  })
  for (const [path, msgpack] of [
    ['/api/v1/index/docs/vector/insert', v1],
    ['/api/v1/index/hybrid/vector/insert', hybrid],
    ['/api/v2/collection/films/objects', [v2]],
    ['/api/v2/collection/small/objects', [few]],
  ] as const) {
    const answer = await running.send('POST', path, { msgpack })
    t.equal(answer.status, 200, answer.text)
  }
  // Others are measured in the background.
  for (const [path, options] of [
    ['/api/v2/collection/docs/calibrate', {}],
    ['/api/v2/collection/films/calibrate', { field: 'title' }],
    ['/api/v2/collection/films/calibrate', { field: 'code', rescore: false }],
  ] as const)
    await create(path, { ...options, limit: 10, sample: 20 })
  return running
}

/** With a reader in this thread, whose owner and memory are those of a serving thread. */
async function hotRoutes(t: Test, running: RunningApp, searches: ReceivedSearch[] = []): Promise<HotRoutes> {
  const reader = await attachReader(running.engine.readerHandle())
  t.teardown(() => reader.close())
  return createHotRoutes({
    find: collectionsOf(reader, { topKMax: running.config.topKMax }),
    observer: { searched: (facts) => void searches.push(facts()) },
  })
}

function readPathOf(name: string, { version }: SearchPlace): string {
  return version === 'v1' ? `/api/v1/index/${name}/vector/get` : `/api/v2/collection/${name}/objects/query`
}

function pathOf(name: string, { version }: SearchPlace): string {
  return version === 'v1' ? `/api/v1/index/${name}/search` : `/api/v2/collection/${name}/search`
}

function headersOf({ type, accept }: RandomSearch) {
  return { 'content-type': type, ...(accept === undefined ? {} : { accept }) }
}

async function answerHot(
  routes: HotRoutes,
  path: string,
  search: RandomSearch,
  databaseType: DatabaseType = 'enterprise',
): Promise<HotReply | undefined> {
  const route = routes.match('POST', path)
  if (route === undefined) return undefined
  const admission = { route, database: 'default', databaseType } as Admission
  return routes.answer(admission, headersOf(search), search.body)
}

/** Sends a body over a connection that is kept, because opening one takes longer than the request. */
async function post(agent: Agent, url: string, search: RandomSearch) {
  const headers = { ...headersOf(search), 'content-length': search.body.length }
  let response: IncomingMessage | undefined
  while (response === undefined) {
    const sent = request(url, { method: 'POST', agent, headers }).end(search.body)
    try {
      response = (await once(sent, 'response'))[0] as IncomingMessage
    } catch (error) {
      // On a slow machine, the server may close a connection that was idle for long.
      if (!sent.reusedSocket) throw error
    }
  }
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

for (let seed = seedFirst; seed < seedFirst + blocks; seed++) {
  test(`random bodies have the same reply or none, seed ${seed}`, (t) => compareReplies(t, seed))
}

type Posted = Awaited<ReturnType<typeof post>>

/** Repeats the request if a measurement ended between the replies, which runs in the background. */
async function bothReplies(answer: () => Promise<HotReply | undefined>, send: () => Promise<Posted>) {
  for (let wanted = await send(); ; ) {
    const hot = await answer()
    const again = await send()
    if (again.headers['x-annal-recall'] === wanted.headers['x-annal-recall']) return { hot, wanted: again }
    wanted = again
  }
}

async function compareReplies(t: Test, seed: number): Promise<void> {
  const running = await filled(t)
  const routes = await hotRoutes(t, running)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const random = seededRandom(seed)
  const names = Object.keys(places)
  const counts = { answered: 0, read: 0, batches: 0, recalls: 0, sparse: 0, texts: 0, left: 0, refused: 0 }
  for (let round = 0; round < rounds; round++) {
    const name = names[random.below(names.length)]!
    const place = places[name]!
    const isRead = random.chance(0.3)
    const isBatch = !isRead && place.version === 'v2' && random.chance(0.4)
    const search = isRead
      ? randomRead(random, place.version, ids)
      : isBatch
        ? randomBatch(random, place)
        : randomSearch(random, place)
    const path = isRead ? readPathOf(name, place) : `${pathOf(name, place)}${isBatch ? '/batch' : ''}`
    const { hot, wanted } = await bothReplies(
      () => answerHot(routes, path, search),
      () => post(agent, running.url + path, search),
    )
    if (hot === undefined) {
      if (wanted.status === 200) counts.left += 1
      else counts.refused += 1
      continue
    }
    counts.answered += 1
    if (isRead) counts.read += 1
    if (isBatch) counts.batches += 1
    if (hot.recall?.includes('"calibrated":true')) counts.recalls += 1
    if (/indices|words|rare/.test(search.body.toString('latin1'))) counts.sparse += 1
    if (search.body.toString('latin1').includes('body')) counts.texts += 1
    const same =
      wanted.status === hot.status &&
      wanted.headers['content-type'] === hot.contentType &&
      wanted.headers['x-annal-warnings'] === undefined &&
      wanted.headers['x-annal-recall'] === hot.recall &&
      wanted.body.equals(hot.body)
    if (!same) {
      const body = Buffer.from(hot.body).toString()
      t.same(
        { ...hot, body },
        { status: wanted.status, body: wanted.body.toString() },
        `${path} ${search.type} ${search.body}`,
      )
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.read > rounds / 12, `${counts.read} of them reads by id`)
  t.ok(counts.sparse > rounds / 50, `${counts.sparse} of them of sparse fields`)
  t.ok(counts.texts > 0, `${counts.texts} of them of texts`)
  t.ok(counts.batches > 0, `${counts.batches} of them batches`)
  t.ok(counts.recalls > 0, `${counts.recalls} of them with an ef that was measured`)
  t.ok(counts.answered > rounds / 4, `${counts.answered} answered`)
  t.ok(counts.refused > rounds / 50, `${counts.refused} refused`)
}

test('usual bodies are answered', async (t) => {
  const running = await filled(t)
  const searches: ReceivedSearch[] = []
  const routes = await hotRoutes(t, running, searches)
  const vector = [0.1, -0.25, 3e-7, 1, 0.30000000000000004, 0]
  const json = (value: unknown): RandomSearch => ({
    type: 'application/json',
    accept: 'application/json',
    body: Buffer.from(JSON.stringify(value)),
  })
  const filter = [{ color: { $eq: 'red' } }]
  const index = { k: 5, ef: 50, include_vectors: false, filter: JSON.stringify(filter) }
  const fields = { title: { query: vector, limit: 3, ef_search: 40, score_threshold: -100 } }
  const type = 'application/octet-stream'
  const usual: readonly [string, RandomSearch][] = [
    ['/api/v1/index/docs/search', json({ vector })],
    ['/api/v1/index/docs/search', json({ vector, recall: 0.9 })],
    ['/api/v2/collection/films/search', json({ fields: { title: { query: vector, recall: 0.99 } }, min_lsn: 3 })],
    [
      '/api/v1/index/docs/search',
      json({ ...index, vector, filter_params: { prefilter_threshold: 2_000, boost_percentage: 5 } }),
    ],
    ['/api/v1/index/hybrid/search', json({ ...index, filter, vector, exact: true })],
    ['/api/v1/index/docs/search', { type, accept: undefined, body: vectorBody(index, bytesOf(vector)) }],
    ['/api/v2/collection/films/search', json({ fields, filter })],
    ['/api/v2/collection/films/search', json({ fields: [{ plot: { query: vector } }] })],
    ['/api/v1/index/hybrid/search', json({ k: 5, sparse_indices: [1, 12], sparse_values: [1, 0.5] })],
    ['/api/v1/index/hybrid/search', json({ vector, sparse_indices: [1, 12], sparse_values: [1, 0.5] })],
    ['/api/v1/index/hybrid/search', json({ vector, sparse_indices: [], sparse_values: [], dense_rrf_weight: 0.5 })],
    ['/api/v2/collection/films/search', json({ fields: { words: { query: { indices: [1, 8], values: [1, 2] } } } })],
    [
      '/api/v2/collection/films/search',
      json({
        fields: { plot: { query: vector }, rare: { query: { indices: [4294967295, 8], values: [1, 2] } } },
        fusion: { method: 'relative_score', weights: { rare: 2 } },
      }),
    ],
    [
      '/api/v2/collection/films/search',
      { type, accept: undefined, body: vectorBody({ fields: { plot: {} } }, bytesOf(vector)) },
    ],
  ]
  for (const [path, search] of usual) t.ok(await answerHot(routes, path, search), `${path} ${search.body}`)
  const reads: readonly [string, RandomSearch][] = [
    ['/api/v1/index/docs/vector/get', json({ id: 'plain' })],
    ['/api/v1/index/hybrid/vector/get', { ...json({ id: 'plain' }), accept: undefined }],
    ['/api/v2/collection/films/objects/query', json({ ids: ['plain', 'none', 'grün', 'plain'] })],
    ['/api/v2/collection/films/objects/query', { ...json({ ids: [] }), accept: undefined }],
    ['/api/v2/collection/films/objects/query', json({ ids: ['plain'], min_lsn: 5 })],
  ]
  for (const [path, read] of reads) t.ok(await answerHot(routes, path, read), `${path} ${read.body}`)
  t.notOk(await answerHot(routes, '/api/v1/index/docs/vector/get', json({ id: 'none' })), 'an error')
  const future = { min_lsn: 1_000_000_000_000 }
  for (const [path, body] of [
    ['/api/v2/collection/films/objects/query', { ids: ['plain'], ...future }],
    ['/api/v2/collection/films/search', { fields, ...future }],
    ['/api/v2/collection/films/search/batch', { searches: [{ fields }, { fields, ...future }] }],
  ] as const)
    t.notOk(await answerHot(routes, path, json(body)), 'the main thread waits')
  const past = { as_of: { lsn: 2 } }
  for (const [path, body] of [
    ['/api/v2/collection/films/objects/query', { ids: ['plain'], ...past }],
    ['/api/v2/collection/films/search', { fields, ...past }],
    ['/api/v2/collection/films/search/batch', { searches: [{ fields }], ...past }],
    ['/api/v2/collection/films/search/batch', { searches: [{ fields, ...past }] }],
  ] as const)
    t.notOk(await answerHot(routes, path, json(body)), 'the main thread has the past')
  t.equal(searches.length, usual.length, 'each search was noted')
  t.match(searches[1]?.request, { fields: { dense: { recall: 0.9 } } })
  t.match(searches[2]?.request, { fields: { title: { recall: 0.99 } }, minLsn: 3 })
  t.match(searches[3], {
    collectionId: Number,
    lsn: Number,
    request: {
      fields: { dense: { limit: 5, ef: 50 } },
      filter,
      prefilterCardinalityThreshold: 2_000,
      filterBoostPercentage: 5,
    },
  })
})

test('batches that ask for many hits are left to the main thread', async (t) => {
  const routes = await hotRoutes(t, await filled(t))
  // Without a hit, so that the reader leaves none of them.
  const search = { fields: { title: { query: Array(6).fill(0.5), limit: 32, score_threshold: 1_000 } } }
  const batch = (count: number) =>
    answerHot(routes, '/api/v2/collection/films/search/batch', {
      type: 'application/json',
      accept: 'application/json',
      body: Buffer.from(JSON.stringify({ searches: Array(count).fill(search) })),
    })
  t.ok(await batch(8))
  t.notOk(await batch(9))
})

test('long filters are left to the main thread, and any blanks are accepted', async (t) => {
  const routes = await hotRoutes(t, await filled(t))
  const search = (value: number): RandomSearch => {
    const filter = [{ color: { $in: Array.from({ length: value }, (_, i) => `color-${i}`) } }]
    const body = Buffer.from(JSON.stringify({ filter, vector: [1, 0, 0, 0, 0, 0] }, undefined, 2))
    return { type: 'application/json', accept: undefined, body }
  }
  const path = '/api/v1/index/docs/search'
  t.ok(await answerHot(routes, path, search(50)))
  t.notOk(await answerHot(routes, path, search(10_000)))
  const text = search(10_000)
  const escaped = JSON.stringify({
    vector: [1, 0, 0, 0, 0, 0],
    filter: JSON.stringify(JSON.parse(String(text.body)).filter),
  })
  t.notOk(await answerHot(routes, path, { ...text, body: Buffer.from(escaped) }))
})

test('searches beyond the limits of the type of their database are left to the main thread', async (t) => {
  const routes = await hotRoutes(t, await filled(t))
  const path = '/api/v1/index/docs/search'
  const search = (options: object): RandomSearch => ({
    type: 'application/json',
    accept: undefined,
    body: Buffer.from(JSON.stringify({ vector: [1, 0, 0, 0, 0, 0], ...options })),
  })
  const within = async (options: object, type: DatabaseType) =>
    (await answerHot(routes, path, search(options), type)) !== undefined
  t.ok(await within({ k: 128 }, 'starter'))
  t.notOk(await within({ k: 129 }, 'starter'))
  t.ok(await within({ k: 129 }, 'pro'))
  t.notOk(await within({ filter_boost_percentage: 1 }, 'starter'))
  t.ok(await within({ filter_boost_percentage: 100 }, 'pro'))
  t.notOk(await within({ filter_boost_percentage: 101 }, 'pro'))
})

test('large replies are left to the main thread', async (t) => {
  const running = await filled(t)
  const routes = await hotRoutes(t, running)
  const meta = Buffer.alloc(20_000, 1)
  const objects = Array.from({ length: 10 }, (_, i) => [`o${i}`, meta, '', { title: [i, 1, 1, 1, 1, 1] }])
  await running.send('POST', '/api/v2/collection/small/objects', { msgpack: [objects] })
  const search = (limit: number, accept?: string): RandomSearch => ({
    type: 'application/json',
    accept,
    body: Buffer.from(JSON.stringify({ fields: { title: { query: [1, 0, 0, 0, 0, 0], limit } } })),
  })
  for (const accept of [undefined, 'application/json']) {
    t.ok(await answerHot(routes, '/api/v2/collection/small/search', search(2, accept)))
    t.notOk(await answerHot(routes, '/api/v2/collection/small/search', search(8, accept)))
  }
})

test('paths', (t) => {
  const routes = createHotRoutes({ find: () => undefined })
  t.match(routes.match('POST', '/api/v1/index/docs/search'), {
    name: 'v1-search',
    pattern: '/api/v1/index/:name/search',
    collection: 'docs',
  })
  t.match(routes.match('POST', '/api/v2/collection/a-b_c.1/search'), {
    name: 'v2-search',
    pattern: '/api/v2/collection/:name/search',
    collection: 'a-b_c.1',
  })
  t.match(routes.match('POST', '/api/v2/collection/docs/search/batch'), { name: 'v2-batch', collection: 'docs' })
  t.match(routes.match('POST', '/api/v1/index/docs/vector/get'), { name: 'v1-get', collection: 'docs' })
  t.match(routes.match('POST', '/api/v2/collection/docs/objects/query'), { name: 'v2-get', collection: 'docs' })
  const others = [
    ['POST', '/api/v1/index/docs/objects/query'],
    ['POST', '/api/v2/collection/docs/vector/get'],
    ['POST', '/api/v2/collection/docs/objects'],
    ['GET', '/api/v1/index/docs/search'],
    ['POST', '/api/v1/index/docs/search?x=1'],
    ['POST', '/api/v1/index/docs/search/'],
    ['POST', '/api/v1/index/a/b/search'],
    ['POST', '/api/v1/index/a%20b/search'],
    ['POST', '/api/v1/index//search'],
    ['POST', '/api/v1/index/search'],
    ['POST', '/api/v1/index/docs/SEARCH'],
    ['POST', '//api/v1/index/docs/search'],
    ['POST', '/api/v1/index/docs/search/batch'],
  ] as const
  for (const [method, url] of others) t.equal(routes.match(method, url), undefined, `${method} ${url}`)
  t.end()
})
