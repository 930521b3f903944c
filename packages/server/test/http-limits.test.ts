// The limits of HTTP itself: sizes, times, content types, malformed requests, shared memory for bodies.
import http from 'node:http'
import net from 'node:net'
import { test } from 'tap'
import { createBodyRoom } from '../src/access/body-room.ts'
import { createBudget } from '../src/access/budget.ts'
import { decide } from '../src/access/decide.ts'
import { createConnectionTurns } from '../src/http/connection-turns.ts'
import { memorySharesOf } from '../src/http/memory-shares.ts'
import * as limits from '../src/limits.ts'
import { eventually, until } from './eventually.ts'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

const mebibyte = 1_048_576

test('times and counts of connections are limited', async (t) => {
  const { app } = await runningApp(t)
  const { server } = app
  t.equal(server.requestTimeout, 0, 'a body is cut off when it does not get on, however long it takes')
  t.equal(server.headersTimeout, limits.headersTimeoutMs)
  t.equal(server.keepAliveTimeout, limits.keepAliveTimeoutMs)
  t.equal(server.maxConnections, limits.connectionsMax)
  t.equal(server.maxRequestsPerSocket, limits.requestsPerSocketMax)
  t.equal(server.listenerCount('upgrade'), 0, 'an offer to upgrade is answered over HTTP/1.1')
})

test('a body larger than its route accepts is 413, and one of the largest size is read', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const search = (size: number) =>
    running.send('POST', '/api/v1/index/docs/search', {
      body: `{"k":1,"vector":[1,0,0,0]}`.padEnd(size),
      type: 'application/json',
    })
  t.equal((await search(limits.bodyBytesQueryMax)).status, 200)
  const larger = await search(limits.bodyBytesQueryMax + 1)
  t.match([larger.status, larger.json().code], [413, 'body_too_large'])
  const insert = await running.send('POST', '/api/v1/index/docs/vector/insert', {
    body: `[{"id":"a","vector":[1,0,0,0]}]`.padEnd(2 * limits.bodyBytesQueryMax),
    type: 'application/json',
  })
  t.equal(insert.status, 200, 'upserts may be larger')
})

test('a body is validated or rejected for any notation of its type', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const types = [
    ...[
      'application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/json;',
      'application/json ;a=b',
    ],
    ...[
      'application/json\t',
      ' application/json',
      'application/json, text/plain',
      'text/plain',
      'text/json',
      'application/jsonp',
    ],
    ...[
      'application/vnd.api+json',
      'application/x-json',
      'multipart/form-data; boundary=x',
      'application/xml',
      '*/*',
      'json',
      ';',
      '/',
    ],
    ...[
      'application/msgpack',
      'application/x-msgpack',
      'Application/MsgPack; a=b',
      'application/octet-stream',
      'application/',
      'a b/json',
    ],
    ...['application/json/x', 'application/json+x', 'application/x-www-form-urlencoded', 'text/html', 'image/png'],
  ]
  for (const type of types) {
    const answer = await running.send('POST', '/api/v1/index/docs/search', {
      body: '{"k":"3","vector":[1,0,0,0]}',
      type,
    })
    t.ok([400, 415].includes(answer.status), `${JSON.stringify(type)}: ${answer.status} ${answer.text}`)
  }
  const none = await post(running.url, '/api/v1/index/docs/search', '{"k":1,"vector":[1,0,0,0]}', {})
  t.equal(none.status, 415, 'no content type at all')
})

test('bodies share one budget and release their share', (t) => {
  const budget = createBudget(100, 'request bodies')
  const first = budget.take(60)
  t.throws(() => budget.take(41), { code: 'overloaded' })
  const second = budget.take(40)
  first()
  first()
  t.equal(budget.taken, 40, 'giving back twice counts once')
  second()
  t.equal(budget.taken, 0)
  t.end()
})

