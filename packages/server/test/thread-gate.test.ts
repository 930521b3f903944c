// The gate of a serving thread accepts a request only if the main thread accepts the same one, whatever the settings, headers, tokens,
// databases, licenses, and clocks are.
import { openEngine } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { createAttempts } from '../src/access/attempts.ts'
import type { HotRoute, HotRouteName, RequestHead } from '../src/hot/contract.ts'
import { type Config, createApp, readConfig, slotWith } from '../src/index.ts'
import { openThreadState, SharedState, type ThreadState } from '../src/serving/shared-state.ts'
import { hotAccess } from '../src/serving/thread-gate.ts'
import { dayMs, layLicense, testLicensing } from './licenses.ts'
import { callers } from './route-table.ts'
import { temporaryDirectory } from './running-app.ts'

const long = process.env.ANNAL_LONG === '1'
const authToken = 'chosen-by-a-person-0123'
const rootToken = 'chosen-by-the-owner-0123'

const routes: {
  readonly [N in HotRouteName]: Omit<HotRoute, 'name'> & { readonly url: string; readonly method: string }
} = {
  'v1-search': hot('POST', '/api/v1/index/:name/search'),
  'v2-search': hot('POST', '/api/v2/collection/:name/search'),
  'v2-batch': hot('POST', '/api/v2/collection/:name/search/batch'),
  'v1-get': hot('POST', '/api/v1/index/:name/vector/get'),
  'v2-get': hot('POST', '/api/v2/collection/:name/objects/query'),
  health: hot('GET', '/api/v2/health'),
}

function hot(method: string, pattern: string) {
  return { method, pattern, url: pattern.replace(':name', 'docs'), collection: 'docs', bodyBytesMax: 8 * 1_048_576 }
}

interface Served {
  readonly app: ReturnType<typeof createApp>
  readonly thread: ThreadState
  readonly shared: SharedState
  readonly engine: Awaited<ReturnType<typeof openEngine>>
  /** Tokens of databases, also deleted ones. */
  readonly tokens: string[]
  advance(ms: number): void
}

async function serve(t: Test, changes: Partial<Config>): Promise<Served> {
  const dataDir = await temporaryDirectory(t)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', ...changes }
  let ms = 1_000_000
  const now = () => ms
  const shared = new SharedState(config, { threads: 1, memoryBytes: 2 ** 30, now })
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  engine.control.onChange((change) => shared.controlChanged(change))
  if (config.rootToken !== undefined) await layLicense(dataDir)
  const startedMs = Date.now()
  const licenseNow = () => startedMs + (ms - 1_000_000)
  const licensing =
    config.rootToken === undefined ? undefined : await testLicensing(dataDir, engine, licenseNow, () => ms)
  const attempts = createAttempts({ now, later: setImmediate })
  const app = createApp({ slot: slotWith(engine), config, attempts, shared, ...(licensing && { licensing }) })
  await app.ready()
  const thread = await openThreadState(shared.share(0), now)
  t.teardown(async () => {
    shared.ended(0)
    await app.close()
    await engine.close()
  })
  const advance = (by: number): void => {
    ms += by
  }
  return { app, thread, shared, engine, tokens: [], advance }
}

/** Changes tokens, databases, and the time, as the routes do. */
async function change(served: Served, random: Random): Promise<void> {
  const { app, tokens, engine } = served
  const send = (method: 'POST' | 'DELETE', url: string, payload?: object) =>
    app.inject({ method, url, headers: { authorization: rootToken }, ...(payload && { payload }) })
  const database = pick(random, ['acme', 'beta'])
  const kind = random.below(8)
  if (kind === 0) served.advance(pick(random, [10, 500, 30_000, 61_000, 25 * 3_600_000]))
  else if (kind === 1 && random.below(20) === 0) served.advance(31 * dayMs)
  else if (kind === 2) {
    const made = await send('POST', '/api/v2/admin/dbs', {
      db_name: database,
      db_type: pick(random, ['starter', 'pro']),
    })
    if (made.statusCode === 201) tokens.push(made.json().db_token)
  } else if (kind === 3) {
    const name = `t${random.below(4)}`
    const payload = { name, token_type: pick(random, ['r', 'rw']) }
    const made = await send('POST', `/api/v2/admin/dbs/${database}/tokens`, payload)
    if (made.statusCode === 201) tokens.push(made.json().db_token)
  } else if (kind === 4) await send('DELETE', `/api/v2/admin/dbs/${database}/tokens/t${random.below(4)}`)
  else if (kind === 5)
    await send('POST', `/api/v2/admin/dbs/${database}/${pick(random, ['activate', 'deactivate', 'activate'])}`)
  else if (kind === 6 && random.below(4) === 0) await send('DELETE', `/api/v2/admin/dbs/${database}`)
  else if (engine.control.databases().length > 9) throw new Error('more databases than names')
}

