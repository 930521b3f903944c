// The server's description of itself: the OpenAPI document, generated from the routes, and its metrics; every route is described and
// guarded.
import { readFile } from 'node:fs/promises'
import net from 'node:net'
import { type Engine, openEngine } from '@annal/engine'
import type { RouteOptions } from 'fastify'
import { test } from 'tap'
import { ServerError } from '../src/errors.ts'
import { createApp, EngineSlot, readConfig, slotWith } from '../src/index.ts'
import { createSparseLines } from '../src/observe/sparse-lines.ts'
import { until } from './eventually.ts'
import { requestPath } from './route-table.ts'
import { createIndex, runningApp, temporaryDirectory } from './running-app.ts'

interface Described {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: { readonly Error: { readonly properties: { readonly code: { readonly enum: string[] } } } }
  }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly security?: readonly unknown[]
  readonly requestBody?: unknown
  readonly responses: Readonly<Record<string, unknown>>
}

const authToken = 'a-token-of-enough-characters'
const open = [
  'get /api/v1/health',
  'get /api/v2/health',
  'get /',
  'get /assets/{file}',
  'post /api/v2/license/validate',
]

async function routesOf(): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  const app = createApp({ slot: new EngineSlot(), config: { ...readConfig({}).config, logLevel: 'silent' } })
  app.addHook('onRoute', (route) => void routes.push(route))
  await app.ready()
  await app.close()
  return routes.filter((route) => route.method !== 'HEAD')
}

test('every route is described, and everything described is a route', async (t) => {
  const running = await runningApp(t)
  const routes = await routesOf()
  for (const route of routes) t.ok(route.config?.doc, `${String(route.method)} ${route.url} is described`)
  const answer = await running.send('GET', '/api/v2/openapi.json')
  const description = answer.json() as unknown as Described
  t.match(description.openapi, /^3\.1\./)
  const operations = Object.values(description.paths).flatMap((path) => Object.values(path))
  t.equal(operations.length, routes.length)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length, 'operation ids are unique')
  for (const { operationId, summary, responses } of operations) {
    t.match(summary, /\.$/, operationId)
    t.ok(responses.default, `${operationId} may be refused`)
  }
  const search = description.paths['/api/v1/index/{name}/search']?.post
  t.match(
    search?.requestBody,
    { content: { 'application/json': { schema: { properties: { k: { maximum: 512 } } } } } },
    'limits in force',
  )
  t.ok(description.components.schemas.Error.properties.code.enum.includes('limit_exceeded'))
})

test('every route except health and licenses refuses requests without a token and with a wrong one', async (t) => {
  const running = await runningApp(t, { authToken })
  const headers = { authorization: authToken }
  const description = (await running.send('GET', '/api/v2/openapi.json', { headers })).json() as unknown as Described
  let cells = 0
  for (const [template, operations] of Object.entries(description.paths)) {
    for (const method of Object.keys(operations)) {
      const key = `${method} ${template}`
      const route = requestPath(template)
      const expectOpen = open.includes(key)
      t.equal(operations[method]?.security !== undefined, expectOpen, `${key} says whether it is open`)
      const none = await running.send(method.toUpperCase(), route)
      t.equal(none.status === 401, !expectOpen, `${key} without a token: ${none.status}`)
      const right = await running.send(method.toUpperCase(), route, { headers })
      t.not(right.status, 401, `${key} with the token: ${right.status}`)
      cells += 2
    }
  }
  t.ok(cells > 40)
  const wrong = await running.send('GET', '/metrics', { headers: { authorization: 'wrong' } })
  t.equal(wrong.status, 401)
})

test('while the engine opens, health reports starting and data routes have Retry-After', async (t) => {
  const slot = new EngineSlot()
  const app = createApp({ slot, config: { ...readConfig({}).config, logLevel: 'silent' } })
  t.teardown(() => app.close())
  slot.report({ job: 'replay', done: 5, total: 10, unit: 'records' })
  const health = await app.inject('/api/v1/health')
  t.equal(health.statusCode, 503)
  t.match(health.json(), { status: 'starting', progress: { job: 'replay', done: 5, total: 10 } })
  for (const url of ['/api/v1/index/list', '/api/v1/stats', '/api/v2/collection']) {
    const refused = await app.inject(url)
    t.match([refused.statusCode, refused.json().code, refused.headers['retry-after']], [503, 'starting', '2'], url)
  }
  t.equal((await app.inject('/metrics')).statusCode, 200)
})

