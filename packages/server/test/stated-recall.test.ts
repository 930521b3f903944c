// Searches that state a recall over HTTP: the report in the reply, wrong values, and the measurements.
import { test } from 'tap'
import { runningApp } from './running-app.ts'

const accept = 'application/json'
const dimension = 4
const fields = [
  { name: 'dense', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32' } },
  { name: 'parts', type: 'multi_vector', params: { dimension } },
]
const query = [1, 2, 3, 4]

interface Reply {
  readonly results: { readonly dense: readonly object[] }
  readonly recall: { readonly dense: { readonly expected: number } }
}
const readResult = (text: string) => JSON.parse(text) as Reply

test('a search states a recall, and the reply says how ef was chosen', async (t) => {
  const { send } = await runningApp(t)
  await send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  const objects = Array.from({ length: 200 }, (_, i) => ({
    id: `o${i}`,
    filter: { half: i % 2 },
    fields: { dense: [i, (7 * i) % 50, (i * i) % 31, 1] },
  }))
  await send('POST', '/api/v2/collection/docs/objects', { json: { objects } })
  const search = async (field: object, more: object = {}) =>
    send('POST', '/api/v2/collection/docs/search', {
      json: { fields: { dense: { query, ...field } }, ...more },
      accept,
    })

  const plain = await search({})
  t.notOk('recall' in plain.json())
  const empty = await send('GET', '/api/v2/collection/docs/calibrations')
  t.strictSame(empty.json(), { calibrations: [] })

  const first = await search({ recall: 0.95, limit: 5 })
  t.equal(first.status, 200, first.text)
  t.strictSame(first.json().recall, { dense: { target: 0.95, ef: 97, calibrated: false } })
  t.equal(readResult(first.text).results.dense.length, 5)

  const measured = await send('POST', '/api/v2/collection/docs/calibrate', { json: { limit: 5, sample: 30 } })
  t.equal(measured.status, 200, measured.text)
  t.match(measured.json(), { field: 'dense', limit: 5, rescore: false, state: 'current', source: 'rows', rows: 200 })
  t.match(measured.json().curves, [{ share: 1 }, { share: 0.48 }, { share: 0.1 }, { share: 0.01 }])
  t.type(measured.json().measured_at, 'number')
  const all = await send('GET', '/api/v2/collection/docs/calibrations')
  t.match(all.json().calibrations, [{ field: 'dense', limit: 5, state: 'current', received: 1 }])

  for (const more of [{}, { filter: [{ half: { $eq: 1 } }] }]) {
    const chosen = readResult((await search({ recall: 0.95, limit: 5 }, more)).text).recall.dense
    t.match(chosen, { target: 0.95, calibrated: true, reachable: true })
    t.ok(chosen.expected >= 0.9475)
  }
  const batch = await send('POST', '/api/v2/collection/docs/search/batch', {
    json: { searches: [{ fields: { dense: { query, recall: 0.9, limit: 5 } } }] },
  })
  t.match(batch.json(), { searches: [{ recall: { dense: { target: 0.9, calibrated: true } } }] })
  // A reply in MessagePack has the form of the published clients.
  const packed = await send('POST', '/api/v2/collection/docs/search', {
    json: { fields: { dense: { query, recall: 0.9, limit: 5 } } },
  })
  t.equal((packed.msgpack() as unknown[]).length, 2)
  t.match(JSON.parse(packed.headers.get('x-annal-recall') ?? ''), { dense: { target: 0.9, calibrated: true } })
  const health = await send('GET', '/api/v2/health', { accept })
  t.match(health.json(), { calibrations: { current: 1, running: 0, failed: 0 } })
  const metrics = (await send('GET', '/metrics')).text
  t.match(metrics, /^annal_calibrations\{state="current"\} 1$/m)
  t.match(metrics, /^annal_recall_searches_total 5$/m)
})

test('a recall that no ef reaches is counted and stated in the reply', async (t) => {
  const { send } = await runningApp(t)
  const params = { dimension: 16, space_type: 'l2', precision: 'binary' }
  await send('POST', '/api/v2/collection', {
    json: { name: 'signs', fields: [{ name: 'dense', type: 'vector', params }] },
  })
  const vectorOf = (n: number) => Array.from({ length: 16 }, (_, i) => Math.sin((n + 1) * (i + 2)))
  const objects = Array.from({ length: 400 }, (_, i) => ({ id: `o${i}`, fields: { dense: vectorOf(i) } }))
  await send('POST', '/api/v2/collection/signs/objects', { json: { objects } })
  await send('POST', '/api/v2/collection/signs/calibrate', { json: { rescore: false, sample: 20 } })
  const json = { fields: { dense: { query: vectorOf(1.5), recall: 0.999 } }, rescore: false }
  for (const form of [{ accept }, {}]) {
    const reply = await send('POST', '/api/v2/collection/signs/search', { json, ...form })
    const stated = JSON.parse(reply.headers.get('x-annal-recall') ?? '') as Reply['recall']
    t.match(stated, { dense: { target: 0.999, reachable: false } })
    t.ok(stated.dense.expected < 0.99)
    if ('accept' in form) t.strictSame(reply.json().recall, stated)
  }
  t.match((await send('GET', '/metrics')).text, /^annal_recall_unreachable_total 2$/m)
})

test('a field has a default recall, in both versions of the API', async (t) => {
  const { send } = await runningApp(t)
  const params = { dimension, space_type: 'l2', precision: 'float32', recall: 0.9 }
  const json = { name: 'docs', fields: [{ name: 'dense', type: 'vector', params }] }
  t.match((await send('POST', '/api/v2/collection', { json })).json(), { fields: [{ params: { recall: 0.9 } }] })
  const objects = Array.from({ length: 50 }, (_, i) => ({ id: `o${i}`, fields: { dense: [i, (7 * i) % 50, 1, 1] } }))
  await send('POST', '/api/v2/collection/docs/objects', { json: { objects } })
  const targetOf = async (version: 1 | 2, how: object = {}) => {
    const [path, body] =
      version === 1
        ? ['/api/v1/index/docs/search', { vector: query, k: 5, ...how }]
        : ['/api/v2/collection/docs/search', { fields: { dense: { query, limit: 5, ...how } } }]
    const reply = await send('POST', path, { json: body })
    t.equal(reply.status, 200, reply.text)
    const header = reply.headers.get('x-annal-recall')
    return header === null ? undefined : (JSON.parse(header) as { dense: { target: number } }).dense.target
  }
  for (const version of [1, 2] as const) {
    t.equal(await targetOf(version), 0.9)
    t.equal(await targetOf(version, { recall: 0.95 }), 0.95)
    t.equal(await targetOf(version, { ef: 128 }), undefined, 'published clients send ef')
  }
  const both = await send('POST', '/api/v1/index/docs/search', { json: { vector: query, k: 5, ef: 64, recall: 0.9 } })
  t.match({ status: both.status, ...both.json() }, { status: 400, code: 'invalid_argument', field: 'recall' })
  const change = (recall: unknown, field = 'dense') =>
    send('POST', '/api/v2/collection/docs/fields', { json: { fields: [{ field, recall }] } })
  const changed = await change(0.99)
  t.match(changed.json(), { lsn: Number, durable: true })
  t.equal(await targetOf(2), 0.99)
  t.equal(await targetOf(1), 0.99)
  t.not((await change(null)).json().lsn, changed.json().lsn)
  t.equal(await targetOf(2), undefined)
  for (const [recall, field, status, code] of [
    [2, 'dense', 400, 'limit_exceeded'],
    ['high', 'dense', 400, 'invalid_argument'],
    [0.9, 'other', 400, 'field_not_found'],
  ] as const) {
    const reply = await change(recall, field)
    t.match({ status: reply.status, ...reply.json() }, { status, code }, reply.text)
  }
  const twice = { fields: [{ field: 'dense' }, { field: 'dense' }] }
  t.equal((await send('POST', '/api/v2/collection/docs/fields', { json: twice })).json().code, 'invalid_argument')
})

test('wrong values are refused with their field', async (t) => {
  const { send } = await runningApp(t)
  await send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  const refusal = async (field: object, name = 'dense') => {
    const json = { fields: { [name]: { query, ...field } } }
    const reply = await send('POST', '/api/v2/collection/docs/search', { json, accept })
    return { status: reply.status, ...reply.json() }
  }
  for (const recall of [0, 1, 1.1, -1])
    t.match(await refusal({ recall }), { status: 400, code: 'limit_exceeded', field: 'recall', value: recall })
  for (const recall of ['0.9', true, [0.9], {}])
    t.match(await refusal({ recall }), { status: 400, code: 'invalid_argument', field: 'fields.dense.recall' })
  for (const key of ['ef', 'ef_search'])
    t.match(await refusal({ recall: 0.9, [key]: 64 }), {
      status: 400,
      code: 'invalid_argument',
      field: 'fields.dense.recall',
      error: /ef_search and recall/,
    })
  t.match(await refusal({ recall: 0.9 }, 'parts'), { status: 400, code: 'invalid_argument' })
  t.equal((await refusal({ recall: null })).status, 200, 'null is the default, as for every option')
  for (const [json, status, code] of [
    [{ field: 'parts' }, 400, 'field_not_found'],
    [{ limit: 0 }, 400, undefined],
    [{ sample: 10 }, 400, 'limit_exceeded'],
    [{ rescore: 'yes' }, 400, undefined],
  ] as const) {
    const reply = await send('POST', '/api/v2/collection/docs/calibrate', { json })
    t.equal(reply.status, status, reply.text)
    if (code !== undefined) t.equal(reply.json().code, code)
  }
})
