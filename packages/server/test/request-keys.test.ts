// Idempotency-Key on every route that changes something: the same request twice has one effect and one reply, also if the server is killed in
// between; routes that take no key say so. The routes come from the server, so a new one cannot be forgotten.
import path from 'node:path'
import { encode } from '@msgpack/msgpack'
import tap, { type Test, test } from 'tap'
import { templateOf } from '../src/http/openapi/operation.ts'
import { layLicense, vendor } from './licenses.ts'
import { readDescription } from './openapi/description.ts'
import { registeredRoutes } from './route-table.ts'
import { type Answer, type RunningApp, runningApp, send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

tap.setTimeout(300_000)

const rootToken = '5f0e1d2c3b4a59687786958473625140'
const params = { dimension: 2, space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 }
const fields = [{ name: 'v', type: 'vector', params }]
const replayed = 'idempotency-replayed'

interface Step {
  readonly route: string
  readonly method: string
  readonly path: string
  /** May depend on the answers of the steps before it. */
  readonly json?: unknown | ((first: readonly Answer[]) => unknown)
  readonly msgpack?: unknown
  readonly accept?: string
  readonly asRoot?: boolean
  /** Sent before, without a key, once. */
  readonly before?: readonly (readonly [method: string, path: string, json?: unknown])[]
}

function step(route: string, target: string, rest: Omit<Step, 'route' | 'method' | 'path'> = {}): Step {
  const [method = '', url = ''] = route.split(' ')
  return { route, method, path: `${url.slice(0, '/api/v1'.length)}${target}`, ...rest }
}

const objects = (ids: readonly string[], x = 0) => ({
  objects: ids.map((id) => ({ id, filter: { x }, fields: { v: [x, id.length] } })),
})
const v1Objects = (ids: readonly string[]) => ids.map((id) => ({ id, filter: { x: 1 }, vector: [1, Number(id)] }))
const large = {
  objects: Array.from({ length: 900 }, (_, i) => ({
    id: `${i + 100}`,
    meta: { text: 'x'.repeat(500) },
    fields: { v: [i, 1] },
  })),
}
const backup = ['POST', '/collection/docs/backup', { name: 'kept' }] as const

/** The step whose state is restored. */
const filled = 5

/** A request for each route that keeps keys, and some more forms, in an order in which all succeed. */
const steps: readonly Step[] = [
  step('POST /api/v1/index/create', '/index/create', {
    json: { index_name: 'songs', dim: 2, space_type: 'l2', precision: 'float32' },
  }),
  step('POST /api/v2/collection', '/collection', { json: { name: 'docs', fields } }),
  step('POST /api/v1/index/:name/vector/insert', '/index/songs/vector/insert', {
    json: v1Objects(['1', '2', '3', '4']),
  }),
  step('POST /api/v1/index/:name/vector/insert', '/index/songs/vector/insert', {
    msgpack: [['5', new Uint8Array(0), '', 1, [1, 2]]],
  }),
  step('POST /api/v2/collection/:name/objects', '/collection/docs/objects', {
    json: objects(['1', '2', '3', '4', 'a/b']),
  }),
  step('POST /api/v2/collection/:name/objects', '/collection/docs/objects', { json: large }),
  step('POST /api/v1/index/:name/filters/update', '/index/songs/filters/update', {
    json: { updates: [{ id: '1', filter: { x: 9 } }] },
  }),
  step('POST /api/v2/collection/:name/filters', '/collection/docs/filters', {
    json: {
      updates: [
        { id: '1', filter: { x: 9 } },
        { id: 'absent', filter: { x: 9 } },
      ],
    },
  }),
  step('PATCH /api/v2/collection/:name/objects', '/collection/docs/objects', {
    json: [
      { id: '1', increment: { count: 2 } },
      { id: 'absent', meta: { x: 1 } },
    ],
  }),
  step('DELETE /api/v1/index/:name/vector/*', '/index/songs/vector/2/delete'),
  step('DELETE /api/v1/index/:name/vector/*', '/index/songs/vector/3/delete', { accept: 'application/json' }),
  step('DELETE /api/v2/collection/:name/objects/*', '/collection/docs/objects/a%2Fb'),
  step('DELETE /api/v1/index/:name/vectors/delete', '/index/songs/vectors/delete', {
    json: { filter: [{ x: { $eq: 9 } }] },
  }),
  step('DELETE /api/v2/collection/:name/objects', '/collection/docs/objects', {
    json: { filter: [{ x: { $eq: 9 } }] },
  }),
  step('DELETE /api/v2/collection/:name/objects', '/collection/docs/objects', {
    json: { filter: [{ x: { $eq: 999 } }] },
  }),
  step('POST /api/v2/collection/:name/defaults', '/collection/docs/defaults', { json: { ttl_seconds: 3_600 } }),
  step('POST /api/v2/collection/:name/fields', '/collection/docs/fields', {
    json: { fields: [{ field: 'v', recall: 0.9 }] },
  }),
  step('POST /api/v1/index/:name/rebuild', '/index/songs/rebuild', { json: { M: 8 } }),
  step('POST /api/v2/collection/:name/rebuild', '/collection/docs/rebuild', {
    json: { fields: [{ field: 'v', M: 8 }] },
  }),
  step('POST /api/v2/collection/:name/vacuum', '/collection/docs/vacuum'),
  step('POST /api/v2/collection/:name/shrink', '/collection/docs/shrink'),
  step('PUT /api/v2/collection/:name/schedule', '/collection/docs/schedule', { json: { every_hours: 700 } }),
  step('DELETE /api/v2/collection/:name/schedule', '/collection/docs/schedule'),
  step('DELETE /api/v2/collection/:name/schedule', '/collection/docs/schedule'),
  step('POST /api/v2/collection/:name/clone', '/collection/docs/clone', { json: { target_collection_name: 'cloned' } }),
  step('POST /api/v2/collection/:name/restore', '/collection/docs/restore', {
    json: (first: readonly Answer[]) => ({ target_collection_name: 'past', lsn: first[filled]?.json().lsn }),
  }),
  step('POST /api/v2/collection/:name/undo', '/collection/docs/undo', {
    json: (first: readonly Answer[]) => ({ ids: ['1', 'nope'], as_of: { lsn: first[filled]?.json().lsn } }),
  }),
  step('PUT /api/v2/alias/:name', '/alias/live', { json: { collection: 'docs' } }),
  step('DELETE /api/v2/alias/:name', '/alias/live'),
  step('POST /api/v2/collection/:name/branch', '/collection/docs/branch', { json: { name: 'branched' } }),
  step('POST /api/v2/collection/:name/promote', '/collection/branched/promote', {
    json: { over: 'docs', keep_as: 'branched' },
  }),
  step('POST /api/v1/backups/:backup/restore', '/backups/kept/restore', {
    json: { target_index_name: 'r1' },
    before: [backup],
  }),
  step('POST /api/v2/backup/:backup/restore', '/backup/kept/restore', { json: { target_collection_name: 'r2' } }),
  step('POST /api/v2/backups/:backup/restore', '/backups/kept/restore', { json: { target_collection_name: 'r3' } }),
  step('DELETE /api/v2/tokens/:name', '/tokens/old', { before: [['POST', '/tokens', { name: 'old' }]] }),
  step('DELETE /api/v2/cursors/:name', '/cursors/cache', { before: [['PUT', '/cursors/cache', { lsn: 1 }]] }),
  step('DELETE /api/v1/index/:name/delete', '/index/songs/delete'),
  step('DELETE /api/v2/collection/:name', '/collection/docs'),
  step('POST /api/v2/admin/dbs/:database/deactivate', '/admin/dbs/other/deactivate', { asRoot: true }),
  step('POST /api/v2/admin/dbs/:database/activate', '/admin/dbs/other/activate', { asRoot: true }),
  step('PUT /api/v2/admin/dbs/:database/type', '/admin/dbs/other/type', { json: { db_type: 'pro' }, asRoot: true }),
  step('DELETE /api/v2/admin/dbs/:database/tokens/:name', '/admin/dbs/other/tokens/main', { asRoot: true }),
  step('DELETE /api/v2/admin/dbs/:database/collection/:name', '/admin/dbs/acme/collection/r1', { asRoot: true }),
  step('DELETE /api/v2/admin/dbs/:database', '/admin/dbs/other', { asRoot: true }),
]

/** Routes that change something and take no keys. */
const refused = [
  'PUT /api/v2/cursors/:name',
  'POST /api/v1/index/:name/backup',
  'POST /api/v1/backups/upload',
  'DELETE /api/v1/backups/:backup',
  'POST /api/v2/admin/dbs',
  'POST /api/v2/admin/dbs/:database/tokens',
  'POST /api/v2/cluster/step-down',
  'POST /api/v2/cluster/digests',
  'DELETE /api/v2/cluster/nodes/:node',
  'POST /api/v2/cluster/nodes/:node/admit',
  'POST /api/v2/license/generate',
  'POST /api/v2/license/validate',
  'POST /api/v2/tokens',
  'POST /api/v2/collection/:name/backup',
  'DELETE /api/v2/status/backup',
  'DELETE /api/v2/status/restore',
  'POST /api/v2/backup/upload',
  'DELETE /api/v2/backup/:backup',
  'POST /api/v2/backups/upload',
  'DELETE /api/v2/backups/:backup',
]

/** Posts that only read, or measure. */
const reads = [
  'POST /api/v1/index/:name/search',
  'POST /api/v1/index/:name/vector/get',
  ...['objects/query', 'objects/count', 'objects/scroll', 'search', 'search/batch', 'facets', 'calibrate'].map(
    (name) => `POST /api/v2/collection/:name/${name}`,
  ),
  'POST /api/v2/backup/:backup/verify',
  'POST /api/v2/backups/:backup/verify',
]

interface Served {
  readonly process: RunningProcess
  send(
    method: string,
    target: string,
    options?: Parameters<typeof send>[3] & { readonly token?: string },
  ): Promise<Answer>
  lsn(): Promise<number>
}

async function started(t: Test, dataDir: string, threads: number): Promise<Served> {
  const process = startProcess({
    NDD_DATA_DIR: dataDir,
    NDD_ROOT_TOKEN: rootToken,
    NDD_LICENSE_PUBLIC_KEY: vendor.publicKey,
    NDD_NUM_SERVER_THREADS: `${threads}`,
  })
  t.teardown(() => process.child.kill('SIGKILL'))
  const url = await process.serving
  const sent: Served['send'] = (method, target, { token = rootToken, headers, ...rest } = {}) =>
    send(url, method, target, { ...rest, headers: { authorization: token, ...headers } })
  const lsn = async () => ((await sent('GET', '/api/v2/stats')).json().lsn as { readonly applied: number }).applied
  return { process, send: sent, lsn }
}

function run(
  served: Served,
  i: number,
  { token, first }: { readonly token: string; readonly first: readonly Answer[] },
): Promise<Answer> {
  const { method, path: target, json: given, msgpack, accept, asRoot } = steps[i] as Step
  const json: unknown = typeof given === 'function' ? given(first) : given
  return served.send(method, target, {
    token: asRoot ? rootToken : token,
    headers: { 'Idempotency-Key': `key-${i}` },
    ...(json !== undefined && { json }),
    ...(msgpack !== undefined && { body: encode(msgpack), type: 'application/msgpack' }),
    accept,
  })
}

/** Waits until the rebuilds of the database are recorded, so that a kill leaves them done. */
async function settled(served: Served, token: string): Promise<void> {
  for (;;) {
    const { status } = (await served.send('GET', '/api/v2/status/rebuild', { token })).json()
    const restore = (await served.send('GET', '/api/v2/status/restore', { token })).json()
    const made = (await served.send('GET', '/api/v2/status/backup', { token })).json()
    if (
      ![status, restore.status, made.status].includes('in_progress') &&
      !JSON.stringify([restore, made]).includes('running')
    )
      return
  }
}

test('every route that changes something is in the table', async (t) => {
  const running = await runningApp(t)
  const changing = (await registeredRoutes(running)).filter((route) => !route.startsWith('GET '))
  const known = [...steps.map(({ route }) => route), ...refused, ...reads]
  t.strictSame(
    changing.filter((route) => !known.includes(route)),
    [],
    'new routes',
  )
  t.strictSame(
    known.filter((route) => !changing.includes(route)),
    [],
    'routes that are gone',
  )
})

test('openapi.json has the header exactly on the routes that keep keys', async (t) => {
  const { paths } = await readDescription()
  const kept = new Set(
    steps.map(({ route }) => {
      const [method = '', url = ''] = route.split(' ')
      return `${method} ${templateOf(url)}`
    }),
  )
  const described = new Set<string>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
      const header = parameters.find(({ in: place, name }) => place === 'header' && name === 'Idempotency-Key')
      t.equal(header !== undefined, '422' in responses, `${method} ${path}`)
      if (header === undefined) continue
      described.add(`${method.toUpperCase()} ${path}`)
      t.match(header, { required: false, schema: { type: 'string', minLength: 1, maxLength: 255 } })
    }
  t.strictSame([...described].sort(), [...kept].sort())
})

