// Conditional writes and patches over HTTP: their replies, their errors, and the forms of their bodies.
import { encode } from '@msgpack/msgpack'
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const collection = '/api/v2/collection/docs'
const objectsPath = `${collection}/objects`
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const objectOf = (id: string, more: object = {}) => ({ id, fields: { v: [1, 2] }, ...more })

interface Written {
  readonly lsn: number
  readonly results: readonly { readonly id: string; readonly status: string; readonly lsn: number }[]
}

async function open(t: Parameters<typeof runningApp>[0]) {
  const { send } = await runningApp(t)
  await send('POST', '/api/v2/collection', { json: { name: 'docs', fields }, accept })
  const put = async (objects: readonly object[], query = '', headers = {}) => {
    const reply = await send('POST', `${objectsPath}${query}`, { json: { objects }, accept, headers })
    return { status: reply.status, json: reply.json() as unknown as Written, headers: reply.headers }
  }
  return { send, put }
}

test('objects whose conditions do not hold are left out, and reads return the LSN that a condition needs', async (t) => {
  const { send, put } = await open(t)
  const first = await put([objectOf('a', { filter: { n: 1 }, if_absent: true })])
  t.match(first, { status: 200, json: { upserted: 1, results: [{ id: 'a', status: 'ok', lsn: first.json.lsn }] } })
  t.notMatch(await put([objectOf('z')]), { json: { results: [] } }, 'no results without conditions')
  const { lsn } = first.json
  const second = await put([objectOf('a', { if_absent: true }), objectOf('b', { if_lsn: 0 })])
  t.match(second.json, {
    upserted: 1,
    results: [
      { id: 'a', status: 'conflict', lsn },
      { id: 'b', status: 'ok' },
    ],
  })
  for (const [route, body] of [
    ['query', { ids: ['a'] }],
    ['scroll', { limit: 1, include_vectors: false }],
    ['scroll', { limit: 1 }],
  ] as const) {
    const reply = await send('POST', `${objectsPath}/${route}`, { json: body, accept })
    t.match(reply.json(), { objects: [{ id: 'a', lsn }] }, route)
  }
  t.match((await put([objectOf('a', { if_match: [{ n: { $eq: 2 } }] })])).json, { results: [{ status: 'conflict' }] })
  const matched = await put([objectOf('a', { if_lsn: lsn, if_match: [{ n: { $eq: 1 } }], if_absent: null })])
  t.match(matched.json, { results: [{ status: 'ok' }] })
  t.match((await put([objectOf('a', { if_lsn: lsn })])).json, { upserted: 0, results: [{ lsn: matched.json.lsn }] })
})

test('an atomic write with a conflict is 409 with results, changes nothing, and a repetition gets the same answer', async (t) => {
  const { send, put } = await open(t)
  const { lsn } = (await put([objectOf('a')])).json
  const objects = [objectOf('a', { if_lsn: lsn + 5 }), objectOf('b')]
  const headers = { 'Idempotency-Key': 'once' }
  const refused = await put(objects, '?atomic=true', headers)
  t.match(refused, {
    status: 409,
    json: {
      code: 'conflict',
      field: 'objects',
      value: 'a',
      results: [
        { status: 'conflict', lsn },
        { status: 'ok', lsn: 0 },
      ],
    },
  })
  await put([objectOf('b')])
  const again = await put(objects, '?atomic=true', headers)
  t.strictSame(
    { ...again.json, request_id: '' },
    { ...refused.json, request_id: '' },
    'the first answer, though an object came since',
  )
  t.equal(again.headers.get('idempotency-replayed'), 'true')
  const partly = { 'Idempotency-Key': 'partly' }
  const first = await put([objectOf('a', { if_absent: true }), objectOf('c')], '', partly)
  t.strictSame((await put([objectOf('a', { if_absent: true }), objectOf('c')], '', partly)).json, first.json)
  t.match(await put([objectOf('b'), objectOf('d')], '?atomic=true'), { status: 200, json: { upserted: 2 } })
  const count = await send('POST', `${objectsPath}/count`, { json: {}, accept })
  t.match(count.json(), { count: 4 })
})

test('a delete with if_lsn is 409 for another LSN, and its reply has the LSN of the delete', async (t) => {
  const { send, put } = await open(t)
  const { lsn } = (await put([objectOf('a')])).json
  const remove = (query: string, headers = {}) => send('DELETE', `${objectsPath}/a${query}`, { accept, headers })
  for (const headers of [{ 'Idempotency-Key': 'remove' }, { 'Idempotency-Key': 'remove' }]) {
    const keyed = await remove(`?if_lsn=${lsn + 1}`, headers)
    t.equal(keyed.status, 409, 'with a request key, and again')
    t.match(keyed.json(), { code: 'conflict', results: [{ id: 'a', status: 'conflict', lsn }] })
  }
  const conflict = await remove(`?if_lsn=${lsn + 1}`)
  t.match(conflict.json(), { code: 'conflict', results: [{ id: 'a', status: 'conflict', lsn }] })
  t.equal(conflict.status, 409)
  for (const wrong of ['0', '-1', '1.5', 'x']) t.equal((await remove(`?if_lsn=${wrong}`)).status, 400, wrong)
  const removed = (await remove(`?if_lsn=${lsn}`)).json()
  t.equal(removed.deleted, 'a')
  t.ok(Number(removed.lsn) > lsn)
  t.equal((await remove(`?if_lsn=${lsn}`)).status, 404)
})

