// Every error code that a request can provoke, provoked: its reply names the field, the value, and the limit where there are such, each as a
// JSON value that is what was sent. A new code is provoked here, or named among those that need another setting.
import { type Test, test } from 'tap'
import { errorCodes, statusOf } from '../src/errors.ts'
import { type RunningApp, runningApp, type SendOptions } from './running-app.ts'
import { definition } from './v2-docs.ts'

const accept = 'application/json'
const rootToken = 'root-token-of-this-test'
const docs = '/api/v2/collection/docs'
const future = 999_999

interface Provoked {
  readonly send: readonly [method: string, path: string, options?: SendOptions]
  /** Members of the reply. A member that is undefined must be absent. */
  readonly field?: string
  readonly value?: unknown
  readonly limit?: unknown
}

const search = (query: unknown, more: object = {}): Provoked['send'] => [
  'POST',
  `${docs}/search`,
  { json: { fields: { title: { query } }, ...more } },
]
const put = (path: string, json: object): Provoked['send'] => ['PUT', path, { json }]
const post = (path: string, json?: unknown): Provoked['send'] => ['POST', path, json === undefined ? {} : { json }]

/** On a server without tokens that has the collection docs with the object a, the alias first, and the backup saved. */
const plain: Readonly<Record<string, readonly Provoked[]>> = {
  invalid_argument: [
    { send: search('x'), field: 'fields.title.query', value: 'x' },
    { send: search({ id: 5 }), field: 'fields.title.query.id', value: 5 },
    { send: search([1, 0, 0], { group_by: { key: 5 } }), field: 'group_by.key', value: 5 },
    { send: search([1, 0]), field: 'fields.title.query', value: 2, limit: 3 },
    { send: ['GET', `${docs}/diff?from=1.5`], field: 'from', value: '1.5' },
    { send: ['GET', `${docs}/diff?from=4&to=3`], field: 'from', value: 4, limit: 3 },
    { send: put('/api/v2/alias/a%20b', { collection: 'docs' }), field: 'name', value: 'a b' },
  ],
  invalid_filter: [{ send: search([1, 0, 0], { filter: [{ n: { $eq: {} } }] }), field: 'filter[0]', value: '{}' }],
  limit_exceeded: [
    {
      send: search([1, 0, 0], { fusion: { method: 'rrf', limit: 513 } }),
      field: 'fusion.limit',
      value: 513,
      limit: 512,
    },
  ],
  field_not_found: [{ send: post(`${docs}/search`, { fields: { no: { query: [1] } } }), field: 'fields', value: 'no' }],
  invalid_json: [{ send: ['POST', `${docs}/search`, { body: '{', type: accept }], field: 'body' }],
  invalid_msgpack: [
    {
      send: ['POST', `${docs}/search`, { body: Buffer.from('9191', 'hex'), type: 'application/msgpack' }],
      field: 'body',
    },
  ],
  unsupported_media_type: [{ send: ['POST', `${docs}/search`, { body: 'x', type: 'text/plain' }] }],
  body_too_large: [
    { send: post('/api/v2/collection', { name: 'x'.repeat(1_100_000) }), field: 'body', limit: 1_048_576 },
    { send: post(`${docs}/search`, { fields: 'x'.repeat(8_500_000) }), field: 'body', limit: 8_388_608 },
  ],
  method_not_allowed: [{ send: ['PUT', docs], limit: 'DELETE, GET, HEAD' }],
  route_not_found: [{ send: ['GET', '/api/v2/nothing'] }],
  request_key_unsupported: [
    { send: ['POST', `${docs}/backup`, { json: {}, headers: { 'idempotency-key': 'k' } }], field: 'Idempotency-Key' },
  ],
  request_key_reused: [
    {
      send: ['PUT', '/api/v2/alias/second', { json: { collection: 'docs' }, headers: { 'idempotency-key': 'used' } }],
      field: 'Idempotency-Key',
      value: 'used',
    },
  ],
  enterprise_only: [{ send: ['GET', '/api/v2/admin/dbs'] }],
  collection_not_found: [{ send: ['GET', '/api/v2/collection/none'], field: 'collection', value: 'none' }],
  collection_exists: [{ send: post('/api/v2/collection', definition), field: 'name', value: 'docs' }],
  collection_has_aliases: [{ send: ['DELETE', docs], field: 'collection', value: 'docs' }],
  alias_exists: [{ send: post('/api/v2/collection', { ...definition, name: 'first' }), field: 'name', value: 'first' }],
  alias_not_found: [{ send: ['DELETE', '/api/v2/alias/none'], field: 'name', value: 'none' }],
  conflict: [
    {
      send: post(`${docs}/objects?atomic=true`, {
        objects: [{ id: 'a', fields: { title: [1, 0, 0] }, if_absent: true }],
      }),
      field: 'objects',
      value: 'a',
    },
  ],
  object_not_found: [
    { send: search({ id: 'none' }), field: 'fields.title.query.id', value: 'none' },
    { send: search({ id: 'none' }, { exact: true }), field: 'fields.title.query.id', value: 'none' },
    { send: ['DELETE', `${docs}/objects/none`], field: 'id', value: 'none' },
    { send: ['GET', `${docs}/objects/none/field/title/neighbors`], field: 'id', value: 'none' },
  ],
  backup_not_found: [{ send: ['GET', '/api/v2/backup/none/info'], field: 'backup', value: 'none' }],
  backup_exists: [{ send: post(`${docs}/backup`, { name: 'saved' }), field: 'name', value: 'saved' }],
  feed_cursor_not_found: [{ send: ['DELETE', '/api/v2/cursors/none'], field: 'name', value: 'none' }],
  database_not_found: [{ send: ['GET', '/api/v2/dbs/none/info'], field: 'database', value: 'none' }],
  not_clustered: [{ send: ['GET', '/api/v2/cluster'] }],
  restore_unreachable: [
    { send: ['GET', `${docs}/diff?from=${future}`], field: 'from', value: future },
    { send: ['GET', `${docs}/diff?from=1&to=${future}`], field: 'to', value: future },
    { send: ['GET', `${docs}/diff?from=2999-01-01`], field: 'from', value: '2999-01-01T00:00:00.000Z' },
    { send: post(`${docs}/undo`, { ids: ['a'], as_of: { lsn: future } }), field: 'as_of.lsn', value: future },
    {
      send: post(`${docs}/undo`, { ids: ['a'], as_of: { time: 1e9 } }),
      field: 'as_of.time',
      value: '2001-09-09T01:46:40.000Z',
    },
    { send: post(`${docs}/branch`, { name: 'new', as_of: { lsn: future } }), field: 'as_of.lsn', value: future },
    { send: post(`${docs}/restore`, { target_collection_name: 'new', lsn: future }), field: 'lsn', value: future },
    {
      send: post('/api/v2/backup/saved/restore', { target_collection_name: 'new', time: '2999-01-01T00:00:00Z' }),
      field: 'time',
      value: '2999-01-01T00:00:00.000Z',
    },
  ],
}