test('each request is one effect and one reply, also over a kill and in front of threads', {
  timeout: 300_000,
}, async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  await layLicense(dataDir)
  // Writes arrive at a serving thread, which forwards them.
  let served = await started(t, dataDir, 2)
  t.match((await served.send('GET', '/metrics')).text, /annal_serving_threads 2\n/)
  const made = await served.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'acme', db_type: 'enterprise' } })
  const token = String(made.json().db_token)
  await served.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'other', db_type: 'starter' } })
  await served.send('POST', '/api/v2/admin/dbs/other/tokens', { json: { name: 'main' } })
  const first: Answer[] = []
  const same = (answer: Answer, i: number, when: string) => {
    const { route } = steps[i] as Step
    t.equal(answer.status, first[i]?.status, `${route} ${when}`)
    t.equal(answer.text, first[i]?.text, `${route} ${when}`)
    t.equal(answer.headers.get('content-type'), first[i]?.headers.get('content-type'), `${route} ${when}`)
    t.equal(answer.headers.get(replayed), 'true', `${route} ${when}`)
  }
  for (const [i, one] of steps.entries()) {
    for (const [method, target, json] of one.before ?? []) {
      t.ok((await served.send(method, `/api/v2${target}`, { token, json })).status < 300)
      await settled(served, token)
    }
    const before = await served.lsn()
    const answer = await run(served, i, { token, first })
    first.push(answer)
    t.ok(answer.status < 300, `${one.route}: ${answer.status} ${answer.text}`)
    t.equal(answer.headers.get(replayed), null)
    same(await run(served, i, { token, first }), i, 'at once')
    await settled(served, token)
    const after = await served.lsn()
    t.ok(after > before, `${one.route} is a record`)
    same(await run(served, i, { token, first }), i, 'again')
    t.equal(await served.lsn(), after, `${one.route} again appends nothing`)
    const reused = await served.send('POST', '/api/v2/collection', {
      token,
      json: { name: 'x', fields },
      headers: { 'Idempotency-Key': `key-${i}` },
    })
    if (!one.asRoot) t.match([reused.status, reused.json().code], [422, 'request_key_reused'], one.route)
  }
  for (const kill of ['first', 'second']) {
    const before = await served.lsn()
    served.process.child.kill('SIGKILL')
    await served.process.ended
    served = await started(t, dataDir, kill === 'first' ? 1 : 2)
    for (const i of steps.keys()) same(await run(served, i, { token, first }), i, `after the ${kill} kill`)
    t.equal(await served.lsn(), before, 'nothing was appended')
  }
})

