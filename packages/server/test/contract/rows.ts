// Every row of the tables in sections 2 and 3 of the HTTP contract, by table. Each is shown by at least one step of a transcript.

const v1Routes = [
  'GET /health',
  'GET /stats',
  'GET /users/{u}/info',
  'GET /users/{u}/type',
  'POST /index/create',
  'GET /index/list',
  'GET /index/{n}/info',
  'DELETE /index/{n}/delete',
  'POST /index/{n}/search',
  'POST /index/{n}/vector/insert',
  'POST /index/{n}/vector/get',
  'DELETE /index/{n}/vector/{id}/delete',
  'DELETE /index/{n}/vectors/delete',
  'POST /index/{n}/filters/update',
  'POST /index/{n}/rebuild',
  'GET /index/{n}/rebuild/status',
]

const v1Create = [
  'index_name',
  'dim',
  'space_type',
  'M',
  'ef_con',
  'precision',
  'checksum',
  'version',
  'sparse_model',
  'sparse_dim',
  'size_in_millions',
]

const v1Search = [
  'k',
  'ef',
  'vector',
  'sparse_indices',
  'include_vectors',
  'filter',
  'prefilter_threshold',
  'boost_percentage',
  'dense_rrf_weight',
  'rrf_rank_constant',
]

const v2Routes = [
  'GET /health',
  'GET /stats',
  'GET /info',
  'GET /logs',
  'POST /collection',
  'GET /collection',
  'GET /collection/{c}',
  'DELETE /collection/{c}',
  'POST /collection/{c}/objects',
  'POST /collection/{c}/objects/query',
  'DELETE /collection/{c}/objects/{id}',
  'DELETE /collection/{c}/objects',
  'POST /collection/{c}/filters',
  'POST /collection/{c}/search',
  'GET /collection/{c}/objects/{id}/field/{f}/links',
  'POST /collection/{c}/rebuild',
  'GET /collection/{c}/rebuild/status',
  'GET /status/rebuild',
  'POST /collection/{c}/shrink',
]

/** Which of two forms of a route a client generation speaks; both are served. */
const v2Variants = ['rebuild status by collection', 'rebuild status by database', 'links']

export const rows: readonly string[] = [
  ...v1Routes.map((row) => `2.2 ${row}`),
  ...v1Create.map((row) => `2.3 ${row}`),
  ...v1Search.map((row) => `2.6 ${row}`),
  ...v2Routes.map((row) => `3.3 ${row}`),
  ...v2Variants.map((row) => `3.10 ${row}`),
]