test('a share grows within the budget, and a rejected growth leaves it unchanged', (t) => {
  const budget = createBudget(100, 'request bodies')
  const [first, second] = [budget.open(), budget.open()]
  first.growTo(60)
  second.growTo(30)
  t.throws(() => second.growTo(41), { code: 'overloaded' })
  t.equal(budget.taken, 90, 'what was refused was not taken')
  second.growTo(40)
  first.growTo(10)
  t.equal(budget.taken, 100, 'a share never gets smaller')
  first.release()
  first.release()
  t.equal(budget.taken, 40)
  t.end()
})

test('a growing body moves to the budget of large bodies, and takes nothing after its release', (t) => {
  const budgets = {
    small: createBudget(4 * mebibyte, 'request bodies'),
    queries: createBudget(0, 'request bodies'),
    large: createBudget(4 * mebibyte, 'request bodies'),
    embedding: createBudget(0, 'request bodies'),
  }
  const room = createBodyRoom(budgets, limits.bodyBytesUpsertMax)
  room.growTo(mebibyte)
  t.strictSame([budgets.small.taken, budgets.large.taken], [mebibyte, 0])
  room.growTo(mebibyte + 1)
  t.strictSame([budgets.small.taken, budgets.large.taken], [0, mebibyte + 1])
  const other = createBodyRoom(budgets, limits.bodyBytesUpsertMax)
  other.growTo(mebibyte)
  t.throws(() => other.growTo(3 * mebibyte), { code: 'overloaded' })
  t.strictSame(
    [budgets.small.taken, budgets.large.taken],
    [mebibyte, mebibyte + 1],
    'a rejected move leaves both unchanged',
  )
  room.release()
  room.growTo(2 * mebibyte)
  other.release()
  t.strictSame([budgets.small.taken, budgets.large.taken], [0, 0])
  t.end()
})

test('a large body of a query, which is in memory as a whole, has another budget than an upload', (t) => {
  const budgets = {
    small: createBudget(4 * mebibyte, 'request bodies'),
    queries: createBudget(8 * mebibyte, 'request bodies'),
    large: createBudget(96 * mebibyte, 'request bodies'),
    embedding: createBudget(0, 'request bodies'),
  }
  const query = () => createBodyRoom(budgets, limits.bodyBytesQueryMax)
  const first = query()
  first.growTo(5 * mebibyte)
  t.strictSame([budgets.small.taken, budgets.queries.taken, budgets.large.taken], [0, 5 * mebibyte, 0])
  t.throws(() => query().growTo(4 * mebibyte), { code: 'overloaded' })
  createBodyRoom(budgets, limits.bodyBytesFiltersMax).growTo(16 * mebibyte)
  query().growTo(mebibyte)
  t.strictSame([budgets.small.taken, budgets.large.taken], [mebibyte, 16 * mebibyte])
  first.release()
  query().growTo(8 * mebibyte)
  t.end()
})

test('large bodies of reads, and all of writes, wait for room where they can; a serving thread does not wait', (t) => {
  const budget = (max: number) => createBudget(max, 'request bodies')
  const parts = {
    ...{
      origins: new Set<string>(),
      isStopping: () => false,
      identify: () => ({ kind: 'member' as const, mayWrite: true }),
    },
    ...{ requireLicense: () => undefined, takeRate: () => undefined, writes: budget(9), reads: budget(9) },
    bodies: { small: budget(0), queries: budget(0), large: budget(0), embedding: budget(0) },
  }
  const decided = (access: 'read' | 'write', bytes: number, waitsForRoom: boolean) =>
    decide(
      {
        ...{ method: 'POST', headers: { 'content-length': String(bytes) }, access, token: undefined, address: '' },
        bodyBytesMax: limits.bodyBytesQueryMax,
      },
      { ...parts, waitsForRoom },
      () => undefined,
    ).takeRoom
  t.type(decided('write', 10, true), 'function')
  t.type(decided('read', mebibyte + 1, true), 'function')
  t.throws(() => decided('read', mebibyte, true), { code: 'overloaded' })
  t.throws(() => decided('write', 10, false), { code: 'overloaded' })
  t.throws(() => decided('read', mebibyte + 1, false), { code: 'overloaded' })
  t.end()
})