test('a route that cannot keep a key says why', async (t) => {
  const running = await runningApp(t, { rootToken })
  const { db_token: token } = (
    await running.send('POST', '/api/v2/admin/dbs', {
      json: { db_name: 'acme' },
      headers: { authorization: rootToken },
    })
  ).json()
  for (const route of refused) {
    const [method = '', url = ''] = route.split(' ')
    const isRoot = /\/(admin|cluster|license)\//.test(url)
    const answer = await running.send(method, url.replaceAll(/:\w+/g, 'x'), {
      headers: { authorization: isRoot ? rootToken : String(token), 'Idempotency-Key': 'k' },
    })
    t.match([answer.status, answer.json()], [400, { code: 'request_key_unsupported', field: 'Idempotency-Key' }], route)
  }
})

async function withDocs(t: Test): Promise<RunningApp> {
  const running = await runningApp(t)
  await running.send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  return running
}

const put = '/api/v2/collection/docs/objects'

test('a key must be visible ASCII of at most 255 characters', async (t) => {
  const running = await withDocs(t)
  for (const key of ['', 'a b', 'ä', 'x'.repeat(256), 'a,\tb']) {
    const answer = await running.send('POST', put, { json: objects(['1']), headers: { 'Idempotency-Key': key } })
    t.match(
      [answer.status, answer.json()],
      [400, { code: 'invalid_argument', field: 'Idempotency-Key', value: String, limit: 255 }],
      JSON.stringify(key),
    )
  }
  t.equal(running.engine.stats().lsnApplied, 1, 'nothing was written')
  for (const key of ['"quoted"', '8e03978e-40d5-43dd-bc93-6894a57f9324', '~'.repeat(255)])
    t.equal(
      (await running.send('POST', put, { json: objects(['1']), headers: { 'Idempotency-Key': key } })).status,
      200,
      key,
    )
})