function randomHead(
  random: Random,
  { tokens, config }: { readonly tokens: readonly string[]; readonly config: Partial<Config> },
) {
  const name = pick(random, Object.keys(routes) as HotRouteName[])
  const { method, url, ...facts } = routes[name]
  const chosen =
    config.rootToken === undefined
      ? authToken
      : pick(random, [rootToken, `root/acme:${rootToken}`, `root/none:${rootToken}`])
  const token = pick(random, [
    ...tokens.slice(-3),
    ...tokens.slice(-3),
    ...tokens.slice(-6),
    chosen,
    chosen,
    `${chosen}x`,
    'null',
    undefined,
  ])
  const maybe = <T>(oneIn: number, ...values: T[]) => (random.below(oneIn) === 0 ? pick(random, values) : undefined)
  const payload =
    method === 'GET' ? undefined : JSON.stringify({ k: 1, vector: [1, 0, 0, 0], id: 'a', fields: {}, ids: ['a'] })
  const headers = {
    host: maybe(6, 'evil.example', 'localhost:8080', 'annal.example', '127.0.0.1') ?? 'localhost',
    authorization: token === undefined ? undefined : pick(random, [token, `Bearer ${token}`, `bearer   ${token}`]),
    origin: maybe(8, 'https://app.example', 'https://evil.example', 'http://localhost'),
    'sec-fetch-site': maybe(10, 'same-origin', 'cross-site', 'none'),
    'x-forwarded-for': maybe(4, '10.9.9.9', '10.9.9.8, 10.0.0.1', 'nonsense'),
    'x-forwarded-host': maybe(12, 'evil.example', 'localhost'),
    'content-encoding': maybe(12, 'gzip', 'identity'),
    ...(payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(payload.length) }),
  }
  const present = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
  const head: RequestHead = {
    method,
    url,
    headers: present,
    address: pick(random, ['127.0.0.1', '10.0.0.1', '10.0.0.1', '2001:db8::1']),
  }
  return { head, route: { name, ...facts } satisfies HotRoute, payload }
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[random.below(values.length)]!
}

function modeOf(config: Partial<Config>): string {
  return config.rootToken !== undefined ? 'root' : config.authToken === undefined ? 'none' : 'one'
}

const refusing = new Set([401, 402, 403, 415, 429, 503])

test('the gate accepts only what the main thread accepts', async (t) => {
  const seed = chosenSeed()
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const pages = [
    { corsOrigins: [], trustedProxies: [] },
    { corsOrigins: ['https://app.example'], trustedProxies: ['10.0.0.1', '127.0.0.1'] },
  ]
  const configs = [{}, { authToken }, { rootToken }].flatMap((tokens) =>
    [undefined, 2].flatMap((rateLimit) => pages.map((page) => ({ ...tokens, rateLimit, ...page }))),
  )
  const accepted = new Set<string>()
  const isComplete = (mode: string): boolean => Object.keys(routes).every((name) => accepted.has(`${mode} ${name}`))
  const compareRequests = async (config: Partial<Config>): Promise<void> => {
    const served = await serve(t, config)
    const rounds = (long ? 500 : 60) * ('rootToken' in config ? 3 : 1)
    const wrong: string[] = []
    for (let round = 0; round < rounds; round++) {
      if ('rootToken' in config && random.below(3) === 0) await change(served, random)
      else if (random.below(6) === 0) served.advance(pick(random, [10, 500, 1_000, 61_000]))
      const { head, route, payload } = randomHead(random, { tokens: served.tokens, config })
      const admission = served.thread.gate.admit(head, route)
      admission?.withdraw()
      const { headers, method, url, address: remoteAddress } = head
      const reply = await served.app.inject({
        method: method as 'GET',
        url,
        headers,
        remoteAddress,
        ...(payload && { payload }),
      })
      if (admission === undefined) continue
      accepted.add(`${modeOf(config)} ${route.name}`)
      if (refusing.has(reply.statusCode)) wrong.push(`${JSON.stringify(head)} ${reply.payload}`)
      if (reply.headers.vary !== admission.replyHeaders.find(([name]) => name === 'vary')?.[1])
        wrong.push(JSON.stringify(head))
      const { reads, writes, bodies } = served.shared.budgets
      if (reads.taken + writes.taken + bodies.small.taken + bodies.large.taken > 0)
        wrong.push(`kept of ${JSON.stringify(head)}`)
    }
    t.strictSame(wrong, [], JSON.stringify(config))
  }
  for (const config of configs) await compareRequests(config)
  // Few of the random requests are accepted, and none after a license has expired. So servers start until one request for each route was
  // accepted, with a limit for a gate that accepts none.
  for (const config of configs)
    for (let i = 0; i < 20 && !isComplete(modeOf(config)); i++) await compareRequests(config)
  t.equal(
    accepted.size,
    3 * Object.keys(routes).length,
    'each route was accepted without a token, with one, and with a root token',
  )
})

test('the access of hot routes is that of their documentation', (t) => {
  const accessOf = { nobody: 'open', reader: 'read', searcher: 'search' } as const
  for (const [name, { method, pattern }] of Object.entries(routes)) {
    const caller = callers.get(`${method} ${pattern}`) as keyof typeof accessOf
    t.equal(hotAccess[name as HotRouteName], accessOf[caller], name)
  }
  t.end()
})
