// Every route of /api/v1 in its compatible form: status, content type, and body as the published clients expect them.
import { deflateSync } from 'node:zlib'
import { encode } from '@msgpack/msgpack'
import { test } from 'tap'
import { createIndex, runningApp } from './running-app.ts'

const meta = deflateSync(Buffer.from('{"title":"first"}'))
const first = ['a', meta, '{"color":"red","size":3}', 2, [0.6, 0.8, 0, 0]]
const second = ['b', new Uint8Array(0), '{"color":"blue","size":7}', 1, [0, 0, 1, 0]]

test('an index is created, listed, described, and deleted with the exact replies of the contract', async (t) => {
  const running = await runningApp(t)
  const body = {
    index_name: 'docs',
    dim: 4,
    space_type: 'cosine',
    M: 16,
    ef_con: 128,
    checksum: -1,
    precision: 'int8d',
    version: null,
  }
  const created = await running.send('POST', '/api/v1/index/create', { json: body })
  t.equal(created.status, 200)
  t.equal(created.text, 'Index created successfully')
  t.match(created.headers.get('content-type'), /^text\/plain/)

  const again = await running.send('POST', '/api/v1/index/create', { json: body })
  t.equal(again.status, 409)
  t.match(again.json(), { code: 'collection_exists', error: String, request_id: String })

  const list = await running.send('GET', '/api/v1/index/list')
  t.equal(list.status, 200)
  const expected = { dimension: 4, space_type: 'cosine', precision: 'int8', M: 16, checksum: -1, sparse_model: 'None' }
  t.match(list.json(), { indexes: [{ name: 'docs', total_elements: 0, created_at: Number, ...expected }] })

  const info = await running.send('GET', '/api/v1/index/docs/info')
  t.equal(info.status, 200)
  t.match(info.json(), { total_elements: 0, ef_con: 128, lib_token: /^.+$/, sparse_dim: 0, ...expected })

  const dropped = await running.send('DELETE', '/api/v1/index/docs/delete')
  t.equal(dropped.status, 200)
  t.equal(dropped.text, 'Index deleted successfully')
  t.equal((await running.send('GET', '/api/v1/index/docs/info')).status, 404)
  t.equal((await running.send('DELETE', '/api/v1/index/docs/delete')).status, 404)
  t.strictSame((await running.send('GET', '/api/v1/index/list')).json(), { indexes: [] })
})

test('a create body may omit optional values, set them to null, or use their aliases', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { index_name: 'plain', precision: null, M: null, ef_con: null, version: 2, extra: true })
  t.match((await running.send('GET', '/api/v1/index/plain/info')).json(), { precision: 'int8', M: 16, ef_con: 128 })
  await createIndex(running, { index_name: 'wide', precision: 'int16d', space_type: 'L2' })
  t.match((await running.send('GET', '/api/v1/index/wide/info')).json(), { precision: 'int16', space_type: 'l2' })
  await createIndex(running, { index_name: 'hybrid', sparse_dim: 1_000 })
  t.match((await running.send('GET', '/api/v1/index/hybrid/info')).json(), {
    sparse_dim: 1_000,
    sparse_model: 'default',
  })
  await createIndex(running, { index_name: 'bm25', sparse_model: 'endee_bm25' })
  t.match((await running.send('GET', '/api/v1/index/bm25/info')).json(), {
    sparse_model: 'endee_bm25',
    sparse_dim: 2 ** 32,
  })
})