test('patches in JSON and MessagePack change meta and filters, with a result for each object', async (t) => {
  const { send, put } = await open(t)
  await put([objectOf('a', { meta: { title: 'x', old: 1 }, filter: { tag: 'red' } }), objectOf('7')])
  const patches = [
    { id: 'a', meta: { old: null, year: 1979 }, filter: { tag: null }, increment: { views: 3 } },
    { id: 7, increment: { views: -1 } },
    { id: 'absent', meta: {} },
  ]
  for (const [body, views] of [
    [{ json: patches }, 3],
    [{ json: { patches } }, 6],
    [{ body: encode({ patches }), type: 'application/msgpack' }, 9],
  ] as const) {
    const reply = await send('PATCH', objectsPath, { ...body, accept } as never)
    t.match(reply.json(), {
      updated: 2,
      results: [
        { id: 'a', status: 'ok' },
        { id: '7', status: 'ok' },
        { id: 'absent', status: 'error', error: { code: 'object_not_found' } },
      ],
    })
    const read = await send('POST', `${objectsPath}/query`, { json: { ids: ['a', '7'] }, accept })
    t.match(read.json(), {
      objects: [
        { meta: { title: 'x', year: 1979 }, filter: { views }, fields: { v: { vector: [1, 2] } } },
        { filter: { views: -views / 3 } },
      ],
    })
  }
  const atomic = await send('PATCH', `${objectsPath}?atomic=true`, { json: patches, accept })
  t.match(atomic.json(), { code: 'conflict', results: [{ status: 'ok' }, { status: 'ok' }, { status: 'error' }] })
})

test('wrong input is 400 with the field, its value, and the limit', async (t) => {
  const { send, put } = await open(t)
  for (const [conditions, expected] of [
    [{ if_absent: 'yes' }, { field: 'objects[0].if_absent', value: 'yes' }],
    [{ if_lsn: '1' }, { field: 'objects[0].if_lsn', value: '1' }],
    [{ if_lsn: 1.5 }, { field: 'objects[0].if_lsn', value: 1.5 }],
    [{ if_lsn: -1 }, { field: 'objects[0].if_lsn', value: -1, limit: 0 }],
    [{ if_match: { n: 1 } }, { field: 'objects[0].if_match' }],
    [{ if_match: [7] }, { field: 'objects[0].if_match[0]', value: 7 }],
  ] as const)
    t.match(await put([objectOf('a', conditions)]), { status: 400, json: expected }, JSON.stringify(conditions))
  t.equal((await put([objectOf('a')], '?atomic=maybe')).status, 400)
  t.match(await put([objectOf('a', { if_lsn: 0 }), objectOf('a')]), { status: 400, json: { field: 'objects[1].id' } })
  for (const [patch, expected] of [
    [{}, { field: 'patches[0]' }],
    [{ meta: 'x' }, { field: 'patches[0].meta' }],
    [{ filter: [] }, { field: 'patches[0].filter' }],
    [{ increment: { n: '1' } }, { field: 'patches[0].increment.n' }],
    [{ increment: 3 }, { field: 'patches[0].increment' }],
  ] as const) {
    const reply = await send('PATCH', objectsPath, { json: [{ id: 'a', ...patch }], accept })
    t.match(reply.json(), expected, JSON.stringify(patch))
    t.equal(reply.status, 400)
  }
  for (const body of [{}, { patches: 1 }, [1], [{ meta: {} }]]) {
    const reply = await send('PATCH', objectsPath, { json: body, accept })
    t.equal(reply.status, 400, `${JSON.stringify(body)}: ${reply.text}`)
  }
  const many = Array.from({ length: 1_001 }, (_, i) => ({ id: `${i}`, meta: {} }))
  const reply = await send('PATCH', objectsPath, { json: many, accept })
  t.match(reply.json(), { code: 'limit_exceeded', value: 1_001, limit: 1_000 })
})

test('a JSON body says that it is atomic, before or after its list, small or large', async (t) => {
  const { send, put } = await open(t)
  await put([objectOf('a')])
  const large = objectOf('large', { meta: { text: 'x'.repeat(60_000) } })
  const conflict = objectOf('a', { if_absent: true })
  for (const [name, objects] of [
    ['small', [conflict, objectOf('b')]],
    ['large', [conflict, ...Array.from({ length: 6 }, (_, i) => ({ ...large, id: `l${i}` }))]],
  ] as const) {
    for (const body of [
      { atomic: true, objects },
      { objects, atomic: true },
    ]) {
      const reply = await send('POST', objectsPath, { json: body, accept })
      t.match([reply.status, reply.json()], [409, { code: 'conflict' }], `${name} ${Object.keys(body)}`)
      t.equal(reply.headers.get('x-annal-warnings'), null)
    }
    const wrong = await send('POST', objectsPath, { json: { objects, atomic: 1 }, accept })
    t.match([wrong.status, wrong.json()], [400, { code: 'invalid_argument', field: 'atomic', value: 1 }], name)
    const both = await send('POST', `${objectsPath}?atomic=false`, { json: { objects, atomic: true }, accept })
    t.match([both.status, both.json()], [400, { code: 'invalid_argument', field: 'atomic', value: true }], name)
  }
  const patches = [
    { id: 'a', filter: { n: 1 } },
    { id: 'none', filter: { n: 1 } },
  ]
  const patched = await send('PATCH', objectsPath, { json: { patches, atomic: true }, accept })
  t.match([patched.status, patched.json()], [409, { code: 'conflict' }])
  const count = await send('POST', `${objectsPath}/count`, { json: {}, accept })
  t.match(count.json(), { count: 1 }, 'nothing was written')
  const stored = await send('POST', objectsPath, { json: { objects: [objectOf('b')], atomic: true }, accept })
  t.match([stored.status, stored.json()], [200, { upserted: 1, results: [{ id: 'b', status: 'ok' }] }])
})