test('reads ignore a key', async (t) => {
  const running = await withDocs(t)
  await running.send('POST', put, { json: objects(['1']) })
  const count = () =>
    running.send('POST', '/api/v2/collection/docs/objects/count', { json: {}, headers: { 'Idempotency-Key': 'k' } })
  t.equal((await count()).json().count, 1)
  await running.send('POST', put, { json: objects(['2']) })
  t.equal((await count()).json().count, 2)
})

test('another body, route, or method with the key of a write is refused, and another form of the reply is not', async (t) => {
  const running = await withDocs(t)
  const headers = { 'Idempotency-Key': 'k' }
  await running.send('POST', put, { json: objects(['1']), headers })
  const lsn = running.engine.stats().lsnApplied
  for (const [method, target, json] of [
    ['POST', put, objects(['1'], 1)],
    ['POST', put, large],
    ['POST', '/api/v1/index/docs/vector/insert', objects(['1'])],
    ['DELETE', put, { filter: [] }],
    ['DELETE', `${put}/1`, undefined],
    ['DELETE', '/api/v2/collection/docs', undefined],
  ] as const) {
    const answer = await running.send(method, target, { ...(json && { json }), headers })
    t.match([answer.status, answer.json().code], [422, 'request_key_reused'], `${method} ${target}`)
  }
  t.equal(running.engine.stats().lsnApplied, lsn)
})

