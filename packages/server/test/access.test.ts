// Every route with every kind of token: access is decided by the token only, as in the route table of the contract.
import { type Test, test } from 'tap'
import { type Caller, callers, registeredRoutes } from './route-table.ts'
import { type RunningApp, runningApp, unlimitedAttempts } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'

interface Tokens {
  readonly [name: string]: string | undefined
}

async function enterprise(t: Test): Promise<{ readonly running: RunningApp; readonly tokens: Tokens }> {
  const running = await runningApp(t, { rootToken }, { attempts: unlimitedAttempts() })
  const asRoot = async (method: string, route: string, json?: unknown): Promise<Record<string, unknown>> => {
    const answer = await running.send(method, `/api/v2${route}`, {
      headers: { authorization: rootToken },
      ...(json === undefined ? {} : { json }),
    })
    if (answer.status >= 300) throw new Error(`${method} ${route}: ${answer.text}`)
    return answer.json()
  }
  const made = async (database: string): Promise<string> =>
    String((await asRoot('POST', '/admin/dbs', { db_name: database, db_type: 'enterprise' })).db_token)
  const tokenOf = async (database: string, name: string, type: string): Promise<string> =>
    String((await asRoot('POST', `/admin/dbs/${database}/tokens`, { name, token_type: type })).db_token)
  const writer = await made('mine')
  const reader = await tokenOf('mine', 'reader', 'r')
  const revoked = await tokenOf('mine', 'revoked', 'rw')
  await asRoot('DELETE', '/admin/dbs/mine/tokens/revoked')
  const asleep = await made('asleep')
  await asRoot('POST', '/admin/dbs/asleep/deactivate')
  const tokens = {
    none: undefined,
    empty: '',
    garbage: 'null',
    'wrong root': `${rootToken}x`,
    'half of root': rootToken.slice(0, 12),
    'wrong secret': 'mine:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'unknown database': 'other:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'secret alone': writer.slice(5),
    'secret of another name': `asleep:${writer.slice(5)}`,
    revoked,
    'wrong impersonation': 'root/mine:wrong',
    'impersonation with the own secret': `root/${writer}`,
    root: rootToken,
    'Bearer root': `Bearer ${rootToken}`,
    writer,
    'Bearer writer': `bearer ${writer}`,
    reader,
    impersonation: `root/mine:${rootToken}`,
    'impersonation of none': `root/none:${rootToken}`,
    asleep,
    'impersonation of one asleep': `root/asleep:${rootToken}`,
  }
  return { running, tokens }
}

/** The refusal code for a kind of token on a route for `caller`; undefined if it is accepted. */
function refusalFor(token: string, caller: Caller): string | undefined {
  if (caller === 'nobody') return undefined
  if (token === 'none' || token === 'empty') return '401 authorization_required'
  if (token === 'impersonation of none') return '404 database_not_found'
  if (token.includes('asleep')) return '403 database_inactive'
  const isRoot = token.endsWith('root') && !token.startsWith('wrong') && !token.startsWith('half')
  const isMember = token.endsWith('writer') || token === 'reader' || token === 'impersonation'
  if (!isRoot && !isMember) return '401 invalid_token'
  if (caller === 'anyone') return undefined
  if (caller === 'server' || caller === 'root') return isRoot ? undefined : '403 access_denied'
  if (isRoot) return '403 access_denied'
  return caller === 'writer' && token === 'reader' ? '403 token_read_only' : undefined
}

const json = { name: 'x', db_name: 'made', db_type: 'pro', fields: [], ids: ['a'], filter: [], updates: [] }

test('the route table is complete', async (t) => {
  const registered = await registeredRoutes(await runningApp(t))
  t.strictSame(registered.toSorted(), [...callers.keys()].toSorted(), 'what is registered is what the table names')
})

test('every route accepts exactly the callers it is for', { timeout: 120_000 }, async (t) => {
  const { running, tokens } = await enterprise(t)
  const faults: string[] = []
  let attempts = 0
  for (const [route, caller] of callers) {
    const [method = '', url = ''] = route.split(' ')
    // A separate database, because an accepted request must not affect the next case.
    const path = url
      .replace('dbs/:database/info', 'dbs/mine/info')
      .replace(':database', 'made')
      .replaceAll(/:\w+|\*/g, 'x')
    for (const [kind, token] of Object.entries(tokens)) {
      const answer = await running.app.inject({
        method: method as 'GET',
        url: path,
        headers: token === undefined ? {} : { authorization: token },
        ...(method === 'GET' ? {} : { payload: json }),
      })
      attempts++
      const found = `${answer.statusCode} ${answer.statusCode >= 400 ? JSON.parse(answer.body).code : ''}`
      const expected = refusalFor(kind, caller)
      const refused = /^40[13] |database_not_found/.test(found) && !(kind === 'root' && found.startsWith('404'))
      const asRefused = expected === undefined ? !refused || mayLack(route, found) : found === expected
      if (!asRefused) faults.push(`${route} with ${kind}: ${found} instead of ${expected ?? 'getting in'}`)
      if (Object.values(tokens).some((one) => one && one.length > 8 && answer.body.includes(one)))
        faults.push(`${route} with ${kind} tells a token`)
    }
  }
  t.strictSame(faults, [])
  t.equal(attempts, callers.size * Object.keys(tokens).length)
})

