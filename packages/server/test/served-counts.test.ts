// A server with three serving threads, over HTTP: every request is counted once, tokens are revoked on every thread, and a rate is that of
// the process.
import http from 'node:http'
import { openEngine } from '@annal/engine'
import { type Test, test } from 'tap'
import { type Config, createApp, readConfig, slotWith } from '../src/index.ts'
import { SharedState } from '../src/serving/shared-state.ts'
import { until } from './eventually.ts'
import { layLicense, testLicensing } from './licenses.ts'
import { send, temporaryDirectory, unlimitedAttempts } from './running-app.ts'

const serverThreads = 3
const rootToken = 'chosen-by-the-owner-0123'
const search = '/api/v2/collection/docs/search'

async function serve(t: Test, changes: Partial<Config>) {
  const dataDir = await temporaryDirectory(t)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', serverThreads, ...changes }
  const shared = new SharedState(config, { threads: serverThreads, memoryBytes: 2 ** 30 })
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers: 2 * serverThreads })
  if (config.rootToken !== undefined) await layLicense(dataDir)
  const licensing = config.rootToken === undefined ? undefined : await testLicensing(dataDir, engine)
  const app = createApp({
    slot: slotWith(engine),
    config,
    shared,
    attempts: unlimitedAttempts(),
    ...(licensing && { licensing }),
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const agents: http.Agent[] = []
  t.teardown(async () => {
    for (const agent of agents) agent.destroy()
    await app.close()
    await engine.close()
  })
  /** A client with a connection of its own. */
  const client = (authorization?: string) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    agents.push(agent)
    const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
    return (body: unknown): Promise<number> =>
      new Promise((resolve, reject) => {
        const request = http.request(url + search, { agent, method: 'POST', headers }, (reply) => {
          reply.resume()
          reply.on('end', () => resolve(reply.statusCode ?? 0))
          reply.on('error', reject)
        })
        request.on('error', reject)
        request.end(JSON.stringify(body))
      })
  }
  return { app, url, shared, engine, client }
}

const vector = [0.1, 0.2, 0.3, 0.4]
const usual = { fields: { v: { query: vector, limit: 3 } } }

async function createDocs(engine: Awaited<ReturnType<typeof openEngine>>, database?: string): Promise<void> {
  const docs = await engine.database(database).createCollection({
    name: 'docs',
    fields: [{ name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'cosine' } }],
  })
  await docs.upsert([{ id: 'a', fields: { v: vector } }])
}

test('each request is counted and recorded once, wherever it is answered', async (t) => {
  const { url, shared, engine, client } = await serve(t, {})
  await createDocs(engine)
  const clients = Array.from({ length: 8 }, () => client())
  const [usualEach, wrongEach] = [30, 8]
  // Threads answer after they attached the collection and the main thread granted the caller.
  let before = 0
  await until(async () => {
    await Promise.all(clients.map((one) => one(usual)))
    before += clients.length
    return shared.newestRequests().length > 0
  })
  const statuses: number[] = []
  await Promise.all(
    clients.map(async (one) => {
      for (let i = 0; i < usualEach; i++) statuses.push(await one(usual))
      for (let i = 0; i < wrongEach; i++) statuses.push(await one({ fields: { unknown: { query: vector } } }))
    }),
  )
  t.equal(statuses.filter((status) => status === 200).length, clients.length * usualEach)
  t.equal(statuses.filter((status) => status === 400).length, clients.length * wrongEach)
  const onThreads = shared.newestRequests().length
  t.ok(onThreads > clients.length, `threads answered at least ${onThreads} requests`)
  const [ok, wrong] = [before + clients.length * usualEach, clients.length * wrongEach]
  const counted = async () => {
    const text = (await send(url, 'GET', '/metrics')).text
    return [200, 400].map((status) =>
      Number(new RegExp(`${search.replace('docs', ':name')}",status="${status}"\\} (\\d+)`).exec(text)?.[1] ?? 0),
    )
  }
  t.strictSame(await counted(), [ok, wrong])
  const lines = (await send(url, 'GET', '/api/v2/logs?limit=500')).json().lines as string[]
  t.equal(lines.filter((line) => line.includes(` POST ${search} 200 `)).length, Math.min(ok, 500 - wrong - 1))
  t.equal(lines.filter((line) => line.includes(` POST ${search} 400 `)).length, wrong)
  t.equal(shared.budgets.reads.taken, 0, 'nothing is held')
  t.equal(shared.counts.inFlight, 0)
})

