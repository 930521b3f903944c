// The collection, object, and search routes of /api/v2 in a plain deployment, in MessagePack as the published clients send it and in JSON.

import { deflateSync, inflateSync } from 'node:zlib'
import type { CollectionDefinition } from '@annal/engine'
import { test } from 'tap'
import { runningApp } from './running-app.ts'
import { definition, withCollection } from './v2-docs.ts'

const accept = 'application/json'
const none = new Uint8Array(0)

test('a collection is created, listed, described, and deleted', async (t) => {
  const running = await runningApp(t)
  const created = await running.send('POST', '/api/v2/collection', { json: definition })
  t.equal(created.status, 200)
  const fields = [
    {
      name: 'title',
      type: 'vector',
      element_count: 0,
      params: { dimension: 3, space_type: 'cosine', precision: 'float32', M: 16, ef_con: 128 },
    },
    {
      name: 'body',
      type: 'vector',
      element_count: 0,
      params: { dimension: 2, space_type: 'l2', precision: 'float32', M: 8, ef_con: 64 },
    },
    { name: 'words', type: 'sparse', sparse_model: 'default', element_count: 0, params: { sparse_model: 'default' } },
  ]
  t.match(created.json(), {
    name: 'docs',
    fields,
    layout_version: 1,
    total_elements: 0,
    created_at: Number,
    max_elements: Number,
  })
  t.match((await running.send('GET', '/api/v2/collection')).json(), { collections: [{ name: 'docs', fields }] })
  t.match((await running.send('GET', '/api/v2/collection/docs')).json(), { name: 'docs', fields })

  const again = await running.send('POST', '/api/v2/collection', { json: definition })
  t.match([again.status, again.json().code], [409, 'collection_exists'])
  t.match((await running.send('DELETE', '/api/v2/collection/docs')).json(), {
    message: 'Collection deleted',
    lsn: Number,
  })
  for (const [method, route] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/objects'],
    ['POST', '/objects/query'],
    ['DELETE', '/objects/a'],
    ['DELETE', '/objects'],
    ['POST', '/filters'],
    ['POST', '/search'],
  ] as const) {
    const json = { ids: [], filter: [], updates: [], objects: [], fields: { title: { query: [1, 2, 3] } } }
    const answer = await running.send(method, `/api/v2/collection/docs${route}`, method === 'GET' ? {} : { json })
    t.match([answer.status, answer.json().code], [404, 'collection_not_found'], `${method} ${route}`)
  }
})

test('objects are sent and returned as the ObjectBatch of MessagePack', async (t) => {
  const running = await withCollection(t)
  const meta = deflateSync(Buffer.from('{"internal_":{"title":5}}'))
  const batch = [
    [
      [
        'a',
        meta,
        '{"color":"red"}',
        { title: [0.6, 0.8, 0], body: [1, 2] },
        {
          words: [
            [3, 9],
            [1, 0.5],
          ],
        },
        {},
      ],
      ['b', none, '', { title: [0, 0, 1] }, {}, {}],
    ],
  ]
  const upserted = await running.send('POST', '/api/v2/collection/docs/objects', { msgpack: batch })
  t.equal(upserted.status, 200)
  t.match(upserted.json(), { upserted: 2, durable: true })

  const queried = await running.send('POST', '/api/v2/collection/docs/objects/query', {
    json: { ids: ['b', 'nobody', 'a'] },
  })
  t.equal(queried.headers.get('content-type'), 'application/msgpack')
  const [objects] = queried.msgpack() as [
    [string, Uint8Array, string, Record<string, number[]>, Record<string, unknown>, object][],
  ]
  t.strictSame(
    objects.map(([id]) => id),
    ['b', 'a'],
    'in the requested order, without the unknown',
  )
  const a = objects[1]!
  t.ok(Buffer.from(a[1]).equals(meta), 'meta comes back byte for byte')
  t.equal(a[2], '{"color":"red"}')
  t.ok(Math.abs(a[3].title![1]! - 0.8) < 1e-6)
  t.strictSame(a[3].body, [1, 2])
  t.strictSame(a[4], {
    words: [
      [3, 9],
      [1, 0.5],
    ],
  })
  t.strictSame(a[5], {})
  t.equal(
    (await running.send('POST', '/api/v2/collection/docs/objects', { msgpack: [[]] })).status,
    200,
    'an empty batch is nothing',
  )

  const found = await running.send('POST', '/api/v2/collection/docs/search', {
    json: { fields: [{ title: { query: [0.6, 0.8, 0], limit: 2, ef_search: 64 } }, { body: { query: [1, 2] } }] },
  })
  t.equal(found.headers.get('content-type'), 'application/msgpack')
  const [map, results] = found.msgpack() as [
    Record<string, [string, Uint8Array, string]>,
    Record<string, [number, number][]>,
  ]
  t.strictSame(Object.keys(results), ['title', 'body'])
  t.strictSame(
    results.title!.map(([number]) => map[number]![0]),
    ['a', 'b'],
  )
  t.strictSame(
    results.body!.map(([number, score]) => [map[number]![0], score + 0]),
    [['a', 0]],
    'only objects that have the field',
  )
  t.ok(Math.abs(results.title![0]![1] - 1) < 1e-5)
})

