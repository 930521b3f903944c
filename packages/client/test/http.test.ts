// How the HTTP transport behaves when calls fail, against a real server that makes them fail.
import { inspect } from 'node:util'
import { type Test, test } from 'tap'
import { backupRoutes, httpRequests, routedTransport } from '../src/http/index.ts'
import { AnnalError, Backups, type ConnectOptions, connect, Databases } from '../src/index.ts'
import { hangUp, json, plain, type Reply, type ScriptedServer, scriptedServer, silence } from './scripted-server.ts'

const busy = json(503, { error: 'the queue is full', code: 'overloaded', request_id: 'r-1' })
const emptyList = json(200, { indexes: [] })

async function serving(t: Test, ...replies: readonly [Reply, ...Reply[]]): Promise<ScriptedServer> {
  const server = await scriptedServer(...replies)
  t.teardown(() => server[Symbol.asyncDispose]())
  return server
}

function client(server: ScriptedServer, options: Partial<Extract<ConnectOptions, { url: unknown }>> = {}) {
  return connect({ url: server.url, ...options })
}

async function failure(promise: Promise<unknown>): Promise<AnnalError> {
  const error: unknown = await promise.then(
    () => new Error('it did not fail'),
    (reason) => reason,
  )
  if (error instanceof AnnalError) return error
  throw error
}

test('a read is retried while the server is busy, then succeeds', async (t) => {
  const server = await serving(t, busy, hangUp, json(502, {}), emptyList)
  t.same(await client(server).listIndexes(), [])
  t.equal(server.requests.length, 4)
})

test('retries end with the last failure when their number is exhausted', async (t) => {
  const server = await serving(t, busy)
  const error = await failure(client(server, { retriesMax: 2 }).listIndexes())
  t.match(error, { code: 'overloaded', status: 503, requestId: 'r-1', retryable: true, message: 'the queue is full' })
  t.equal(server.requests.length, 3)
})

test('an upsert is repeated, because storing the same record twice is storing it once', async (t) => {
  const server = await serving(t, hangUp, plain(200, ''))
  await client(server)
    .index('films')
    .upsert([{ id: 'a', vector: [3, 4] }])
  t.strictSame(
    server.requests.map(({ url }) => url),
    ['/api/v1/index/films/vector/insert', '/api/v1/index/films/vector/insert'],
  )
})

test('a call that must not happen twice is retried only if the server reported that it did not start', async (t) => {
  const definition = { name: 'films', dimension: 2 }
  const refusing = await serving(t, busy, plain(200, 'Index created successfully'))
  await client(refusing).createIndex(definition)
  t.equal(refusing.requests.length, 2)

  for (const ambiguous of [hangUp, json(502, {}), json(504, {})]) {
    const server = await serving(t, ambiguous, json(200, { version: 'without request keys' }))
    const error = await failure(client(server).createIndex(definition))
    t.ok(error.retryable)
    t.strictSame(
      server.requests.map(({ method }) => method),
      ['POST', 'GET'],
    )
  }
})

test('a refused call is not retried', async (t) => {
  const server = await serving(t, json(409, { error: 'taken', code: 'collection_exists' }))
  const error = await failure(client(server).createIndex({ name: 'films', dimension: 2 }))
  t.match(error, { code: 'collection_exists', status: 409, retryable: false })
  t.equal(server.requests.length, 1)
})

test('the server sets the wait, and a wait beyond the deadline is not started', async (t) => {
  const server = await serving(t, json(429, { error: 'slow down', code: 'too_many_attempts' }, { 'retry-after': '60' }))
  const error = await failure(client(server, { timeoutMs: 5_000 }).listIndexes())
  t.match(error, { code: 'too_many_attempts', status: 429, retryAfterMs: 60_000, retryable: true })
  t.equal(server.requests.length, 1)
})

test('a wait within the deadline is observed', async (t) => {
  const server = await serving(t, json(503, { error: 'busy', code: 'overloaded' }, { 'retry-after': '1' }), emptyList)
  const startMs = performance.now()
  t.same(await client(server).listIndexes(), [])
  t.ok(performance.now() - startMs >= 990, 'not before the time that the server set')
})

