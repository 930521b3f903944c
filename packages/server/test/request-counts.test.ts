// Counts of requests: exact with several threads, and shown as Prometheus reads them.
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { Metrics } from '../src/metrics/metrics.ts'
import { SharedCounters } from '../src/observe/counters.ts'
import { durationBounds, RequestCounts, requestCountsLength } from '../src/observe/request-counts.ts'

test('no addition of any thread is lost', async (t) => {
  const counters = new SharedCounters({ length: requestCountsLength })
  const counts = new RequestCounts(counters)
  const row = counts.row('POST', '/search')
  const [threads, requests] = [3, 20_000]
  const source = `
    const { workerData } = await import('node:worker_threads')
    const { SharedCounters } = await import(workerData.counters)
    const { RequestCounts } = await import(workerData.requestCounts)
    const counts = new RequestCounts(new SharedCounters(workerData.memory))
    for (let i = 0; i < workerData.requests; i++) {
      counts.started()
      counts.finished(workerData.row, i % 4 === 0 ? 503 : 200, (i % 20) / 10)
      counts.closed()
    }`
  const workerData = {
    memory: counters.memory,
    row,
    requests,
    counters: new URL('../src/observe/counters.ts', import.meta.url).href,
    requestCounts: new URL('../src/observe/request-counts.ts', import.meta.url).href,
  }
  const ended = Array.from({ length: threads }, () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), { workerData })
    return new Promise<void>((resolve, reject) => {
      worker.on('error', reject)
      worker.on('exit', () => resolve())
    })
  })
  await Promise.all(ended)
  t.equal(counts.requests, threads * requests)
  t.equal(counts.inFlight, 0)
  const [found] = [...counts.routes()]
  t.strictSame(found?.byStatus, [
    ['200', (threads * requests * 3) / 4],
    ['503', (threads * requests) / 4],
  ])
  t.equal(
    found?.buckets.reduce((sum, bucket) => sum + bucket, 0),
    threads * requests,
  )
  t.equal(found?.seconds, threads * (requests / 20) * 19, 'the sum of 0, 0.1, ... 1.9, to the microsecond')
})

test('a number is right at every crossing of its words, also before the crossing is counted', (t) => {
  const counters = new SharedCounters({ length: 2 })
  const words = new Int32Array(counters.memory)
  let expected = 0
  for (const amount of [1, 2 ** 30, 2 ** 30 - 2, 1, 1, 2 ** 31, 5, 2 ** 32 + 7, 2 ** 40, 2 ** 31 - 1, 1]) {
    const [lowBefore, highBefore] = [words[2]!, words[3]!]
    counters.add(1, amount)
    expected += amount
    t.equal(counters.value(1), expected, `after ${amount}`)
    // What another thread sees between the two additions.
    if (amount < 2 ** 30 && words[3] !== highBefore) {
      Atomics.store(words, 3, highBefore)
      t.equal(counters.value(1), expected, `before the crossing of ${lowBefore} is counted`)
      Atomics.add(words, 3, 1)
    }
  }
  counters.add(0, 3)
  counters.add(0, -3)
  t.equal(counters.value(0), 0)
  t.equal(counters.value(1), expected, 'no neighbor changed')
  t.end()
})

test('a duration is in the first bucket that it does not exceed', (t) => {
  const counts = new RequestCounts(new SharedCounters({ length: requestCountsLength }))
  const row = counts.row('GET', '/')
  for (const bound of durationBounds) for (const seconds of [bound, bound * 1.0001]) counts.finished(row, 200, seconds)
  const [found] = [...counts.routes()]
  t.strictSame(found?.buckets, [1, ...durationBounds.slice(1).map(() => 2), 1])
  t.end()
})

test('a status and a route without a place of their own are counted under other', (t) => {
  const counts = new RequestCounts(new SharedCounters({ length: requestCountsLength }))
  counts.finished(counts.row('GET', '/first'), 299, 1)
  for (let i = 0; i < 600; i++) counts.finished(counts.row('GET', `/route/${i}`), 200, 1)
  const found = [...counts.routes()]
  t.strictSame(found[0]?.byStatus, [['other', 1]])
  t.match(found.at(-1), { method: 'other', route: 'other' })
  const replies = found.flatMap(({ byStatus }) => byStatus.map(([, count]) => count))
  t.equal(
    replies.reduce((sum, count) => sum + count, 0),
    601,
    'none is lost',
  )
  t.end()
})

test('the text form is what it was, byte for byte', async (t) => {
  const metrics = new Metrics()
  metrics.started()
  metrics.finished('GET', '/a"b\\c\nd/:name', 200, 0.25)
  metrics.finished('GET', '/a"b\\c\nd/:name', 404, 20)
  const serving = { running: 1, configured: 1, lost: 0, replaced: 0, fault: undefined, threads: () => [] }
  const ends = { licenseEndMs: undefined, certificateEndMs: undefined }
  const host = { health: 'ok', disk: undefined, memoryLimitBytes: 1, ...ends } as const
  const text = await metrics.render({ stats: undefined, bodyBytes: 7, replyBytes: 0, serving, host })
  const route = 'method="GET",route="/a\\"b\\\\c\\nd/:name"'
  const buckets = durationBounds.map(
    (bound) => `annal_http_request_seconds_bucket{${route},le="${bound}"} ${bound >= 0.25 ? 1 : 0}`,
  )
  const expected = [
    '# HELP annal_http_requests_total Requests that received a reply.',
    '# TYPE annal_http_requests_total counter',
    `annal_http_requests_total{${route},status="200"} 1`,
    `annal_http_requests_total{${route},status="404"} 1`,
    '# HELP annal_http_request_seconds Time from the first byte of a request to the last byte of its reply.',
    '# TYPE annal_http_request_seconds histogram',
    ...buckets,
    `annal_http_request_seconds_bucket{${route},le="+Inf"} 2`,
    `annal_http_request_seconds_sum{${route}} 20.25`,
    `annal_http_request_seconds_count{${route}} 2`,
    '# HELP annal_http_requests_in_flight Requests in progress.',
    '# TYPE annal_http_requests_in_flight gauge',
    'annal_http_requests_in_flight 1',
    '# HELP annal_http_body_bytes_in_flight Memory used by request bodies.',
    '# TYPE annal_http_body_bytes_in_flight gauge',
    'annal_http_body_bytes_in_flight 7',
  ]
  t.strictSame(text.split('\n').slice(0, expected.length), expected)
  t.ok(text.endsWith('\n') && !text.endsWith('\n\n'))
})
