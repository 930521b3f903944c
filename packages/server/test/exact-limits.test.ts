// Every limit with one less, exactly the limit, and one more: accepted, accepted, refused with the name of the limit.
import { test } from 'tap'
import { createIndex, type RunningApp, runningApp, type SendOptions } from './running-app.ts'

interface Limit {
  readonly what: string
  /** The largest accepted value, or the smallest if `least` is set. */
  readonly limit: number
  readonly least?: true
  /** Replies do not contain the number of this limit. */
  readonly unnamed?: true
  request(value: number): [method: string, route: string, options: SendOptions]
}

let made = 0
const create =
  (change: (value: number) => object) =>
  (value: number): [string, string, SendOptions] => {
    made += 1
    return [
      'POST',
      '/api/v1/index/create',
      { json: { index_name: `i${made}`, dim: 4, space_type: 'l2', ...change(value) } },
    ]
  }
const search =
  (change: (value: number) => object) =>
  (value: number): [string, string, SendOptions] => [
    'POST',
    '/api/v1/index/docs/search',
    { json: { k: 1, vector: [1, 0, 0, 0], ...change(value) } },
  ]
const insert =
  (objects: (value: number) => object[]) =>
  (value: number): [string, string, SendOptions] => [
    'POST',
    '/api/v1/index/docs/vector/insert',
    { json: objects(value) },
  ]
const vector = [1, 0, 0, 0]
const nestedMeta = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
const objects = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `n${i}`, vector }))

const limits: Limit[] = [
  { what: 'dimension', limit: 10_000, request: create((dim) => ({ dim })) },
  { what: 'dimension', limit: 2, least: true, request: create((dim) => ({ dim })) },
  { what: 'M', limit: 512, request: create((M) => ({ M })) },
  { what: 'M', limit: 4, least: true, request: create((M) => ({ M })) },
  { what: 'ef_con', limit: 4_096, request: create((ef_con) => ({ ef_con })) },
  { what: 'ef_con', limit: 8, least: true, request: create((ef_con) => ({ ef_con })) },
  { what: 'sparse dimension', limit: 2 ** 32, request: create((sparse_dim) => ({ sparse_dim })) },
  {
    what: 'length of a name',
    limit: 64,
    request: create((length) => ({ index_name: `n${made}`.padEnd(length, 'x') })),
  },
  // In addition to the five values of the search.
  { what: 'values of a body', limit: 2_000_000, request: search((count) => ({ more: Array(count - 5).fill(0) })) },
  { what: 'top k', limit: 512, request: search((k) => ({ k })) },
  { what: 'top k', limit: 1, least: true, request: search((k) => ({ k })) },
  { what: 'ef', limit: 1_024, request: search((ef) => ({ ef })) },
  { what: 'ef', limit: 1, least: true, request: search((ef) => ({ ef })) },
  {
    what: 'prefilter threshold',
    limit: 1_000_000,
    request: search((prefilter_threshold) => ({ filter_params: { prefilter_threshold } })),
  },
  {
    what: 'prefilter threshold',
    limit: 1_000,
    least: true,
    request: search((prefilter_threshold) => ({ filter_params: { prefilter_threshold } })),
  },
  {
    what: 'filter boost',
    limit: 100,
    request: search((boost_percentage) => ({ filter_params: { boost_percentage } })),
  },
  {
    what: 'filter boost',
    limit: 0,
    least: true,
    request: search((boost_percentage) => ({ filter_params: { boost_percentage } })),
  },
  { what: 'batch', limit: 1_000, request: insert(objects) },
  { what: 'bytes of an id', limit: 512, request: insert((length) => [{ id: 'x'.repeat(length), vector }]) },
  {
    what: 'bytes of an id of two-byte letters',
    limit: 256,
    unnamed: true,
    request: insert((length) => [{ id: 'é'.repeat(length), vector }]),
  },
  {
    what: 'bytes of an id',
    limit: 1,
    least: true,
    unnamed: true,
    request: insert((length) => [{ id: 'x'.repeat(length), vector }]),
  },
  {
    what: 'bytes of meta',
    limit: 65_536,
    request: insert((length) => [{ id: 'a', vector, meta: 'm'.repeat(length) }]),
  },
  {
    what: 'bytes of a meta object',
    limit: 65_536,
    request: insert((length) => [{ id: 'a', vector, meta: { m: 'm'.repeat(length - 8) } }]),
  },
  { what: 'nesting of meta', limit: 32, request: insert((depth) => [{ id: 'a', vector, meta: nestedMeta(depth) }]) },
  {
    what: 'keys of a filter',
    limit: 256,
    request: insert((count) => [
      { id: 'a', vector, filter: Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i])) },
    ]),
  },
  {
    what: 'bytes of a filter key',
    limit: 256,
    request: insert((length) => [{ id: 'a', vector, filter: { ['k'.repeat(length)]: 1 } }]),
  },
  {
    what: 'bytes of a filter text',
    limit: 1_024,
    request: insert((length) => [{ id: 'a', vector, filter: { k: 'v'.repeat(length) } }]),
  },
  {
    what: 'filter updates',
    limit: 1_000,
    request: (count) => [
      'POST',
      '/api/v1/index/docs/filters/update',
      { json: { updates: Array.from({ length: count }, () => ({})) } },
    ],
  },
  {
    what: 'ids of one read',
    limit: 1_000,
    request: (count) => [
      'POST',
      '/api/v2/collection/docs/objects/query',
      { json: { ids: Array.from({ length: count }, () => 'n1') } },
    ],
  },
  {
    what: 'limit of a field',
    limit: 512,
    request: (limit) => [
      'POST',
      '/api/v2/collection/docs/search',
      { json: { fields: { dense: { query: vector, limit } } } },
    ],
  },
  {
    what: 'ef of a field',
    limit: 1_024,
    request: (ef_search) => [
      'POST',
      '/api/v2/collection/docs/search',
      { json: { fields: { dense: { query: vector, ef_search } } } },
    ],
  },
  {
    what: 'fields of a collection',
    limit: 8,
    request: (count) => {
      made += 1
      const fields = Array.from({ length: count }, (_, i) => ({
        name: `f${i}`,
        type: 'vector',
        params: { dimension: 2 },
      }))
      return ['POST', '/api/v2/collection', { json: { name: `c${made}`, fields } }]
    },
  },
]

