// Objects that expire over HTTP: the keys of bodies, what replies say, the default of a collection, and both versions of the API.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const collection = '/api/v2/collection/docs'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const late = '2999-01-01T00:00:00.000Z'
const early = '2020-01-01T00:00:00Z'
const objectOf = (id: string, more: object = {}) => ({ id, fields: { v: [1, 2] }, ...more })

// biome-ignore lint/suspicious/noExplicitAny: replies of several routes.
type Loose = any

async function open(t: Parameters<typeof runningApp>[0], definition: object = {}) {
  const app = await runningApp(t)
  const created = await app.send('POST', '/api/v2/collection', {
    json: { name: 'docs', fields, ...definition },
    accept,
  })
  const post = async (path: string, json: object): Promise<Loose> => {
    const reply = await app.send('POST', `${collection}${path}`, { json, accept })
    return { status: reply.status, ...reply.json() }
  }
  return { ...app, post, created: created.json() as Loose }
}

test('replies hide what has expired, and say when objects expire', async (t) => {
  const { send, post } = await open(t)
  await post('/objects', {
    objects: [
      objectOf('a', { expires_at: early, filter: { n: 1 } }),
      objectOf('b', { expires_at: late, filter: { n: 1 } }),
      objectOf('c', { filter: { n: 2 }, ttl_seconds: null }),
    ],
  })
  const [b, c] = (await post('/objects/query', { ids: ['a', 'b', 'c'] })).objects
  t.match(b, { id: 'b', expires_at: late, filter: { n: 1 } })
  t.equal(c.id, 'c')
  t.notOk('expires_at' in c)
  const ids = (list: Loose) => list.map(({ id }: Loose) => id).sort()
  t.strictSame(ids((await post('/objects/scroll', { include_vectors: false })).objects), ['b', 'c'])
  const { results } = await post('/search', { fields: { v: { query: [1, 2], limit: 3 } } })
  t.strictSame(ids(results.v), ['b', 'c'])
  t.strictSame(
    results.v.map(({ filter }: Loose) => filter.n),
    results.v.map(({ id }: Loose) => (id === 'b' ? 1 : 2)),
  )
  t.strictSame(results.v.map(({ id, expires_at: expiry }: Loose) => [id, expiry]).sort(), [
    ['b', late],
    ['c', undefined],
  ])
  // A second search with fusion is answered by the main thread.
  const two = { fields: { v: { query: [1, 2], limit: 3 } }, fusion: { method: 'rrf' } }
  for (const hit of (await post('/search', two)).fused) t.equal(hit.expires_at, hit.id === 'b' ? late : undefined)
  const parts = async (path: string, json: object) => {
    const reply = await send('POST', `${collection}${path}`, { json, accept: 'application/msgpack' })
    return reply.msgpack() as Loose
  }
  const expiry = JSON.stringify({ expires_at: late })
  for (const body of [{ fields: { v: { query: [1, 2], limit: 3 } } }, two]) {
    const [found] = await parts('/search', body)
    for (const object of Object.values(found) as Loose[]) t.equal(object.length, 3, 'published clients unpack three')
  }
  const [[read, other]] = await parts('/objects/query', { ids: ['b', 'c'] })
  t.strictSame([read.length, read[6], other.length], [7, expiry, 6])
  t.equal((await send('POST', `${collection}/objects`, { msgpack: [[read]] })).status, 200, 'it can be sent back')
  t.equal((await post('/objects/count', {})).count, 2)
  t.match((await post('/facets', { key: 'n' })).values, [
    { value: 1, count: 1 },
    { value: 2, count: 1 },
  ])
  const v1 = await send('POST', '/api/v1/index/docs/search', { json: { vector: [1, 2], k: 3 } })
  t.equal(v1.status, 200)
  t.notMatch(
    (await send('POST', '/api/v1/index/docs/search', { json: { vector: [1, 2], k: 3 }, accept })).text,
    'expires',
  )
  const metrics = (await send('GET', '/metrics')).text
  t.match(metrics, /annal_expired_objects 1\n/)
  t.match(metrics, /annal_expired_objects_deleting 0\n/)
  t.match(metrics, /annal_clock_jumps_total 0\n/)
  // The MessagePack form has it where conditions are.
  const tuple = ['d', new Uint8Array(), '', { v: [1, 2] }, {}, {}, JSON.stringify({ expires_at: late })]
  const reply = await send('POST', `${collection}/objects`, { msgpack: [[tuple]], accept })
  t.equal(reply.status, 200, reply.text)
  t.match((await post('/objects/query', { ids: ['d'] })).objects, [{ expires_at: late }])
})