test('objects are sent and returned in JSON, and the published clients can read what JSON wrote', async (t) => {
  const running = await withCollection(t)
  const upserted = await running.send('POST', '/api/v2/collection/docs/objects', {
    json: {
      objects: [
        {
          id: 'a',
          meta: { n: 1 },
          filter: { color: 'red', size: 3 },
          fields: { title: [3, 4, 0], body: { vector: [1, 2] } },
        },
        {
          id: 'b',
          filter: { color: 'blue', size: 9 },
          fields: { title: [0, 0, 2], words: { indices: [4], values: [2] } },
        },
      ],
    },
  })
  t.match(upserted.json(), { upserted: 2, lsn: Number })
  const read = await running.send('POST', '/api/v2/collection/docs/objects/query', {
    accept,
    json: { ids: ['a', 'b'] },
  })
  t.match(read.json(), {
    objects: [
      {
        id: 'a',
        meta: { n: 1 },
        filter: { color: 'red', size: 3 },
        fields: { title: { norm: 5 }, body: { vector: [1, 2] } },
      },
      { id: 'b', meta: {}, fields: { words: { sparse_indices: [4], sparse_values: [2] } } },
    ],
  })
  const packed = await running.send('POST', '/api/v2/collection/docs/objects/query', { json: { ids: ['a'] } })
  const [[object]] = packed.msgpack() as [[[string, Uint8Array]]]
  t.equal(inflateSync(object[1]).toString(), '{"n":1}', 'meta is zlib JSON for every writer')

  const found = await running.send('POST', '/api/v2/collection/docs/search', {
    accept,
    json: {
      fields: { title: { query: [3, 4, 0], limit: 5 } },
      filter: [{ size: { $range: [0, 5] } }],
      include_vectors: true,
    },
  })
  t.match(found.json(), {
    results: { title: [{ id: 'a', meta: { n: 1 }, filter: { color: 'red' }, vector: Array }] },
    lsn: Number,
  })
  t.equal((found.json().results as { title: unknown[] }).title.length, 1)

  t.match(
    (
      await running.send('POST', '/api/v2/collection/docs/filters', {
        json: {
          updates: [
            { id: 'a', filter: { color: 'green' } },
            { id: 'x', filter: {} },
          ],
        },
      })
    ).json(),
    { updated: 1 },
  )
  t.match(
    (
      await running.send('DELETE', '/api/v2/collection/docs/objects', {
        json: { filter: [{ color: { $eq: 'green' } }] },
      })
    ).json(),
    { deleted: 1 },
  )
  t.match((await running.send('DELETE', '/api/v2/collection/docs/objects', { json: { filter: [] } })).json(), {
    deleted: 0,
  })
  t.match((await running.send('DELETE', '/api/v2/collection/docs/objects/b')).json(), { deleted: 'b' })
  t.equal((await running.send('DELETE', '/api/v2/collection/docs/objects/b')).status, 404)
})

