// Indexes of /api/v1 as the published Python and JavaScript clients create and describe them.
import { existsSync } from 'node:fs'
import { type Step, type Transcript, without } from './transcript.ts'

const api = '/api/v1'
const dashboardBuilt = existsSync(new URL('../../../dashboard/dist/index.html', import.meta.url))
const axios = 'application/json, text/plain, */*'

/** The body of the Python client. */
export const pythonCreate = {
  index_name: 'docs',
  dim: 4,
  space_type: 'cosine',
  M: 16,
  ef_con: 128,
  checksum: -1,
  precision: 'float32',
  version: null,
}
/** The body of the JavaScript client, with a sparse part. */
const javascriptCreate = { ...pythonCreate, index_name: 'hybrid', precision: 'int8d', sparse_dim: 1_000 }

const info = {
  total_elements: Number,
  dimension: 4,
  sparse_model: 'None',
  sparse_dim: 0,
  space_type: 'cosine',
  precision: 'float32',
  checksum: -1,
  M: 16,
}

const about: Transcript = {
  name: 'what the server is',
  steps: [
    {
      rows: ['2.2 GET /health'],
      send: ['GET', `${api}/health`],
      status: 200,
      type: 'json',
      body: { status: 'ok', timestamp: Number },
    },
    {
      rows: ['2.2 GET /stats'],
      send: ['GET', `${api}/stats`],
      status: 200,
      type: 'json',
      body: { version: /^\d/, uptime: Number, total_requests: Number },
    },
  ],
}

const page: Transcript = {
  name: 'the page for browsers',
  steps: [
    {
      rows: ['2.2 GET /, /assets/*, /<path>'],
      send: ['GET', '/', { headers: {} }],
      ...(dashboardBuilt ? { status: 200, type: 'html' as const, body: /^<!doctype html>/i } : { status: 404 }),
    },
    ...['/assets/none.js', '/none'].map(
      (path): Step => ({ rows: ['2.2 GET /, /assets/*, /<path>'], send: ['GET', path], status: 404 }),
    ),
  ],
}

const user: Transcript = {
  name: 'the one user of a plain deployment',
  plainOnly: true,
  steps: [
    {
      rows: ['2.2 GET /users/{u}/info'],
      send: ['GET', `${api}/users/endee/info`],
      status: 200,
      type: 'json',
      body: { username: 'endee', is_active: true, user_type: 'Admin', created_at: Number, token_count: 1 },
    },
    { rows: ['2.2 GET /users/{u}/info'], send: ['GET', `${api}/users/nobody/info`], status: 404 },
    {
      rows: ['2.2 GET /users/{u}/type'],
      send: ['GET', `${api}/users/endee/type`],
      status: 200,
      type: 'json',
      body: { username: 'endee', user_type: 'Admin' },
    },
    { rows: ['2.2 GET /users/{u}/type'], send: ['GET', `${api}/users/nobody/type`], status: 404 },
  ],
}

const indexes: Transcript = {
  name: 'an index is made, listed, described and deleted',
  steps: [
    {
      rows: [
        '2.2 POST /index/create',
        ...['index_name', 'dim', 'space_type', 'M', 'ef_con'].map((row) => `2.3 ${row}`),
      ],
      send: ['POST', `${api}/index/create`, { json: pythonCreate }],
      status: 200,
      type: 'text',
      body: 'Index created successfully',
    },
    {
      rows: ['2.2 POST /index/create'],
      send: ['POST', `${api}/index/create`, { json: pythonCreate }],
      status: 409,
      body: { code: 'collection_exists' },
    },
    {
      rows: ['2.2 POST /index/create'],
      send: ['POST', `${api}/index/create`, { body: '{"index_name":', type: 'application/json' }],
      status: 400,
      body: { code: 'invalid_json' },
    },
    {
      rows: ['2.3 sparse_dim', '2.3 precision'],
      send: ['POST', `${api}/index/create`, { json: javascriptCreate, accept: axios }],
      status: 200,
      type: 'text',
      body: 'Index created successfully',
    },
    ...createFaults(),
    ...createDefaults(),
    {
      rows: ['2.2 GET /index/list'],
      send: ['GET', `${api}/index/list`],
      status: 200,
      type: 'json',
      body: {
        indexes: [
          { name: 'docs', created_at: Number, ...info },
          { name: 'hybrid', precision: 'int8' },
        ],
      },
    },
    {
      rows: ['2.2 GET /index/{n}/info', '2.3 checksum', '2.3 version'],
      send: ['GET', `${api}/index/docs/info`],
      status: 200,
      type: 'json',
      body: { ...info, ef_con: 128, lib_token: /./, name: 'docs', version: Number },
    },
    {
      rows: ['2.2 GET /index/{n}/info', '2.3 sparse_dim', '2.3 sparse_model'],
      send: ['GET', `${api}/index/hybrid/info`],
      status: 200,
      body: { sparse_dim: 1_000, sparse_model: 'default', precision: 'int8' },
    },
    { rows: ['2.2 GET /index/{n}/info'], send: ['GET', `${api}/index/absent/info`], status: 404 },
    {
      rows: ['2.2 DELETE /index/{n}/delete'],
      send: ['DELETE', `${api}/index/hybrid/delete`],
      status: 200,
      type: 'text',
      body: 'Index deleted successfully',
    },
    { rows: ['2.2 DELETE /index/{n}/delete'], send: ['DELETE', `${api}/index/hybrid/delete`], status: 404 },
  ],
}