test('searches of sparse fields, alone and fused, are answered by serving threads', async (t) => {
  const { shared, engine, client } = await serve(t, {})
  const docs = await engine.database().createCollection({
    name: 'docs',
    fields: [
      { name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'cosine' } },
      { name: 'words', type: 'sparse' },
      { name: 'rare', type: 'sparse', params: { model: 'endee_bm25' } },
    ],
  })
  const terms = (i: number) => ({ indices: [i % 7, 7 + (i % 5), 4_000_000_000 + i], values: [1, 2, 0.5] })
  await docs.upsert(
    Array.from({ length: 200 }, (_, i) => ({
      id: `o${i}`,
      filter: { third: i % 3 },
      fields: { v: [i, 1, 2, 3], words: terms(i), rare: terms(i + 1) },
    })),
  )
  const [words, rare, v] = [{ query: terms(3) }, { query: terms(9), limit: 5 }, { query: vector, limit: 5 }]
  const fusion = { method: 'rrf' }
  const bodies = [
    { fields: { words } },
    { fields: { rare }, filter: [{ third: { $eq: 1 } }] },
    { fields: { v, words }, fusion },
    { fields: { rare, v, words }, fusion: { method: 'relative_score', weights: { rare: 2 } } },
    { fields: { rare: { query: { id: 'o7' } } } },
  ]
  const clients = Array.from({ length: 6 }, () => client())
  const searchesOf = (isMain: boolean) =>
    shared
      .repliesByThread()
      .filter(({ thread }) => (thread === 'main') === isMain)
      .reduce((sum, { searches }) => sum + searches, 0)
  let sent = 0
  const searchAll = async () => {
    await Promise.all(
      clients.map(async (one) => Promise.all(bodies.map(async (body) => t.equal(await one(body), 200)))),
    )
    sent += clients.length * bodies.length
    // A reply is counted after it was sent.
    await until(() => searchesOf(true) + searchesOf(false) === sent)
  }
  // Threads answer after they attached the collection and the main thread granted the caller.
  await until(async () => {
    const before = searchesOf(true)
    await searchAll()
    return searchesOf(true) === before
  })
  const main = searchesOf(true)
  for (let i = 0; i < 10; i++) await searchAll()
  t.equal(searchesOf(true), main, 'none is forwarded')
})

test('a request that is sent after the acknowledgement of a revocation is rejected on every thread', async (t) => {
  const { url, shared, engine, client } = await serve(t, { rootToken })
  const headers = { authorization: rootToken }
  const made = await send(url, 'POST', '/api/v2/admin/dbs', { headers, json: { db_name: 'acme' } })
  t.equal(made.status, 201)
  await createDocs(engine, 'acme')
  let onThreads = 0
  for (let round = 0; round < 8; round++) {
    const path = '/api/v2/admin/dbs/acme/tokens'
    const token = await send(url, 'POST', path, { headers, json: { name: 'one', token_type: 'r' } })
    const clients = Array.from({ length: 4 }, () => client(String(token.json().db_token)))
    let isAcknowledged = false
    let late = 0
    const floods = clients.map(async (one) => {
      for (;;) {
        const wasAcknowledged = isAcknowledged
        const status = await one(usual)
        if (status === 200 && wasAcknowledged) late += 1
        if (status !== 200 || wasAcknowledged) return status
      }
    })
    const seen = shared.counts.requests
    await until(async () => shared.counts.requests > seen + 30)
    t.equal((await send(url, 'DELETE', `${path}/one`, { headers })).status, 200)
    isAcknowledged = true
    t.strictSame([...new Set(await Promise.all(floods))], [401])
    t.equal(late, 0)
    onThreads += shared.newestRequests().length
  }
  t.ok(onThreads > 0, 'threads answered')
})

test('the rate of a caller is that of the process', async (t) => {
  // Far less than the slowest machine serves.
  const rateLimit = 20
  const { shared, engine, client } = await serve(t, { rateLimit })
  await createDocs(engine)
  const clients = Array.from({ length: 6 }, () => client())
  let isExceeded = false
  const startedMs = performance.now()
  const statuses = await Promise.all(
    clients.map(async (one) => {
      const seen: number[] = []
      // A slow machine needs more requests to exceed the rate, and a fast one to find the threads ready.
      while (seen.length < 60 || !isExceeded || shared.newestRequests().length === 0) {
        const status = await one(usual)
        isExceeded ||= status === 429
        seen.push(status)
      }
      return seen
    }),
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const allowed = statuses.flat().filter((status) => status === 200).length
  t.ok(allowed <= rateLimit * (1 + seconds) + 1, `${allowed} of ${statuses.flat().length} in ${seconds.toFixed(2)} s`)
  t.ok(allowed >= rateLimit, 'the burst')
  t.strictSame([...new Set(statuses.flat())].sort(), [200, 429])
  t.ok(shared.newestRequests().length > 0, 'threads answered')
})
