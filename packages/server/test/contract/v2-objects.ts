// Objects of /api/v2 as the published Python and Java clients and the web UI write, find, and delete them.
import { deflateSync } from 'node:zlib'
import type { Step, Transcript } from './transcript.ts'
import { create } from './v2-collections.ts'

const api = '/api/v2'
const accept = 'application/json'
const none = new Uint8Array(0)
const meta = deflateSync(Buffer.from('{"internal_":{"title":5}}'))

const words = [
  [3, 9],
  [1, 0.5],
]
const a = ['a', meta, '{"color":"red","size":3}', { title: [0.6, 0.8, 0], body: [1, 2] }, { words }, {}]
const b = ['b', none, '', { title: [0, 0, 1] }, {}, {}]
const objects = `${api}/collection/docs/objects`

const objectStory: Transcript = {
  name: 'objects go in, are read, found, changed and deleted',
  steps: [
    create,
    {
      rows: ['3.3 POST /collection/{c}/objects'],
      send: ['POST', objects, { msgpack: [[a, b]] }],
      status: 200,
      type: 'json',
      body: { upserted: 2 },
    },
    {
      rows: ['3.3 POST /collection/{c}/objects'],
      send: ['POST', objects, { msgpack: [[]] }],
      status: 200,
      body: { upserted: 0 },
    },
    {
      rows: ['3.3 POST /collection/{c}/objects'],
      send: [
        'POST',
        objects,
        {
          body: '{"objects":[{"id":"c","meta":{"n":1},"filter":{"size":9},"fields":{"title":{"vector":[0,3,4]}}}]}',
          type: 'application/json',
        },
      ],
      status: 200,
      body: { upserted: 1 },
    },
    ...objectFaults(),
    {
      rows: ['3.3 POST /collection/{c}/objects/query'],
      send: ['POST', `${objects}/query`, { json: { ids: ['b', 'nobody', 'a'] } }],
      status: 200,
      type: 'msgpack',
      body: [
        [
          ['b', Uint8Array, '', { title: [0, 0, 1] }, {}, {}],
          ['a', Uint8Array, '{"color":"red","size":3}', { title: [Number, Number, 0], body: Array }, { words }, {}],
        ],
      ],
    },
    {
      rows: ['3.3 POST /collection/{c}/objects/query'],
      send: ['POST', `${objects}/query`, { json: { ids: ['c'] }, accept }],
      status: 200,
      type: 'json',
      body: { objects: [{ id: 'c', meta: { n: 1 }, filter: { size: 9 }, fields: { title: { norm: 5 } } }] },
    },
    {
      rows: ['3.3 POST /collection/{c}/objects/query'],
      send: ['POST', `${api}/collection/absent/objects/query`, { json: { ids: [] } }],
      status: 404,
    },
    ...searches(),
    {
      rows: ['3.3 GET /collection/{c}/objects/{id}/field/{f}/links', '3.10 links'],
      send: ['GET', `${objects}/a/field/title/links`],
      status: 200,
      type: 'json',
      body: { id: 'a', field: 'title', links: [String, String] },
    },
    {
      rows: ['3.3 GET /collection/{c}/objects/{id}/field/{f}/links'],
      send: ['GET', `${objects}/absent/field/title/links`],
      status: 404,
    },
    ...['absent', 'words'].map(
      (field): Step => ({
        rows: ['3.3 GET /collection/{c}/objects/{id}/field/{f}/links'],
        send: ['GET', `${objects}/a/field/${field}/links`],
        status: 400,
      }),
    ),
    {
      rows: ['3.3 POST /collection/{c}/filters'],
      send: [
        'POST',
        `${api}/collection/docs/filters`,
        {
          json: {
            updates: [
              { id: 'a', filter: { color: 'green' } },
              { id: 'x', filter: {} },
            ],
          },
        },
      ],
      status: 200,
      type: 'json',
      body: { updated: 1 },
    },
    {
      rows: ['3.3 POST /collection/{c}/filters'],
      send: ['POST', `${api}/collection/docs/filters`, { json: {} }],
      status: 400,
    },
    {
      rows: ['3.3 DELETE /collection/{c}/objects'],
      send: ['DELETE', objects, { json: { filter: [{ color: { $eq: 'green' } }] } }],
      status: 200,
      type: 'json',
      body: { deleted: 1 },
    },
    {
      rows: ['3.3 DELETE /collection/{c}/objects'],
      send: ['DELETE', objects, { json: { filter: [] } }],
      status: 200,
      body: { deleted: 0 },
    },
    {
      rows: ['3.3 DELETE /collection/{c}/objects'],
      send: ['DELETE', objects, { json: { filter: {} } }],
      status: 400,
    },
    {
      rows: ['3.3 DELETE /collection/{c}/objects/{id}'],
      send: ['DELETE', `${objects}/b`],
      status: 200,
      type: 'json',
      body: { deleted: 'b' },
    },
    { rows: ['3.3 DELETE /collection/{c}/objects/{id}'], send: ['DELETE', `${objects}/b`], status: 404 },
  ],
}