test('health reports starting until every route is served', async (t) => {
  const engine = await openEngine({ dataDir: await temporaryDirectory(t), threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  const slot = new EngineSlot()
  const app = createApp({ slot, config: { ...readConfig({}).config, logLevel: 'silent' } })
  t.teardown(() => app.close())
  const statuses = async () => {
    const replies = ['/api/v2/health', '/api/v2/collection'].map((url) => app.inject(url))
    return (await Promise.all(replies)).map(({ statusCode }) => statusCode)
  }
  t.equal(engine.health().status, 'ok')
  slot.fillEarly(engine)
  t.strictSame(await statuses(), [503, 503], 'the engine has replayed its log, and the rest of the start has not ended')
  slot.fill(engine)
  t.strictSame(await statuses(), [200, 200])
})

test('a request that is refused while the engine opens is one line at warn, without a stack', async (t) => {
  const app = createApp({ slot: new EngineSlot(), config: { ...readConfig({}).config, logLevel: 'warn' } })
  t.teardown(() => app.close())
  await app.ready()
  const lines: unknown[][] = []
  app.log.warn = (...line: unknown[]) => lines.push(['warn', ...line])
  app.log.error = (...line: unknown[]) => lines.push(['error', ...line])
  for (const url of ['/api/v1/index/list', '/api/v2/collection']) t.equal((await app.inject(url)).statusCode, 503)
  const [line] = lines
  t.match(line, ['warn', { code: 'starting' }, /the server is starting/])
  t.notOk(Object.hasOwn(Object(line?.[1]), 'err'), 'no stack')
  t.ok(lines.length <= 2)
})

test('a flood of refused requests is few lines, which count those that are not written', async (t) => {
  const app = createApp({ slot: new EngineSlot(), config: { ...readConfig({}).config, logLevel: 'warn' } })
  t.teardown(() => app.close())
  app.get('/full', { config: { doc: { access: 'open', summary: '', reply: { description: '' } } } }, async () => {
    throw new ServerError('overloaded', 'too many reads at one time; try again shortly', { limit: 512 })
  })
  await app.ready()
  const lines: unknown[][] = []
  app.log.warn = (...line: unknown[]) => lines.push(['warn', ...line])
  app.log.error = (...line: unknown[]) => lines.push(['error', ...line])
  const begunMs = performance.now()
  for (let i = 0; i < 200; i++) t.equal((await app.inject('/full')).statusCode, 503)
  t.ok(lines.length <= 1 + (performance.now() - begunMs) / 1_000, `${lines.length} lines`)
  for (const line of lines) {
    t.match(line, ['warn', { code: 'overloaded' }, /too many reads/])
    t.notOk(Object.hasOwn(Object(line[1]), 'err'), 'no stack')
  }
})

test('a line says how many of its kind were not written before it', (t) => {
  let nowMs = 0
  const lines = createSparseLines(() => nowMs, 1_000)
  const admitted = [0, 1, 999, 1_000, 1_001, 5_000].map((ms) => {
    nowMs = ms
    return lines.admit('overloaded')?.omitted
  })
  t.strictSame(admitted, [0, undefined, undefined, 2, undefined, 1])
  t.strictSame(lines.admit('starting'), { omitted: 0 }, 'each kind alone')
  t.end()
})

test('an internal error is 500 without details', async (t) => {
  const slot = new EngineSlot()
  const secret = '/srv/private/path.ts'
  const broken = {
    control: { onChange: () => undefined },
    health: () => ({ status: 'ok', reasons: [] }),
    database: () => {
      throw new TypeError(`cannot read ${secret}`)
    },
  }
  // Only what the route uses: an engine that fails in an unexpected way.
  slot.fill(broken as unknown as Engine)
  const app = createApp({ slot, config: { ...readConfig({}).config, logLevel: 'silent' } })
  t.teardown(() => app.close())
  const answer = await app.inject('/api/v1/index/list')
  t.equal(answer.statusCode, 500)
  t.match(answer.json(), { code: 'internal', request_id: answer.headers['x-request-id'] })
  t.notMatch(answer.body, secret)
})

test('metrics count requests by route and status, and report the content of the engine', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json: [{ id: 'a', vector: [1, 0, 0, 0] }] })
  await running.send('POST', '/api/v1/index/docs/search', { json: { k: 0 } })
  await running.send('GET', '/no/such/route')
  const { text, headers } = await running.send('GET', '/metrics')
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  t.match(
    text,
    /annal_http_requests_total\{method="POST",route="\/api\/v1\/index\/:name\/vector\/insert",status="200"\} 1\n/,
  )
  t.match(text, /annal_http_requests_total\{method="POST",route="\/api\/v1\/index\/:name\/search",status="400"\} 1\n/)
  t.match(text, /annal_http_requests_total\{method="GET",route="none",status="404"\} 1\n/)
  t.match(text, /annal_http_request_seconds_bucket\{[^}]*le="\+Inf"\} 1\n/)
  t.match(text, /\nannal_objects 1\n/)
  t.match(text, /\nannal_log_syncs_total [1-9]/)
  const { memory } = (await running.send('GET', '/api/v2/stats')).json() as { memory: Record<string, number> }
  t.ok(Object.keys(memory).length >= 3, 'memory is reported by part')
  for (const part of Object.keys(memory)) t.match(text, new RegExp(`\\nannal_memory_bytes\\{part="${part}"\\} [0-9]`))
  for (const line of text.trimEnd().split('\n')) {
    t.match(line, /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^}]*\})? ([0-9.e+-]+|NaN))$/)
  }
})

