// Access from a browser: every route by Host, by Origin, and by the state of the token; proxies and programs other than browsers; pages of
// other origins in NDD_CORS_ORIGINS.
import { test } from 'tap'
import { type Config, startDashboard } from '../src/index.ts'
import { callers, requestPath } from './route-table.ts'
import { createIndex, type RunningApp, runningApp, send, unlimitedAttempts } from './running-app.ts'

type Headers = Readonly<Record<string, string>>

const authToken = 'a-token-of-enough-characters'
const app = 'https://app.example.com'
const settings: Partial<Config> = { host: 'db.internal', allowedHosts: ['allowed.example'], corsOrigins: [app] }

/** Whether a server without a token replies to it. */
const hosts: Readonly<Record<string, boolean>> = {
  '127.0.0.1:8080': true,
  '[::1]:8080': true,
  localhost: true,
  'db.internal:8080': true,
  'allowed.example': true,
  'evil.example:8080': false,
}

interface Page {
  readonly headers: (host: string) => Headers
  /** Whether it may change something. */
  readonly own: boolean
}

const pages: Readonly<Record<string, Page>> = {
  'no browser': { headers: () => ({}), own: true },
  'our page': { headers: (host) => ({ origin: `http://${host}` }), own: true },
  'our page, where browsers say more': {
    headers: (host) => ({ origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }),
    own: true,
  },
  'a page of another origin': { headers: () => ({ origin: 'http://evil.example' }), own: false },
  'the same, where browsers say more': {
    headers: () => ({ origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' }),
    own: false,
  },
  'a page without an origin': { headers: () => ({ origin: 'null' }), own: false },
  'cross-site alone': { headers: () => ({ 'sec-fetch-site': 'cross-site' }), own: false },
  'another port': {
    headers: (host) => ({ origin: `http://${host.replace(/:\d+$/, '')}:3000`, 'sec-fetch-site': 'same-site' }),
    own: false,
  },
  'a page of a named origin': { headers: () => ({ origin: app, 'sec-fetch-site': 'cross-site' }), own: true },
}

interface TokenState {
  readonly changes: Partial<Config>
  readonly headers: Headers
  /** The reply of routes that require a token; undefined if it is accepted. */
  readonly refusal?: string
}

const tokenStates: Readonly<Record<string, TokenState>> = {
  'no token set': { changes: {}, headers: {} },
  'no token set, and one sent': { changes: {}, headers: { authorization: 'null' } },
  'a token set and none sent': { changes: { authToken }, headers: {}, refusal: 'authorization_required' },
  'a token set and a wrong one sent': {
    changes: { authToken },
    headers: { authorization: 'wrong' },
    refusal: 'invalid_token',
  },
  'a token set and sent': { changes: { authToken }, headers: { authorization: authToken } },
}

const judged = ['host_refused', 'origin_refused', 'authorization_required', 'invalid_token', 'too_many_attempts']

test('every route by host, by origin and by token', { timeout: 120_000 }, async (t) => {
  const faults: string[] = []
  const counts = new Map<string, number>()
  for (const [state, { changes, headers, refusal }] of Object.entries(tokenStates)) {
    const running = await runningApp(t, { ...settings, ...changes }, { attempts: unlimitedAttempts() })
    for (const [route, caller] of callers) {
      const [method = '', url = ''] = route.split(' ')
      for (const [host, answered] of Object.entries(hosts)) {
        for (const [page, { headers: ofPage, own }] of Object.entries(pages)) {
          const refusedHost = changes.authToken === undefined && !answered
          const refusedPage = method !== 'GET' && !own
          const refusedToken = caller === 'nobody' ? undefined : refusal
          const expected = refusedHost ? 'host_refused' : refusedPage ? 'origin_refused' : (refusedToken ?? 'passes')
          const answer = await running.app.inject({
            method: method as 'GET',
            url: requestPath(url),
            headers: { ...headers, ...ofPage(host), host },
          })
          const code = answer.statusCode < 400 ? undefined : (JSON.parse(answer.body).code as string)
          const found = code !== undefined && judged.includes(code) ? code : 'passes'
          counts.set(found, (counts.get(found) ?? 0) + 1)
          const readable = answer.headers['access-control-allow-origin']
          const mayRead = page === 'a page of a named origin' && expected !== 'host_refused' ? app : undefined
          if (found !== expected || readable !== mayRead || 'access-control-allow-credentials' in answer.headers)
            faults.push(`${route}, ${state}, ${host}, ${page}: ${found}, readable by ${readable}`)
        }
      }
    }
  }
  t.strictSame(faults.slice(0, 20), [])
  const cells = callers.size * Object.keys(hosts).length * Object.keys(pages).length * Object.keys(tokenStates).length
  t.equal(
    [...counts.values()].reduce((sum, count) => sum + count, 0),
    cells,
  )
  t.comment(`${cells} cells: ${[...counts].map(([found, count]) => `${found} ${count}`).join(', ')}`)
})

test('names that resemble allowed ones are refused, and addresses are accepted in any notation', async (t) => {
  const running = await runningApp(t, settings)
  const status = async (headers: Headers) =>
    (await running.app.inject({ url: '/api/v1/index/list', headers: { ...headers } })).statusCode
  for (const host of [
    ...[
      'localhost.evil.example',
      'evil.localhost',
      'localhost@evil.example',
      'localhost:80:80',
      'evil.example',
      'localhost:x',
    ],
    ...[
      '127.0.0.1.evil.example',
      '[::1].evil.example',
      '[evil.example]',
      '127.0.0.1.nip.io',
      'db.internal.evil.example',
    ],
    ...['xdb.internal', '2130706433', '0x7f.1', 'localhost/', '*', '[]', ':8080'],
  ]) {
    t.equal(await status({ host }), 403, host)
    t.equal(await status({ host: 'localhost', 'x-forwarded-host': `localhost, ${host}` }), 403, host)
  }
  for (const host of [
    ...[
      'LOCALHOST',
      'localhost.',
      'Db.Internal:443',
      'db.internal.',
      'ALLOWED.example',
      '10.0.0.1',
      '255.255.255.255:65535',
    ],
    ...['[::]', '[::ffff:10.0.0.1]:80', '[2001:DB8::1]', '[fe80::1%25eth0]:8080', '[fe80::1%eth0]'],
  ]) {
    t.equal(await status({ host }), 200, host)
  }
  for (let i = 0; i < 1_000; i++) t.equal(await status({ host: `10.1.${i >> 8}.${i & 255}` }), 200)
  t.equal(await status({ host: 'evil.example' }), 403, 'for any earlier request')
})

/** The headers that reverse proxies send by default for a page at `https://db.example.com` or `http://db.example.com`. */
const proxied: Readonly<Record<string, Headers>> = {
  'nginx as it comes, TLS': {
    host: '127.0.0.1:8080',
    'sec-fetch-site': 'same-origin',
    origin: 'https://db.example.com',
  },
  'nginx with $host, TLS': {
    host: 'db.example.com',
    'sec-fetch-site': 'same-origin',
    origin: 'https://db.example.com',
  },
  'nginx with $host': { host: 'db.example.com', origin: 'http://db.example.com' },
  'nginx with $http_host, another port': { host: 'db.example.com:81', origin: 'http://db.example.com:81' },
  Caddy: { host: 'db.example.com', 'x-forwarded-host': 'db.example.com', origin: 'https://db.example.com' },
  Traefik: { host: 'db.example.com', 'x-forwarded-host': 'db.example.com', origin: 'http://db.example.com' },
  Apache: { host: '127.0.0.1:8080', 'x-forwarded-host': 'db.example.com', origin: 'http://db.example.com' },
  'two in a row': {
    host: '10.0.0.2',
    'x-forwarded-host': 'db.example.com, inner:81',
    origin: 'https://db.example.com',
  },
}

test('the page works behind reverse proxies with default settings, and a foreign page behind them does not', async (t) => {
  const running = await runningApp(t, { authToken })
  const create = (headers: Headers) =>
    running.app.inject({ method: 'POST', url: '/api/v2/collection', headers: { authorization: authToken, ...headers } })
  for (const [name, headers] of Object.entries(proxied)) {
    t.equal((await create(headers)).json().code, 'invalid_argument', `${name}: as far as the body`)
    const foreign = { ...headers, origin: 'https://evil.example' }
    if ('sec-fetch-site' in foreign) foreign['sec-fetch-site'] = 'cross-site'
    t.match([(await create(foreign)).statusCode, (await create(foreign)).json().code], [403, 'origin_refused'], name)
  }
})

test('pages of a configured origin get the CORS headers that browsers need, others do not', async (t) => {
  const running = await runningApp(t, { ...settings, authToken })
  const preflight = (origin: string, url = '/api/v2/collection/x/objects/y') =>
    running.app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  for (const url of ['/api/v1/index/create', '/api/v2/collection/x/objects/y', '/nothing']) {
    const taken = await preflight(app, url)
    t.equal(taken.statusCode, 204, url)
    t.equal(taken.body, '')
    t.match(taken.headers, {
      'access-control-allow-origin': app,
      'access-control-allow-methods': /DELETE/,
      'access-control-allow-headers': /annal-forward.*authorization.*content-type.*idempotency-key/,
      'access-control-max-age': '7200',
      vary: 'origin',
    })
  }
  for (const origin of [
    ...['http://evil.example', 'null', `${app}.evil.example`, 'http://app.example.com', `${app}:444`, `${app}/`, ''],
    ...[app.toUpperCase(), 'https://example.com', `${app}, ${app}`],
  ]) {
    const refused = await preflight(origin)
    t.equal(refused.statusCode, 405, origin)
    t.notOk(
      Object.keys(refused.headers).some((name) => name.startsWith('access-control-')),
      origin,
    )
    t.equal(refused.headers.vary, 'origin')
  }
  const refused = await running.app.inject({ url: '/api/v2/stats', headers: { origin: app } })
  t.equal(refused.statusCode, 401)
  t.equal(refused.headers['access-control-allow-origin'], app, 'a refusal can be read, too')
  t.match(refused.headers['access-control-expose-headers'], /annal-leader, annal-lsn.*x-request-id/)
  const none = await runningApp(t)
  const plain = await none.app.inject({ url: '/api/v2/stats', headers: { origin: app } })
  t.equal(plain.statusCode, 200)
  t.notOk(Object.keys(plain.headers).some((name) => name.startsWith('access-control-') || name === 'vary'))
})

async function dashboardFor(t: Parameters<typeof runningApp>[0], running: RunningApp): Promise<string> {
  const dashboard = await startDashboard({ host: '127.0.0.1', port: 0, serverUrl: running.url })
  t.teardown(() => dashboard.stop())
  return dashboard.address
}

test('the dashboard process checks the origin against its own host, and forwards none', async (t) => {
  const running = await runningApp(t, { corsOrigins: [app] })
  const address = await dashboardFor(t, running)
  const seen: Headers[] = []
  running.app.server.prependListener('request', ({ headers }: { headers: Headers }) => seen.push(headers))
  const { host } = new URL(address)
  const list = (headers: Headers) => send(address, 'GET', '/api/v1/index/list', { headers })
  const create = (name: string, headers: Headers) =>
    send(address, 'POST', '/api/v1/index/create', {
      json: { index_name: name, dim: 4, space_type: 'cosine', precision: 'float32' },
      headers,
    })
  t.equal((await create('own', { origin: address, 'sec-fetch-site': 'same-origin' })).status, 200)
  t.equal((await create('program', {})).status, 200)
  const reached = seen.length
  for (const headers of [
    ...[{ origin: 'http://evil.example' }, { origin: running.url }, { origin: app }, { origin: 'null' }],
    { 'sec-fetch-site': 'cross-site' },
  ]) {
    t.match((await create('foreign', headers)).json(), { code: 'origin_refused' }, JSON.stringify(headers))
  }
  t.equal(seen.length, reached, 'nothing of these reached the server')
  const read = await list({ origin: app, 'sec-fetch-site': 'cross-site', 'x-forwarded-for': '10.9.9.9' })
  t.equal(read.status, 200)
  t.equal(read.headers.get('access-control-allow-origin'), null)
  for (const headers of seen)
    t.notOk(Object.keys(headers).some((name) => name === 'origin' || name.startsWith('sec-fetch-site')))
  t.match(seen.at(-1), { 'x-forwarded-host': host, 'x-forwarded-for': '10.9.9.9, 127.0.0.1' })
})

test('a server without a token refuses a foreign host also through the dashboard', async (t) => {
  const running = await runningApp(t, { allowedHosts: ['desk.internal'] })
  await createIndex(running)
  const { port } = new URL(await dashboardFor(t, running))
  const listed = async (host: string): Promise<number> => {
    const { request } = await import('node:http')
    return new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path: '/api/v1/index/list', headers: { host } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      outgoing.on('error', reject).end()
    })
  }
  t.equal(await listed(`localhost:${port}`), 200)
  t.equal(await listed(`[::1]:${port}`), 200)
  t.equal(await listed(`desk.internal:${port}`), 200)
  t.equal(await listed(`evil.example:${port}`), 403)
})