test('a body that waits for a provider moves to the budget of such bodies, or is rejected', (t) => {
  const [small, large] = [createBudget(mebibyte, 'request bodies'), createBudget(4 * mebibyte, 'request bodies')]
  const embedding = createBudget(3 * mebibyte, 'request bodies')
  const taken = () => [small.taken, large.taken, embedding.taken]
  const rooms = [mebibyte, 2 * mebibyte, 2 * mebibyte].map((bytes) => {
    const room = createBodyRoom({ small, queries: large, large, embedding }, limits.bodyBytesUpsertMax)
    room.growTo(bytes)
    return room
  })
  t.strictSame(taken(), [mebibyte, 4 * mebibyte, 0])
  rooms[0]?.waitForProvider()
  rooms[1]?.waitForProvider()
  rooms[1]?.waitForProvider()
  t.strictSame(taken(), [0, 2 * mebibyte, 3 * mebibyte])
  t.throws(() => rooms[2]?.waitForProvider(), { code: 'overloaded', details: { limit: 3 * mebibyte } })
  t.strictSame(taken(), [0, 2 * mebibyte, 3 * mebibyte], 'a rejected move leaves all unchanged')
  for (const room of rooms) room.release()
  rooms[2]?.waitForProvider()
  t.strictSame(taken(), [0, 0, 0])
  t.end()
})

/** Routes that take their bodies at once, and while they arrive; in both formats. */
const growing = [
  ['/api/v1/index/docs/search', 'application/json'],
  ['/api/v1/index/docs/search', 'application/msgpack'],
  ['/api/v2/collection/docs/search', 'application/json'],
  ['/api/v1/index/docs/vector/insert', 'application/json'],
  ['/api/v1/index/docs/vector/insert', 'application/msgpack'],
  ['/api/v2/collection/docs/objects', 'application/json'],
] as const

test('bodies without Content-Length use the budget as they arrive', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  const count = 20
  const sent = 10_000
  const holders = await Promise.all(
    growing.flatMap(([path, type]) =>
      Array.from({ length: count }, () => connected(Number(port), `${chunkedHead(path, type)}${chunkOf(sent)}`)),
    ),
  )
  t.teardown(() => {
    for (const socket of holders) socket.destroy()
  })
  const expected = growing.length * count * sent
  await until(async () => (await bodyBytes(running)) === expected)
  t.pass('as much as was sent, although their limits are 8 and 96 MiB for each')
  const json = { k: 1, vector: [1, 0, 0, 0] }
  t.equal((await running.send('POST', '/api/v1/index/docs/search', { json })).status, 200)
  for (const socket of holders) socket.destroy()
  await until(async () => (await bodyBytes(running)) === 0)
})

test('a process with less than 1 GiB of memory gives bodies and replies less of it, but enough for the largest body', (t) => {
  const full = {
    smallBodies: limits.smallBodiesBytesMax,
    queryBodies: limits.queryBodiesBytesMax,
    largeBodies: limits.largeBodiesBytesMax,
    embeddingBodies: limits.embeddingBodiesBytesMax,
    largeReplies: limits.largeRepliesBytesMax,
    reply: limits.replyBytesMax,
    page: limits.pageBytesMax,
  }
  t.strictSame(memorySharesOf(2 ** 30), full)
  t.strictSame(memorySharesOf(64 * 2 ** 30), full)
  t.match(memorySharesOf(0.75 * 2 ** 30), {
    smallBodies: 48 * mebibyte,
    queryBodies: 48 * mebibyte,
    largeBodies: 144 * mebibyte,
  })
  t.strictSame(memorySharesOf(64 * mebibyte), {
    smallBodies: limits.bodyBytesQueryMax,
    queryBodies: limits.bodyBytesQueryMax,
    largeBodies: limits.bodyBytesUpsertMax,
    embeddingBodies: limits.bodyBytesUpsertMax,
    largeReplies: limits.replyBytesLeast,
    reply: limits.replyBytesLeast,
    page: mebibyte,
  })
  t.end()
})

