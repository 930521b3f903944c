// Vectors of /api/v1 as the published Python and JavaScript clients write, find, and delete them.
import { deflateSync } from 'node:zlib'
import { encode } from '@msgpack/msgpack'
import { base64Of, bytesOf, vectorBody } from '../vector-bodies.ts'
import { type Step, type Transcript, without } from './transcript.ts'
import { pythonCreate } from './v1-indexes.ts'

const api = '/api/v1'
const accept = 'application/json'
const axios = 'application/json, text/plain, */*'
const none = new Uint8Array(0)
const meta = deflateSync(Buffer.from('{"title":"first"}'))

const first = ['a', meta, '{"color":"red","size":3}', 2, [0.6, 0.8, 0, 0]]
const second = ['b', none, '{"color":"blue","size":7}', 1, [0, 0, 1, 0]]
const insert = `${api}/index/docs/vector/insert`
const search = `${api}/index/docs/search`

const vectors: Transcript = {
  name: 'vectors are inserted, found, read, changed and deleted',
  steps: [
    { rows: ['2.2 POST /index/create'], send: ['POST', `${api}/index/create`, { json: pythonCreate }], status: 200 },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', insert, { msgpack: [first, second] }],
      status: 200,
      body: '',
    },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', insert, { body: padded([second]), type: 'application/msgpack' }],
      status: 200,
      body: '',
    },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', insert, { body: '[{"id":7,"vector":[0,0,0,2],"meta":"m"}]', type: 'application/json' }],
      status: 200,
      body: '',
    },
    { rows: ['2.2 POST /index/{n}/vector/insert'], send: ['POST', insert, { msgpack: [] }], status: 400 },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', insert, { msgpack: [['c', none, '', 1, [1, 0]]] }],
      status: 400,
      body: { code: 'invalid_argument', field: 'objects[0].vector' },
    },
    {
      rows: ['2.2 POST /index/{n}/vector/insert'],
      send: ['POST', `${api}/index/absent/vector/insert`, { msgpack: [first] }],
      status: 400,
      body: { code: 'collection_not_found' },
    },
    ...searches(),
    {
      rows: ['2.2 POST /index/{n}/vector/get'],
      send: ['POST', `${api}/index/docs/vector/get`, { json: { id: 'a' } }],
      status: 200,
      type: 'msgpack',
      body: ['a', Uint8Array, '{"color":"red","size":3}', 2, [Number, Number, 0, 0], [], []],
    },
    {
      rows: ['2.2 POST /index/{n}/vector/get'],
      send: ['POST', `${api}/index/docs/vector/get`, { json: { id: '7' }, accept }],
      status: 200,
      type: 'json',
      body: { id: '7', filter: {}, norm: 2, vector: [0, 0, 0, 2] },
    },
    {
      rows: ['2.2 POST /index/{n}/vector/get'],
      send: ['POST', `${api}/index/docs/vector/get`, { json: {} }],
      status: 400,
    },
    {
      rows: ['2.2 POST /index/{n}/vector/get'],
      send: ['POST', `${api}/index/docs/vector/get`, { json: { id: 'nobody' } }],
      status: 404,
    },
    {
      rows: ['2.2 POST /index/{n}/filters/update'],
      send: [
        'POST',
        `${api}/index/docs/filters/update`,
        { json: { updates: [{ id: 'a', filter: { color: 'green' } }, { id: 'x', filter: {} }, { id: 'b' }] } },
      ],
      status: 200,
      type: 'text',
      body: '1 filters updated',
    },
    {
      rows: ['2.2 POST /index/{n}/filters/update'],
      send: ['POST', `${api}/index/docs/filters/update`, { json: { updates: {} } }],
      status: 400,
    },
    {
      rows: ['2.2 DELETE /index/{n}/vectors/delete'],
      send: ['DELETE', `${api}/index/docs/vectors/delete`, { json: { filter: [] } }],
      status: 200,
      type: 'text',
      body: '0 vectors deleted',
    },
    {
      rows: ['2.2 DELETE /index/{n}/vectors/delete'],
      send: ['DELETE', `${api}/index/docs/vectors/delete`, { json: { filter: [{ color: { $eq: 'green' } }] } }],
      status: 200,
      type: 'text',
      body: '1 vectors deleted',
    },
    {
      rows: ['2.2 DELETE /index/{n}/vectors/delete'],
      send: ['DELETE', `${api}/index/docs/vectors/delete`, { json: {} }],
      status: 400,
    },
    {
      rows: ['2.2 DELETE /index/{n}/vector/{id}/delete'],
      send: ['DELETE', `${api}/index/docs/vector/b/delete`],
      status: 200,
      type: 'text',
      body: 'Vector deleted successfully',
    },
    {
      rows: ['2.2 DELETE /index/{n}/vector/{id}/delete'],
      send: ['DELETE', `${api}/index/docs/vector/b/delete`],
      status: 404,
    },
  ],
}