test('every limit is exact', { timeout: 120_000 }, async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { space_type: 'l2' })
  let cells = 0
  for (const { what, limit, least, unnamed, request } of limits) {
    const inwards = least ? 1 : -1
    for (const value of [limit + inwards, limit]) {
      const answer = await ask(running, request(value))
      t.equal(answer.status, 200, `${what} ${value} is taken${answer.status === 200 ? '' : `: ${answer.text}`}`)
    }
    const beyond = await ask(running, request(limit - inwards))
    t.equal(beyond.status, 400, `${what} ${limit - inwards} is refused: ${beyond.text.slice(0, 160)}`)
    if (beyond.status === 400 && !unnamed)
      t.ok(String(beyond.json().limit).includes(String(limit)), `${what}: ${beyond.text.slice(0, 200)}`)
    cells += 3
  }
  t.ok(cells >= 60, `${cells} cells`)
})

test('the maximum request fits into a body', { timeout: 120_000 }, async (t) => {
  const running = await runningApp(t)
  const params = { space_type: 'l2', precision: 'float32' }
  const fields = [
    { name: 'dense', type: 'vector', params: { ...params, dimension: 1_536 } },
    { name: 'multi', type: 'multi_vector', params: { ...params, dimension: 1_024 } },
    { name: 'sparse', type: 'sparse', sparse_model: 'default' },
  ]
  t.equal((await running.send('POST', '/api/v2/collection', { json: { name: 'wide', fields } })).status, 200)
  // Numbers of maximum length in JSON.
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => -(i + 1) / 1.2345678901234567e9)
  const terms = {
    indices: Array.from({ length: 65_536 }, (_, i) => 4_294_901_759 + i),
    values: numbers(65_536),
  }
  const searches = Array.from({ length: 100 }, () => ({ fields: { dense: { query: numbers(1_536) } } }))
  const $in = Array.from({ length: 10_000 }, (_, i) => `${i}`.padEnd(500, 'x'))
  for (const [route, json] of [
    ['search/batch', { searches }],
    ['search', { fields: { multi: { query: Array.from({ length: 256 }, () => numbers(1_024)) } } }],
    ['search', { fields: { sparse: { query: terms } } }],
    ['objects/query', { ids: Array.from({ length: 1_000 }, (_, i) => `${i}`.padEnd(512, '"')) }],
    ['objects/count', { filter: [{ a: { $in } }] }],
  ] as const) {
    const answer = await running.send('POST', `/api/v2/collection/wide/${route}`, { json })
    t.equal(answer.status, 200, `${route}: ${answer.text.slice(0, 200)}`)
  }
  await createIndex(running, { index_name: 'both', sparse_dim: 2 ** 32 })
  const sparse = { sparse_indices: terms.indices, sparse_values: terms.values }
  t.equal((await running.send('POST', '/api/v1/index/both/search', { json: { k: 1, ...sparse } })).status, 200)
})

async function ask(running: RunningApp, [method, route, options]: [string, string, SendOptions]) {
  return running.send(method, route, options)
}