/** One wrong value for each field of the table, on both sides of a range. */
function createFaults(): Step[] {
  const faults: readonly [row: string, changes: object][] = [
    ['index_name', { index_name: undefined }],
    ['index_name', { index_name: 'no spaces' }],
    ['dim', { dim: undefined }],
    ['dim', { dim: 1 }],
    ['dim', { dim: 16_385 }],
    ['space_type', { space_type: undefined }],
    ['space_type', { space_type: 'hamming' }],
    ['M', { M: 3 }],
    ['M', { M: 513 }],
    ['ef_con', { ef_con: 7 }],
    ['ef_con', { ef_con: 4_097 }],
    ['precision', { precision: 'int4' }],
    ['precision', { precision: 'int8e' }],
    ['checksum', { checksum: 'x' }],
    ['sparse_model', { sparse_model: 'splade' }],
    ['sparse_dim', { sparse_dim: -1 }],
    ['size_in_millions', { size_in_millions: 0 }],
    ['size_in_millions', { size_in_millions: 10_001 }],
  ]
  return faults.map(([row, changes]) => ({
    rows: [`2.3 ${row}`],
    send: ['POST', `${api}/index/create`, { json: without({ ...pythonCreate, index_name: 'wrong', ...changes }) }],
    status: 400,
    body: { code: /^(invalid_argument|limit_exceeded)$/, field: String },
  }))
}

/** Values that may be omitted, null, or named as in older clients. Each index is deleted afterwards. */
function createDefaults(): Step[] {
  const cases: readonly [row: string, changes: object, info: object][] = [
    ['M', { M: undefined }, { M: 16 }],
    ['ef_con', { ef_con: null }, { ef_con: 128 }],
    ['precision', { precision: undefined }, { precision: 'int8' }],
    ['precision', { precision: 'int16d' }, { precision: 'int16' }],
    ['precision', { precision: 'binary' }, { precision: 'binary' }],
    ['precision', { precision: 'float16' }, { precision: 'float16' }],
    ['space_type', { space_type: 'L2' }, { space_type: 'l2' }],
    ['space_type', { space_type: 'ip' }, { space_type: 'ip' }],
    ['checksum', { checksum: undefined }, { checksum: -1 }],
    ['version', { version: 2 }, { name: 'other' }],
    ['sparse_model', { sparse_model: 'None' }, { sparse_model: 'None' }],
    ['sparse_model', { sparse_model: 'default' }, { sparse_model: 'default' }],
    ['sparse_model', { sparse_model: 'endee_bm25' }, { sparse_model: 'endee_bm25' }],
    ['sparse_dim', { sparse_dim: 0 }, { sparse_model: 'None' }],
    ['size_in_millions', { size_in_millions: 2 }, { name: 'other' }],
  ]
  return cases.flatMap(([row, changes, described]): Step[] => [
    {
      rows: [`2.3 ${row}`],
      send: ['POST', `${api}/index/create`, { json: without({ ...pythonCreate, index_name: 'other', ...changes }) }],
      status: 200,
      body: 'Index created successfully',
    },
    { rows: [`2.3 ${row}`], send: ['GET', `${api}/index/other/info`], status: 200, body: described },
    { rows: [`2.3 ${row}`], send: ['DELETE', `${api}/index/other/delete`], status: 200 },
  ])
}

export const v1Indexes: readonly Transcript[] = [about, page, user, indexes]