function objectFaults(): Step[] {
  const batches: readonly unknown[] = [
    [[['d', none, '', { absent: [1] }, {}, {}]]],
    [[['d', none, '', { title: [1, 2] }, {}, {}]]],
    [[['d', none, '', { title: [1, 2, 3] }, { words: [[1, 2], [1]] }, {}]]],
    [[['', none, '', { title: [1, 2, 3] }, {}, {}]]],
    [[b, b]],
    [['d']],
  ]
  return [
    ...batches.map(
      (msgpack): Step => ({
        rows: ['3.3 POST /collection/{c}/objects'],
        send: ['POST', objects, { msgpack }],
        status: 400,
      }),
    ),
    {
      rows: ['3.3 POST /collection/{c}/objects'],
      send: ['POST', `${api}/collection/absent/objects`, { msgpack: [[b]] }],
      status: 404,
    },
  ]
}

function searches(): Step[] {
  const row = '3.3 POST /collection/{c}/search'
  const path = `${api}/collection/docs/search`
  const title = { query: [0.6, 0.8, 0], limit: 2, ef_search: 64 }
  const sparse = { query: { indices: [3], values: [1] } }
  const faults: readonly object[] = [
    {},
    { fields: [] },
    { fields: [{ absent: title }] },
    { fields: [{ title: { query: [] } }] },
    { fields: [{ title: { query: [1, 2] } }] },
    { fields: [{ title: { ...title, limit: 0 } }] },
    { fields: [{ title: { ...title, limit: 513 } }] },
    { fields: [{ title: { ...title, ef_search: 1_025 } }] },
    { fields: [{ words: { query: { indices: [1, 2], values: [1] } } }] },
    { fields: [{ title }], filter: '[]' },
    { fields: [{ title }], filter: [{ color: 'red' }] },
    { fields: [{ title }], filter_params: { boost_percentage: -1 } },
  ]
  return [
    {
      rows: [row],
      send: ['POST', path, { json: { fields: [{ title }, { words: sparse }, { body: { query: [9, 9] } }] } }],
      status: 200,
      type: 'msgpack',
      body: [
        { 0: ['a', Uint8Array, '{"color":"red","size":3}'] },
        {
          title: [
            [0, Number],
            [Number, Number],
          ],
          words: [[0, 1]],
          body: [[0, Number]],
        },
      ],
    },
    {
      rows: [row],
      send: ['POST', path, { json: { fields: [{ title }], filter: [{ size: { $range: [5, 10] } }] } }],
      status: 200,
      type: 'msgpack',
      body: [{ 0: ['c'] }, { title: [[0, Number]] }],
    },
    {
      rows: [row],
      send: ['POST', path, { json: { fields: [{ title }], filter: [{ size: { $gt: 100 } }] } }],
      status: 200,
      type: 'msgpack',
      body: [{}, { title: [] }],
    },
    {
      rows: [row],
      send: [
        'POST',
        path,
        { json: { fields: { title }, filter_params: { prefilter_threshold: 1_000, boost_percentage: 50 } }, accept },
      ],
      status: 200,
      type: 'json',
      body: {
        results: { title: [{ id: 'a', similarity: Number, distance: Number, meta: {}, filter: { size: 3 } }, {}] },
      },
    },
    {
      rows: [row],
      send: ['POST', path, { json: { fields: { title, words: sparse }, fusion: { method: 'rrf', limit: 3 } }, accept }],
      status: 200,
      type: 'json',
      body: {
        results: { title: Array, words: Array },
        fused: [{ id: 'a', score: Number, fields: { title: { rank: 1 } } }],
      },
    },
    ...faults.map((json): Step => ({ rows: [row], send: ['POST', path, { json }], status: 400 })),
    { rows: [row], send: ['POST', `${api}/collection/absent/search`, { json: { fields: [{ title }] } }], status: 404 },
  ]
}

