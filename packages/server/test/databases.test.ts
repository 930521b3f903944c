// Databases and tokens over HTTP, with the root token and the tokens of databases.
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Test, test } from 'tap'
import { type Answer, type RunningApp, runningApp } from './running-app.ts'

const rootToken = 'the-root-token-0123456789'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]
const objects = [{ id: 'a', fields: { v: [1, 2] } }]

type Ask = (token: string, method: string, route: string, json?: unknown) => Promise<Answer>

async function enterprise(t: Test): Promise<{ readonly running: RunningApp; readonly ask: Ask; readonly root: Bound }> {
  const running = await runningApp(t, { rootToken })
  const ask: Ask = (token, method, route, json) =>
    running.send(method, route.startsWith('/api') ? route : `/api/v2${route}`, {
      headers: { authorization: token },
      ...(json === undefined ? {} : { json }),
    })
  return { running, ask, root: (...args) => ask(rootToken, ...args) }
}

type Bound = (method: string, route: string, json?: unknown) => Promise<Answer>

async function madeDatabase(root: Bound, name: string): Promise<string> {
  const made = await root('POST', '/admin/dbs', { db_name: name, db_type: 'enterprise' })
  if (made.status !== 201) throw new Error(made.text)
  return String(made.json().db_token)
}

test('a database is created, described, deactivated, activated, changed in type, and deleted', async (t) => {
  const { ask, root } = await enterprise(t)
  const made = await root('POST', '/admin/dbs', { db_name: 'acme', db_type: 'Pro' })
  t.match([made.status, made.json()], [201, { db_name: 'acme', db_type: 'Pro', db_token: /^acme:[\w-]{43}$/ }])
  const token = String(made.json().db_token)
  t.match((await root('POST', '/admin/dbs', { db_name: 'acme' })).json(), { code: 'database_exists' })
  t.match((await root('GET', '/admin/dbs')).json(), {
    dbs: [
      { db_name: 'default', db_type: 'Enterprise', is_active: true },
      { db_name: 'acme', db_type: 'Pro', is_active: true, created_at: Number },
    ],
  })
  for (const who of [rootToken, token])
    t.match((await ask(who, 'GET', '/dbs/acme/info')).json(), { db_name: 'acme', db_type: 'Pro', is_active: true })
  t.equal((await ask(token, 'GET', '/dbs/default/info')).status, 403)
  t.equal((await ask(token, 'GET', '/dbs/none/info')).status, 403, 'whether it is there or not')
  t.equal((await root('GET', '/dbs/none/info')).status, 404)

  t.equal((await ask(token, 'POST', '/collection', { name: 'docs', fields })).status, 200)
  t.equal((await ask(token, 'POST', '/collection/docs/objects', { objects })).status, 200)
  t.strictSame((await root('GET', '/admin/dbs/acme/collection')).json(), { collections: ['docs'] })
  t.strictSame((await root('GET', '/admin/collection')).json(), {
    collections: [
      { db_name: 'default', collections: [], count: 0 },
      { db_name: 'acme', collections: ['docs'], count: 1 },
    ],
  })

  t.match((await root('POST', '/admin/dbs/acme/deactivate')).json(), { is_active: false })
  t.match((await ask(token, 'GET', '/collection')).json(), { code: 'database_inactive' })
  t.match((await root('POST', '/admin/dbs/acme/activate')).json(), { is_active: true })
  t.match((await ask(token, 'GET', '/collection/docs')).json(), { total_elements: 1 }, 'everything is still there')

  t.match((await root('PUT', '/admin/dbs/acme/type', { db_type: 'starter' })).json(), { db_type: 'Starter' })
  const wrong = await root('PUT', '/admin/dbs/acme/type', { db_type: 'huge' })
  t.match([wrong.status, wrong.json()], [400, { code: 'invalid_argument', field: 'db_type', value: 'huge' }])
  for (const [method, route] of [
    ['POST', '/admin/dbs/none/activate'],
    ['POST', '/admin/dbs/none/deactivate'],
    ['DELETE', '/admin/dbs/none'],
    ['GET', '/admin/dbs/none/collection'],
    ['GET', '/admin/dbs/none/tokens'],
    ['DELETE', '/admin/dbs/none/collection/docs'],
  ] as const)
    t.match((await root(method, route)).json(), { code: 'database_not_found' }, `${method} ${route}`)
  t.equal((await root('PUT', '/admin/dbs/none/type', { db_type: 'pro' })).status, 404)

  t.match((await root('DELETE', '/admin/dbs/acme/collection/docs')).json(), { message: 'Collection deleted' })
  t.equal((await ask(token, 'GET', '/collection/docs')).status, 404)
  t.match((await root('DELETE', '/admin/dbs/acme')).json(), { message: 'Database deleted' })
  t.match((await ask(token, 'GET', '/collection')).json(), { code: 'invalid_token' })
  const again = await madeDatabase(root, 'acme')
  t.strictSame((await ask(again, 'GET', '/collection')).json(), { collections: [] })
  t.equal((await ask(token, 'GET', '/collection')).status, 401, 'an old token does not open a new database of its name')
})

