// Request keys: the client repeats a write after an ambiguous failure, and the server runs it once.
import { type Test, test } from 'tap'
import { httpRequests } from '../src/http/index.ts'
import { routes } from '../src/http/routes.ts'
import {
  AnnalError,
  connect,
  denseField,
  type HttpOptions,
  httpTransport,
  RequestKeyReusedError,
} from '../src/index.ts'
import { type Fate, faultyProxy } from './faulty-proxy.ts'
import { mortalServer } from './mortal-server.ts'
import { realServer } from './real-server.ts'
import { hangUp, json, plain, type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts'

const keyHeader = 'idempotency-key'
const definition = { name: 'films', fields: [denseField('plot', { dimension: 2, spaceType: 'l2' })] }
const modern = json(200, { version: '2', request_keys: { max: 1, hours: 1 } })
const early = json(200, { version: '1' })
const unknown = json(503, { error: 'the log did not answer', code: 'outcome_unknown' })
const deleted = json(200, { deleted: 3, lsn: 7, durable: true })

async function serving(t: Test, ...replies: readonly [Reply, ...Reply[]]): Promise<ScriptedServer> {
  const server = await scriptedServer(...replies)
  t.teardown(() => server[Symbol.asyncDispose]())
  return server
}

function films(server: { readonly url: string }, options: Partial<HttpOptions> = {}) {
  return connect({ ...options, url: server.url }).collection('films')
}

async function failure(promise: Promise<unknown>): Promise<AnnalError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason) => reason,
  )
  if (error instanceof AnnalError) return error
  throw error
}

test('all attempts of a write have one key, and each write has another', async (t) => {
  const server = await serving(t, hangUp, json(502, {}), json(200, { upserted: 1, lsn: 1, durable: true }))
  await films(server).upsert([{ id: 'a', fields: { plot: [1, 2] } }])
  await films(server).upsert([{ id: 'a', fields: { plot: [1, 2] } }])
  const keys = server.requests.map(({ headers }) => headers[keyHeader])
  t.match(keys[0], /^[0-9a-f]{32}$/)
  t.strictSame(keys.slice(0, 3), [keys[0], keys[0], keys[0]])
  t.not(keys[3], keys[0])
  t.equal(server.requests.length, 4, 'a write that leaves the same state is repeated without a look at the server')
})

test('a write that must not run twice is repeated if the server keeps keys, which is looked up once', async (t) => {
  for (const ambiguous of [hangUp, json(502, {}), json(504, {}), unknown]) {
    const server = await serving(t, ambiguous, modern, deleted, ambiguous, deleted)
    const collection = films(server)
    t.equal(await collection.deleteWhere([{ a: { $eq: 1 } }]), 3)
    t.equal(await collection.deleteWhere([{ a: { $eq: 1 } }]), 3)
    t.strictSame(
      server.requests.map(({ method }) => method),
      ['DELETE', 'GET', 'DELETE', 'DELETE', 'DELETE'],
    )
    t.equal(server.requests[1]?.url, '/api/v2/info')
    t.equal(server.requests[0]?.headers[keyHeader], server.requests[2]?.headers[keyHeader])
    t.not(server.requests[2]?.headers[keyHeader], server.requests[3]?.headers[keyHeader])
  }
})

test('a server of an earlier version is sent the write once', async (t) => {
  const server = await serving(t, hangUp, early, hangUp)
  const collection = films(server)
  t.match(await failure(collection.deleteWhere([{ a: { $eq: 1 } }])), { code: 'unreachable' })
  t.match(await failure(collection.deleteWhere([{ a: { $eq: 1 } }])), { code: 'unreachable' })
  t.strictSame(
    server.requests.map(({ method }) => method),
    ['DELETE', 'GET', 'DELETE'],
  )
})

test('a write is not repeated if its server does not say whether it keeps keys', async (t) => {
  const server = await serving(t, unknown, json(401, { error: 'no', code: 'invalid_token' }))
  t.match(await failure(films(server).deleteWhere([{ a: { $eq: 1 } }])), { code: 'outcome_unknown', status: 503 })
  t.equal(server.requests.length, 2)
})

test('no request is sent besides the write while nothing fails', async (t) => {
  const server = await serving(t, json(503, { error: 'busy', code: 'overloaded' }), deleted)
  await films(server).deleteWhere([{ a: { $eq: 1 } }])
  t.equal(server.requests.length, 2, 'a refusal is clear')
})

test('a write waits for an earlier attempt that is still running', async (t) => {
  const server = await serving(t, hangUp, modern, json(409, { error: 'running', code: 'request_key_in_use' }), deleted)
  t.equal(await films(server).deleteWhere([{ a: { $eq: 1 } }]), 3)
  const busy = await serving(t, json(409, { error: 'running', code: 'request_key_in_use' }))
  const error = await failure(films(busy, { retriesMax: 1 }).deleteWhere([{ a: { $eq: 1 } }]))
  t.match(error, { code: 'request_key_in_use', retryable: true })
})