test('a key is of one database, and only for callers that may write', async (t) => {
  const running = await runningApp(t, { rootToken })
  const asRoot = { headers: { authorization: rootToken } }
  const tokens = new Map<string, string>()
  for (const db_name of ['acme', 'other']) {
    const { db_token: token } = (
      await running.send('POST', '/api/v2/admin/dbs', { json: { db_name }, ...asRoot })
    ).json()
    tokens.set(db_name, String(token))
  }
  for (const token_type of ['r', 'rw']) {
    const json = { name: token_type, token_type }
    tokens.set(
      token_type,
      String((await running.send('POST', '/api/v2/admin/dbs/acme/tokens', { json, ...asRoot })).json().db_token),
    )
  }
  const as = (name: string, method: string, target: string, json?: unknown) =>
    running.send(method, target, {
      ...(json !== undefined && { json }),
      headers: { authorization: String(tokens.get(name)), 'Idempotency-Key': target },
    })
  for (const name of ['acme', 'other'])
    t.match((await as(name, 'POST', '/api/v2/collection', { name: 'docs', fields })).headers.get(replayed), null)
  const first = await as('acme', 'POST', put, objects(['1', '2']))
  const other = await as('other', 'POST', put, objects(['1', '2']))
  t.match([first.status, other.status, other.headers.get(replayed)], [200, 200, null])
  t.not(other.json().lsn, first.json().lsn, 'the other database has a write of its own')
  t.equal((await as('other', 'DELETE', `${put}/1`)).status, 200)
  // A key does not say whether it was used to a caller that may not write.
  for (const name of ['r', 'nobody'])
    t.equal((await as(name, 'POST', put, objects(['1', '2']))).status, name === 'r' ? 403 : 401)
  const next = await as('rw', 'POST', put, objects(['1', '2']))
  t.match([next.text, next.headers.get(replayed)], [first.text, 'true'], 'another token of the database')
})

