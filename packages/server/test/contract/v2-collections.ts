// Collections of /api/v2 as the published Python and Java clients and the web UI create and describe them.
import type { Step, Transcript } from './transcript.ts'

const api = '/api/v2'

const definition = {
  name: 'docs',
  fields: [
    { name: 'title', type: 'vector', params: { dimension: 3, space_type: 'cosine', precision: 'float32' } },
    {
      name: 'body',
      type: 'vector',
      params: { dimension: 2, space_type: 'l2', precision: 'int8', m: 8, ef_construct: 64 },
    },
    { name: 'words', type: 'sparse', sparse_model: 'default' },
  ],
}
const summary = {
  name: 'docs',
  created_at: Number,
  layout_version: 1,
  total_elements: Number,
  max_elements: Number,
  fields: [
    {
      name: 'title',
      type: 'vector',
      params: { dimension: 3, space_type: 'cosine', precision: 'float32', M: 16, ef_con: 128 },
      element_count: Number,
    },
    { name: 'body', params: { M: 8, ef_con: 64 } },
    { name: 'words', type: 'sparse', sparse_model: 'default', params: { sparse_model: 'default' } },
  ],
}
export const create: Step = {
  rows: ['3.3 POST /collection'],
  send: ['POST', `${api}/collection`, { json: definition }],
  status: 200,
  type: 'json',
  body: summary,
}

const about: Transcript = {
  name: 'what the server is',
  steps: [
    {
      rows: ['3.3 GET /health'],
      send: ['GET', `${api}/health`],
      status: 200,
      type: 'json',
      body: { status: 'ok', timestamp: String },
    },
    {
      rows: ['3.3 GET /stats'],
      send: ['GET', `${api}/stats`],
      status: 200,
      type: 'json',
      body: { version: /^\d/, uptime: Number, total_requests: Number },
    },
    {
      rows: ['3.3 GET /info'],
      send: ['GET', `${api}/info`],
      status: 200,
      type: 'json',
      body: { version: /^\d/, build_arch: /./, machine_id: /./ },
    },
    { rows: ['3.3 GET /logs'], send: ['GET', `${api}/logs?limit=0`], status: 200, body: { count: 0, lines: [] } },
    {
      rows: ['3.3 GET /logs'],
      send: ['GET', `${api}/logs?limit=1`],
      status: 200,
      type: 'json',
      body: { count: 1, lines: [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ INFO(_\d+)?: \S+\/-: GET \/api\/v2\/logs 200 \(\d/] },
    },
    { rows: ['3.3 GET /logs'], send: ['GET', `${api}/logs`], status: 200, type: 'json' },
    { rows: ['3.3 GET /logs'], send: ['GET', `${api}/logs?limit=501`], status: 400 },
    { rows: ['3.3 GET /logs'], send: ['GET', `${api}/logs?limit=x`], status: 400 },
  ],
}

const collections: Transcript = {
  name: 'a collection is made, listed, described and deleted',
  steps: [
    create,
    { ...create, status: 409, body: { code: 'collection_exists' } },
    ...definitionFaults(),
    {
      rows: ['3.3 GET /collection'],
      send: ['GET', `${api}/collection`],
      status: 200,
      type: 'json',
      body: { collections: [summary] },
    },
    {
      rows: ['3.3 GET /collection/{c}'],
      send: ['GET', `${api}/collection/docs`],
      status: 200,
      type: 'json',
      body: summary,
    },
    { rows: ['3.3 GET /collection/{c}'], send: ['GET', `${api}/collection/absent`], status: 404 },
    {
      rows: ['3.3 DELETE /collection/{c}'],
      send: ['DELETE', `${api}/collection/docs`],
      status: 200,
      type: 'json',
      body: { message: 'Collection deleted' },
    },
    { rows: ['3.3 DELETE /collection/{c}'], send: ['DELETE', `${api}/collection/docs`], status: 404 },
  ],
}

function definitionFaults(): Step[] {
  const dense = { name: 'v', type: 'vector', params: { dimension: 3 } }
  const faults: readonly object[] = [
    { fields: [dense] },
    { name: 'other' },
    { name: 'other', fields: [] },
    { name: 'other', fields: [dense, dense] },
    { name: 'other', fields: [{ ...dense, type: 'matrix' }] },
    { name: 'other', fields: [{ ...dense, params: {} }] },
    { name: 'other', fields: [{ ...dense, params: { dimension: 1 } }] },
    { name: 'other', fields: [{ ...dense, params: { dimension: 3, space_type: 'hamming' } }] },
    { name: 'other', fields: [{ ...dense, params: { dimension: 3, precision: 'int3' } }] },
    { name: 'other', fields: [{ ...dense, params: { dimension: 3, M: 513 } }] },
    { name: 'other', fields: [{ ...dense, params: { dimension: 3, ef_con: 7 } }] },
    { name: 'other', fields: Array.from({ length: 9 }, (_, i) => ({ ...dense, name: `v${i}` })) },
    { name: 'other', fields: [{ name: 's', type: 'sparse', sparse_model: 'splade' }] },
  ]
  return faults.map((json) => ({
    rows: ['3.3 POST /collection'],
    send: ['POST', `${api}/collection`, { json }],
    status: 400,
  }))
}

export const v2Collections: readonly Transcript[] = [about, collections]