/** Of a server with a root token and without a license, by the token that is sent. */
const withTokens: Readonly<Record<string, readonly Provoked[]>> = {
  authorization_required: [{ send: ['GET', '/api/v2/collection'] }],
  invalid_token: [{ send: ['GET', '/api/v2/collection', { headers: { authorization: 'wrong' } }] }],
  access_denied: [{ send: ['GET', '/api/v2/collection', { headers: { authorization: rootToken } }] }],
  license_required: [
    { send: ['POST', '/api/v2/admin/dbs', { json: { db_name: 'x' }, headers: { authorization: rootToken } }] },
  ],
}

/** Codes that tests of their own setting provoke, or that no request does. */
const elsewhere = {
  accessAndLicenses:
    'too_many_attempts host_refused origin_refused token_read_only database_inactive quota_exceeded license_invalid license_expired trial_taken rate_limited database_exists token_exists token_not_found user_not_found',
  loadAndTime:
    'too_many_streams overloaded log_overloaded request_key_in_use lsn_not_reached rebuild_running backup_running cancelled cursor_expired feed_position_lost moment_unreachable moment_loading memory_exhausted reply_too_large record_too_large id_ambiguous bad_request expectation_failed',
  clusterAndArchive:
    'archive_late archive_unconfirmed replica_stale replica_behind node_out_of_service node_live node_not_found shared_store_full shared_store_unavailable shared_file_damaged unsupported_in_cluster log_fenced not_leader outcome_unknown',
  providers: 'embedding_failed embedding_timeout embedding_unavailable',
  startsAndStops:
    'starting stopping server_away closed log_closed collection_loading node_too_old kernel_stale version_mismatch engine_file_missing',
  disksAndDamage:
    'internal collection_quarantined worker_lost snapshot_damaged format_too_new backup_damaged read_only log_damaged log_failed disk_failed disk_full directory_locked directory_follows record_invalid lsn_not_held identity_damaged identity_mismatch repair_refused',
}