test('a failed request leaves the key free', async (t) => {
  const running = await withDocs(t)
  const headers = { 'Idempotency-Key': 'k' }
  const remove = () => running.send('DELETE', `${put}/7`, { headers })
  t.equal((await remove()).status, 404)
  t.equal(
    (await running.send('POST', put, { json: { objects: [{ id: '1', fields: { v: [1] } }] }, headers })).status,
    400,
  )
  await running.send('POST', put, { json: objects(['7']) })
  t.match([(await remove()).status, (await remove()).headers.get(replayed)], [200, 'true'])
})

for (const threads of [1, 2])
  test(`requests with one key at the same time are one write, small and large, ${threads} threads`, async (t) => {
    const dataDir = path.join(await temporaryDirectory(t), 'data')
    await layLicense(dataDir)
    const served = await started(t, dataDir, threads)
    const made = await served.send('POST', '/api/v2/admin/dbs', { json: { db_name: 'acme' } })
    const token = String(made.json().db_token)
    await served.send('POST', '/api/v2/collection', { token, json: { name: 'docs', fields } })
    for (const [key, json] of [
      ['small', objects(['1', '2'])],
      ['large', large],
    ] as const) {
      const lsn = await served.lsn()
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => served.send('POST', put, { token, json, headers: { 'Idempotency-Key': key } })),
      )
      t.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
      t.equal(answers[0]?.status, 200)
      t.equal(answers[0]?.json().lsn, await served.lsn())
      t.ok((await served.lsn()) > lsn)
      t.equal(answers.filter(({ headers }) => headers.get(replayed) === null).length, 1)
      t.match(
        (await served.send('GET', '/metrics')).text,
        new RegExp(`annal_requests_repeated_total ${key === 'small' ? 7 : 14}\n`),
      )
    }
  })

/** A body that is sent in pieces, without Content-Length. */
function inPieces(json: unknown): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(JSON.stringify(json))
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 10_000) controller.enqueue(bytes.subarray(at, at + 10_000))
      controller.close()
    },
  })
}

test('a body that arrives in pieces is the same request as one that arrives at once', async (t) => {
  const running = await withDocs(t)
  const streamed = async (json: unknown) => {
    const headers = { 'content-type': 'application/json', 'Idempotency-Key': 'k' }
    // `duplex` is required for streams, and missing in the types of fetch.
    const options = { method: 'POST', headers, body: inPieces(json), duplex: 'half' } as RequestInit
    const response = await fetch(running.url + put, options)
    return { status: response.status, replayed: response.headers.get(replayed), text: await response.text() }
  }
  const first = await streamed(large)
  t.match([first.status, first.replayed], [200, null])
  const again = await streamed(large)
  t.match([again.text, again.replayed], [first.text, 'true'])
  const whole = await running.send('POST', put, { json: large, headers: { 'Idempotency-Key': 'k' } })
  t.match([whole.text, whole.headers.get(replayed)], [first.text, 'true'])
  const last = { objects: large.objects.with(-1, { id: 'z', meta: { text: '' }, fields: { v: [0, 0] } }) }
  t.match([(await streamed(last)).status], [422], 'one object of 900 differs')
  t.match(await (await fetch(`${running.url}/api/v2/health`)).json(), { status: 'ok' })
})

test('a repeated create has the summary of the new collection, whatever it holds now', async (t) => {
  const running = await runningApp(t)
  const create = () =>
    running.send('POST', '/api/v2/collection', { json: { name: 'docs', fields }, headers: { 'Idempotency-Key': 'k' } })
  const first = await create()
  t.match(first.json(), { name: 'docs', total_elements: 0, lsn: 1, memory: {}, fields: [{ name: 'v', params }] })
  await running.send('POST', put, { json: objects(['1']) })
  t.equal((await create()).text, first.text)
  await running.send('DELETE', '/api/v2/collection/docs')
  t.equal((await create()).text, first.text, 'also after another client deleted it')
})

test('the limits are settings, and the server names them', async (t) => {
  const running = await runningApp(t)
  t.match((await running.send('GET', '/api/v2/info')).json(), { request_keys: { max: 1_000_000, hours: 24 } })
  await running.send('POST', '/api/v2/collection', {
    json: { name: 'docs', fields },
    headers: { 'Idempotency-Key': 'k' },
  })
  t.match((await running.send('GET', '/metrics')).text, /annal_request_keys 1\n/)
})