test('a body without Content-Length is rejected when it exceeds the budget', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  const path = '/api/v1/index/docs/vector/insert'
  const held = limits.largeBodiesBytesMax - limits.bodyBytesUpsertMax
  const declared = (length: number) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  const others = await Promise.all(
    [limits.bodyBytesUpsertMax, held - 2 * mebibyte].map((length) => connected(Number(port), declared(length))),
  )
  await until(async () => (await bodyBytes(running)) === limits.largeBodiesBytesMax - 2 * mebibyte)
  const upload = async (size: number) => {
    const body = new Blob(['[{"id":"a","vector":[1,0,0,0]}]'.padEnd(size)]).stream()
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' }, duplex: 'half' } as const
    const response = await fetch(running.url + path, init)
    return [response.status, await response.text()] as const
  }
  t.equal((await upload(2 * mebibyte))[0], 200, 'two MiB are left')
  const [status, text] = await upload(2 * mebibyte + 1)
  t.equal(status, 503)
  t.match(text, /overloaded/)
  for (const socket of others) socket.destroy()
  await until(async () => (await bodyBytes(running)) === 0)
  t.equal((await upload(2 * mebibyte + 1))[0], 200)
})

async function bodyBytes(running: RunningApp): Promise<number> {
  const { text } = await running.send('GET', '/metrics')
  return Number(/^annal_http_body_bytes_in_flight (\d+)$/m.exec(text)?.[1])
}

function chunkedHead(path: string, type: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
}

function chunkOf(bytes: number): string {
  return `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`
}

test('bodies that are declared and never sent use the budget, and release it when their clients disconnect', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  const head = `POST /api/v1/index/docs/vector/insert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${limits.bodyBytesUpsertMax}\r\n\r\n`
  const arrived = requests(running.app.server, 3)
  const holders = await Promise.all(Array.from({ length: 3 }, () => connected(Number(port), head)))
  await arrived
  t.teardown(() => {
    for (const socket of holders) socket.destroy()
  })
  const upload = { body: '[{"id":"a","vector":[1,0,0,0]}]'.padEnd(2 * limits.bodyBytesMax), type: 'application/json' }
  const insert = () => running.send('POST', '/api/v1/index/docs/vector/insert', upload)
  const refused = await eventually(async () => {
    const answer = await insert()
    return answer.status === 503 ? answer : undefined
  })
  t.match([refused.json().code, refused.headers.get('retry-after')], ['overloaded', '1'])
  const search = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: [1, 0, 0, 0] } })
  t.equal(search.status, 200, 'searches have room of their own')
  for (const socket of holders) socket.destroy()
  const served = await eventually(async () => {
    const answer = await insert()
    return answer.status === 200 ? answer : undefined
  })
  t.equal(served.status, 200)
})