test('a caller passes a key, also to each batch of many objects', async (t) => {
  const server = await serving(t, json(200, { upserted: 1, lsn: 1, durable: true }))
  const collection = films(server, { retriesMax: 0 })
  const objects = Array.from({ length: 2_001 }, (_, i) => ({ id: `${i}`, fields: { plot: [i, 1] } }))
  await collection.upsert(objects.slice(0, 1), { idempotencyKey: 'one' })
  await collection.upsert(objects, { idempotencyKey: 'many' })
  await collection.load(objects, { idempotencyKey: 'load', batchSize: 1_000, concurrency: 3 })
  await connect({ url: server.url }).index('films').upsert([], { idempotencyKey: 'index' })
  await collection.upsert(objects.slice(0, 1))
  t.strictSame(
    server.requests.map(({ headers }) => headers[keyHeader]),
    ['one', 'many', 'many.1', 'many.2', 'load', 'load.1', 'load.2', 'index', undefined],
    'without retries, the client chooses none',
  )
  for (const wrong of ['', 'with space', 'line\n', 'é', 'x'.repeat(256)]) {
    const error = await failure(collection.delete('a', { idempotencyKey: wrong }))
    t.match(error, { code: 'invalid_argument', field: 'idempotencyKey', value: wrong })
  }
  t.equal(server.requests.length, 9)
})

test('calls without keys send none, and refuse one', async (t) => {
  const server = await serving(t, json(200, { backup_name: 'b', count: 0, db_token: 'x:y' }))
  const client = connect({ url: server.url })
  await client.collection('films').createBackup('b')
  await client.tokens.create('website')
  await client.collection('films').count()
  t.strictSame(
    server.requests.map(({ headers }) => headers[keyHeader]),
    [undefined, undefined, undefined],
  )
  // Ill-typed on purpose: JavaScript callers have no compiler to stop them.
  const error = await failure(client.collection('films').createBackup('b', { idempotencyKey: 'k' } as object))
  t.match(error, { code: 'invalid_argument', field: 'idempotencyKey' })
})

test('a single request takes a key', async (t) => {
  const server = await serving(t, hangUp, modern, plain(200, 'done'))
  const request = { method: 'POST', path: '/api/v2/collection/films/vacuum' } as const
  const requests = httpRequests({ url: server.url })
  const { text } = await requests.send(request, { retry: 'when-refused', idempotencyKey: 'k' })
  t.equal(text, 'done')
  t.strictSame([server.requests[0]?.headers[keyHeader], server.requests[2]?.headers[keyHeader]], ['k', 'k'])
  t.match(await failure(requests.send(request, { idempotencyKey: '' })), { code: 'invalid_argument' })
})