const rebuild = `${api}/collection/docs/rebuild`
const completed = { status: 'completed', percent_complete: 100, objects_processed: 2, total_objects: 2 }

const rebuilds: Transcript = {
  name: 'a collection is rebuilt and shrunk',
  steps: [
    create,
    { rows: ['3.3 POST /collection/{c}/shrink'], send: ['POST', `${api}/collection/docs/shrink`], status: 200 },
    { rows: ['3.3 GET /status/rebuild'], send: ['GET', `${api}/status/rebuild`], status: 200, type: 'json' },
    { rows: ['3.3 POST /collection/{c}/objects'], send: ['POST', objects, { msgpack: [[a, b]] }], status: 200 },
    {
      rows: ['3.3 POST /collection/{c}/rebuild'],
      send: ['POST', rebuild, { json: { fields: [{ field: 'title', M: 32, ef_con: 200 }, { field: 'words' }] } }],
      status: 202,
      type: 'json',
      body: {
        status: 'in_progress',
        fields_total: 1,
        total_objects: 2,
        previous_config: { M: 16, ef_con: 128 },
        new_config: { M: 32, ef_con: 200 },
      },
    },
    {
      rows: ['3.3 GET /collection/{c}/rebuild/status', '3.10 rebuild status by collection'],
      send: ['GET', `${rebuild}/status`],
      status: 200,
      eventually: completed,
      body: {
        field: 'title',
        fields_done: 1,
        fields_total: 1,
        in_progress: false,
        new_config: { M: 32, ef_con: 200 },
        previous_config: { M: 16, ef_con: 128 },
        current_config: { M: 32, ef_con: 200 },
        started_at: /Z$/,
        completed_at: /Z$/,
      },
    },
    {
      rows: ['3.3 GET /status/rebuild', '3.10 rebuild status by database'],
      send: ['GET', `${api}/status/rebuild`],
      status: 200,
      type: 'json',
      body: completed,
    },
    {
      rows: ['3.3 POST /collection/{c}/rebuild'],
      send: ['POST', rebuild, { json: { fields: [{ field: 'title', M: 3 }] } }],
      status: 400,
    },
    {
      rows: ['3.3 POST /collection/{c}/rebuild'],
      send: ['POST', rebuild, { json: { fields: [{ field: 'title', precision: 'int8' }] } }],
      status: 400,
    },
    {
      rows: ['3.3 POST /collection/{c}/rebuild'],
      send: ['POST', `${api}/collection/absent/rebuild`, { json: { fields: [] } }],
      status: 404,
    },
    {
      rows: ['3.3 GET /collection/{c}/rebuild/status'],
      send: ['GET', `${api}/collection/absent/rebuild/status`],
      status: 404,
    },
    {
      rows: ['3.3 POST /collection/{c}/shrink'],
      send: ['POST', `${api}/collection/docs/shrink`, { json: {} }],
      status: 200,
      type: 'json',
      body: { status: 'ok', reclaimed_bytes: Number },
    },
    { rows: ['3.3 POST /collection/{c}/shrink'], send: ['POST', `${api}/collection/absent/shrink`], status: 404 },
  ],
}

export const v2Objects: readonly Transcript[] = [objectStory, rebuilds]
