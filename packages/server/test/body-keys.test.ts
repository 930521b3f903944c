// Unknown keys in bodies, unsupported methods of paths, and optional values in v1.
import { test } from 'tap'
import { unknownKeys } from '../src/wire/unknown-keys.ts'
import { searchBody } from '../src/wire/v1-search.ts'
import { createIndex, runningApp } from './running-app.ts'

const accept = 'application/json'

test('routes of the published protocol succeed and list the ignored keys', async (t) => {
  const running = await runningApp(t)
  const created = await running.send('POST', '/api/v1/index/create', {
    json: { index_name: 'docs', dim: 4, space_type: 'cosine', precison: 'float32' },
    accept,
  })
  t.match(created.headers.get('x-annal-warnings'), /precison.*did you mean "precision"/)
  t.match(created.json(), { warnings: [/"precison" is not a key of this body/] })
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', {
    json: [{ id: 'a', vector: [1, 0, 0, 0], metadata: { x: 1 } }],
    accept,
  })
  t.match(inserted.json(), { upserted: 1, warnings: [/"\[0\].metadata".*did you mean "meta"/] })
  // Large enough to be read while it arrives.
  const vector = [1, 0, 0, 0]
  const padded = (i: number) => ({ id: `p${i}`, meta: { text: 'x'.repeat(3_000) }, ...(i >= 98 && { metdata: 1 }) })
  const large = await running.send('POST', '/api/v1/index/docs/vector/insert', {
    json: Array.from({ length: 100 }, (_, i) => ({ ...padded(i), vector })),
    accept,
  })
  t.match(large.json(), { upserted: 100, warnings: [/"\[98\].metdata"/, /"\[99\].metdata"/] })
  const objects = await running.send('POST', '/api/v2/collection/docs/objects', {
    json: { objects: Array.from({ length: 100 }, (_, i) => ({ ...padded(i), fields: { dense: vector } })) },
    accept,
  })
  t.match(objects.json(), { upserted: 100, warnings: [/"objects\[98\].metdata"/, /"objects\[99\].metdata"/] })

  const body = { k: 1, vector: [1, 0, 0, 0], filtr: [], 'süß\n': 1 }
  for (const form of [accept, '*/*']) {
    const found = await running.send('POST', '/api/v1/index/docs/search', { json: body, accept: form })
    t.equal(found.status, 200)
    t.match(found.headers.get('x-annal-warnings'), /"filtr".*did you mean "filter"/)
    if (form !== accept) continue
    const { warnings, results } = found.json() as { warnings: string[]; results: unknown[] }
    t.match(warnings, [/filtr/, /süß/])
    t.equal(results.length, 1)
  }
  const nested = await running.send('POST', '/api/v2/collection/docs/search', {
    json: { fields: [{ dense: { query: [1, 0, 0, 0], top_k: 1 } }], filter_params: { boost: 1 } },
    accept,
  })
  t.match(nested.json(), {
    results: { dense: [{ id: 'a' }] },
    warnings: [/"fields\[0\].dense.top_k".*did you mean "limit"/, /"filter_params.boost"/],
  })
  const honest = await running.send('POST', '/api/v2/collection/docs/search', {
    json: { fields: { dense: { query: [1, 0, 0, 0], limit: 1 } } },
    accept,
  })
  t.equal(honest.headers.get('x-annal-warnings'), null)
  t.notOk('warnings' in honest.json())
  const refused = await running.send('POST', '/api/v1/index/docs/search', { json: { vectr: [1, 0, 0, 0] }, accept })
  t.match([refused.status, refused.json()], [400, { code: 'invalid_argument', warnings: [/did you mean "vector"/] }])
})

test('parameters of fields that nothing reads are named', async (t) => {
  const running = await runningApp(t)
  const fields = [
    { name: 'body', type: 'text', params: { languge: 'english', stop_words: ['x'] } },
    { name: 'v', type: 'vector', params: { dimension: 4, metric: 'l2', efConstruction: 64 } },
  ]
  const created = await running.send('POST', '/api/v2/collection', { json: { name: 'docs', fields }, accept })
  t.equal(created.status, 200, created.text)
  const { warnings } = created.json() as { warnings: string[] }
  t.match(warnings, [
    /"fields\[0\].params.languge".*did you mean "language"/,
    /"fields\[1\].params.metric".*"space_type"/,
  ])
  t.equal(warnings.length, 2)
})