test('tokens are created by root and by the database, returned once, listed without secrets, and revoked immediately', async (t) => {
  const { running, ask, root } = await enterprise(t)
  const first = await madeDatabase(root, 'acme')
  const minted: string[] = [first]
  for (const [who, route] of [
    [rootToken, '/admin/dbs/acme/tokens'],
    [first, '/tokens'],
    [`root/acme:${rootToken}`, '/tokens'],
  ] as const) {
    const name = `by-${minted.length}`
    const made = await ask(who, 'POST', route, { name, token_type: 'r' })
    t.match([made.status, made.json()], [201, { name, token_type: 'r', db_token: /^acme:[\w-]{43}$/ }])
    minted.push(String(made.json().db_token))
    t.match((await ask(who, 'POST', route, { name })).json(), { code: 'token_exists' })
    const listed = await ask(who, 'GET', route)
    t.match((listed.json().tokens as unknown[]).at(-1), { name, token_type: 'r', created_at: Number })
    t.notMatch(listed.text, /acme:|[0-9a-f]{64}/)
  }
  t.equal(new Set(minted).size, 4)
  const [, reader = ''] = minted
  t.equal((await ask(reader, 'POST', '/tokens', { name: 'more' })).status, 403, 'a reader makes no writers')
  t.equal((await ask(reader, 'GET', '/tokens')).status, 200)
  t.equal((await ask(first, 'DELETE', '/tokens/by-1')).status, 200)
  t.equal((await ask(reader, 'GET', '/tokens')).status, 401)
  t.match((await ask(first, 'DELETE', '/tokens/by-1')).json(), { code: 'token_not_found' })
  t.equal((await root('DELETE', '/admin/dbs/acme/tokens/by-2')).status, 200)
  t.equal((await ask(String(minted[2]), 'GET', '/collection')).status, 401)
  t.match((await root('POST', '/admin/dbs/acme/tokens', { name: 'x', token_type: 'w' })).json(), {
    field: 'token_type',
  })
  t.match((await root('POST', '/admin/dbs/acme/tokens', { name: 'a b' })).json(), { code: 'invalid_argument' })

  await running.engine.checkpoint()
  const secrets = [rootToken, ...minted].map((token) => token.split(':').at(-1) ?? token)
  for (const file of await readdir(running.dataDir, { recursive: true })) {
    const bytes = await readFile(path.join(running.dataDir, file)).catch(() => undefined)
    for (const secret of bytes === undefined ? [] : secrets)
      if (bytes?.includes(secret)) t.fail(`${file} holds a token`)
  }
})

test('a read token may search and read, and not write', async (t) => {
  const { ask, root } = await enterprise(t)
  const writer = await madeDatabase(root, 'acme')
  const reader = String((await root('POST', '/admin/dbs/acme/tokens', { name: 'r', token_type: 'r' })).json().db_token)
  await ask(writer, 'POST', '/collection', { name: 'docs', fields })
  await ask(writer, 'POST', '/collection/docs/objects', { objects })
  const found = await ask(reader, 'POST', '/collection/docs/search', { fields: { v: { query: [1, 2] } } })
  t.equal(found.status, 200)
  for (const [method, route, json] of [
    ['POST', '/collection', { name: 'more', fields }],
    ['DELETE', '/collection/docs', undefined],
    ['POST', '/collection/docs/objects', { objects }],
    ['DELETE', '/collection/docs/objects/a', undefined],
    ['POST', '/collection/docs/filters', { updates: [] }],
    ['POST', '/collection/docs/shrink', {}],
  ] as const)
    t.match((await ask(reader, method, route, json)).json(), { code: 'token_read_only' }, `${method} ${route}`)
  t.match((await ask(writer, 'GET', '/collection/docs')).json(), { total_elements: 1 })
})

test('the routes of v1 work with the token of a database, inside it', async (t) => {
  const { ask, root } = await enterprise(t)
  const [one, two] = [await madeDatabase(root, 'one'), await madeDatabase(root, 'two')]
  for (const token of [one, two]) {
    const index = { index_name: 'docs', dim: 2, space_type: 'l2', precision: 'float32' }
    t.equal((await ask(token, 'POST', '/api/v1/index/create', index)).status, 200)
  }
  const vectors = [{ id: 'a', vector: [1, 2] }]
  t.equal((await ask(one, 'POST', '/api/v1/index/docs/vector/insert', vectors)).status, 200)
  t.match((await ask(one, 'GET', '/api/v1/index/docs/info')).json(), { total_elements: 1 })
  t.match((await ask(two, 'GET', '/api/v1/index/docs/info')).json(), { total_elements: 0 })
  t.match((await ask(one, 'GET', '/api/v1/users/one/info')).json(), { username: 'one', user_type: 'Enterprise' })
  t.equal((await ask(one, 'GET', '/api/v1/users/two/info')).status, 404)
  t.equal((await root('GET', '/api/v1/index/list')).status, 403)
})

test('a plain deployment cannot create databases or tokens', async (t) => {
  const running = await runningApp(t, { authToken: 'the-right-token-0123456789' })
  const headers = { authorization: 'the-right-token-0123456789' }
  for (const [method, route, json] of [
    ['GET', '/admin/dbs', undefined],
    ['POST', '/admin/dbs', { db_name: 'x' }],
    ['GET', '/tokens', undefined],
    ['POST', '/tokens', { name: 'x' }],
  ] as const) {
    const answer = await running.send(method, `/api/v2${route}`, { headers, ...(json === undefined ? {} : { json }) })
    t.match([answer.status, answer.json().code], [403, 'enterprise_only'], `${method} ${route}`)
  }
})