function searches(): Step[] {
  const query = { k: 2, vector: [0.6, 0.8, 0, 0] }
  const asks: readonly [row: string, changes: object, found: unknown][] = [
    ['k', { k: 1 }, [[Number, 'a', Uint8Array, '{"color":"red","size":3}', 2, []]]],
    ['ef', { ef: 64 }, [[Number, 'a'], [Number]]],
    ['vector', {}, [[Number, 'a'], [Number]]],
    ['include_vectors', { include_vectors: true }, [[Number, 'a', Uint8Array, String, 2, [Number, Number, 0, 0]], []]],
    ['filter', { filter: '[{"color":{"$eq":"blue"}}]' }, [[Number, 'b']]],
    ['filter', { filter: [{ size: { $range: [1, 5] } }] }, [[Number, 'a']]],
    ['filter', { filter: '[{"unknown":{"$eq":"x"}}]' }, []],
    [
      'prefilter_threshold',
      { filter_params: { prefilter_threshold: 1_000, boost_percentage: 0 } },
      [[Number, 'a'], []],
    ],
    ['boost_percentage', { filter_params: { boost_percentage: 100 } }, [[Number, 'a'], []]],
    ['dense_rrf_weight', { dense_rrf_weight: 1 }, [[Number, 'a'], []]],
    ['rrf_rank_constant', { rrf_rank_constant: 1 }, [[Number, 'a'], []]],
    ['k', { k: undefined }, [[Number, 'a'], [], []]],
  ]
  const faults: readonly [row: string, changes: object, field: RegExp][] = [
    ['sparse_indices', { sparse_indices: [1], sparse_values: [1] }, /^sparse_indices$/],
    ['k', { k: 0 }, /^k$/],
    ['k', { k: 513 }, /^k$/],
    ['k', { k: 1.5 }, /^k$/],
    ['ef', { ef: 1_025 }, /^ef$/],
    ['vector', { vector: undefined }, /vector/],
    ['vector', { vector: [1, 2] }, /vector/],
    ['sparse_indices', { sparse_indices: [1, 2], sparse_values: [1] }, /sparse_values/],
    ['include_vectors', { include_vectors: 'yes' }, /include_vectors/],
    ['filter', { filter: '{"color":"red"}' }, /filter/],
    ['filter', { filter: 'no json' }, /filter/],
    ['filter', { filter: [{ color: { $EQ: 'red' } }] }, /./],
    ['prefilter_threshold', { filter_params: { prefilter_threshold: -1 } }, /prefilter_threshold/],
    ['boost_percentage', { filter_params: { boost_percentage: 401 } }, /boost_percentage/],
    ['dense_rrf_weight', { dense_rrf_weight: 1.1 }, /dense_rrf_weight/],
    ['rrf_rank_constant', { rrf_rank_constant: 0 }, /rrf_rank_constant/],
  ]
  return [
    ...asks.map(
      ([row, changes, found]): Step => ({
        rows: ['2.2 POST /index/{n}/search', `2.6 ${row}`],
        send: ['POST', search, { json: { ...query, ...changes }, accept: axios }],
        status: 200,
        type: 'msgpack',
        body: found,
      }),
    ),
    ...faults.map(
      ([row, changes, field]): Step => ({
        rows: ['2.2 POST /index/{n}/search', `2.6 ${row}`],
        send: ['POST', search, { json: without({ ...query, ...changes }) }],
        status: 400,
        body: { field },
      }),
    ),
    {
      rows: ['2.2 POST /index/{n}/search'],
      send: ['POST', search, { json: query, accept }],
      status: 200,
      type: 'json',
      body: { results: [{ id: 'a', similarity: Number, distance: Number, meta: { title: 'first' }, norm: 2 }, {}] },
    },
    ...[{ json: { k: 1, vector: base64Of(query.vector) } }, { msgpack: { k: 1, vector: bytesOf(query.vector) } }].map(
      (sent): Step => ({
        rows: ['2.2 POST /index/{n}/search', '2.6 vector'],
        send: ['POST', search, { ...sent, accept: axios }],
        status: 200,
        type: 'msgpack',
        body: [[Number, 'a']],
      }),
    ),
    {
      rows: ['2.2 POST /index/{n}/search', '2.6 vector'],
      send: ['POST', search, { body: vectorBody({ k: 1 }, bytesOf(query.vector)), type: 'application/octet-stream' }],
      status: 200,
      type: 'msgpack',
      body: [[Number, 'a']],
    },
    {
      rows: ['2.2 POST /index/{n}/search'],
      send: ['POST', `${api}/index/absent/search`, { json: query }],
      status: 404,
      body: { code: 'collection_not_found' },
    },
  ]
}