test('several fields are fused in one request', async (t) => {
  const running = await withCollection(t)
  const objects = [
    { id: 'a', fields: { title: [1, 0, 0], body: [9, 9] } },
    { id: 'b', fields: { title: [1, 0.1, 0], body: [0, 0] } },
    { id: 'c', fields: { title: [0, 1, 0], body: [1, 0] } },
  ]
  await running.send('POST', '/api/v2/collection/docs/objects', { json: { objects } })
  const fields = { title: { query: [1, 0, 0], limit: 3 }, body: { query: [0, 0], limit: 3 } }
  const equal = await running.send('POST', '/api/v2/collection/docs/search', {
    accept,
    json: { fields, fusion: { method: 'rrf', k: 10, limit: 2 } },
  })
  const { fused } = equal.json() as { fused: { id: string; score: number; fields: object }[] }
  t.strictSame(
    fused.map(({ id }) => id),
    ['b', 'a'],
  )
  t.ok(Math.abs(fused[0]!.score - (1 / 12 + 1 / 11)) < 1e-9)
  t.match(fused[0]!.fields, { title: { rank: 2, similarity: Number }, body: { rank: 1, similarity: Number } })

  const weighted = await running.send('POST', '/api/v2/collection/docs/search', {
    json: { fields, fusion: { method: 'rrf', weights: { title: 1, body: 0.1 } } },
  })
  const [map, , list] = weighted.msgpack() as [Record<string, [string]>, object, [number, number][]]
  t.strictSame(
    list.map(([number]) => map[number]![0]),
    ['a', 'b', 'c'],
  )
})

test('groups name the hits of the lists, in JSON and in MessagePack', async (t) => {
  const running = await withCollection(t)
  const objects = [
    { id: 'a1', fields: { title: [1, 0, 0], body: [9, 9] }, filter: { doc: 'a' } },
    { id: 'a2', fields: { title: [1, 0.1, 0], body: [0, 0] }, filter: { doc: 'a' } },
    { id: 'b1', fields: { title: [0, 1, 0], body: [1, 0] }, filter: { doc: 7.5 } },
    { id: 'none', fields: { title: [1, 0, 0], body: [0, 0] } },
  ]
  await running.send('POST', '/api/v2/collection/docs/objects', { json: { objects } })
  const fields = { title: { query: [1, 0, 0] }, body: { query: [0, 0] } }
  const search = '/api/v2/collection/docs/search'
  const json = { fields, group_by: { key: 'doc', limit: 2, hits: 2 } }
  const plain = (await running.send('POST', search, { accept, json })).json() as Record<string, unknown>
  t.match(plain.groups, {
    title: [
      { value: 'a', hits: [{ id: 'a1', similarity: 1 }, { id: 'a2' }] },
      { value: 7.5, hits: [{ id: 'b1', similarity: 0 }] },
    ],
  })
  t.notOk('fused_groups' in plain)
  const fusing = { ...json, fusion: { method: 'rrf', k: 10 } }
  const fused = (await running.send('POST', search, { accept, json: fusing })).json() as {
    readonly fused: readonly { readonly id: string; readonly score: number }[]
    readonly fused_groups: unknown
  }
  const scoreOf = (wanted: string) => fused.fused.find(({ id }) => id === wanted)?.score
  t.strictSame(fused.fused_groups, [
    { value: 'a', hits: ['a2', 'a1'].map((id) => ({ id, score: scoreOf(id) })) },
    { value: 7.5, hits: [{ id: 'b1', score: scoreOf('b1') }] },
  ])

  const packed = (await running.send('POST', search, { json })).msgpack() as [Record<string, [string]>, ...unknown[]]
  const [map, lists, none, groups] = packed as unknown as [Record<string, [string]>, object, unknown, object]
  t.strictSame(Object.keys(lists), ['title', 'body'])
  t.equal(none, null)
  const numberOf = (wanted: string) => Number(Object.keys(map).find((number) => map[number]?.[0] === wanted))
  t.strictSame((groups as Record<string, unknown>).title, [
    ['a', [numberOf('a1'), numberOf('a2')]],
    [7.5, [numberOf('b1')]],
  ])
  const five = (await running.send('POST', search, { json: fusing })).msgpack() as unknown[]
  t.equal(five.length, 5)
  const wrong = await running.send('POST', search, { json: { fields, group_by: { key: 'doc', hits: 101 } } })
  t.equal(wrong.status, 400)
  t.match(wrong.json(), { code: 'limit_exceeded', field: 'group_by.hits' })
})

