// Traces, metrics, and lines of the log as a collector receives them from a server process, and a server whose collector is gone.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { readConfig } from '../src/index.ts'
import { eventually } from './eventually.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Point {
  readonly attributes: readonly Attribute[]
  readonly asInt?: number | string
  readonly asDouble?: number
  readonly count?: number | string
  readonly sum?: number
  readonly bucketCounts?: readonly (number | string)[]
  readonly explicitBounds?: readonly number[]
}

interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean }
  readonly gauge?: { readonly dataPoints: readonly Point[] }
  readonly histogram?: { readonly dataPoints: readonly Point[] }
}

interface LogRecord {
  readonly severityText: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly Attribute[]
}

interface Received {
  readonly path: string
  readonly text: string
}

async function collector(t: Test): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = []
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({ path: request.url ?? '', text: Buffer.concat(chunks).toString() })
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

function metricsOf({ text }: Received): Map<string, Metric> {
  const { resourceMetrics } = JSON.parse(text) as {
    readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[] }[]
  }
  const all = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  return new Map(all.map((metric) => [metric.name, metric]))
}

function logsOf({ text }: Received): LogRecord[] {
  const { resourceLogs } = JSON.parse(text) as {
    readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[] }[]
  }
  return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
}

function attributesOf({ attributes }: { readonly attributes: readonly Attribute[] }): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

test('a collector receives the metrics of /metrics and the lines of the log', { timeout: 120_000 }, async (t) => {
  const { url: endpoint, received } = await collector(t)
  const { child, serving, ended, stdout } = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_LOG_LEVEL: 'debug',
    NDD_AUTH_TOKEN: 'a-token-that-stays-here',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const url = await serving
  const headers = { authorization: 'a-token-that-stays-here' }
  const missing = await send(url, 'GET', '/api/v2/collection/absent', { headers })
  t.equal(missing.status, 404)
  const requests = { method: 'GET', route: '/api/v2/collection/:name' }
  const report = await eventually(async () => {
    const reports = received.filter(({ path }) => path === '/v1/metrics')
    return reports.find((each) =>
      metricsOf(each)
        .get('annal_http_requests_total')
        ?.sum?.dataPoints.some((point) => attributesOf(point).route === requests.route),
    )
  })
  const metrics = metricsOf(report)

  await t.test('counters, gauges, and histograms have the values of the text format', async (t) => {
    const text = (await send(url, 'GET', '/metrics', { headers })).text
    const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type]) => ({ name, type }))
    t.strictSame([...metrics.keys()].sort(), names.map(({ name }) => name).sort())
    for (const { name, type } of names) {
      const metric = metrics.get(name)
      t.ok(type === 'counter' ? metric?.sum?.isMonotonic : type === 'gauge' ? metric?.gauge : metric?.histogram, name)
    }
    const replies = metrics.get('annal_http_requests_total')?.sum?.dataPoints ?? []
    const reply = replies.find((point) => attributesOf(point).route === requests.route)
    t.match(reply && attributesOf(reply), { ...requests, status: 404 })
    t.equal(Number(reply?.asInt), 1)
    const histogram = metrics.get('annal_http_request_seconds')
    t.equal(histogram?.unit, 's')
    const point = histogram?.histogram?.dataPoints.find((each) => attributesOf(each).route === requests.route)
    const counts = (point?.bucketCounts ?? []).map(Number)
    t.equal(Number(point?.count), 1)
    t.equal(counts.length, (point?.explicitBounds?.length ?? 0) + 1)
    t.strictSame(
      counts.filter((count) => count !== 0),
      [1],
      'one bucket has the request, and none counts it again',
    )
    const seconds = point?.sum ?? Number.NaN
    const bucket = counts.indexOf(1)
    const bounds = [0, ...(point?.explicitBounds ?? []), Number.POSITIVE_INFINITY]
    t.ok(seconds >= (bounds[bucket] ?? Number.NaN) && seconds <= (bounds[bucket + 1] ?? Number.NaN), `${seconds} s`)
  })

  await t.test('a line has its severity, sentence, and request', async (t) => {
    const id = missing.headers.get('x-request-id')
    const record = await eventually(async () =>
      received
        .filter(({ path }) => path === '/v1/logs')
        .flatMap(logsOf)
        .find((each) => attributesOf(each)['annal.request_id'] === id),
    )
    t.match(record, { severityText: 'DEBUG', body: { stringValue: 'request' } })
    t.match(attributesOf(record), {
      'http.request.method': 'GET',
      'url.path': '/api/v2/collection/absent',
      'http.response.status_code': 404,
    })
    t.match(stdout(), id ?? 'no id', 'standard output has the line, too')
  })

  child.kill('SIGTERM')
  t.equal((await ended).code, 0)
  t.ok(received.some(({ path }) => path === '/v1/traces'))
  for (const { path, text } of received) {
    t.match(path, /^\/v1\/(traces|metrics|logs)$/)
    t.match(text, /"service\.name","value":\{"stringValue":"annal"\}/)
    t.match(text, /"deployment\.environment\.name","value":\{"stringValue":"staging"\}/)
    t.notMatch(text, /a-token-that-stays-here/)
  }
})