test('requests that are not HTTP get a reply and are disconnected', async (t) => {
  const running = await runningApp(t)
  const { port } = new URL(running.url)
  const long = 'x'.repeat(limits.headerBytesMax)
  const cases: [string, number][] = [
    ['NONSENSE\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['POST /api/v1/index/create HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}', 400],
    [
      'POST /api/v1/index/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
    [`GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${long}\r\n\r\n`, 431],
  ]
  for (const [request, status] of cases) {
    t.match(
      await conversation(Number(port), request),
      new RegExp(`^HTTP/1\\.1 ${status} `),
      JSON.stringify(request.slice(0, 60)),
    )
  }
  t.equal((await running.send('GET', '/api/v1/health')).status, 200)
})

test('an HTTP/2 upgrade, as Java clients send it, gets a reply over HTTP/1.1', async (t) => {
  const running = await runningApp(t)
  const { port } = new URL(running.url)
  const body = '{"index_name":"java","dim":4,"space_type":"l2"}'
  const offer = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA`
  const head = `POST /api/v1/index/create HTTP/1.1\r\nHost: localhost\r\n${offer}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const last = 'GET /api/v1/index/java/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const heard = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = net.connect(Number(port), '127.0.0.1', () => socket.write(head + body))
    socket.on('data', (bytes) => {
      // The client continues with the connection after the reply to its first request.
      if (text === '') socket.write(last)
      text += bytes.toString()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
  const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  t.strictSame(statuses, ['200', '200'])
})

test('a hundred pipelined pairs get their own replies in order', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  const body = '{"k":1,"vector":[1,0,0,0]}'
  const pairs = 100
  const search = `POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const wrong = 'GET /api/v1/index/none/info HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const last = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const heard = await conversation(Number(port), (search + wrong).repeat(pairs) + last)
  const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  t.strictSame(statuses, [...Array.from({ length: pairs }, () => ['200', '404']).flat(), '200'])
})

test('requests that one connection pipelines do not hold up those of another one', async (t) => {
  const running = await runningApp(t)
  const { port } = new URL(running.url)
  const count = 500
  const stats = 'GET /api/v2/stats HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const [greedy, other] = await Promise.all([connected(Number(port), stats), connected(Number(port), stats)])
  let replies = 0
  let heard = ''
  greedy.on('data', (bytes: Buffer) => {
    const parts = (heard + bytes.toString('latin1')).split('HTTP/1.1 200 ')
    replies += parts.length - 1
    // A status line may arrive in two parts.
    heard = parts.at(-1) as string
  })
  const replied = new Promise<number>((resolve) => other.on('data', () => resolve(replies)))
  await replied
  await until(async () => replies === 1)
  const repliedAgain = new Promise<number>((resolve) => other.once('data', () => resolve(replies)))
  greedy.write(stats.repeat(count))
  other.write(stats)
  t.ok((await repliedAgain) < count / 10, `answered after ${await repliedAgain} of ${count}`)
  await until(async () => replies === 1 + count)
  for (const socket of [greedy, other]) socket.destroy()
})

test('requests that wait for replies before them are limited, and end with their connection', (t) => {
  const turns = createConnectionTurns()
  const [greedy, other] = [{ destroyed: false }, { destroyed: false }]
  const begun: string[] = []
  const take = (connection: typeof greedy, name: string) => turns.take(connection, () => void begun.push(name))
  for (let i = 0; i <= limits.requestsWaitingMax; i++) take(greedy, `greedy ${i}`)
  take(other, 'other 0')
  t.throws(() => take(other, 'other 1'), { code: 'overloaded' })
  take(other, 'other 2')
  t.strictSame(begun, ['greedy 0', 'other 0'])
  greedy.destroyed = true
  turns.give(greedy)
  turns.give(other)
  take(other, 'other 3')
  take(other, 'other 4')
  turns.give(other)
  setImmediate(() => {
    t.strictSame(
      begun,
      ['greedy 0', 'other 0', 'other 3', 'other 4'],
      'what waited on the closed connection never begins',
    )
    t.end()
  })
})

if (process.env.ANNAL_LONG === '1') {
  test('the largest batch of the largest vectors is accepted in the form of the published JavaScript client', {
    timeout: 120_000,
  }, async (t) => {
    const running = await runningApp(t)
    await createIndex(running, { dim: 10_000, space_type: 'l2' })
    const vector = Buffer.concat([
      Buffer.from('dc2710', 'hex'),
      Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from('cb3fb999999999999a', 'hex'))),
    ])
    const tuples = Array.from({ length: 1_000 }, (_, i) => [
      Buffer.from('95a4', 'hex'),
      Buffer.from(String(1_000 + i)),
      Buffer.from('c400a27b7d01', 'hex'),
      vector,
    ])
    const body = Buffer.concat([Buffer.from('dc03e8', 'hex'), ...tuples.flat()])
    const answer = await running.send('POST', '/api/v1/index/docs/vector/insert', { body, type: 'application/msgpack' })
    t.match([answer.status, answer.text], [200, ''], `${body.length} bytes`)
    t.match((await running.send('GET', '/api/v1/index/docs/info')).json(), { total_elements: 1_000 })
  })

  test('clients that send or read slowly are disconnected', { timeout: 90_000 }, async (t) => {
    const running = await runningApp(t)
    await createIndex(running, { dim: 10_000, space_type: 'l2' })
    const vector = Array.from({ length: 10_000 }, (_, i) => i)
    const json = Array.from({ length: 300 }, (_, i) => ({ id: `v${i}`, vector }))
    t.equal((await running.send('POST', '/api/v1/index/docs/vector/insert', { json })).status, 200)
    const { port } = new URL(running.url)
    const slowHead = trickle(Number(port), 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
    const slowBody = trickle(
      Number(port),
      'POST /api/v1/index/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    )
    const body = JSON.stringify({ k: 300, vector, include_vectors: true })
    const slowReader = new Promise<void>((resolve, reject) => {
      const socket = net.connect(Number(port), '127.0.0.1', () => {
        const head = `POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
        socket.write(head + body)
        socket.pause()
      })
      running.app.server.once('connection', (accepted: net.Socket) => accepted.once('close', () => resolve()))
      socket.on('error', reject)
      t.teardown(() => socket.destroy())
    })
    t.match(await slowHead, /^(HTTP\/1\.1 408 |$)/, 'a slow head')
    t.match(await slowBody, /^(HTTP\/1\.1 408 |$)/, 'a slow body')
    await slowReader
    t.pass('a slow reader')
  })
}

