// For any error in a request: a 4xx with a code that names field, value, and limit, a process that keeps running, and nothing stored.
import { encode } from '@msgpack/msgpack'
import { type Test, test } from 'tap'
import { createIndex, type RunningApp, runningApp, type SendOptions } from './running-app.ts'

interface BadRequest {
  readonly why: string
  readonly method?: string
  readonly route: string
  readonly options: SendOptions
  readonly status?: number
  readonly code: string | RegExp
  readonly field?: string | RegExp
  readonly value?: unknown
  readonly limit?: unknown
}

const create = (
  why: string,
  change: Readonly<Record<string, unknown>>,
  expected: Omit<BadRequest, 'why' | 'route' | 'options'>,
): BadRequest => ({
  why,
  route: '/api/v1/index/create',
  options: { json: { index_name: 'bad', dim: 4, space_type: 'cosine', ...change } },
  ...expected,
})
const insert = (
  why: string,
  options: SendOptions,
  expected: Omit<BadRequest, 'why' | 'route' | 'options'>,
): BadRequest => ({
  why: `insert: ${why}`,
  route: '/api/v1/index/docs/vector/insert',
  options,
  ...expected,
})
const search = (
  why: string,
  change: Readonly<Record<string, unknown>>,
  expected: Omit<BadRequest, 'why' | 'route' | 'options'>,
): BadRequest => ({
  why: `search: ${why}`,
  route: '/api/v1/index/docs/search',
  options: { json: { k: 3, vector: [1, 0, 0, 0], ...change } },
  ...expected,
})
const invalid = 'invalid_argument'
const good = [1, 0, 0, 0]
const tuple = (id: unknown, vector: unknown = good): unknown[] => [id, new Uint8Array(0), '{}', 1, vector]
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
const nestedMsgpack = (depth: number): Buffer => Buffer.concat([Buffer.alloc(depth, 0x91), Buffer.from([0xc0])])
const json = (body: string): SendOptions => ({ body, type: 'application/json' })
const msgpack = (body: Uint8Array): SendOptions => ({ body, type: 'application/msgpack' })

const badCreates: BadRequest[] = [
  create('dimension 10,001', { dim: 10_001 }, { code: 'limit_exceeded', field: 'dim', value: 10_001, limit: 10_000 }),
  create('dimension 1', { dim: 1 }, { code: 'limit_exceeded', field: 'dim', value: 1, limit: 2 }),
  create('dimension as text', { dim: '4' }, { code: invalid, field: 'dim', value: '4' }),
  create('dimension with a fraction', { dim: 4.5 }, { code: invalid, field: 'dim', value: 4.5 }),
  create('no dimension', { dim: undefined }, { code: invalid, field: 'dim' }),
  create(
    'unknown space type',
    { space_type: 'manhattan' },
    { code: invalid, field: 'space_type', value: /manhattan/, limit: /cosine/ },
  ),
  create('unknown precision', { precision: 'int4' }, { code: invalid, field: 'precision', value: /int4/ }),
  create('M 3', { M: 3 }, { code: 'limit_exceeded', field: 'M', value: 3, limit: 4 }),
  create('M 513', { M: 513 }, { code: 'limit_exceeded', field: 'M', value: 513, limit: 512 }),
  create('ef_con 4,097', { ef_con: 4_097 }, { code: 'limit_exceeded', field: 'ef_con', value: 4_097, limit: 4_096 }),
  create('unknown sparse model', { sparse_model: 'bm42' }, { code: invalid, field: 'sparse_model', value: 'bm42' }),
  create('empty name', { index_name: '' }, { code: invalid, field: 'index_name' }),
  create('name that walks up', { index_name: '../etc' }, { code: invalid, field: 'index_name' }),
  create('name with a lone surrogate', { index_name: 'a\ud800' }, { code: invalid, field: 'index_name' }),
  create('name as number', { index_name: 7 }, { code: invalid, field: 'index_name', value: 7 }),
]

