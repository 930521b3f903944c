// The clients of the HTTP benchmark count what a server received, and their latencies are those of a known server.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { startClients } from '../src/http/clients.ts'
import { bodyOf, replyBytes } from '../src/http/framing.ts'
import { createHistogram, merge, quantile, record } from '../src/http/histogram.ts'
import { createSchedule } from '../src/http/schedule.ts'
import { splitBetween, threadLoad } from '../src/http/thread-load.ts'

test('quantiles of a histogram are those of the sorted values, within a bucket', (t) => {
  const next = createSchedule({ perSecond: 1, seed: 5 })
  const values = Array.from({ length: 20_000 }, (_, i) => (next() % 100) ** 2 / (1 + (i % 977)))
  const histograms = [createHistogram(), createHistogram()]
  for (const [i, value] of values.entries()) record(histograms[i % 2]!, value)
  values.sort((a, b) => a - b)
  for (const share of [0.001, 0.5, 0.9, 0.99, 0.999, 1]) {
    const exact = values[Math.ceil(share * values.length) - 1]!
    const found = quantile(merge(histograms), share)
    t.ok(found >= exact - 1e-4 && found <= exact * 1.008 + 1e-4, `${share}: ${found} for ${exact}`)
  }
  t.ok(Number.isNaN(quantile(createHistogram(), 0.5)))
  t.end()
})

test('a reply is complete at its last byte, with a length, with chunks, and without a body', (t) => {
  const replies = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n',
    'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n',
  ].map((text) => Buffer.from(text))
  for (const reply of replies) {
    const pipelined = Buffer.concat([reply, reply])
    for (let length = 0; length <= pipelined.length; length++)
      t.equal(replyBytes(pipelined, length), length < reply.length ? -1 : reply.length, `${length} bytes`)
  }
  t.strictSame(
    replies.map((reply) => bodyOf(reply).toString()),
    ['hello', 'hello', ''],
  )
  t.end()
})

test('a schedule is a Poisson process of its rate, and the same for the same seed', (t) => {
  const count = 100_000
  const [a, b] = [createSchedule({ perSecond: 2_000, seed: 9 }), createSchedule({ perSecond: 2_000, seed: 9 })]
  const times = Array.from({ length: count }, a)
  t.strictSame(times, Array.from({ length: count }, b))
  t.ok(Math.abs(times.at(-1)! / 50_000 - 1) < 0.02, 'the rate')
  const gaps = times.map((time, i) => time - (times[i - 1] ?? 0))
  const variance = gaps.reduce((sum, gap) => sum + (gap - 0.5) ** 2, 0) / count
  t.ok(Math.abs(variance / 0.25 - 1) < 0.05, 'the variance of an exponential distribution')
  t.end()
})

async function countingServer(t: Test) {
  const counts = { requests: 0, refused: 0, sockets: 0 }
  const server = http.createServer((request, response) => {
    counts.requests += 1
    if (request.url === '/refused') {
      counts.refused += 1
      response.statusCode = 503
    }
    request.resume().on('end', () => response.end(request.url))
  })
  server.on('connection', () => {
    counts.sockets += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { counts, target: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }
}

const get = (path: string) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)

test('closed loop: every reply is counted once, in two processes', async (t) => {
  const clients = startClients(2)
  t.teardown(() => clients.stop())
  const { counts, target } = await countingServer(t)
  await clients.open({ target, connections: 5, requests: [get('/a'), get('/b'), get('/c')] })
  t.match(counts, { requests: 10, sockets: 5 }, 'two requests show that a connection stays open')
  const counted = await clients.run({ seconds: 60, requests: 600, sampleEvery: 10 })
  t.match(counted, { replies: 600, failures: 0 })
  t.equal(counts.requests, 610)
  t.equal(counts.sockets, 5, 'no other connections')
  t.equal(
    counted.latencies.counts.reduce((sum, count) => sum + count, 0),
    600,
  )
  for (const [request, reply] of counted.samples)
    t.equal(bodyOf(Buffer.from(reply)).toString(), ['/a', '/b', '/c'][request], 'the reply to this request')
})

test('a run ends before the server closes a connection', async (t) => {
  const clients = startClients(1)
  t.teardown(() => clients.stop())
  const { target } = await countingServer(t)
  await clients.open({ target, connections: 1, requests: [get('/a')] })
  t.match(await clients.run({ seconds: 60, sampleEvery: 1_000 }), { replies: 898, failures: 0 })
})

test('open loop: requests are sent at their rate, and every failure is counted', async (t) => {
  const clients = startClients(2)
  t.teardown(() => clients.stop())
  const { counts, target } = await countingServer(t)
  await clients.open({ target, connections: 4, requests: [get('/a')] })
  const counted = await clients.run({ seconds: 1, schedule: { perSecond: 500, seed: 3 }, sampleEvery: 10 })
  t.equal(counted.replies + 8, counts.requests)
  t.equal(counted.failures, 0)
  // Poisson with a mean of 500: five standard deviations.
  t.ok(Math.abs(counted.replies - 500) < 112, `${counted.replies} requests`)
  await t.rejects(clients.open({ target, connections: 2, requests: [get('/refused')] }), { message: /503/ })
  await clients.open({
    target,
    connections: 2,
    requests: [...'abcab'].map((path) => get(`/${path}`)).concat(get('/refused')),
  })
  const refused = counts.refused
  const mixed = await clients.run({ seconds: 60, requests: 100, sampleEvery: 1_000 })
  t.equal(mixed.failures, counts.refused - refused)
  t.ok(mixed.failures >= 10)
})

test('the split among threads is read from the metrics', async (t) => {
  let text = 'annal_uptime_seconds 1\n'
  const server = http.createServer((request, response) => response.end(request.url === '/metrics' ? text : ''))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const read = () => threadLoad(target, { headers: [`Host: 127.0.0.1:${target.port}`] })
  t.equal(await read(), undefined, 'a server without these metrics')
  const metrics = (connections: readonly number[], replies: readonly number[]) =>
    [
      ...connections.map((count, thread) => `annal_thread_connections{thread="${thread}"} ${count}`),
      ...replies.map((count, thread) => `annal_thread_requests_total{thread="${thread}"} ${count}`),
      'annal_thread_requests_total{thread="main"} 900',
    ].join('\n')
  text = metrics([1, 0], [100, 300])
  const before = await read()
  text = metrics([5, 3], [700, 500])
  const after = await read()
  if (before === undefined || after === undefined) throw new Error('no load')
  t.strictSame(splitBetween(before, after), { connections: 0.625, replies: 0.75 })
})
