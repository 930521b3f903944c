// A vector as bytes, in base64, or as numbers is the same vector on every route that takes one, and a wrong one has a stable error.
import { type Test, test } from 'tap'
import { createIndex, type RunningApp, runningApp, type SendOptions } from './running-app.ts'
import { base64Of, bytesOf, vectorBody } from './vector-bodies.ts'

const accept = 'application/json'
const type = 'application/octet-stream'
const vectors: readonly (readonly number[])[] = [
  [1, 0, 0, 0],
  [0.6, 0.8, 0, 0],
  [0.1, -0.2, 0.3, 16_777_216],
]
const query = [0.5, 0.25, -0.125, 2 ** -140]

/** The same body in every form: a function writes its vectors. */
function forms(body: (write: (vector: readonly number[]) => unknown) => unknown): [string, SendOptions][] {
  return [
    ['base64 in JSON', { json: body(base64Of) }],
    ['base64 in MessagePack', { msgpack: body(base64Of) }],
    ['bin in MessagePack', { msgpack: body(bytesOf) }],
    ['numbers in MessagePack', { msgpack: body((vector) => vector) }],
  ]
}

async function sameReplies(
  t: Test,
  running: RunningApp,
  path: string,
  body: Parameters<typeof forms>[0],
  others: readonly [string, SendOptions][] = [],
) {
  const wanted = await running.send('POST', path, { json: body((vector) => vector), accept })
  t.equal(wanted.status, 200, wanted.text)
  for (const [name, options] of [...forms(body), ...others]) {
    const found = await running.send('POST', path, { ...options, accept })
    t.equal(found.text, wanted.text, `${path}: ${name}`)
  }
}

async function filled(t: Test): Promise<RunningApp> {
  const running = await runningApp(t)
  await createIndex(running, { space_type: 'l2' })
  const fields = [
    { name: 'title', type: 'vector', params: { dimension: 4, space_type: 'ip', precision: 'float32' } },
    { name: 'parts', type: 'multi_vector', params: { dimension: 4, space_type: 'ip', precision: 'float32' } },
  ]
  await running.send('POST', '/api/v2/collection', { json: { name: 'films', fields } })
  const objects = vectors.map((vector, i) => ({ id: `o${i}`, fields: { title: vector, parts: [vector, query] } }))
  await running.send('POST', '/api/v2/collection/films/objects', { json: { objects } })
  const items = vectors.map((vector, i) => ({ id: `o${i}`, vector }))
  const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', { json: items })
  t.equal(inserted.status, 200, inserted.text)
  return running
}

test('a search of an index', async (t) => {
  const running = await filled(t)
  const rest = { k: 2, ef: 20, filter: '[]' }
  await sameReplies(t, running, '/api/v1/index/docs/search', (write) => ({ ...rest, vector: write(query) }), [
    ['bytes', { body: vectorBody(rest, bytesOf(query)), type }],
  ])
  await sameReplies(t, running, '/api/v1/index/docs/search', (write) => ({ vector: write(query) }), [
    ['bytes without parameters', { body: vectorBody('', bytesOf(query)), type }],
  ])
})

test('a search of a collection', async (t) => {
  const running = await filled(t)
  const path = '/api/v2/collection/films/search'
  const one = { limit: 2, ef_search: 20 }
  await sameReplies(t, running, path, (write) => ({ fields: { title: { ...one, query: write(query) } } }), [
    ['bytes', { body: vectorBody({ fields: { title: one } }, bytesOf(query)), type }],
  ])
  await sameReplies(t, running, path, (write) => ({ fields: { parts: { query: [write(query), write(vectors[1]!)] } } }))
  await sameReplies(t, running, path, (write) => ({ fields: { parts: { query: write(query) } } }), [
    ['bytes', { body: vectorBody({ fields: { parts: {} } }, bytesOf(query)), type }],
  ])
  await sameReplies(t, running, `${path}/batch`, (write) => ({
    searches: [{ fields: { title: { query: write(query) } } }],
  }))
})

test('inserts and upserts', async (t) => {
  const running = await filled(t)
  const insert = '/api/v1/index/docs/vector/insert'
  const upsert = '/api/v2/collection/films/objects'
  const value = query.map(Math.fround)
  for (const [id, options] of [
    ['base64', { json: [{ id: 'base64', vector: base64Of(query) }] }],
    ['bin', { msgpack: [['bin', null, '', null, bytesOf(query)]] }],
  ] as const) {
    t.equal((await running.send('POST', insert, options)).status, 200)
    const read = await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id }, accept })
    t.strictSame(read.json().vector, value, `v1 ${id}`)
  }
  const fields = { title: base64Of(query), parts: [base64Of(query), query] }
  const named = { title: { vector: base64Of(query) }, parts: { vectors: [base64Of(query), query] } }
  const packed = [{ title: bytesOf(query) }, {}, { parts: [bytesOf(query), query] }]
  for (const [id, options] of [
    ['base64', { json: { objects: [{ id: 'base64', fields }] } }],
    ['named', { json: { objects: [{ id: 'named', fields: named }] } }],
    ['bin', { msgpack: [[['bin', null, '', ...packed]]] }],
  ] as const) {
    t.equal((await running.send('POST', upsert, options)).status, 200)
    const read = await running.send('POST', `${upsert}/query`, { json: { ids: [id] }, accept })
    const [object] = read.json().objects as { fields: unknown }[]
    t.match(object!.fields, { title: { vector: value }, parts: { vectors: [value, value] } }, `v2 ${id}`)
  }
})