test('vectors are inserted, found, read, changed, and deleted in MessagePack', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', { msgpack: [first, second] })
  t.equal(inserted.status, 200)
  t.equal(inserted.text, '')

  const found = await running.send('POST', '/api/v1/index/docs/search', {
    json: { k: 2, ef: 128, include_vectors: true, vector: [0.6, 0.8, 0, 0] },
  })
  t.equal(found.status, 200)
  t.equal(found.headers.get('content-type'), 'application/msgpack')
  const hits = found.msgpack() as [number, string, Uint8Array, string, number, number[]][]
  t.strictSame(
    hits.map((hit) => hit[1]),
    ['a', 'b'],
  )
  t.ok(Math.abs(hits[0]![0] - 1) < 1e-5, 'similarity of the same direction is 1')
  t.ok(Buffer.from(hits[0]![2]).equals(meta), 'meta comes back byte for byte')
  t.equal(hits[0]![3], '{"color":"red","size":3}')
  t.equal(hits[0]![4], 2)
  t.ok(Math.abs(hits[0]![5][1]! - 0.8) < 1e-6, 'the stored unit vector is included')

  const bare = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: [0, 0, 1, 0] } })
  t.match(bare.msgpack(), [[Number, 'b', Uint8Array, String, 1, []]])

  const got = await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'a' } })
  t.equal(got.headers.get('content-type'), 'application/msgpack')
  t.match(got.msgpack(), ['a', Uint8Array, '{"color":"red","size":3}', 2, Array, [], []])

  const updated = await running.send('POST', '/api/v1/index/docs/filters/update', {
    json: { updates: [{ id: 'a', filter: { color: 'green' } }, { id: 'nobody', filter: {} }, { id: 'b' }] },
  })
  t.equal(updated.text, '1 filters updated')
  t.equal(
    ((await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'a' } })).msgpack() as unknown[])[2],
    '{"color":"green"}',
  )

  const deleted = await running.send('DELETE', '/api/v1/index/docs/vector/a/delete')
  t.equal(deleted.status, 200)
  t.equal(deleted.text, 'Vector deleted successfully')
  t.equal((await running.send('DELETE', '/api/v1/index/docs/vector/a/delete')).status, 404)
  t.equal((await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'a' } })).status, 404)

  const byFilter = await running.send('DELETE', '/api/v1/index/docs/vectors/delete', {
    json: { filter: [{ color: { $eq: 'blue' } }] },
  })
  t.equal(byFilter.text, '1 vectors deleted')
  t.equal(
    (await running.send('DELETE', '/api/v1/index/docs/vectors/delete', { json: { filter: [] } })).text,
    '0 vectors deleted',
  )
})

test('every reply is JSON if only JSON is accepted', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const accept = 'application/json'
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', {
    accept,
    json: [
      { id: 'a', meta: { title: 'first' }, filter: { color: 'red' }, vector: [3, 4, 0, 0] },
      { id: 7, meta: 'opaque', filter: '{"color":"blue"}', vector: [0, 0, 2, 0] },
    ],
  })
  t.match(inserted.json(), { upserted: 2, durable: true, lsn: Number })

  const found = await running.send('POST', '/api/v1/index/docs/search', {
    accept,
    json: { k: 2, vector: [3, 4, 0, 0], include_vectors: true, filter: [{ color: { $in: ['red', 'blue'] } }] },
  })
  t.match(found.headers.get('content-type'), /^application\/json/)
  const { results } = found.json() as { results: { norm: number; vector: number[]; distance: number }[] }
  t.match(results, [
    { id: 'a', meta: { title: 'first' }, filter: { color: 'red' } },
    { id: '7', meta_base64: Buffer.from('opaque').toString('base64'), filter: { color: 'blue' } },
  ])
  t.ok(Math.abs(results[0]!.norm - 5) < 1e-4)
  t.ok(Math.abs(results[0]!.vector[0]! - 3) < 1e-4, 'the vector is returned as given')
  t.ok(Math.abs(results[0]!.distance) < 1e-5)

  const got = await running.send('POST', '/api/v1/index/docs/vector/get', { accept, json: { id: 'a' } })
  t.match(got.json(), { id: 'a', meta: { title: 'first' }, filter: { color: 'red' }, vector: Array })
  const deleted = await running.send('DELETE', '/api/v1/index/docs/vector/a/delete', { accept })
  t.match(deleted.json(), { message: 'Vector deleted successfully', deleted: ['a'], lsn: Number })

  const axios = 'application/json, text/plain, */*'
  const compatible = await running.send('POST', '/api/v1/index/docs/search', {
    accept: axios,
    json: { k: 1, vector: [0, 0, 1, 0] },
  })
  t.equal(compatible.headers.get('content-type'), 'application/msgpack')
})