/** The root token is accepted and finds that the database no longer exists. */
function mayLack(route: string, found: string): boolean {
  return route.includes('/admin/') && found === '404 database_not_found'
}

test('only the token identifies the caller', { timeout: 120_000 }, async (t) => {
  const { running, tokens } = await enterprise(t)
  const names = [
    ...['x-db', 'x-database', 'x-db-name', 'x-tenant', 'x-user', 'x-forwarded-user', 'x-remote-user', 'remote-user'],
    ...['x-auth-token', 'x-api-key', 'api-key', 'token', 'x-token', 'x-root-token', 'x-ndd-root-token', 'cookie'],
    ...['proxy-authorization', 'x-authorization', 'authorization-info', 'sourceid', 'x-source-id', 'x-internal'],
    ...['x-forwarded-for', 'x-real-ip', 'forwarded', 'x-original-url', 'x-rewrite-url', 'x-http-method-override'],
    ...['x-admin', 'x-role', 'x-scope', 'x-access', 'x-impersonate', 'x-impersonate-user', 'x-sudo', 'sudo'],
    ...['x-database-id', 'x-org', 'x-account', 'x-principal'],
  ]
  t.equal(names.length, 40)
  for (const name of names) {
    const spoofed = { [name]: `Bearer ${rootToken}` }
    const list = (headers: Record<string, string>) => running.app.inject({ url: '/api/v2/admin/dbs', headers })
    t.equal((await list(spoofed)).statusCode, 401, name)
    t.equal((await list({ ...spoofed, authorization: String(tokens.writer) })).statusCode, 403, name)
  }
})

test('a token of one database has no access to another one, and cannot detect what exists there', {
  timeout: 120_000,
}, async (t) => {
  const { running, tokens } = await enterprise(t)
  const ask = (token: string, method: string, url: string, body: object = {}) =>
    running.app.inject({
      method: method as 'POST',
      url,
      headers: { authorization: token },
      ...(method === 'GET' ? {} : { payload: body }),
    })
  const other = String(
    JSON.parse((await ask(rootToken, 'POST', '/api/v2/admin/dbs', { db_name: 'theirs' })).body).db_token,
  )
  const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
  t.equal((await ask(other, 'POST', '/api/v2/collection', { name: 'secret', fields })).statusCode, 200)
  const objects = [{ id: 'a', fields: { dense: [1, 2] } }]
  t.equal((await ask(other, 'POST', '/api/v2/collection/secret/objects', { objects })).statusCode, 200)
  await ask(String(tokens.writer), 'POST', '/api/v2/collection', { name: 'own', fields })
  const bodies = [
    json,
    { ...json, db_name: 'theirs', database: 'theirs' },
    { objects, searches: [], k: 1, vector: [1, 2], id: 'a' },
    { fields: { dense: { query: [1, 2] } }, filter: [], key: 'x' },
  ]
  const spellings = (name: string) => [
    name,
    name.toUpperCase(),
    `theirs/${name}`,
    `theirs%2F${name}`,
    ...[`theirs:${name}`, `..%2Ftheirs%2F${name}`, `${name}%20`, `%EF%BB%BF${name}`, `${name}%C5%BF`],
    `${name}%00`,
    `2/${name}`,
  ]
  let attempts = 0
  const got: string[] = []
  for (const [route, caller] of callers) {
    if (!['reader', 'searcher', 'writer'].includes(caller) || !route.includes(':name') || route.includes('/tokens'))
      continue
    const [method = '', url = ''] = route.split(' ')
    for (const body of method === 'GET' ? [{}] : bodies) {
      const absent = spellings('absent')
      for (const [i, name] of spellings('secret').entries()) {
        const routeOf = (collection: string) =>
          `${url.replace(':name', collection).replaceAll(/:\w+|\*/g, 'a')}?db=theirs&database=theirs`
        const answer = await ask(String(tokens.writer), method, routeOf(name), body)
        const nothing = await ask(String(tokens.writer), method, routeOf(String(absent[i])), body)
        const plain = (text: string) => text.replaceAll(/secret|absent/gi, 'it').replaceAll(/"request_id":"[^"]*"/g, '')
        attempts++
        if (answer.statusCode < 400) got.push(`${method} ${routeOf(name)}: ${answer.statusCode}`)
        if (answer.statusCode !== nothing.statusCode || plain(answer.body) !== plain(nothing.body))
          got.push(`${method} ${routeOf(name)} differs from absent: ${answer.body} ${nothing.body}`)
      }
    }
  }
  t.strictSame(got, [])
  t.ok(attempts >= 500, `${attempts} attempts`)
  const listed = await ask(String(tokens.writer), 'GET', '/api/v2/collection')
  t.strictSame(
    JSON.parse(listed.body).collections.map(({ name }: { name: string }) => name),
    ['own'],
  )
  const stats = JSON.parse((await ask(String(tokens.writer), 'GET', '/api/v2/stats')).body)
  t.strictSame(Object.keys(stats), ['version', 'uptime', 'total_requests'])
  const logs = await ask(String(tokens.writer), 'GET', '/api/v2/logs?limit=500')
  const lines = JSON.parse(logs.body).lines as string[]
  t.ok(lines.length > 0 && lines.every((line) => / (INFO|WARN): mine\//.test(line)), 'only its own requests')
})