test('every code is provoked here, or in a setting of its own', (t) => {
  const named = [...Object.keys(plain), ...Object.keys(withTokens), ...Object.values(elsewhere).join(' ').split(' ')]
  t.strictSame(named.sort(), [...errorCodes].sort())
  t.end()
})

/** What is wrong with the form of a reply. */
function faultsOf(
  code: string,
  { send: [method, path], ...expected }: Provoked,
  status: number,
  reply: object,
): string[] {
  const { field, value, limit, ...rest } = reply as Record<string, unknown>
  const faults = [
    ...(rest.code === code ? [] : [`code ${String(rest.code)}`]),
    ...(status === statusOf(code as never) ? [] : [`status ${status}`]),
    ...(typeof rest.error === 'string' && typeof rest.request_id === 'string' ? [] : ['no message']),
    ...[field, value, limit]
      .filter((member) => typeof member === 'object' && member !== null)
      .map(() => 'a list or an object'),
    ...[value, limit]
      .filter((member) => typeof member === 'string' && /^["'].*["']$/.test(member))
      .map(() => 'quoted twice'),
    ...(['field', 'value'] as const)
      .filter((name) => reply[name as never] !== expected[name])
      .map((name) => `${name} ${JSON.stringify(reply[name as never])} instead of ${JSON.stringify(expected[name])}`),
    ...('limit' in expected && limit !== expected.limit ? [`limit ${JSON.stringify(limit)}`] : []),
  ]
  return faults.map((fault) => `${code}: ${method} ${path}: ${fault}: ${JSON.stringify(reply).slice(0, 300)}`)
}

async function provoke(t: Test, { send }: RunningApp, all: typeof plain): Promise<void> {
  for (const [code, provoked] of Object.entries(all))
    for (const one of provoked) {
      const [method, path, options] = one.send
      const { status, text } = await send(method, path, { accept, ...options })
      t.strictSame(faultsOf(code, one, status, JSON.parse(text) as object), [])
    }
}

test('errors of a plain server name field, value, and limit', async (t) => {
  const running = await runningApp(t)
  const ok = async ([method, path, options]: Provoked['send']) => {
    const { status, text } = await running.send(method, path, { accept, ...options })
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
  }
  await ok(post('/api/v2/collection', definition))
  await ok(post(`${docs}/objects`, { objects: [{ id: 'a', fields: { title: [1, 0, 0] } }] }))
  await ok(['PUT', '/api/v2/alias/first', { json: { collection: 'docs' }, headers: { 'idempotency-key': 'used' } }])
  await ok(post(`${docs}/backup`, { name: 'saved' }))
  const isRunning = async () =>
    (await running.send('GET', '/api/v2/status/backup', { accept })).json().status === 'running'
  while (await isRunning()) await new Promise(setImmediate)
  await provoke(t, running, plain)
})

test('errors of a server with tokens', async (t) => {
  await provoke(t, await runningApp(t, { rootToken }, { licensed: false }), withTokens)
})