test('keys and values that are properties of every object are unknown like any other', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const ownNames = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__')
  for (const name of ['constructor', 'Constructor', ...ownNames, ...ownNames.map((name) => name.toLowerCase())]) {
    const found = await running.send('POST', '/api/v1/index/docs/search', {
      body: `{"vector":[1,0,0,0],"${name}":1}`,
      type: accept,
    })
    t.equal(found.status, 200, name)
    t.match(found.headers.get('x-annal-warnings'), `"${name}" is not a key`)
    const created = await running.send('POST', '/api/v1/index/create', {
      json: { index_name: 'other', dim: 4, space_type: 'l2', precision: name },
    })
    t.match([created.status, created.json().field], [400, 'precision'], `the precision ${name}`)
  }
})

test('other routes refuse unknown keys', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const search = { fields: { dense: { query: [1, 0, 0, 0] } } }
  for (const [route, json, field, meant] of [
    ['objects/count', { filters: [] }, 'filters', 'filter'],
    ['objects/scroll', { page_size: 3 }, 'page_size', undefined],
    ['facets', { key: 'a', limits: 2 }, 'limits', 'limit'],
    ['search/batch', { searches: [search, { ...search, efsearch: 3 }] }, 'searches[1].efsearch', undefined],
    [
      'search/batch',
      { searches: [{ fields: { dense: { query: [1, 0, 0, 0], k: 3 } } }] },
      'searches[0].fields.dense.k',
      'limit',
    ],
    ['clone', { target_collection_name: 'b', target: 'c' }, 'target', undefined],
  ] as const) {
    const answer = await running.send('POST', `/api/v2/collection/docs/${route}`, { json })
    t.match([answer.status, answer.json()], [400, { code: 'invalid_argument', field }], route)
    if (meant !== undefined) t.match(answer.json().error, `did you mean "${meant}"?`)
  }
  t.strictSame(
    running.engine
      .database()
      .collections()
      .map(({ name }) => name),
    ['docs'],
    'nothing was cloned',
  )
})

test('a body of unknown keys only costs little', (t) => {
  const body = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key${i}`.repeat(20), i]))
  t.equal(unknownKeys(searchBody(512), body).length, 8)
  t.end()
})

test('an unsupported method on an existing path is 405 with the supported methods', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  for (const [method, route, allow] of [
    ['PUT', '/api/v1/index/docs/search', 'POST'],
    ['PUT', '/api/v1/index/list', 'GET, HEAD'],
    ['PUT', '/api/v2/collection/docs', 'DELETE, GET, HEAD'],
    ['PUT', '/api/v2/collection/docs/objects', 'DELETE, PATCH, POST'],
    ['GET', '/api/v2/collection/docs/objects/a%2Fb', 'DELETE'],
    ['POST', '/metrics', 'GET, HEAD'],
  ] as const) {
    const answer = await running.send(method, route)
    t.match([answer.status, answer.json().code], [405, 'method_not_allowed'], `${method} ${route}`)
    t.equal(answer.headers.get('allow'), allow, route)
  }
  t.equal((await running.send('PUT', '/api/v2/nothing')).status, 404)
})

test('k defaults to 10, and sparse values for a dense index are refused with the field name', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const json = Array.from({ length: 20 }, (_, i) => ({ id: `${i}`, vector: [i, 1, 0, 0] }))
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json })
  const search = (json: object) => running.send('POST', '/api/v1/index/docs/search', { json, accept })
  t.equal(((await search({ vector: [1, 0, 0, 0] })).json().results as unknown[]).length, 10)
  t.equal(((await search({ vector: [1, 0, 0, 0], k: null })).json().results as unknown[]).length, 10)

  const sparse = { sparse_indices: [1], sparse_values: [1] }
  const found = await search({ vector: [1, 0, 0, 0], ...sparse })
  t.match([found.status, found.json()], [400, { code: 'invalid_argument', field: 'sparse_indices' }])
  const tuple = ['b', new Uint8Array(0), '', 1, [1, 0, 0, 0]]
  for (const options of [
    { json: [{ id: 'b', vector: [1, 0, 0, 0], ...sparse }] },
    { msgpack: [[...tuple, [1], [1]]] },
  ]) {
    const answer = await running.send('POST', '/api/v1/index/docs/vector/insert', options)
    t.match([answer.status, answer.json()], [400, { code: 'invalid_argument', field: 'objects[0].sparse_indices' }])
  }
  const empty = await running.send('POST', '/api/v1/index/docs/vector/insert', { msgpack: [[...tuple, [], []]] })
  t.equal(empty.status, 200, 'what clients send for none is none')
})