test('against a real server', async (t) => {
  const url = await realServer(t)
  const proxy = await faultyProxy(t, url)
  const client = connect({ url: proxy.url })
  const written = async () => (await connect({ url }).history.events()).events.length

  await t.test('each kind of write runs once if its reply is lost', async (t) => {
    let lost = 0
    proxy.fate = ({ headers }, number) => {
      const isFirst = proxy.requests.findIndex((one) => one.headers[keyHeader] === headers[keyHeader]) === number
      if (headers[keyHeader] === undefined || !isFirst) return 'pass'
      lost++
      return 'drop-reply'
    }
    const objects = ['a', 'b', 'c'].map((id) => ({ id, filter: { of: id }, fields: { plot: [1, id.length] } }))
    const writes: readonly (readonly [() => Promise<unknown>, unknown])[] = [
      [async () => (await client.createCollection(definition)).name, 'films'],
      [async () => (await client.collection('films').upsert(objects)).upserted, 3],
      [() => client.collection('films').updateFilters([{ id: 'a', filter: { of: 'x' } }]), 1],
      [() => client.collection('films').delete('b'), true],
      [() => client.collection('films').deleteWhere([{ of: { $eq: 'x' } }]), 1],
      [async () => (await client.collection('films').clone('copy')).name, 'copy'],
      [async () => (await client.createIndex({ name: 'songs', dimension: 2 })).name, 'songs'],
      [() => client.index('songs').upsert([{ id: 'a', vector: [1, 2], filter: { of: 'a' } }]), undefined],
      [() => client.index('songs').updateFilters([{ id: 'a', filter: { of: 'b' } }]), 1],
      [() => client.index('songs').deleteWhere([{ of: { $eq: 'b' } }]), 1],
      [() => client.deleteIndex('songs'), undefined],
      [() => client.deleteCollection('copy'), undefined],
    ]
    for (const [write, expected] of writes) {
      const before = await written()
      t.strictSame(await write(), expected, write.toString())
      t.equal(await written(), before + 1, write.toString())
    }
    t.equal(lost, writes.length)
    t.equal(await client.collection('films').delete('none'), false)
    t.equal(await connect({ url }).collection('films').count(), 1)
  })

  await t.test('a key that was used for another write is a typed error', async (t) => {
    proxy.fate = () => 'pass'
    const collection = client.collection('films')
    const options = { idempotencyKey: 'order-17' }
    const object = (id: string) => ({ id, fields: { plot: [1, 2] } })
    const first = await collection.upsert([object('n')], options)
    await collection.delete('n')
    t.strictSame(await collection.upsert([object('n')], options), first)
    t.equal(await collection.get('n'), undefined, 'the repetition changed nothing')
    const error = await failure(collection.upsert([object('o')], options))
    t.ok(error instanceof RequestKeyReusedError)
    t.match(error, { code: 'request_key_reused', status: 422, retryable: false })
    const located = await failure(collection.load([object('o')], options))
    t.ok(located instanceof RequestKeyReusedError)
    t.match(located.message, /^records 1 to 1 of the source/)
  })

  await t.test('every call sends a key exactly where the description of the server takes one', async (t) => {
    const { text } = await httpRequests({ url }).send({ method: 'GET', path: '/api/v2/openapi.json' })
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }
    const takesKey = (method: string, target: string) => {
      const path = new URL(target, url).pathname
      const matches = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
      const found = Object.keys(paths)
        .filter((template) => matches(template) && method.toLowerCase() in (paths[template] ?? {}))
        .sort((a, b) => a.split('{').length - b.split('{').length)[0]
      const operation = paths[found ?? '']?.[method.toLowerCase()]
      if (operation === undefined) throw new Error(`${method} ${path} is not described`)
      return operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false
    }
    const sent: [string, string, boolean][] = []
    const recording: typeof fetch = async (input, init) => {
      sent.push([String(init?.method), String(input), new Headers(init?.headers).has(keyHeader)])
      return new Response('{"error":"recorded","code":"recorded"}', { status: 400 })
    }
    const recorder = httpTransport({ url, fetch: recording })
    const input = {
      ...{ collection: 'c', index: 'i', id: 'o', field: 'f', name: 'n', database: 'd', backup: 'b', target: 't' },
      ...{ fields: [], filter: [], ids: [], updates: [], objects: [], records: [], requests: [], changes: {} },
      ...{
        patches: [],
        asOf: { lsn: 1 },
        query: { vector: [1, 2] },
        request: { fields: {} },
        schedule: { everyHours: 1 },
        active: true,
        type: 'r',
      },
      ...{ dimension: 2, contents: 'x', content: new Blob(['x']), email: 'e', limit: 1, deep: false },
    }
    const names = Object.keys(routes)
    // The inputs of all operations have these members.
    for (const name of names) await failure(recorder.call(name as 'search', input as never))
    t.equal(sent.length, names.length)
    let keyed = 0
    for (const [i, [method, target, hasKey]] of sent.entries()) {
      if (target.endsWith('/metrics')) continue
      t.equal(hasKey, takesKey(method, target), `${names[i]}: ${method} ${target}`)
      if (hasKey) keyed++
    }
    t.ok(keyed > 20, `${keyed} calls have keys`)
  })
})

test('a server that is killed around a write has written once', async (t) => {
  const server = await mortalServer(t)
  const proxy = await faultyProxy(t, server.url)
  const client = connect({ url: proxy.url, retriesMax: 50, timeoutMs: 240_000 })
  const collection = await client.createCollection(definition)
  for (const id of ['a', 'b']) await collection.upsert([{ id, filter: { of: id }, fields: { plot: [1, 2] } }])
  const replace = async () => {
    await server.kill()
    proxy.target = await server.start()
  }
  const deaths: readonly (readonly [string, () => Promise<Fate>])[] = [
    ['a', () => replace().then(() => 'drop-request')],
    ['b', async () => ({ afterReply: replace })],
  ]
  for (const [of, death] of deaths) {
    let kills = 0
    proxy.fate = ({ method }) => (method === 'DELETE' && kills++ === 0 ? death() : 'pass')
    t.equal(await collection.deleteWhere([{ of: { $eq: of } }]), 1, of)
    t.ok(kills > 1, 'the write was repeated')
  }
  const { events } = await client.history.events({ collection: 'films' })
  t.strictSame(
    events.map(({ type, objects }) => [type, objects]),
    [
      ['collection-created', undefined],
      ['objects-upserted', 1],
      ['objects-upserted', 1],
      ['objects-deleted', 1],
      ['objects-deleted', 1],
    ],
  )
  t.equal(await collection.count(), 0)
})

test('the actor of a call, or of the client, is sent with every attempt', async (t) => {
  const server = await serving(t, json(502, {}), deleted)
  const collection = films(server, { actor: 'importer' })
  await collection.upsert([{ id: 'a', fields: { plot: [1, 2] } }])
  await collection.upsert([{ id: 'a', fields: { plot: [1, 2] } }], { actor: 'agent 7' })
  await films(server).upsert([{ id: 'a', fields: { plot: [1, 2] } }])
  t.strictSame(
    server.requests.map(({ headers }) => headers['x-annal-actor']),
    ['importer', 'importer', 'agent 7', undefined],
  )
  const refused = { code: 'invalid_argument', field: 'actor', limit: 128 }
  for (const actor of ['', 'a '.repeat(2), '\u00e4', 'a'.repeat(129)]) {
    t.match(await failure(collection.delete('a', { actor })), refused)
    t.throws(() => films(server, { actor }), refused)
  }
})
