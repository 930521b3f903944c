// Metrics and health of the threads that accept connections: the counts of all threads add up to what clients sent and opened.
import http from 'node:http'
import { type Test, test } from 'tap'
import type { ThreadedServer } from '../src/serving/threaded-server.ts'
import { eventually, until } from './eventually.ts'
import { type RunningApp, runningApp } from './running-app.ts'

const search = '/api/v2/collection/docs/search'
const vector = [0.1, 0.2, 0.3, 0.4]
const usual = { fields: { v: { query: vector, limit: 3 } } }
/** Enough connections that threads move some of them. */
const clients = 24

async function startDocs(t: Test, serverThreads: number): Promise<RunningApp> {
  const running = await runningApp(t, { serverThreads })
  const docs = await running.engine.database().createCollection({
    name: 'docs',
    fields: [{ name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'cosine' } }],
  })
  await docs.upsert([{ id: 'a', fields: { v: vector } }])
  return running
}

/** Counts what clients see. */
class Seen {
  opened = 0
  /** Connections that are open now. */
  open = 0
  replies = 0
  searches = 0
  moved = 0
}

/** A client with one connection at a time. */
function client(url: string, seen: Seen, agents: http.Agent[]) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return (method: string, path: string, body?: unknown): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const request = http.request(url + path, { agent, method, headers }, (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        reply.on('error', reject)
        reply.on('end', () => {
          seen.replies++
          if (/\/search(\/batch)?$/.test(path)) seen.searches++
          if (reply.headers.connection === 'close') seen.moved++
          resolve(text)
        })
      })
      request.on('socket', (socket) => {
        if (request.reusedSocket) return
        seen.opened++
        seen.open++
        socket.on('close', () => {
          seen.open--
        })
      })
      request.on('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

type Send = ReturnType<typeof client>

/** The values of a metric by thread. */
function byThread(text: string, name: string): Map<string, number> {
  const lines = text.matchAll(new RegExp(`^${name}\\{thread="(\\w+)"\\} (\\d+)$`, 'gm'))
  return new Map([...lines].map(([, thread, value]) => [thread!, Number(value)]))
}

function sumOf(values: Iterable<number>): number {
  return [...values].reduce((sum, value) => sum + value, 0)
}

function totalOf(text: string, name: string): number {
  return sumOf([...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].map(([, value]) => Number(value)))
}

async function sendMix(send: Send, searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    await send('POST', search, usual)
    if (i % 5 === 0) await send('POST', `${search}/batch`, { searches: [usual, usual] })
    if (i % 7 === 0) await send('POST', '/api/v2/collection/docs/objects/query', { ids: ['a'] })
    if (i % 11 === 0) await send('GET', '/api/v2/collection/absent')
  }
}

/**
 * The metrics, once every reply that clients have is counted: a reply is counted when it was handed over, which a client may notice first. The
 * reply with the metrics is not counted in them.
 */
async function counted(send: Send, seen: Seen): Promise<string> {
  return eventually(async () => {
    const text = await send('GET', '/metrics')
    const totals = [totalOf(text, 'annal_http_requests_total'), totalOf(text, 'annal_thread_requests_total')]
    return Math.min(...totals) >= seen.replies - 1 ? text : undefined
  })
}

