// Traces as a collector receives them from a server process that is configured to send them.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { readConfig } from '../src/index.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

interface Received {
  readonly path: string
  readonly body: {
    readonly resourceSpans: readonly {
      readonly scopeSpans: readonly { readonly spans: readonly Readonly<Record<string, unknown>>[] }[]
    }[]
  }
}

test('each request is a span at the collector, in the trace of its caller', { timeout: 120_000 }, async (t) => {
  const received: Received[] = []
  const collector = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) as Received['body'] })
    response.setHeader('content-type', 'application/json').end('{}')
  })
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  t.teardown(() => collector.close())
  const { port } = collector.address() as AddressInfo
  const { child, serving, ended } = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  })
  t.teardown(async () => void child.kill('SIGKILL'))
  const url = await serving
  const traceId = 'a1'.repeat(16)
  const spanId = 'b2'.repeat(8)
  const headers = { traceparent: `00-${traceId}-${spanId}-01` }
  const found = await send(url, 'GET', '/api/v2/collection/secret-name', { headers })
  await send(url, 'GET', '/api/v2/health')
  child.kill('SIGTERM')
  t.equal((await ended).code, 0)

  t.ok(received.every(({ path }) => path === '/v1/traces'))
  const spans = received.flatMap(({ body }) =>
    body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )
  t.match(
    spans.find(({ name }) => name === 'GET /api/v2/collection/:name'),
    {
      traceId,
      parentSpanId: spanId,
      kind: 2,
      attributes: [
        { key: 'http.request.method', value: { stringValue: 'GET' } },
        { key: 'http.route', value: { stringValue: '/api/v2/collection/:name' } },
        { key: 'http.response.status_code', value: { intValue: 404 } },
        { key: 'annal.request_id', value: { stringValue: found.headers.get('x-request-id') } },
      ],
    },
  )
  t.ok(spans.some(({ name }) => name === 'GET /api/v2/health'))
  t.notMatch(JSON.stringify(received), /secret-name/, 'names of users stay where they are')
})

test('the address of the collector is checked at the start', (t) => {
  const read = (environment: Readonly<Record<string, string>>) => readConfig(environment).config.tracesUrl
  t.equal(read({}), undefined)
  t.equal(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }), 'http://c:4318/v1/traces')
  t.equal(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/x' }), 'https://c/x')
  t.throws(() => read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' }), /OTEL_EXPORTER_OTLP_ENDPOINT/)
  t.end()
})