test('a rescored search of quantized vectors returns exact similarities', async (t) => {
  const running = await runningApp(t)
  const dimension = 8
  const params = { dimension, space_type: 'l2', precision: 'int8' }
  await running.send('POST', '/api/v2/collection', {
    json: { name: 'coarse', fields: [{ name: 'v', type: 'vector', params }] },
  })
  const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))
  const objects = Array.from({ length: 400 }, (_, n) => ({ id: `${n}`, fields: { v: vectorOf(n) } }))
  await running.send('POST', '/api/v2/collection/coarse/objects', { json: { objects } })
  const query = vectorOf(7.3)
  const exact = objects
    .map(({ id, fields }) => ({ id, distance: fields.v.reduce((sum, x, i) => sum + (x - query[i]!) ** 2, 0) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 5)
  const ask = async (rescore: boolean) => {
    const json = { fields: { v: { query, limit: 5 } }, rescore }
    const answer = await running.send('POST', '/api/v2/collection/coarse/search', { accept, json })
    return (answer.json().results as { v: { id: string; distance: number }[] }).v
  }
  const errorOf = (hits: readonly { id: string; distance: number }[]) =>
    Math.max(...hits.map(({ distance }, i) => Math.abs(distance - exact[i]!.distance)))
  const rescored = await ask(true)
  t.strictSame(
    rescored.map(({ id }) => id),
    exact.map(({ id }) => id),
  )
  t.ok(errorOf(rescored) < 1e-5, 'exact')
  t.ok(errorOf(await ask(false)) > 1e-5, 'the quantized rows are not')
})

test('aliases of precisions from published clients are accepted over HTTP, on every route that creates', async (t) => {
  const running = await runningApp(t)
  for (const [name, precision] of [
    ['int8d', 'int8'],
    ['int16d', 'int16'],
  ] as const) {
    const params = { dimension: 2, space_type: 'l2', precision: name as string }
    const fields = [{ name: 'v', type: 'vector', params }]
    const made = await running.send('POST', '/api/v2/collection', { json: { name, fields } })
    t.match(made.json(), { fields: [{ params: { precision } }] })
    await t.rejects(running.engine.database().createCollection({ name: `${name}-2`, fields } as CollectionDefinition), {
      code: 'invalid_argument',
    })
  }
})

test('a binary field is rescored unless the body disables it, and exact compares the original vectors', async (t) => {
  const running = await runningApp(t)
  const dimension = 16
  const params = { dimension, space_type: 'cosine', precision: 'binary' }
  await running.send('POST', '/api/v2/collection', {
    json: { name: 'signs', fields: [{ name: 'v', type: 'vector', params }] },
  })
  const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))
  const objects = Array.from({ length: 400 }, (_, n) => ({ id: `${n}`, fields: { v: vectorOf(n) } }))
  await running.send('POST', '/api/v2/collection/signs/objects', { json: { objects } })
  const query = vectorOf(7.3)
  const exactOf = (id: string) => {
    const vector = vectorOf(Number(id))
    return vector.reduce((sum, x, i) => sum + x * query[i]!, 0) / Math.hypot(...vector) / Math.hypot(...query)
  }
  const errorOf = async (more: object) => {
    const json = { fields: { v: { query, limit: 5 } }, ...more }
    const answer = await running.send('POST', '/api/v2/collection/signs/search', { accept, json })
    const hits = (answer.json().results as { v: { id: string; similarity: number }[] }).v
    t.ok(hits.every(({ similarity }) => Math.abs(similarity) <= 1))
    return Math.max(...hits.map(({ id, similarity }) => Math.abs(similarity - exactOf(id))))
  }
  t.ok((await errorOf({})) < 1e-6)
  t.ok((await errorOf({ rescore: null })) < 1e-6, 'null is as good as left out')
  t.ok((await errorOf({ rescore: true })) < 1e-6)
  t.ok((await errorOf({ rescore: false })) > 1e-4, 'estimates')
  t.ok((await errorOf({ rescore: false, exact: true })) < 1e-6)
})