/** The JavaScript client sends the whole buffer of its encoder. */
function padded(value: unknown): Buffer {
  const buffer = Buffer.alloc(2_048)
  buffer.set(encode(value))
  return buffer
}

const rebuilds: Transcript = {
  name: 'an index is rebuilt',
  steps: [
    { rows: ['2.2 POST /index/create'], send: ['POST', `${api}/index/create`, { json: pythonCreate }], status: 200 },
    {
      rows: ['2.2 POST /index/{n}/rebuild'],
      send: ['POST', `${api}/index/docs/rebuild`, { json: { M: 32 } }],
      status: 400,
    },
    {
      rows: ['2.2 GET /index/{n}/rebuild/status'],
      send: ['GET', `${api}/index/docs/rebuild/status`],
      status: 200,
      type: 'json',
      body: { status: 'idle' },
    },
    { rows: ['2.2 POST /index/{n}/vector/insert'], send: ['POST', insert, { msgpack: [first, second] }], status: 200 },
    ...[{ M: 16 }, { M: 3 }, { precision: 'int8' }, { space_type: 'l2' }].map(
      (json): Step => ({
        rows: ['2.2 POST /index/{n}/rebuild'],
        send: ['POST', `${api}/index/docs/rebuild`, { json }],
        status: 400,
      }),
    ),
    {
      rows: ['2.2 POST /index/{n}/rebuild'],
      send: ['POST', `${api}/index/docs/rebuild`, { json: { M: 32, ef_con: 200 } }],
      status: 202,
      type: 'json',
      body: {
        status: /^(rebuilding|in_progress)$/,
        previous_config: { M: 16, ef_con: 128 },
        new_config: { M: 32, ef_con: 200 },
        total_vectors: 2,
      },
    },
    {
      rows: ['2.2 GET /index/{n}/rebuild/status'],
      send: ['GET', `${api}/index/docs/rebuild/status`],
      status: 200,
      eventually: { status: 'completed', percent_complete: 100, vectors_processed: 2, total_vectors: 2 },
      body: { started_at: /Z$/, completed_at: /Z$/ },
    },
    {
      rows: ['2.2 POST /index/{n}/rebuild'],
      send: ['POST', `${api}/index/absent/rebuild`, { json: { M: 32 } }],
      status: 404,
    },
    {
      rows: ['2.2 GET /index/{n}/rebuild/status'],
      send: ['GET', `${api}/index/absent/rebuild/status`],
      status: 404,
    },
  ],
}

export const v1Vectors: readonly Transcript[] = [vectors, rebuilds]