test('a collection has a default expiry', async (t) => {
  const { send, post, created } = await open(t, { ttl_seconds: 3_600 })
  t.equal(created.ttl_seconds, 3_600)
  const expiry = async (id: string) => {
    const [found] = (await post('/objects/query', { ids: [id] })).objects
    return found.expires_at === undefined
      ? undefined
      : Math.round((Date.parse(found.expires_at) - Date.now()) / 600_000)
  }
  await post('/objects', { objects: [objectOf('a')] })
  t.equal(await expiry('a'), 6)
  t.match(await post('/defaults', { ttl_seconds: 7_200 }), { status: 200, message: 'Defaults updated' })
  await post('/objects', { objects: [objectOf('b')] })
  t.equal(await expiry('b'), 12)
  t.equal(((await send('GET', collection, { accept })).json() as Loose).ttl_seconds, 7_200)
  await send('PATCH', `${collection}/objects`, { json: [{ id: 'b', expires_at: null }], accept })
  t.equal(await expiry('b'), undefined)
  await post('/defaults', { ttl_seconds: null })
  t.notOk('ttl_seconds' in ((await send('GET', collection, { accept })).json() as Loose))
})

test('clones, branches, and undos keep the expiry, or none with keep_expired', async (t) => {
  const { send, post } = await open(t)
  const { lsn } = await post('/objects', { objects: [objectOf('a', { expires_at: early }), objectOf('b')] })
  await post('/clone', { target_collection_name: 'kept' })
  await post('/clone', { target_collection_name: 'cleared', keep_expired: true })
  await post('/branch', { name: 'branch', keep_expired: true, as_of: { lsn } })
  await post('/restore', { target_collection_name: 'past', keep_expired: true, lsn })
  const countOf = async (name: string) =>
    ((await send('POST', `/api/v2/collection/${name}/objects/count`, { json: {}, accept })).json() as Loose).count
  t.equal(await countOf('kept'), 1)
  for (const name of ['cleared', 'branch', 'past']) t.equal(await countOf(name), 2, name)
  const undo = { ids: ['a', 'b'], as_of: { lsn } }
  t.match(await post('/undo', { ...undo, dry_run: true }), { status: 200, restored: 0 })
  t.match(await post('/undo', { ...undo, dry_run: true, keep_expired: true }), { restored: 1, deleted: 0 })
  t.equal((await post('/objects/count', { as_of: { lsn }, wait: true })).count, 1)
  t.equal((await post('/objects/count', { as_of: { lsn, keep_expired: true }, wait: true })).count, 2)
  t.match(await post('/undo', { ...undo, keep_expired: true }), { restored: 1, deleted: 0, as_of_lsn: lsn })
  t.equal((await post('/objects/count', {})).count, 2)
})

test('wrong values are refused with field, value, and limit', async (t) => {
  const { send, post } = await open(t)
  for (const [more, code, field] of [
    [{ ttl_seconds: 0 }, 'limit_exceeded', 'objects[0].ttl_seconds'],
    [{ ttl_seconds: 3_155_760_001 }, 'limit_exceeded', 'objects[0].ttl_seconds'],
    [{ ttl_seconds: '60' }, 'invalid_argument', 'objects[0].ttl_seconds'],
    [{ ttl_seconds: 0.5 }, 'invalid_argument', 'objects[0].ttl_seconds'],
    [{ expires_at: 'soon' }, 'invalid_argument', 'objects[0].expires_at'],
    [{ expires_at: true }, 'invalid_argument', 'objects[0].expires_at'],
    [{ expires_at: -1 }, 'limit_exceeded', 'objects[0].expires_at'],
    [{ expires_at: late, ttl_seconds: 1 }, 'invalid_argument', 'objects[0].expires_at'],
  ] as const)
    t.match(
      await post('/objects', { objects: [objectOf('a', more)] }),
      { status: 400, code, field },
      JSON.stringify(more),
    )
  for (const json of [{}, { ttl_seconds: 0 }, { ttl_seconds: 'x' }, { ttl_seconds: 1.5 }])
    t.equal((await post('/defaults', json)).status, 400, JSON.stringify(json))
  const create = await send('POST', '/api/v2/collection', { json: { name: 'more', fields, ttl_seconds: 0 }, accept })
  t.equal(create.status, 400)
  t.match(await post('/objects/count', { as_of: { lsn: 1, keep_expired: 1 } }), {
    status: 400,
    field: 'as_of.keep_expired',
  })
})
