// For any error in a request under /api/v2: a 4xx with a code that names the error, and nothing stored.
import { test } from 'tap'
import type { RunningApp } from './running-app.ts'
import { definition, withCollection } from './v2-docs.ts'

const none = new Uint8Array(0)

test('bad input under /api/v2 is refused and nothing is stored', async (t) => {
  const running = await withCollection(t)
  const before = running.engine.stats().lsnApplied
  const good = { title: [1, 0, 0] }
  const route = '/api/v2/collection/docs'
  const object = (fields: unknown, more: object = {}) => ({ json: { objects: [{ id: 'a', fields, ...more }] } })
  const nested = Buffer.concat([Buffer.alloc(1_000, 0x91), Buffer.from([0xc0])])
  const cases: [string, string, Parameters<RunningApp['send']>[2], object][] = [
    [
      'no fields',
      '/api/v2/collection',
      { json: { name: 'x', fields: [] } },
      { code: 'limit_exceeded', field: 'fields' },
    ],
    [
      'no name',
      '/api/v2/collection',
      { json: { fields: definition.fields } },
      { code: 'invalid_argument', field: 'name' },
    ],
    [
      'two fields of one name',
      '/api/v2/collection',
      { json: { name: 'x', fields: [definition.fields[0], definition.fields[0]] } },
      { code: 'invalid_argument' },
    ],
    [
      'dimension 10,001',
      '/api/v2/collection',
      { json: { name: 'x', fields: [{ name: 'f', type: 'vector', params: { dimension: 10_001 } }] } },
      { code: 'limit_exceeded', value: 10_001 },
    ],
    [
      'unknown type',
      '/api/v2/collection',
      { json: { name: 'x', fields: [{ name: 'f', type: 'matrix' }] } },
      { code: 'invalid_argument' },
    ],
    [
      'unknown space type',
      '/api/v2/collection',
      { json: { name: 'x', fields: [{ name: 'f', type: 'vector', params: { dimension: 4, space_type: 'x' } }] } },
      { code: 'invalid_argument' },
    ],
    ['unknown field', `${route}/objects`, object({ nope: [1, 2] }), { code: 'field_not_found', value: 'nope' }],
    ['no fields in an object', `${route}/objects`, object({}), { code: 'invalid_argument' }],
    [
      'wrong dimension',
      `${route}/objects`,
      object({ title: [1, 2] }),
      { code: 'invalid_argument', value: 2, limit: 3 },
    ],
    ['1e39', `${route}/objects`, object({ title: [1e39, 0, 0] }), { code: 'invalid_argument', value: 1e39 }],
    ['texts for numbers', `${route}/objects`, object({ title: ['1', 0, 0] }), { code: 'invalid_argument', value: '1' }],
    [
      'NaN',
      `${route}/objects`,
      { msgpack: [[['a', none, '', { title: [Number.NaN, 0, 0] }, {}, {}]]] },
      { code: 'invalid_argument', value: 'NaN' },
    ],
    ['empty id', `${route}/objects`, { json: { objects: [{ id: '', fields: good }] } }, { code: 'invalid_argument' }],
    [
      'duplicate ids',
      `${route}/objects`,
      {
        json: {
          objects: [
            { id: 'a', fields: good },
            { id: 'a', fields: good },
          ],
        },
      },
      { code: 'invalid_argument', value: 'a' },
    ],
    [
      'lone surrogate',
      `${route}/objects`,
      { body: '{"objects":[{"id":"\\ud800","fields":{"title":[1,0,0]}}]}', type: 'application/json' },
      { code: 'invalid_argument' },
    ],
    [
      '1,001 objects',
      `${route}/objects`,
      { json: { objects: Array.from({ length: 1_001 }, (_, i) => ({ id: `${i}`, fields: good })) } },
      { code: 'limit_exceeded', field: 'objects', value: 1_001, limit: 1_000 },
    ],
    [
      '1,001 objects in MessagePack',
      `${route}/objects`,
      { msgpack: [Array.from({ length: 1_001 }, (_, i) => [`${i}`])] },
      { code: 'limit_exceeded', value: 1_001 },
    ],
    [
      'sparse index twice',
      `${route}/objects`,
      object({ words: { indices: [1, 1], values: [1, 2] } }),
      { code: 'invalid_argument' },
    ],
    [
      'broken MessagePack',
      `${route}/objects`,
      { body: Buffer.from('9191', 'hex'), type: 'application/msgpack' },
      { code: 'invalid_msgpack' },
    ],
    [
      'nested MessagePack',
      `${route}/objects`,
      { body: nested, type: 'application/msgpack' },
      { code: 'invalid_argument' },
    ],
    [
      'nested MessagePack search',
      `${route}/search`,
      { body: nested, type: 'application/msgpack' },
      { code: 'invalid_msgpack' },
    ],
    [
      'no query',
      `${route}/search`,
      { json: { fields: { title: {} } } },
      { code: 'invalid_argument', field: 'fields.title.query' },
    ],
    ['no field', `${route}/search`, { json: { fields: {} } }, { code: 'invalid_argument', field: 'fields' }],
    [
      'unknown field searched',
      `${route}/search`,
      { json: { fields: { nope: { query: [1] } } } },
      { code: 'field_not_found' },
    ],
    [
      'limit 513',
      `${route}/search`,
      { json: { fields: { title: { query: [1, 0, 0], limit: 513 } } } },
      { code: 'limit_exceeded', field: 'fields.title.limit', value: 513, limit: 512 },
    ],
    [
      'ef 1,025',
      `${route}/search`,
      { json: { fields: { title: { query: [1, 0, 0], ef_search: 1_025 } } } },
      { code: 'limit_exceeded', field: 'fields.title.ef_search', value: 1_025, limit: 1_024 },
    ],
    [
      'query of another dimension',
      `${route}/search`,
      { json: { fields: { title: { query: [1] } } } },
      { code: 'invalid_argument', value: 1, limit: 3 },
    ],
    [
      'filter that is text',
      `${route}/search`,
      { json: { fields: { title: { query: [1, 0, 0] } }, filter: 'x' } },
      { code: 'invalid_argument', field: 'filter' },
    ],
    [
      'unknown fusion',
      `${route}/search`,
      { json: { fields: { title: { query: [1, 0, 0] } }, fusion: { method: 'sum' } } },
      { code: 'invalid_argument', field: 'fusion.method' },
    ],
    [
      'ids that are none',
      `${route}/objects/query`,
      { json: { ids: [null] } },
      { code: 'invalid_argument', field: 'ids[0]' },
    ],
    [
      'too many ids',
      `${route}/objects/query`,
      { json: { ids: Array.from({ length: 1_001 }, () => 'a') } },
      { code: 'limit_exceeded', field: 'ids', value: 1_001 },
    ],
    ['updates that are none', `${route}/filters`, { json: {} }, { code: 'invalid_argument', field: 'updates' }],
  ]
  for (const [why, path, options, expected] of cases) {
    const answer = await running.send('POST', path, options)
    t.equal(answer.status, 400, `${why}: ${answer.text.slice(0, 200)}`)
    t.match(answer.status === 200 ? {} : answer.json(), { ...expected, request_id: String }, why)
  }
  const multi = await running.send('POST', `${route}/objects`, object({ title: { vectors: [[1, 0, 0]] } }))
  t.match([multi.status, multi.json().code], [400, 'invalid_argument'], 'several vectors for a field of one')
  t.equal(running.engine.stats().lsnApplied, before, 'no event was written')
})

test('what a read requires of a node is checked by a single server, too', async (t) => {
  const { send } = await withCollection(t)
  const routes = ['/api/v2/collection', '/api/v2/collection/docs', '/api/v2/alias', '/api/v2/log/events']
  for (const route of routes) {
    const wrong: readonly (readonly [key: string, ...values: string[]])[] = [
      ['consistency', '', 'x', 'STRONG', 'local&consistency=x'],
      ['max_staleness_ms', '', 'x', '-1', '1.5', '1&max_staleness_ms=2'],
      ['min_lsn', '', 'x', '-1', '1.5', '1e3', 'null'],
    ]
    for (const [key, ...values] of wrong)
      for (const value of values) {
        const { status, json } = await send('GET', `${route}?${key}=${value}`)
        t.match([status, json()], [400, { code: 'invalid_argument', field: key }], `${route} ${key}=${value}`)
      }
    const good = await send('GET', `${route}?consistency=strong&max_staleness_ms=5&min_lsn=1`)
    t.equal(good.status, 200, good.text)
  }
})