test('deviations that published clients depend on are accepted', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { sparse_dim: 100 })
  const route = '/api/v1/index/docs/vector/insert'
  const hybrid = [['h', new Uint8Array(0), '{}', 1, [1, 0, 0, 0], [3, 7], [1, 0.5]]]
  const padded = Buffer.alloc(2_048)
  padded.set(encode(hybrid))
  t.equal(
    (await running.send('POST', route, { body: padded, type: 'application/msgpack' })).status,
    200,
    'zero bytes follow the value',
  )
  const got = (
    await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id: 'h' } })
  ).msgpack() as unknown[]
  t.strictSame(
    got.slice(5),
    [
      [3, 7],
      [1, 0.5],
    ],
    'the sparse part is stored',
  )

  t.equal(
    (await running.send('POST', route, { msgpack: [['i', null, '', 1, [0, 1, 0, 0], null, null]] })).status,
    200,
    'nil sparse lists',
  )
  const withF32 = encode([['j', new Uint8Array(0), '{}', 1.5, [0.5, 0.5, 0.5, 0.5]]], { forceFloat32: true })
  t.equal(
    (await running.send('POST', route, { body: withF32, type: 'application/msgpack; charset=utf-8' })).status,
    200,
  )

  const text = await running.send('POST', '/api/v1/index/docs/search', {
    json: {
      k: 3,
      vector: [1, 0, 0, 0],
      filter: '[{"color":{"$eq":"x"}}]',
      dense_rrf_weight: 0.5,
      rrf_rank_constant: 60,
    },
  })
  t.strictSame(text.msgpack(), [], 'a filter as JSON text; an unknown field matches nothing')

  const sparse = await running.send('POST', '/api/v1/index/docs/search', {
    json: { k: 3, vector: [1, 0, 0, 0], sparse_indices: [3], sparse_values: [1] },
  })
  t.equal(sparse.status, 200)

  t.equal(
    (await running.send('DELETE', '/api/v1/index/docs/vector/h/delete', { type: 'application/json' })).status,
    200,
  )
  const encoded = await running.send('POST', route, { json: { id: 'a/b c', vector: [0, 0, 0, 1] } })
  t.equal(encoded.status, 200, 'one object instead of an array')
  t.equal(
    (await running.send('DELETE', '/api/v1/index/docs/vector/a%2Fb%20c/delete')).status,
    200,
    'ids in paths are decoded',
  )
})

test('a write to an absent index is 400, a read is 404', async (t) => {
  const running = await runningApp(t)
  const vectors = { json: [{ id: 'a', vector: [1, 2] }] }
  t.match(statusAndCode(await running.send('POST', '/api/v1/index/none/vector/insert', vectors)), [
    400,
    'collection_not_found',
  ])
  const search = { json: { k: 1, vector: [1, 2] } }
  t.match(statusAndCode(await running.send('POST', '/api/v1/index/none/search', search)), [404, 'collection_not_found'])
  t.equal((await running.send('POST', '/api/v1/index/none/vector/get', { json: { id: 'a' } })).status, 404)
  t.equal((await running.send('DELETE', '/api/v1/index/none/vector/a/delete')).status, 404)
  t.equal((await running.send('DELETE', '/api/v1/index/none/vectors/delete', { json: { filter: [] } })).status, 400)
  t.equal((await running.send('POST', '/api/v1/index/none/filters/update', { json: { updates: [] } })).status, 400)
})

test('health, stats, info, and users have their documented replies', async (t) => {
  const running = await runningApp(t)
  const health = await running.send('GET', '/api/v1/health')
  t.equal(health.status, 200)
  t.match(health.text, /^\{"status":"ok","timestamp":\d{19}\}$/)
  t.match((await running.send('GET', '/api/v2/health')).json(), { status: 'ok', timestamp: /^\d{4}-\d\d-\d\dT/ })
  for (const prefix of ['/api/v1', '/api/v2']) {
    t.match((await running.send('GET', `${prefix}/stats`)).json(), {
      version: /^\d/,
      uptime: Number,
      total_requests: Number,
    })
  }
  t.match((await running.send('GET', '/api/v2/info')).json(), {
    version: /^\d/,
    build_arch: String,
    machine_id: String,
    license: null,
  })
  t.match((await running.send('GET', '/api/v1/users/endee/info')).json(), {
    username: 'endee',
    user_type: 'Admin',
    is_active: true,
    token_count: 1,
  })
  t.match((await running.send('GET', '/api/v1/users/endee/type')).json(), { username: 'endee', user_type: 'Admin' })
  t.match(statusAndCode(await running.send('GET', '/api/v1/users/nobody/info')), [404, 'user_not_found'])
  t.match(statusAndCode(await running.send('GET', '/api/v1/no/such/route')), [404, 'route_not_found'])
})