test('a collector that accepts connections and never replies holds nothing up', { timeout: 120_000 }, async (t) => {
  let connections = 0
  const silent = http.createServer(() => {
    connections += 1
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { child, serving, ended } = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const url = await serving
  const resident = async () => {
    const { text } = await send(url, 'GET', '/metrics')
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1])
  }
  const burst = async () => {
    for (let i = 0; i < 3_000; i += 100)
      await Promise.all(Array.from({ length: 100 }, () => send(url, 'GET', '/api/v2/collection')))
  }
  await burst()
  await eventually(async () => connections > 0 || undefined)
  const before = await resident()
  await burst()
  await burst()
  const grown = (await resident()) - before
  t.ok(grown < 64 * 1_048_576, `${grown} bytes for 6,000 lines and spans that nobody takes`)
  t.equal((await send(url, 'GET', '/api/v2/health')).json().status, 'ok')
  child.kill('SIGTERM')
  t.equal((await ended).code, 0, 'it stops')
})

test('what is sent where is read from the standard variables', (t) => {
  const read = (environment: Readonly<Record<string, string>>) => {
    const { tracesUrl, metricsUrl, logsUrl, metricsEveryMs } = readConfig(environment).config
    return { tracesUrl, metricsUrl, logsUrl, metricsEveryMs }
  }
  const nothing = { tracesUrl: undefined, metricsUrl: undefined, logsUrl: undefined, metricsEveryMs: 60_000 }
  t.strictSame(read({}), nothing)
  const all = {
    tracesUrl: 'http://c:4318/v1/traces',
    metricsUrl: 'http://c:4318/v1/metrics',
    logsUrl: 'http://c:4318/v1/logs',
    metricsEveryMs: 60_000,
  }
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }
  t.strictSame(read(endpoint), all)
  t.strictSame(read({ ...endpoint, OTEL_LOGS_EXPORTER: 'none' }), { ...all, logsUrl: undefined })
  t.strictSame(read({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://c/m', OTEL_METRIC_EXPORT_INTERVAL: '5000' }), {
    ...nothing,
    metricsUrl: 'https://c/m',
    metricsEveryMs: 5_000,
  })
  t.throws(
    () => read({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' }),
    /OTEL_METRICS_EXPORTER must be otlp or none/,
  )
  t.throws(() => read({ OTEL_METRIC_EXPORT_INTERVAL: '10' }), /OTEL_METRIC_EXPORT_INTERVAL.*1000 to 86400000, not "10"/)
  t.throws(() => read({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'c:4318' }), /OTEL_EXPORTER_OTLP_LOGS_ENDPOINT/)
  t.end()
})