test('names and ids with path traversal are names that do not exist', async (t) => {
  const running = await runningApp(t)
  const names = [
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e',
    '..%5c..',
    '%00',
    'a%00b',
    '~',
    'con',
    '%252e%252e%252f',
    '.hidden',
    'a%0a',
    '__proto__',
    'constructor',
    'x'.repeat(300),
  ]
  for (const name of names) {
    const info = await running.send('GET', `/api/v1/index/${name}/info`)
    t.ok(info.status === 404 || info.status === 400, `${name}: ${info.status}`)
    t.notMatch(info.text, /node_modules|at .*\.ts|ENOENT/)
  }
  t.equal((await running.send('GET', '/api/v1/index/%ZZ/info')).status, 400, 'a path that is no URL')
})

function connected(port: number, head: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(head, () => resolve(socket)))
    socket.on('error', reject)
  })
}

/** Sends one byte per second until the other side disconnects. */
function trickle(port: number, start: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.write(start))
    const timer = setInterval(() => socket.write('x'), 1_000)
    socket.on('data', (bytes) => {
      heard += bytes.toString()
    })
    // Writing to a disconnected socket is the expected error.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearInterval(timer)
      resolve(heard)
    })
  })
}

function requests(server: http.Server, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    server.on('request', () => {
      left -= 1
      if (left === 0) resolve()
    })
  })
}

function conversation(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = ''
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (bytes) => {
      heard += bytes.toString()
    })
    socket.on('close', () => resolve(heard))
    socket.on('error', reject)
  })
}

function post(
  url: string,
  path: string,
  body: string,
  headers: http.OutgoingHttpHeaders,
): Promise<{ status: number | undefined }> {
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method: 'POST', headers }, (response) => {
      response.resume()
      response.on('end', () => resolve({ status: response.statusCode }))
    })
    request.on('error', reject)
    request.end(body)
  })
}
