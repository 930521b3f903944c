// What serving threads share with the main thread, with real threads: no reply after the acknowledgement of a revocation, counts that add
// up, limits of the whole process, and nothing kept of a thread that ended.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { tokenHash } from '../src/access/auth.ts'
import { RateBuckets } from '../src/access/rate-buckets.ts'
import { SharedAmounts } from '../src/access/shared-amounts.ts'
import { type Config, createApp, readConfig, slotWith } from '../src/index.ts'
import { SharedState } from '../src/serving/shared-state.ts'
import { layLicense, testLicensing } from './licenses.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { floodWords, type Job, rateWords, searchHead, searchRoute, tokenNumber } from './thread-state-worker.ts'

const long = process.env.ANNAL_LONG === '1'
const threads = 3
const rootToken = 'chosen-by-the-owner-0123'

interface Running<T> {
  readonly worker: Worker
  readonly result: Promise<T>
}

function start<T = unknown>(t: Test, job: Job): Running<T> {
  const transferList = 'share' in job ? [job.share.port] : []
  const worker = new Worker(new URL('thread-state-worker.ts', import.meta.url), { workerData: job, transferList })
  t.teardown(() => worker.terminate())
  const result = new Promise<T>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return { worker, result }
}

async function serve(t: Test, changes: Partial<Config>) {
  const dataDir = await temporaryDirectory(t)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', ...changes }
  const shared = new SharedState(config, { threads, memoryBytes: 2 ** 30 })
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  engine.control.onChange((change) => shared.controlChanged(change))
  if (config.rootToken !== undefined) await layLicense(dataDir)
  const licensing = config.rootToken === undefined ? undefined : await testLicensing(dataDir, engine)
  const app = createApp({ slot: slotWith(engine), config, shared, ...(licensing && { licensing }) })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  /** Sends the search of the workers to the main thread. */
  const search = (authorization?: string) => {
    const { method, url } = searchHead()
    return send(address, method, url, { json: { fields: {} }, ...(authorization && { headers: { authorization } }) })
  }
  return { app, shared, engine, search }
}

test('no thread replies after a revocation was acknowledged', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const revocations = long ? 10_000 : 200
  const { shared, engine, search } = await serve(t, { rootToken })
  const { control } = engine
  await control.createDatabase({ name: 'acme' })
  const words = new Int32Array(new SharedArrayBuffer(4 * (floodWords.first + revocations * floodWords.tokenLength)))
  const workers = Array.from({ length: threads }, (_, thread) =>
    start(t, { kind: 'flood', share: shared.share(thread), words, revocations }),
  )
  const place = (token: number, word: number) => floodWords.first + token * floodWords.tokenLength + word
  const kinds = { token: 0, deactivated: 0, deleted: 0 }
  for (let index = 0; index < revocations; index++) {
    const name = `t${index}`
    await control.putToken('acme', { name, kind: 'r', hash: tokenHash(tokenNumber(index)) })
    Atomics.store(words, floodWords.newest, index)
    // The main thread accepts the token, and so grants it to all threads.
    await search(tokenNumber(index))
    const enough = random.below(20)
    while (Atomics.load(words, place(index, floodWords.replies)) <= enough) await nextTurn()
    const kind = random.chance(0.1) ? 'deactivated' : random.chance(0.05) ? 'deleted' : 'token'
    kinds[kind] += 1
    const acknowledged = () => Atomics.store(words, place(index, floodWords.acknowledged), 1)
    if (kind === 'token') {
      await control.deleteToken('acme', name)
      acknowledged()
    } else if (kind === 'deactivated') {
      await control.setDatabaseActive('acme', false)
      acknowledged()
      await control.deleteToken('acme', name)
      await control.setDatabaseActive('acme', true)
    } else {
      await control.deleteDatabase('acme')
      acknowledged()
      await control.createDatabase({ name: 'acme' })
    }
  }
  Atomics.store(words, floodWords.stop, 1)
  await Promise.all(workers.map(({ result }) => result))
  let [replies, late] = [0, 0]
  for (let index = 0; index < revocations; index++) {
    replies += words[place(index, floodWords.replies)]!
    late += words[place(index, floodWords.late)]!
  }
  t.ok(replies > revocations, `${replies} replies before ${revocations} revocations: ${JSON.stringify(kinds)}`)
  t.equal(late, 0, 'none after')
  t.equal(shared.budgets.reads.taken, 0)
})

