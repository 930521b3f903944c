// More requests than the server can hold, and slow clients: accepted requests get replies, others get Retry-After, health responds
// throughout, and the server recovers.

import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fields, SearchRequest, SearchResult } from '@annal/engine'
import { type Test, test } from 'tap'
import * as limits from '../src/limits.ts'
import { until } from './eventually.ts'
import { type Answer, createIndex, type RunningApp, runningApp } from './running-app.ts'

const mebibyte = 1_048_576
const { ANNAL_LONG } = process.env
const long = ANNAL_LONG === '1'

test('requests beyond the limit of their kind are 503 with Retry-After, and the other kind is served', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const collection = running.engine.database().collection('docs')
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const { search } = collection
  let held = 0
  collection.search = async <Name extends string>(request: SearchRequest<Fields, Name>) => {
    held += 1
    await gate
    return search.call(collection, request) as Promise<SearchResult<Fields, Name>>
  }
  const extra = 40
  const answers = Array.from({ length: limits.readsInFlightMax + extra }, () => ask(running))
  const refused = await Promise.all(firstSettled(answers, extra))
  t.ok(refused.every(({ status, headers }) => status === 503 && headers.get('retry-after') === '1'))
  t.equal(held, limits.readsInFlightMax, 'exactly as many as the bound are worked on')
  t.equal((await running.send('GET', '/api/v1/health')).status, 200)
  const insert = { json: [{ id: 'a', vector: [1, 0, 0, 0] }] }
  t.equal((await running.send('POST', '/api/v1/index/docs/vector/insert', insert)).status, 200, 'writes go on')
  open()
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, limits.readsInFlightMax)
  t.equal((await ask(running)).status, 200, 'as before')
})

function ask(running: RunningApp): Promise<Answer> {
  return running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: [1, 0, 0, 0] } })
}

/** Promises of the first `count` that settle. */
function firstSettled<T>(all: readonly Promise<T>[], count: number): Promise<T>[] {
  let settled = 0
  const waiting: ((value: T) => void)[] = []
  const first = Array.from({ length: count }, () => new Promise<T>((resolve) => waiting.push(resolve)))
  for (const one of all) one.then((value) => waiting[settled++]?.(value))
  return first
}

test('clients that do not read their replies use bounded memory, and free it when they leave', async (t) => {
  const running = await runningApp(t)
  const dimension = 4_000
  const count = 300
  await createIndex(running, { dim: dimension, precision: 'int8', space_type: 'l2' })
  const vectors = Array.from({ length: count }, (_, i) => {
    const vector = new Array<number>(dimension).fill(0)
    vector[i] = 1
    return [`${i}`, new Uint8Array(0), '', 1, vector]
  })
  for (let start = 0; start < count; start += 100)
    await running.send('POST', '/api/v1/index/docs/vector/insert', { msgpack: vectors.slice(start, start + 100) })
  const body = JSON.stringify({ k: count, ef: count, include_vectors: true, vector: vectors[0]?.[4] })
  const before = process.memoryUsage.rss()
  const readers = await Promise.all(
    Array.from({ length: 40 }, () =>
      connected(
        t,
        running,
        `POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ),
    ),
  )
  const { replyBudget } = running.app
  await until(() => replyBudget.taken > 0.9 * limits.largeRepliesBytesMax)
  await sleep(500)
  t.ok(replyBudget.taken <= limits.largeRepliesBytesMax)
  const grown = (process.memoryUsage.rss() - before) / mebibyte
  t.ok(grown <= 288, `${grown.toFixed(0)} MiB more, kernel of the client and the garbage of this process included`)
  const refused = await running.send('POST', '/api/v1/index/docs/search', { body, type: 'application/json' })
  t.match([refused.status, refused.json().code], [503, 'overloaded'])
  const small = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: vectors[0]?.[4] } })
  t.equal(small.status, 200, 'small replies are not held back')
  for (const reader of readers) reader.destroy()
  await until(() => replyBudget.taken === 0)
  t.equal((await running.send('POST', '/api/v1/index/docs/search', { body, type: 'application/json' })).status, 200)
})

test('two thousand idle connections do not block other clients', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  let accepted = 0
  running.app.server.on('connection', () => {
    accepted += 1
  })
  const idle: net.Socket[] = []
  t.teardown(async () => {
    for (const socket of idle) socket.destroy()
  })
  // In portions that fit the queue of connections that are not accepted yet.
  while (idle.length < 2_000) {
    const more = Array.from({ length: 200 }, () => net.connect(Number(port), '127.0.0.1'))
    idle.push(...more)
    for (const socket of more) socket.on('error', () => undefined)
    await Promise.all(more.map((socket) => once(socket, 'connect')))
    await until(() => accepted >= idle.length)
  }
  const { status } = await ask(running)
  t.equal(status, 200)
  const fresh = await connected(
    t,
    running,
    'GET /api/v2/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  )
  const [first] = (await once(fresh, 'data')) as [Buffer]
  t.match(first.toString(), /^HTTP\/1\.1 200 /)
})

test('clients that do not finish their headers, or their bodies, are disconnected while others are served', {
  timeout: 120_000,
}, async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const count = long ? 450 : 40
  const heads = ['GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-A: ']
  // A body is overdue after half a minute, so only the long form waits for it.
  if (long)
    heads.push(
      'POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
  const sockets = await Promise.all(
    heads.flatMap((head) => Array.from({ length: count }, () => connected(t, running, head))),
  )
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('1')
  }, 1_000)
  t.teardown(() => clearInterval(dripping))
  const closed = sockets.map((socket) => once(socket.resume(), 'close'))
  const others = [ask(running)]
  const asking = setInterval(() => others.push(ask(running)), 200)
  t.teardown(() => clearInterval(asking))
  await Promise.all(closed)
  t.pass('every one of them')
  clearInterval(asking)
  const statuses = (await Promise.all(others)).map(({ status }) => status)
  t.ok(
    statuses.every((status) => status === 200),
    `${statuses.length} others meanwhile`,
  )
})

async function connected(t: Test, { url }: RunningApp, text: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(async () => void socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  // Nothing is read from it until the caller reads.
  return socket
}