test('a missing reply ends with the timeout of the client or of the call', async (t) => {
  const server = await serving(t, silence)
  t.match(await failure(client(server, { timeoutMs: 50 }).stats()), { code: 'timeout', limit: 50, retryable: true })
  t.match(await failure(client(server).stats({ timeoutMs: 60 })), { code: 'timeout', limit: 60 })
})

test('an aborted call ends at once and reports that the caller aborted it', async (t) => {
  const server = await serving(t, silence)
  const controller = new AbortController()
  const pending = failure(client(server).stats({ signal: controller.signal }))
  setTimeout(() => controller.abort(new Error('no longer needed')), 30)
  const error = await pending
  t.match(error, { code: 'aborted', retryable: false })
  t.match(error.cause, { message: 'no longer needed' })
  t.equal((await failure(client(server).stats({ signal: controller.signal }))).code, 'aborted')
})

test('a closed port is unreachable, and the error names the address', async (t) => {
  const server = await scriptedServer(emptyList)
  await server[Symbol.asyncDispose]()
  const error = await failure(client(server, { retriesMax: 0 }).stats())
  t.match(error, { code: 'unreachable', status: undefined, retryable: true })
  t.match(error.message, server.url)
  t.match(error.message, 'ECONNREFUSED')
})

test('an error keeps field, value and limit', async (t) => {
  const reply = {
    error: 'top_k is too large',
    code: 'limit_exceeded',
    field: 'k',
    value: 513,
    limit: 512,
    request_id: 'r-2',
  }
  const server = await serving(t, json(400, reply))
  const error = await failure(
    client(server)
      .index('films')
      .query({ vector: [1, 0], topK: 513 }),
  )
  t.match(error, { code: 'limit_exceeded', status: 400, field: 'k', value: 513, limit: 512, requestId: 'r-2' })
})

test('a reply from a proxy is an http_error without its page', async (t) => {
  const server = await serving(t, (response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html>nothing here</html>')
  })
  const error = await failure(client(server).stats())
  t.match(error, { code: 'http_error', status: 404 })
  t.notMatch(error.message, 'html')
})

test('a reply of the wrong shape is an invalid_reply', async (t) => {
  const server = await serving(t, plain(200, 'hello'))
  t.equal((await failure(client(server).stats())).code, 'invalid_reply')
  t.equal((await failure(client(server).listIndexes())).code, 'invalid_reply')
  const broken = await serving(t, plain(200, '{'))
  t.equal(
    (
      await failure(
        client(broken)
          .index('films')
          .query({ vector: [1, 0] }),
      )
    ).code,
    'invalid_reply',
  )
})

test('a redirect is not followed', async (t) => {
  const elsewhere = await serving(t, emptyList)
  const server = await serving(t, (response) => {
    response.writeHead(307, { location: `${elsewhere.url}/api/v1/index/list` }).end()
  })
  t.equal((await failure(client(server, { token: 'secret', retriesMax: 0 }).listIndexes())).code, 'unreachable')
  t.equal(elsewhere.requests.length, 0)
})

test('the token is sent in one header and appears nowhere else', async (t) => {
  const token = 'films:s3cr3t-t0ken'
  const server = await serving(t, json(401, { error: 'Invalid token', code: 'unauthorized' }))
  const secretive = client(server, { token })
  const error = await failure(secretive.listIndexes())
  t.equal(server.requests[0]?.headers.authorization, `Bearer ${token}`)
  t.notMatch(server.requests[0]?.url, 's3cr3t')
  const seen = [error.stack, JSON.stringify(error), String(secretive), JSON.stringify(secretive)]
  for (const shown of [...seen, inspect(error, { depth: 9 }), inspect(secretive, { depth: 9, showHidden: true })]) {
    t.notMatch(shown, 's3cr3t')
  }
})