const badInserts: BadRequest[] = [
  insert(
    'wrong dimension',
    { msgpack: [tuple('a', [1, 2, 3])] },
    { code: invalid, field: 'objects[0].vector', value: 3, limit: 4 },
  ),
  insert(
    'wrong dimension in JSON',
    { json: [{ id: 'a', vector: [1, 2, 3] }] },
    { code: invalid, field: 'objects[0].vector', value: 3, limit: 4 },
  ),
  insert(
    'NaN',
    { msgpack: [tuple('a', [1, Number.NaN, 0, 0])] },
    { code: invalid, field: 'objects[0].vector[1]', value: 'NaN' },
  ),
  insert(
    'Infinity',
    { msgpack: [tuple('a', [1, 0, Number.POSITIVE_INFINITY, 0])] },
    { code: invalid, field: 'objects[0].vector[2]', value: 'Infinity' },
  ),
  insert(
    '1e39',
    { msgpack: [tuple('a', [1, 0, 0, 1e39])] },
    { code: invalid, field: 'objects[0].vector[3]', value: 1e39 },
  ),
  insert(
    '1e39 in JSON',
    { json: [{ id: 'a', vector: [1e39, 0, 0, 0] }] },
    { code: invalid, field: 'objects[0].vector[0]', value: 1e39 },
  ),
  insert('1e400 in JSON', json('[{"id":"a","vector":[1e400,0,0,0]}]'), {
    code: invalid,
    field: 'objects[0].vector[0]',
    value: 'Infinity',
  }),
  insert(
    'text for numbers',
    { msgpack: [tuple('a', ['1', 0, 0, 0])] },
    { code: invalid, field: 'objects[0].vector[0]' },
  ),
  insert(
    'text for numbers in JSON',
    { json: [{ id: 'a', vector: ['1', 0, 0, 0] }] },
    { code: invalid, field: 'objects[0].vector[0]', value: '1' },
  ),
  insert(
    'null for a number',
    { json: [{ id: 'a', vector: [null, 0, 0, 0] }] },
    { code: invalid, field: 'objects[0].vector[0]' },
  ),
  insert('no vector', { json: [{ id: 'a' }] }, { code: invalid, field: 'objects[0].vector' }),
  insert(
    'a norm that is NaN',
    { msgpack: [['a', new Uint8Array(0), '{}', Number.NaN, good]] },
    { code: invalid, field: /norm/ },
  ),
  insert(
    'duplicate ids',
    { msgpack: [tuple('a'), tuple('b'), tuple('a')] },
    { code: invalid, field: /id/, value: 'a' },
  ),
  insert('empty id', { msgpack: [tuple('')] }, { code: invalid, field: /id/ }),
  insert('id of 513 bytes', { msgpack: [tuple('x'.repeat(513))] }, { code: 'limit_exceeded', field: /id/, limit: 512 }),
  insert('id with a lone surrogate', json('[{"id":"a\\ud800b","vector":[1,0,0,0]}]'), { code: invalid, field: /id/ }),
  insert('meta with a lone surrogate', json('[{"id":"a","meta":"\\ud800","vector":[1,0,0,0]}]'), {
    code: invalid,
    field: /meta/,
  }),
  insert(
    'id that is no UTF-8',
    msgpack(Buffer.from('919 5a2fffec400a27b7dcb3ff0000000000000 94 01 00 00 00'.replaceAll(' ', ''), 'hex')),
    { code: invalid, field: 'objects[0].id' },
  ),
  insert('id as object', { json: [{ id: {}, vector: good }] }, { code: invalid, field: 'objects[0].id' }),
  insert(
    '1,001 vectors',
    { msgpack: Array.from({ length: 1_001 }, (_, i) => tuple(`n${i}`)) },
    { code: 'limit_exceeded', field: 'objects', value: 1_001, limit: 1_000 },
  ),
  insert(
    '1,001 vectors in JSON',
    { json: Array.from({ length: 1_001 }, (_, i) => ({ id: `n${i}`, vector: good })) },
    { code: 'limit_exceeded', field: 'objects', value: 1_001, limit: 1_000 },
  ),
  insert('an empty batch', { msgpack: [] }, { code: invalid, field: 'objects' }),
  insert('a map for the batch', { msgpack: { id: 'a' } }, { code: invalid, field: 'objects' }),
  insert(
    'filter text that is no JSON',
    { msgpack: [['a', new Uint8Array(0), '{oops', 1, good]] },
    { code: /invalid/, field: /filter/ },
  ),
  insert(
    'an array for a filter',
    { msgpack: [['a', new Uint8Array(0), '[1]', 1, good]] },
    { code: /invalid/, field: /filter/ },
  ),
  insert(
    'meta of 64 KiB and a byte',
    { msgpack: [['a', new Uint8Array(65_537), '{}', 1, good]] },
    { code: 'limit_exceeded', field: /meta/, limit: 65_536 },
  ),
  insert(
    'sparse parts of different length',
    { json: [{ id: 'a', vector: good, sparse_indices: [1, 2], sparse_values: [1] }] },
    { code: invalid, field: 'objects[0].sparse_values', value: 1, limit: 2 },
  ),
  insert('broken MessagePack', msgpack(Buffer.from(encode([tuple('a')])).subarray(0, 12)), { code: 'invalid_msgpack' }),
  insert('MessagePack that announces four billion entries', msgpack(Buffer.from('ddffffffff', 'hex')), {
    code: 'invalid_msgpack',
  }),
  insert('MessagePack full of announcements', msgpack(Buffer.alloc(60_000, Buffer.from('dcffff', 'hex'))), {
    code: 'invalid_msgpack',
  }),
  insert('deeply nested MessagePack', msgpack(nestedMsgpack(100_000)), { code: invalid }),
  insert('an empty MessagePack body', msgpack(new Uint8Array(0)), { code: /invalid/ }),
  insert('broken JSON', json('[{"id":"a",'), { code: 'invalid_json', field: 'body' }),
  insert('an empty JSON body', json(''), { code: /invalid/ }),
  insert('deeply nested JSON', json(nested(1_000_000)), { code: 'limit_exceeded', field: 'body', limit: 36 }),
  insert('__proto__ in meta', json('[{"id":"a","vector":[1,0,0,0],"meta":{"__proto__":{"x":1}}}]'), {
    code: invalid,
    value: '__proto__',
  }),
  insert('__proto__ spelled with escapes', json('[{"id":"a","vector":[1,0,0,0],"meta":{"\\u005f_proto__":{"x":1}}}]'), {
    code: invalid,
    value: '__proto__',
  }),
  insert(
    'meta nested deeper than 32',
    { json: [{ id: 'a', vector: good, meta: JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`) as unknown }] },
    { code: 'limit_exceeded', field: /meta/, limit: 32 },
  ),
  insert(
    'a body of another type',
    { body: 'id=a', type: 'application/x-www-form-urlencoded' },
    { status: 415, code: 'unsupported_media_type' },
  ),
  insert(
    'a compressed body',
    { ...json('[]'), headers: { 'content-encoding': 'gzip' } },
    { status: 415, code: 'unsupported_media_type' },
  ),
]

const badSearches: BadRequest[] = [
  search('top_k 513', { k: 513 }, { code: 'limit_exceeded', field: 'k', value: 513, limit: 512 }),
  search('top_k 0', { k: 0 }, { code: 'limit_exceeded', field: 'k', value: 0, limit: 1 }),
  search('top_k as text', { k: '3' }, { code: invalid, field: 'k', value: '3' }),
  search('ef 1,025', { ef: 1_025 }, { code: 'limit_exceeded', field: 'ef', value: 1_025, limit: 1_024 }),
  search('wrong dimension', { vector: [1, 2] }, { code: invalid, field: 'vector', value: 2, limit: 4 }),
  search('1e39', { vector: [1e39, 0, 0, 0] }, { code: invalid, field: 'vector[0]', value: 1e39 }),
  search('text for numbers', { vector: ['1', 0, 0, 0] }, { code: invalid, field: 'vector[0]', value: '1' }),
  search('no vector', { vector: undefined }, { code: invalid, field: 'vector' }),
  search(
    'sparse alone on a dense index',
    { vector: undefined, sparse_indices: [1], sparse_values: [1] },
    { code: invalid, field: 'sparse_indices', value: 1, limit: 0 },
  ),
  search('a filter that is no array', { filter: '{"a":1}' }, { code: 'invalid_filter', field: 'filter' }),
  search('a filter that is no JSON', { filter: '[{' }, { code: 'invalid_json', field: 'filter' }),
  search('an unknown operator', { filter: [{ size: { $near: 3 } }] }, { code: 'invalid_filter', field: /filter/ }),
  search('a range upside down', { filter: [{ size: { $range: [9, 1] } }] }, { code: 'invalid_filter' }),
  search(
    'threshold 999',
    { filter: [{ a: { $eq: 1 } }], filter_params: { prefilter_threshold: 999 } },
    { code: /limit_exceeded|invalid_argument/, value: 999, limit: /1000|1,000/ },
  ),
  search(
    'boost 101',
    { filter_params: { boost_percentage: 101 } },
    { code: 'limit_exceeded', field: 'filter_params.boost_percentage', value: 101, limit: 100 },
  ),
  search(
    'fusion weight 2',
    { dense_rrf_weight: 2 },
    { code: 'limit_exceeded', field: 'dense_rrf_weight', value: 2, limit: 1 },
  ),
  search(
    'rank constant 0',
    { rrf_rank_constant: 0 },
    { code: 'limit_exceeded', field: 'rrf_rank_constant', value: 0, limit: 0 },
  ),
]

const badOthers: BadRequest[] = [
  {
    why: 'get without an id',
    route: '/api/v1/index/docs/vector/get',
    options: { json: {} },
    code: invalid,
    field: 'id',
  },
  {
    why: 'get with a list',
    route: '/api/v1/index/docs/vector/get',
    options: { json: { id: ['a'] } },
    code: invalid,
    field: 'id',
  },
  { why: 'get with nothing', route: '/api/v1/index/docs/vector/get', options: json(''), code: 'invalid_json' },
  {
    why: 'delete by a filter that is no array',
    method: 'DELETE',
    route: '/api/v1/index/docs/vectors/delete',
    options: { json: { filter: 'x' } },
    code: invalid,
    field: 'filter',
  },
  {
    why: 'delete without a filter',
    method: 'DELETE',
    route: '/api/v1/index/docs/vectors/delete',
    options: { json: {} },
    code: invalid,
    field: 'filter',
  },
  {
    why: 'delete by conditions that are none',
    method: 'DELETE',
    route: '/api/v1/index/docs/vectors/delete',
    options: { json: { filter: [7] } },
    code: 'invalid_filter',
    field: 'filter[0]',
  },
  {
    why: 'updates that are no array',
    route: '/api/v1/index/docs/filters/update',
    options: { json: { updates: {} } },
    code: invalid,
    field: 'updates',
  },
  {
    why: '1,001 updates',
    route: '/api/v1/index/docs/filters/update',
    options: { json: { updates: Array.from({ length: 1_001 }, () => ({})) } },
    code: 'limit_exceeded',
    field: 'updates',
    value: 1_001,
    limit: 1_000,
  },
  {
    why: 'a search in nested MessagePack',
    route: '/api/v1/index/docs/search',
    options: msgpack(nestedMsgpack(33)),
    code: 'invalid_msgpack',
  },
  {
    why: 'a search in MessagePack with an extension',
    route: '/api/v1/index/docs/search',
    options: msgpack(Buffer.from('d4017f', 'hex')),
    code: 'invalid_msgpack',
  },
  { why: 'a search of nothing', route: '/api/v1/index/docs/search', options: json('null'), code: invalid },
]

test('bad input is refused on every route and stores nothing', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const before = running.engine.stats().lsnApplied
  for (const bad of [...badCreates, ...badInserts, ...badSearches, ...badOthers]) await refused(t, running, bad)
  t.equal(running.engine.stats().lsnApplied, before, 'no event was written')
  t.match((await running.send('GET', '/api/v1/index/list')).json(), { indexes: [{ name: 'docs', total_elements: 0 }] })
  t.equal((await running.send('GET', '/api/v1/health')).status, 200, 'the process lives')
  t.strictSame(Object.keys(Object.prototype), [], 'no prototype was touched')
})

async function refused(t: Test, running: RunningApp, bad: BadRequest): Promise<void> {
  const answer = await running.send(bad.method ?? 'POST', bad.route, bad.options)
  const expected = { code: bad.code, error: /./, request_id: /./ }
  t.equal(answer.status, bad.status ?? 400, `${bad.why}: status`)
  t.match(
    answer.status === 200 ? { text: answer.text } : answer.json(),
    {
      ...expected,
      ...(bad.field === undefined ? {} : { field: bad.field }),
      ...(bad.value === undefined ? {} : { value: bad.value }),
      ...(bad.limit === undefined ? {} : { limit: bad.limit }),
    },
    bad.why,
  )
}
