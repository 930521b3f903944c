// Multi-vector fields over /api/v2, in MessagePack as the published clients send it and in JSON.
import { test } from 'tap'
import { type RunningApp, runningApp } from './running-app.ts'

const accept = 'application/json'
const route = '/api/v2/collection/docs'
const none = new Uint8Array(0)
const definition = {
  name: 'docs',
  fields: [
    {
      name: 'pages',
      type: 'multi_vector',
      params: { dimension: 3, space_type: 'cosine', precision: 'int8', pooling: 'max', m: 8, ef_construct: 64 },
    },
    { name: 'title', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } },
  ],
}

async function withCollection(t: Parameters<typeof runningApp>[0]): Promise<RunningApp> {
  const running = await runningApp(t)
  const created = await running.send('POST', '/api/v2/collection', { json: definition })
  if (created.status !== 200) throw new Error(created.text)
  return running
}

test('the description of a multi-vector field equals its definition', async (t) => {
  const running = await withCollection(t)
  const { fields } = (await running.send('GET', route)).json() as { fields: unknown[] }
  t.strictSame(fields[0], {
    name: 'pages',
    type: 'multi_vector',
    params: { dimension: 3, space_type: 'cosine', precision: 'int8', M: 8, ef_con: 64, pooling: 'max' },
    element_count: 0,
  })
  const json = {
    ...definition,
    name: 'other',
    fields: [{ ...definition.fields[0], params: { dimension: 3, pooling: 'sum' } }],
  }
  const refused = await running.send('POST', '/api/v2/collection', { json })
  t.match([refused.status, refused.json()], [400, { code: 'invalid_argument', field: 'fields[0].params.pooling' }])
})

test('members are sent and returned in the sixth part of an ObjectBatch, and searches compare them', async (t) => {
  const running = await withCollection(t)
  const members = [
    [1, 0, 0],
    [0, 0.6, 0.8],
  ]
  const batch = [
    [
      ['a', none, '{"n":1}', {}, {}, { pages: members }],
      ['b', none, '{"n":2}', { title: [1, 2] }, {}, { pages: [[0, 1, 0]] }],
      ['c', none, '', { title: [1, 2] }, {}, {}],
    ],
  ]
  t.match((await running.send('POST', `${route}/objects`, { msgpack: batch })).json(), { upserted: 3 })
  const queried = await running.send('POST', `${route}/objects/query`, { json: { ids: ['a', 'c'] } })
  const [[a, c]] = queried.msgpack() as [[unknown[], unknown[]]]
  const [row0, row1] = (a[5] as { pages: number[][] }).pages
  t.strictSame([row0, row1?.map((x) => Math.round(x * 1e6) / 1e6)], members)
  t.strictSame(c[5], {})

  const ask = (pages: object, more: object = {}, as?: string) =>
    running.send('POST', `${route}/search`, { json: { fields: [{ pages }], ...more }, ...(as && { accept: as }) })
  const query = [
    [1, 0, 0],
    [0, 2, 0],
  ]
  const found = await ask({ query, limit: 2, ef_search: 64 })
  const [objects, results] = found.msgpack() as [Record<string, [string]>, Record<string, [number, number][]>]
  const scores = results.pages?.map(([number, score]) => [objects[number]?.[0], Math.round(score * 1e4) / 1e4])
  t.strictSame(
    scores,
    [
      ['a', 0.8],
      ['b', 0.5],
    ],
    'the mean of the best member for each vector of the query',
  )

  const single = (
    await ask({ query: [0, 1, 0] }, { filter: [{ n: { $eq: 1 } }], include_vectors: true, explain: true }, accept)
  ).json()
  t.match(single, {
    complete: true,
    results: { pages: [{ id: 'a', filter: { n: 1 } }] },
    explain: { fields: { pages: { rescored: 1 } } },
  })
  const [hit] = (single.results as { pages: { vectors: number[][]; vector?: unknown }[] }).pages
  t.equal(hit?.vectors.length, 2)
  t.notOk(hit && 'vector' in hit)
  const bare = (await ask({ query }, {}, accept)).json() as { results: { pages: object[] } }
  t.notOk('vectors' in (bare.results.pages[0] ?? {}), 'only if requested')
})

test('members are sent and returned in JSON unchanged', async (t) => {
  const running = await withCollection(t)
  const json = {
    objects: [
      {
        id: 'a',
        fields: {
          pages: {
            vectors: [
              [3, 0, 4],
              [0, 0, 0],
            ],
          },
        },
      },
      { id: 'b', fields: { pages: [[0, 2, 0]] } },
    ],
  }
  t.match((await running.send('POST', `${route}/objects`, { json })).json(), { upserted: 2 })
  const got = await running.send('POST', `${route}/objects/query`, { json: { ids: ['a', 'b'] }, accept })
  t.match(got.json(), {
    objects: [
      {
        fields: {
          pages: {
            vectors: [
              [3, 0, 4],
              [0, 0, 0],
            ],
          },
        },
      },
      { fields: { pages: { vectors: [[0, 2, 0]] } } },
    ],
  })
  const rebuilt = await running.send('POST', `${route}/rebuild`, { json: { fields: [{ field: 'pages', M: 16 }] } })
  t.match([rebuilt.status, rebuilt.json()], [202, { previous_config: { M: 8 }, new_config: { M: 16 } }])
})

test('an error describes what is wrong with members, and nothing is written', async (t) => {
  const running = await withCollection(t)
  const before = running.engine.stats().lsnApplied
  const tuple = (pages: unknown) => ({ msgpack: [[['a', none, '', {}, {}, { pages }]]] })
  const object = (pages: unknown) => ({ json: { objects: [{ id: 'a', fields: { pages } }] } })
  const field = 'objects[0].fields.pages'
  const cases: [string, string, object, object][] = [
    ['another dimension', 'objects', tuple([[1, 0]]), { code: 'invalid_argument', field: `${field}[0]` }],
    ['no member', 'objects', tuple([]), { code: 'invalid_argument', field }],
    [
      'too many',
      'objects',
      tuple(Array.from({ length: 2_049 }, () => [1, 0, 0])),
      { code: 'limit_exceeded', limit: 2_048 },
    ],
    ['no array', 'objects', tuple(7), { code: 'invalid_argument', field }],
    ['text among numbers', 'objects', object([[1, 0, 'x']]), { code: 'invalid_argument', field: `${field}[0][2]` }],
    ['sparse', 'objects', object({ indices: [1], values: [1] }), { code: 'invalid_argument', field }],
    ['no query', 'search', { json: { fields: { pages: { query: [] } } } }, { code: 'invalid_argument' }],
    [
      'vectors of two lengths',
      'search',
      { json: { fields: { pages: { query: [[1, 0, 0], [1]] } } } },
      { code: 'invalid_argument', field: 'fields.pages.query[1]' },
    ],
  ]
  for (const [why, path, options, expected] of cases) {
    const answer = await running.send('POST', `${route}/${path}`, options)
    t.match([answer.status, answer.json()], [400, expected], why)
  }
  t.equal(running.engine.stats().lsnApplied, before)
})
