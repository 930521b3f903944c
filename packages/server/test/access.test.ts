// Every route with every kind of token: access is decided by the token only, as in the route table of the contract.
import { type Test, test } from 'tap'
import { callers, registeredRoutes } from './route-table.ts'
import { type RunningApp, runningApp, unlimitedAttempts } from './running-app.ts'
import { faultsOf, requestBody as json, type Tokens, tokensOf } from './token-kinds.ts'

const rootToken = 'the-root-token-0123456789'

async function enterprise(t: Test): Promise<{ readonly running: RunningApp; readonly tokens: Tokens }> {
  const running = await runningApp(t, { rootToken }, { attempts: unlimitedAttempts() })
  return { running, tokens: await tokensOf(running, rootToken) }
}

test('the route table is complete', async (t) => {
  const registered = await registeredRoutes(await runningApp(t))
  t.strictSame(registered.toSorted(), [...callers.keys()].toSorted(), 'what is registered is what the table names')
})

test('every route accepts exactly the callers it is for', { timeout: 120_000 }, async (t) => {
  const { running, tokens } = await enterprise(t)
  const { faults, attempts } = await faultsOf(running.app, tokens)
  t.strictSame(faults, [])
  t.equal(attempts, callers.size * Object.keys(tokens).length)
})

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