for (const serverThreads of [1, 3]) {
  test(`counts of ${serverThreads} threads add up to what clients sent`, async (t) => {
    const { url, engine } = await startDocs(t, serverThreads)
    const seen = new Seen()
    const agents: http.Agent[] = []
    t.teardown(() => {
      for (const agent of agents) agent.destroy()
    })
    const sends = Array.from({ length: clients }, () => client(url, seen, agents))
    await Promise.all(sends.map((send, i) => sendMix(send, 10 + i)))
    // Connections that were moved, or idle for 5 s because the machine is busy, are closed when both sides have ended them.
    let text = ''
    await until(async () => {
      text = await counted(sends[0]!, seen)
      return totalOf(text, 'annal_thread_connections') === seen.open
    })
    const sum = (name: string) => sumOf(byThread(text, name).values())
    t.equal(sum('annal_thread_requests_total'), seen.replies - 1)
    t.equal(totalOf(text, 'annal_http_requests_total'), seen.replies - 1)
    t.equal(sum('annal_thread_searches_total'), seen.searches)
    t.equal(sum('annal_thread_connections_accepted_total'), seen.opened)
    t.equal(sum('annal_thread_connections_moved_total'), seen.moved)
    t.equal(sum('annal_thread_connections_refused_total'), 0)
    t.ok(seen.opened >= clients + seen.moved)
    t.equal(totalOf(text, 'annal_serving_threads'), serverThreads)
    const names = serverThreads === 1 ? ['main'] : ['main', '0', '1', '2']
    t.strictSame([...byThread(text, 'annal_thread_searches_total').keys()], names)
    t.strictSame([...byThread(text, 'annal_thread_connections').keys()], names.slice(serverThreads === 1 ? 0 : 1))
    if (serverThreads > 1) {
      const searches = byThread(text, 'annal_thread_searches_total')
      t.ok(sumOf(searches.values()) > searches.get('main')!, 'serving threads answered searches')
    }
    t.equal(engine.stats().objects, 1)
  })
}

test('a lost thread is counted, and the one in its place continues the counts', async (t) => {
  const { url, app } = await startDocs(t, 3)
  const seen = new Seen()
  const agents: http.Agent[] = []
  t.teardown(() => {
    for (const agent of agents) agent.destroy()
  })
  const sends = Array.from({ length: clients }, () => client(url, seen, agents))
  await Promise.all(sends.map((send) => sendMix(send, 10)))
  const { threads } = app.server as unknown as ThreadedServer
  // What a thread has not counted is lost with it.
  await counted(sends[0]!, seen)
  for (const thread of [0, 1, 2]) {
    threads?.terminate(thread, 'of the test')
    await until(async () => threads?.replaced === thread + 1)
  }
  // Every connection was closed with its thread.
  for (const agent of agents) agent.destroy()
  await Promise.all(sends.map((send) => sendMix(send, 10)))
  const text = await counted(sends[0]!, seen)
  const sum = (name: string) => sumOf(byThread(text, name).values())
  t.equal(sum('annal_thread_requests_total'), seen.replies - 1)
  t.equal(sum('annal_thread_searches_total'), seen.searches)
  t.equal(sum('annal_thread_connections_accepted_total'), seen.opened)
  t.equal(totalOf(text, 'annal_serving_threads'), 3)
  t.equal(totalOf(text, 'annal_serving_threads_lost_total'), 3)
  t.equal(totalOf(text, 'annal_serving_threads_replaced_total'), 3)
  // Serving threads answer from what the main thread wrote a moment ago.
  let health: { readonly status: string; readonly serving_threads?: { readonly replaced: number } } = { status: '' }
  await until(async () => {
    health = JSON.parse(await sends[0]!('GET', '/api/v2/health'))
    return health.serving_threads?.replaced === 3
  })
  t.match(health, { status: 'ok', serving_threads: { running: 3, configured: 3, lost: 3, replaced: 3 } })
  Object.defineProperty(threads, 'isFailing', { get: () => true })
  let failing = health
  while (failing.status === 'ok') failing = JSON.parse(await sends[0]!('GET', '/api/v2/health'))
  t.match(failing, { status: 'degraded', reasons: [/serving threads run/] })
})

test('connections above the limit are counted as refused', async (t) => {
  for (const serverThreads of [1, 2]) {
    const { url, app } = await startDocs(t, serverThreads)
    app.server.maxConnections = 3
    const seen = new Seen()
    const agents: http.Agent[] = []
    const sends = Array.from({ length: 8 }, () => client(url, seen, agents))
    const results = await Promise.allSettled(sends.map((send) => send('GET', '/api/v2/health')))
    const answered = results.filter(({ status }) => status === 'fulfilled').length
    const kept = sends[results.findIndex(({ status }) => status === 'fulfilled')]!
    const text = await kept('GET', '/metrics')
    t.equal(sumOf(byThread(text, 'annal_thread_connections_accepted_total').values()), answered)
    t.equal(sumOf(byThread(text, 'annal_thread_connections_refused_total').values()), sends.length - answered)
    t.ok(answered < sends.length)
    for (const agent of agents) agent.destroy()
  }
})