test('the objects of a large body have vectors as base64 and bytes', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { dim: 1_024, space_type: 'ip' })
  const vector = Array.from({ length: 1_024 }, (_, i) => Math.fround(Math.sin(i)))
  const path = '/api/v1/index/docs/vector/insert'
  const json = Array.from({ length: 100 }, (_, i) => ({ id: `j${i}`, vector: base64Of(vector) }))
  const msgpack = json.map((_, i) => [`m${i}`, null, '', null, bytesOf(vector)])
  for (const options of [{ json }, { msgpack }]) t.equal((await running.send('POST', path, options)).status, 200)
  for (const id of ['j99', 'm99']) {
    const read = await running.send('POST', '/api/v1/index/docs/vector/get', { json: { id }, accept })
    t.strictSame(read.json().vector, vector)
  }
})

test('wrong vectors', async (t) => {
  const running = await filled(t)
  const infinite = bytesOf([0, Number.POSITIVE_INFINITY, 0, 0])
  const nan = bytesOf([0, 0, 0, Number.NaN])
  const wrong: readonly [string, Uint8Array | string, object][] = [
    [
      'three bytes too many',
      Buffer.concat([bytesOf(query), Buffer.alloc(3)]),
      { field: 'vector', value: 19, limit: 4 },
    ],
    ['another dimension', bytesOf([1, 2, 3]), { field: 'vector', value: 3, limit: 4 }],
    ['no bytes', new Uint8Array(0), { field: 'vector', value: 0, limit: 4 }],
    ['infinity', infinite, { field: 'vector[1]', value: 'Infinity' }],
    ['NaN', nan, { field: 'vector[3]', value: 'NaN' }],
  ]
  const path = '/api/v1/index/docs/search'
  for (const [name, bytes, error] of wrong) {
    const base64 = Buffer.from(bytes).toString('base64')
    const bodies: SendOptions[] = [
      { json: { vector: base64 } },
      { msgpack: { vector: bytes } },
      { body: vectorBody('', Buffer.from(bytes)), type },
    ]
    for (const options of bodies) {
      const answer = await running.send('POST', path, options)
      t.equal(answer.status, 400, name)
      t.match(answer.json(), { code: 'invalid_argument', ...error }, name)
    }
    const packed = await running.send('POST', '/api/v1/index/docs/vector/insert', {
      msgpack: [['a', null, '', null, bytes]],
    })
    t.match(packed.json(), { code: 'invalid_argument' }, name)
  }
  const texts = [
    'no base64',
    `${base64Of(query)}=`,
    base64Of([0, 0]).replace(/=+$/, ''),
    ` ${base64Of(query)}`,
    '1,2,3,4',
  ]
  for (const vector of texts) {
    const answer = await running.send('POST', path, { json: { vector } })
    t.match(answer.json(), { code: 'invalid_argument', field: 'vector' }, JSON.stringify(vector))
    const upsert = { json: { objects: [{ id: 'a', fields: { title: vector } }] } }
    const written = await running.send('POST', '/api/v2/collection/films/objects', upsert)
    t.match(written.json(), { code: 'invalid_argument', field: 'objects[0].fields.title' }, JSON.stringify(vector))
  }
  for (const vector of [{}, { 0: 1 }, 5, true]) {
    const answer = await running.send('POST', path, { json: { vector } })
    t.match(answer.json(), { code: 'invalid_argument', field: 'vector' })
  }
})

test('wrong bodies of bytes', async (t) => {
  const running = await filled(t)
  const vector = bytesOf(query)
  const index = '/api/v1/index/docs/search'
  const collection = '/api/v2/collection/films/search'
  const cases: readonly [string, Buffer, object][] = [
    [index, Buffer.alloc(0), { code: 'invalid_argument', field: 'body', limit: 4 }],
    [index, Buffer.from([1, 0, 0]), { code: 'invalid_argument', field: 'body', limit: 4 }],
    [index, Buffer.from([200, 0, 0, 0, 0x7b, 0x7d]), { code: 'invalid_argument', field: 'body', limit: 204 }],
    [index, vectorBody('{"k":', vector), { code: 'invalid_json' }],
    [index, vectorBody('[]', vector), { code: 'invalid_argument', field: 'body' }],
    [index, vectorBody({ k: 0 }, vector), { code: 'limit_exceeded', field: 'k' }],
    [index, vectorBody({ vector: query }, vector), { code: 'invalid_argument', field: 'vector' }],
    [index, vectorBody('{"__proto__":{}}', vector), { code: 'invalid_argument' }],
    [collection, vectorBody({}, vector), { code: 'invalid_argument', field: 'fields' }],
    [
      collection,
      vectorBody({ fields: { title: {}, parts: {} } }, vector),
      { code: 'invalid_argument', field: 'fields' },
    ],
    [collection, vectorBody({ fields: { title: { query } } }, vector), { code: 'invalid_argument', field: 'query' }],
    [collection, vectorBody({ fields: { other: {} } }, vector), { code: 'field_not_found' }],
  ]
  for (const [path, body, error] of cases) {
    const answer = await running.send('POST', path, { body, type })
    t.match(answer.json(), error, body.toString('latin1'))
  }
  const elsewhere = await running.send('POST', '/api/v1/index/docs/vector/get', {
    body: vectorBody({ id: 'o1' }, vector),
    type,
  })
  t.equal(elsewhere.status, 415, 'only searches accept bytes')
})