test('a URL or token that would leak is refused without being quoted', async (t) => {
  for (const options of [
    { url: 'http://user:s3cr3t@localhost:8080' },
    { url: 'http://localhost:8080/?token=s3cr3t' },
    { url: 's3cr3t' },
    { url: 'http://localhost:8080', token: 's3cr3t\n' },
  ]) {
    t.throws(() => connect(options), { code: 'invalid_argument' })
    try {
      connect(options)
    } catch (error) {
      t.notMatch(inspect(error).split('\n')[0], 's3cr3t')
    }
  }
})

test('a proxy may serve the server below a path', async (t) => {
  const server = await serving(t, emptyList)
  await connect({ url: `${server.url}/vectors/` }).listIndexes()
  t.equal(server.requests[0]?.url, '/vectors/api/v1/index/list')
})

test('health also succeeds while the server starts, and is requested once', async (t) => {
  const server = await serving(t, json(503, { status: 'starting', progress: { done: 1 } }))
  t.same(await client(server).health(), { status: 'starting', details: { progress: { done: 1 } } })
  t.equal(server.requests.length, 1)
})

test('ids and names with odd characters stay one path segment', async (t) => {
  const server = await serving(t, plain(200, 'Vector deleted successfully'))
  t.equal(await client(server).index('a/b').delete('../é?#'), true)
  const id = '..%2F%C3%A9%3F%23'
  t.equal(server.requests[0]?.url, `/api/v1/index/a%2Fb/vector/-/delete?id=${id}`)
})

test('a restore reports its own progress until it ends', async (t) => {
  let release = () => undefined as unknown
  const status = (collection: string, percent: number) =>
    json(200, { status: 'running', backup_name: 'b', collection, percent_complete: percent })
  const progress = [status('another', 90), json(503, {}), status('films', 40)]
  const server = await serving(t, (response, request) => {
    if (request.method === 'POST') release = () => plain(201, 'restored')(response, request)
    else (progress.shift() ?? status('films', 41))(response, request)
  })
  const seen: (number | undefined)[] = []
  await client(server, { retriesMax: 0 }).backups.restore('b', {
    target: 'films',
    onProgress: ({ percent }) => {
      seen.push(percent)
      release()
    },
  })
  t.equal(seen[0], 40, 'neither another restore nor a failed poll counts')
})

test('a single request has the errors and the deadline of a call, and is sent once', async (t) => {
  const server = await serving(t, busy, plain(200, 'annal_up 1'), silence)
  const requests = httpRequests({ url: server.url, token: 'secret' })
  const request = { method: 'GET', path: '/metrics', accept: 'text/plain' } as const
  t.match(await failure(requests.send(request)), { code: 'overloaded', status: 503, requestId: 'r-1' })
  t.equal(server.requests.length, 1, 'not repeated unless the caller allows it')
  t.equal((await requests.send(request)).text, 'annal_up 1')
  t.match(server.requests[1], { url: '/metrics', headers: { accept: 'text/plain', authorization: 'Bearer secret' } })
  t.match(await failure(requests.send(request, { timeoutMs: 50 })), { code: 'timeout', message: /^GET \/metrics took/ })
  t.match(await failure(requests.send(request, { signal: AbortSignal.abort() })), { code: 'aborted' })
})

test('a single request is repeated if the caller allows it, and another status is a reply if the caller says so', async (t) => {
  const server = await serving(t, busy, json(404, { error: 'none', code: 'object_not_found' }))
  const reply = await httpRequests({ url: server.url }).send(
    { method: 'GET', path: '/api/v2/collection/c/objects/o' },
    { retry: 'always', answers: (status, code) => status === 404 && code === 'object_not_found' },
  )
  t.equal(reply.status, 404)
  t.equal(server.requests.length, 2)
})

test('a transport with some routes has only their operations', async (t) => {
  const server = await serving(t, json(200, {}))
  const transport = routedTransport({ url: server.url }, backupRoutes)
  t.strictSame(await new Backups(transport).list(), [])
  t.match(await failure(new Databases(transport).list()), { code: 'not_supported' })
  t.equal(server.requests.length, 1)
})
