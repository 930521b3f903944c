// Health on a serving thread: the bytes of the main thread's reply while what the main thread wrote is fresh, and nothing otherwise.
import { openEngine } from '@annal/engine'
import { type Test, test } from 'tap'
import type { Admission, HotReply } from '../src/hot/contract.ts'
import { createHotRoutes } from '../src/hot/hot-routes.ts'
import { SharedHealth } from '../src/hot/shared-health.ts'
import { type Config, createApp, EngineSlot, readConfig, slotWith } from '../src/index.ts'
import { type Audit, noAudit } from '../src/observe/audit.ts'
import { openHealth } from '../src/routes/system.ts'
import { watchServing } from '../src/serving/serving-figures.ts'
import { SharedState } from '../src/serving/shared-state.ts'
import { until } from './eventually.ts'
import { runningApp, send, temporaryDirectory } from './running-app.ts'

const urls = ['/api/v1/health', '/api/v2/health']

/** The main thread and a serving thread with a clock that the test sets. */
async function served(t: Test, changes: Partial<Config>, slot?: EngineSlot) {
  const dataDir = await temporaryDirectory(t)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', ...changes }
  const audit: { -readonly [K in keyof Audit]: Audit[K] } = { ...noAudit }
  const engine = slot === undefined ? await openEngine({ dataDir, threads: 1, fsync: 'none' }) : undefined
  const filled = slot ?? slotWith(engine!)
  const app = createApp({ slot: filled, config, audit })
  t.teardown(async () => {
    await app.close()
    await engine?.close()
  })
  const clock = { ms: 2 ** 32 - 500 }
  const now = () => clock.ms
  const main = new SharedHealth(now)
  const routes = createHotRoutes({ find: () => undefined, health: new SharedHealth(now, main.memory) })
  const hot = (url: string): HotReply | undefined => {
    const route = routes.match('GET', url)
    return route && (routes.answer({ route } as Admission, {}, Buffer.alloc(0)) as HotReply | undefined)
  }
  const shared = new SharedState(config, { threads: 1, memoryBytes: 2 ** 30 })
  const serving = watchServing(app.server, shared)
  const publish = () => main.publish(openHealth({ slot: filled, config, audit, licensing: undefined, serving }))
  return { app, slot: filled, audit, clock, main, hot, shared, publish }
}

function masked(body: Uint8Array): string {
  return Buffer.from(body)
    .toString()
    .replace(/"timestamp":(\d{19}|"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")/, '"timestamp":T')
}

test('a thread replies as the main thread does', async (t) => {
  for (const changes of [{}, { authToken: 'a-token-0123456789' }] as const) {
    const { app, slot, audit, hot, publish } = await served(t, changes)
    const states: (() => void)[] = [
      () => undefined,
      () => slot.watch(() => ['a disk is "nearly" full: ä', '2 objects']),
      () => Object.assign(audit, { fault: 'the audit log cannot be written' }),
    ]
    for (const enter of states) {
      enter()
      publish()
      for (const url of urls) {
        const wanted = await app.inject({ method: 'GET', url })
        const found = hot(url)
        t.equal(found?.status, wanted.statusCode)
        t.equal(found?.contentType, wanted.headers['content-type'])
        t.equal(found && masked(found.body), masked(wanted.rawPayload), url)
        t.match(masked(wanted.rawPayload), /"timestamp":T/)
      }
    }
  }
})

test('health that is written reads no counts of routes', async (t) => {
  const { shared, publish, hot } = await served(t, {})
  const { counts } = shared
  const rows = counts.rows.bind(counts)
  let reads = 0
  counts.rows = (...args) => {
    reads++
    return rows(...args)
  }
  publish()
  t.ok(hot('/api/v2/health'))
  t.equal(reads, 0, 'it is written four times a second, also by an idle server')
  shared.repliesByThread()
  t.ok(reads > 0, 'the test counts reads')
})

test('a state that is old, unfinished, too long, or of a server that does not serve is left to the main thread', async (t) => {
  const { slot, clock, main, hot, publish } = await served(t, {})
  t.notOk(hot('/api/v1/health'), 'nothing was written')
  publish()
  t.ok(hot('/api/v1/health'))
  clock.ms += 1_000
  t.ok(hot('/api/v2/health'), 'across a carry of the words')
  clock.ms += 1
  t.notOk(hot('/api/v1/health'), 'the main thread has not written for more than a second')
  publish()
  t.ok(hot('/api/v1/health'))
  const words = new Int32Array(main.memory)
  Atomics.add(words, 0, 1)
  t.notOk(hot('/api/v1/health'), 'the main thread is writing')
  Atomics.add(words, 0, 1)
  t.ok(hot('/api/v1/health'))
  let reasons = ['x'.repeat(5_000)]
  slot.watch(() => reasons)
  publish()
  t.notOk(hot('/api/v1/health'), 'a long state')
  reasons = []
  publish()
  t.ok(hot('/api/v1/health'))
  main.publish(undefined)
  t.notOk(hot('/api/v1/health'), 'a server that stops')
  for (const url of ['/health', '/api/v1/health/', '/api/v1/health?x', '/api/v3/health']) t.notOk(hot(url), url)
  const starting = await served(t, {}, new EngineSlot())
  starting.publish()
  t.notOk(starting.hot('/api/v1/health'), 'a server that starts')
})

test('serving threads answer health', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', serverThreads: 2 }
  const shared = new SharedState(config, { threads: 2, memoryBytes: 2 ** 30 })
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers: 4 })
  const app = createApp({ slot: slotWith(engine), config, shared })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  let sent = 0
  await until(async () => {
    t.equal((await send(url, 'GET', '/api/v1/health')).status, 200)
    sent++
    return shared.newestRequests().some(({ path, status }) => path === '/api/v1/health' && status === 200)
  })
  const { text } = await send(url, 'GET', '/metrics')
  const counted = Number(/"\/api\/v1\/health",status="200"\} (\d+)/.exec(text)?.[1])
  t.equal(counted, sent, 'each is counted once')
})

test('health is never older than the reply to a request that changed it', async (t) => {
  const { send } = await runningApp(t, { serverThreads: 2 })
  const params = { dimension: 4, space_type: 'l2' }
  const hot = async () => {
    const { text } = await send('GET', '/metrics')
    const counts = text.matchAll(/^annal_thread_requests_total\{thread="\d+"\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const calibrations = async () => (await send('GET', '/api/v2/health', { accept: 'application/json' })).json()
  for (let i = 1; i <= 6; i++) {
    const before = await hot()
    // The state is written again soon after each change.
    await until(async () => (await calibrations()) !== undefined && (await hot()) > before)
    const fields = [{ name: 'dense', type: 'vector', params }]
    await send('POST', '/api/v2/collection', { json: { name: `docs${i}`, fields } })
    const objects = Array.from({ length: 40 }, (_, n) => ({ id: `o${n}`, fields: { dense: [n, n % 7, n % 3, 1] } }))
    await send('POST', `/api/v2/collection/docs${i}/objects`, { json: { objects } })
    const measured = await send('POST', `/api/v2/collection/docs${i}/calibrate`, { json: { limit: 5, sample: 20 } })
    t.equal(measured.status, 200, measured.text)
    t.match(await calibrations(), { calibrations: { current: i } })
  }
})