test('counts and records of all threads add up', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const requests = 3_000
  const { app, shared, search } = await serve(t, { queryLogPercent: 100, tracesUrl: 'http://127.0.0.1:9' })
  const [traced, lines]: [Set<string>, string[]] = [new Set(), []]
  shared.onReport((report) => {
    for (const { requestId } of report.requests) traced.add(requestId)
    lines.push(...report.searches)
  })
  const workers = Array.from({ length: threads }, (_, thread) =>
    start<{ ends: Record<string, number>; byStatus: Record<string, number> }>(t, {
      ...{ kind: 'requests', share: shared.share(thread), seed: seed + thread, requests },
    }),
  )
  // The first request lets the main thread grant the caller.
  t.equal((await search()).status, 400)
  const results = await Promise.all(workers.map(({ result }) => result))
  for (const [thread, { worker }] of workers.entries()) {
    await worker.terminate()
    shared.ended(thread)
  }
  const sum = (values: (number | undefined)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
  const answered = sum(results.map(({ ends }) => ends.answered))
  const closed = sum(results.map(({ ends }) => ends.closed))
  t.ok(closed > 0)
  const text = (await app.inject('/metrics')).payload
  const count = (status: number) =>
    Number(
      new RegExp(`requests_total\\{method="POST",route="[^"]*/search",status="${status}"\\} (\\d+)`).exec(text)?.[1],
    )
  t.equal(count(200), sum(results.map(({ byStatus }) => byStatus[200])))
  t.equal(count(400), 1)
  t.equal(count(404), sum(results.map(({ byStatus }) => byStatus[404])))
  t.match(text, `annal_http_request_seconds_count{method="POST",route="${searchRoute.pattern}"} ${answered + 1}`)
  t.match(text, 'annal_http_requests_in_flight 1\n', 'the request for the metrics itself')
  t.equal(shared.counts.requests, answered + closed + 2, 'forwarded requests are counted where they are answered')
  t.equal(traced.size, answered, 'each request is reported once')
  t.equal(lines.length, answered, 'each search is recorded once')
  t.match(JSON.parse(lines[0]!), { lsn: 2, collectionId: 1, request: { fields: { dense: { query: [0, 0] } } } })
  const logged = (await app.inject('/api/v2/logs?limit=500')).json().lines as string[]
  t.equal(logged.length, 500)
  const times = logged.map((line) => line.slice(0, 20))
  t.strictSame(times, times.toSorted(), 'oldest first')
  t.ok(logged.filter((line) => line.includes('default/docs: POST /api/v2/collection/docs/search')).length > 490)
})

test('a thread that ends holds nothing', async (t) => {
  const { shared, search } = await serve(t, {})
  const [first, other] = [shared.share(0), shared.share(1)]
  const hanging = start(t, { kind: 'hang', share: first, requests: 40 })
  start(t, { kind: 'hang', share: other, requests: 2 })
  await search()
  await hanging.result
  while (shared.budgets.reads.taken < 41 + 3) await nextTurn()
  t.equal(shared.budgets.bodies.small.taken, 44 * 100)
  t.equal(shared.counts.inFlight, 42)
  await hanging.worker.terminate()
  shared.ended(0)
  t.equal(shared.budgets.reads.taken, 3, 'the other thread still holds what it took')
  t.equal(shared.budgets.bodies.small.taken, 300)
  t.equal(shared.counts.inFlight, 2)
  t.equal(shared.counts.requests, 41, 'requests that were lost with the thread are counted')
  t.equal(shared.counts.inFlight, 2)
})

test('a revocation waits for a reply that is being handed over, until its thread ends', async (t) => {
  const { shared, engine, search } = await serve(t, { rootToken })
  await engine.control.createDatabase({ name: 'acme' })
  const token = tokenNumber(0)
  await engine.control.putToken('acme', { name: 'one', kind: 'r', hash: tokenHash(token) })
  const share = shared.share(0)
  const view = new Int32Array(share.grants)
  await search(token)
  // The mark of thread 0, as GrantsView.reply sets it.
  Atomics.add(view, 16, 1)
  let isAcknowledged = false
  const deleted = engine.control.deleteToken('acme', 'one').then(() => {
    isAcknowledged = true
  })
  while ((await search(token)).status !== 401) await nextTurn()
  for (let turn = 0; turn < 200; turn++) await nextTurn()
  t.notOk(isAcknowledged, 'the main thread rejects the token, but the revocation waits')
  shared.ended(0)
  await deleted
  t.ok(isAcknowledged)
})

test('threads take exactly the tokens that a bucket has', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const perSecond = 7 + random.below(400)
  const words = new Int32Array(new SharedArrayBuffer(32))
  words[rateWords.now] = 1_000_000
  const { memory } = new RateBuckets({ length: 3 }, perSecond)
  const workers = Array.from({ length: threads }, () => start(t, { kind: 'rates', memory, perSecond, words }))
  // In thousandths of a token, as the time is in whole milliseconds.
  let available = perSecond * 1_000
  for (let phase = 1; phase <= (long ? 2_000 : 40); phase++) {
    words.fill(0, rateWords.finished)
    Atomics.store(words, rateWords.phase, phase)
    Atomics.notify(words, rateWords.phase)
    while (Atomics.load(words, rateWords.finished) < threads) await nextTurn()
    const expected = Math.floor(available / 1_000)
    for (let place = 0; place < 3; place++) {
      if (words[rateWords.taken + place] !== expected)
        t.equal(words[rateWords.taken + place], expected, `phase ${phase}`)
    }
    const passedMs = random.below(1_500)
    Atomics.add(words, rateWords.now, passedMs)
    available = Math.min(perSecond * 1_000, available - expected * 1_000 + passedMs * perSecond)
  }
  Atomics.store(words, rateWords.phase, -1)
  Atomics.notify(words, rateWords.phase)
  await Promise.all(workers.map(({ result }) => result))
  t.pass(`${perSecond} a second`)
})

test('threads never take more than a limit, and what they keep is given back when they end', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const owner = new SharedAmounts({ threads: threads + 1 }, 0)
  const amount = owner.amount(1)
  const max = 1_000
  const workers = Array.from({ length: threads }, (_, index) =>
    start<number>(t, {
      ...{ kind: 'amounts', memory: owner.memory, thread: index + 1, seed: seed + index, max },
      steps: long ? 2_000_000 : 100_000,
    }),
  )
  const refused = await Promise.all(workers.map(({ result }) => result))
  t.ok(
    refused.some((count) => count > 0),
    'the limit was reached',
  )
  for (let thread = 1; thread <= threads; thread++) owner.clear(thread)
  t.equal(amount.taken, 0)
  t.ok(amount.take(max, max))
  t.notOk(amount.take(1, max))
})