function statusAndCode(answer: { readonly status: number; json(): Record<string, unknown> }): [number, unknown] {
  return [answer.status, answer.json().code]
}

test('a rescored search of an int8 index returns exact similarities', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { precision: 'int8', space_type: 'ip' })
  const vectors = Array.from({ length: 400 }, (_, n) => ({
    id: `${n}`,
    vector: [Math.sin(n), Math.cos(n), Math.sin(3 * n), 0.1 * n],
  }))
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json: vectors })
  const vector = [0.3, -0.2, 0.7, 0.11]
  const exact = Math.max(...vectors.map(({ vector: row }) => row.reduce((sum, x, i) => sum + x * vector[i]!, 0)))
  const best = async (rescore: boolean | null) => {
    const answer = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector, rescore } })
    return (answer.msgpack() as [number, string][])[0]![0]
  }
  t.ok(Math.abs((await best(true)) - exact) < 1e-6)
  t.ok(Math.abs((await best(null)) - exact) > 1e-6, 'the quantized rows do not')
})

test('a collection of v2 with one dense and one sparse field of any name is an index of v1', async (t) => {
  const running = await runningApp(t)
  const fields = [
    { name: 'embedding', type: 'vector', params: { dimension: 4, space_type: 'ip', precision: 'float32' } },
    { name: 'terms', type: 'sparse', sparse_model: 'default' },
  ]
  const create = (name: string, more: object[]) =>
    running.send('POST', '/api/v2/collection', { json: { name, fields: [...fields, ...more] } })
  await create('docs', [])
  await create('two', [{ ...fields[0], name: 'other' }])
  const listed = (await running.send('GET', '/api/v1/index/list')).json()
  t.match(listed, { indexes: [{ name: 'docs', dimension: 4, space_type: 'ip', sparse_model: 'default' }] })
  t.equal((listed.indexes as unknown[]).length, 1)
  t.match(statusAndCode(await running.send('GET', '/api/v1/index/two/info')), [404, 'collection_not_found'])
  const sparse = { sparse_indices: [3], sparse_values: [2] }
  const json = [{ id: 'a', vector: [1, 0, 0, 0], meta: { n: 1 }, ...sparse }]
  t.equal((await running.send('POST', '/api/v1/index/docs/vector/insert', { json })).status, 200)
  const options = { json: { k: 1, vector: [1, 0, 0, 0], ...sparse }, accept: 'application/json' }
  const found = (await running.send('POST', '/api/v1/index/docs/search', options)).json()
  t.match(found, { results: [{ id: 'a', meta: { n: 1 } }] })
  const get = { json: { id: 'a' }, accept: 'application/json' }
  t.match((await running.send('POST', '/api/v1/index/docs/vector/get', get)).json(), {
    vector: [1, 0, 0, 0],
    ...sparse,
  })
  const query = { json: { fields: { terms: { query: { indices: [3], values: [1] } } } }, accept: 'application/json' }
  const v2 = (await running.send('POST', '/api/v2/collection/docs/search', query)).json()
  t.match(v2, { results: { terms: [{ id: 'a', similarity: 2 }] } }, 'both see the same')

  // A dense field may have the name that v1 uses for sparse ones.
  const misnamed = { name: 'misnamed', fields: [{ ...fields[0], name: 'sparse' }] }
  await running.send('POST', '/api/v2/collection', { json: misnamed })
  const one = { json: [{ id: 'b', vector: [1, 0, 0, 0] }] }
  t.equal((await running.send('POST', '/api/v1/index/misnamed/vector/insert', one)).status, 200)
  const ask = { json: { k: 5, vector: [1, 0, 0, 0] }, accept: 'application/json' }
  const hits = (await running.send('POST', '/api/v1/index/misnamed/search', ask)).json()
  t.match(hits, { results: [{ id: 'b' }] })
  t.equal((hits.results as unknown[]).length, 1)
})