test('before the first record, statistics name no moment to restore to', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const archive = { maxBytes: 1_000_000, maxAgeMs: 3_600_000, freeShareMax: 0.1 }
  const engine = await openEngine({ dataDir, threads: 1, archive })
  const config = { ...readConfig({}).config, dataDir, logLevel: 'silent' as const }
  const app = createApp({ slot: slotWith(engine), config })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  const backups = async () =>
    (await app.inject('/api/v2/stats')).json<{ backups: { restorable_to?: { time: string } } }>().backups
  t.notHas(await backups(), { restorable_to: {} })
  const fields = [{ name: 'body', type: 'text', params: { language: 'english' } }] as const
  await engine.database().createCollection({ name: 'texts', fields })
  t.ok(Date.parse((await backups()).restorable_to!.time) > Date.parse('2020-01-01'))
})

test('requests that their clients cancel do not count as running afterwards', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const { port } = new URL(running.url)
  const body = '{"k":1,"vector":[1,0,0,0]}'
  const head = `POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  for (let i = 0; i < 40; i++) {
    await new Promise<void>((resolve) => {
      const socket = net.connect(Number(port), '127.0.0.1', () => {
        // Half of them disconnect before their body has arrived, half during processing.
        socket.write(head + (i % 2 === 0 ? body.slice(0, 5) : body), () => socket.destroy())
      })
      socket.on('close', () => resolve())
    })
  }
  await until(async () => {
    const { text } = await running.send('GET', '/metrics')
    return /annal_http_requests_in_flight 1\n/.test(text) && /annal_http_body_bytes_in_flight 0\n/.test(text)
  })
  t.pass('nothing but the request for metrics is in flight')
})

test('docs/reference/http.md lists every route and no other', async (t) => {
  const page = await readFile(new URL('../../../docs/reference/http.md', import.meta.url), 'utf8')
  // A row may name several paths, and {b} stands for the three prefixes of backups.
  const backups = ['/api/v1/backups', '/api/v2/backup', '/api/v2/backups']
  const listed = [...page.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) ((?:`[^`]+`(?:, )?)+) \|/gm)].flatMap(
    ([, method, paths = '']) =>
      [...paths.matchAll(/`([^`]+)`/g)]
        .flatMap(([, path = '']) =>
          path.startsWith('{b}') ? backups.map((prefix) => path.replace('{b}', prefix)) : path,
        )
        .map((path) => `${method} ${path}`),
  )
  const running = await runningApp(t)
  const description = (await running.send('GET', '/api/v2/openapi.json')).json() as unknown as Described
  const served = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  t.strictSame(listed.sort(), served.sort())
})

test('docs/reference/metrics.md lists every metric and no other', async (t) => {
  const page = await readFile(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \|/gm)].map(([, ...row]) =>
    row.map((cell) => cell.trim()),
  )
  const running = await runningApp(t)
  const { text } = await running.send('GET', '/metrics')
  const kinds = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', kind = '']) => [name, kind]))
  const served = [...text.matchAll(/^# HELP (\w+) (.+)$/gm)].map(([, name = '', help]) => [name, kinds.get(name), help])
  t.strictSame(listed, served)
})
