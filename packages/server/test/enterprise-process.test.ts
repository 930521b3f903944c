// Enterprise mode with a real process: start, trial, database, token, data, kill, an expired license, a new one.
import { rm } from 'node:fs/promises'
import path from 'node:path'
import tap, { type Test, test } from 'tap'
import { dayMs, issued, layLicense, vendor } from './licenses.ts'
import { type Answer, send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

const rootToken = '5f0e1d2c3b4a59687786958473625140'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]

tap.setTimeout(300_000)

interface Served {
  readonly process: RunningProcess
  ask(token: string, method: string, route: string, json?: unknown): Promise<Answer>
  activate(text: string): Promise<Answer>
}

async function started(t: Test, dataDir: string, environment: Record<string, string> = {}): Promise<Served> {
  const process = startProcess({
    NDD_DATA_DIR: dataDir,
    NDD_ROOT_TOKEN: rootToken,
    NDD_LICENSE_PUBLIC_KEY: vendor.publicKey,
    ...environment,
  })
  t.teardown(() => process.child.kill('SIGKILL'))
  const url = await process.serving
  return {
    process,
    ask: (token, method, route, json) =>
      send(url, method, `/api/v2${route}`, {
        accept: 'application/json',
        headers: { authorization: token },
        ...(json === undefined ? {} : { json }),
      }),
    activate: (text) => send(url, 'POST', '/api/v2/license/validate', { body: text, type: 'text/plain' }),
  }
}

test('databases, tokens, and the license survive kills and restarts', { timeout: 300_000 }, async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const first = await started(t, dataDir)
  const database = { db_name: 'acme', db_type: 'enterprise' }
  t.equal((await first.ask(rootToken, 'POST', '/admin/dbs', database)).status, 402)
  t.equal((await first.ask(rootToken, 'POST', '/license/generate', { email: 'a@example.com' })).status, 200)
  const made = await first.ask(rootToken, 'POST', '/admin/dbs', database)
  const token = String(made.json().db_token)
  t.equal((await first.ask(token, 'POST', '/collection', { name: 'docs', fields })).status, 200)
  const objects = [
    { id: 'a', fields: { v: [1, 2] } },
    { id: 'b', fields: { v: [3, 4] } },
  ]
  t.equal((await first.ask(token, 'POST', '/collection/docs/objects', { objects })).status, 200)
  const revoked = String((await first.ask(token, 'POST', '/tokens', { name: 'old' })).json().db_token)
  t.equal((await first.ask(token, 'DELETE', '/tokens/old')).status, 200)
  const search = (served: Served) => served.ask(token, 'POST', '/collection/docs/search', query)
  t.match((await search(first)).json(), { results: { v: [{ id: 'b' }] } })
  first.process.child.kill('SIGKILL')
  await first.process.ended

  const second = await started(t, dataDir)
  t.match((await search(second)).json(), { results: { v: [{ id: 'b' }] } }, 'everything is there after a kill')
  t.equal((await second.ask(revoked, 'GET', '/collection')).status, 401, 'what was revoked stays revoked')
  t.match((await second.ask(rootToken, 'GET', '/info')).json(), { license: { plan_type: 'trial', status: 'active' } })
  second.process.child.kill('SIGTERM')
  await second.process.ended

  const now = Date.now()
  const third = await started(t, dataDir, { NODE_OPTIONS: inTheFuture(now + 40 * dayMs) })
  t.match((await search(third)).json(), { code: 'license_required' }, 'the trial has ended')
  t.match((await third.ask(token, 'POST', '/collection/docs/objects/query', { ids: ['a'] })).json(), {
    objects: [{ id: 'a' }],
  })
  t.match((await third.ask(token, 'GET', '/collection/docs')).json(), { total_elements: 2 })
  t.equal((await third.activate(issued({ endMs: now + 20 * dayMs }))).json().code, 'license_expired')
  third.process.child.kill('SIGKILL')
  await third.process.ended

  const fourth = await started(t, dataDir)
  t.match((await search(fourth)).json(), { code: 'license_required' }, 'also with the clock set back')
  const renewed = await fourth.activate(issued({ id: 'lic-2', endMs: now + 400 * dayMs }))
  t.equal(renewed.status, 200, renewed.text)
  t.match((await search(fourth)).json(), { results: { v: [{ id: 'b' }] } }, 'at once')
  fourth.process.child.kill('SIGTERM')
  await fourth.process.ended
})

test('a license file in the directory is used at startup, and a weak root token makes the server listen on loopback only', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  await layLicense(dataDir)
  const weak = { NDD_ROOT_TOKEN: 'unsafe_root_token', NDD_HOST: '0.0.0.0' }
  const served = await started(t, dataDir, weak)
  t.match(await served.process.serving, /^http:\/\/127\.0\.0\.1:/)
  t.match(served.process.stderr(), /published default.*\n.*127\.0\.0\.1 instead of 0\.0\.0\.0/)
  t.notMatch(served.process.stderr(), /unsafe_root_token/)
  const health = await served.ask('unsafe_root_token', 'GET', '/health')
  t.match(health.json(), { status: 'ok', reasons: [/published default/] })
  t.equal((await served.ask('unsafe_root_token', 'POST', '/admin/dbs', { db_name: 'acme' })).status, 201)
  await rm(path.join(dataDir, 'license'), { recursive: true })
  t.equal((await served.ask('unsafe_root_token', 'POST', '/admin/dbs', { db_name: 'b' })).status, 201)
  served.process.child.kill('SIGTERM')
  await served.process.ended
})

const query = { fields: { v: { query: [3, 4], limit: 1 } } }

/** A module that moves the clock of the process that loads it. */
function inTheFuture(atMs: number): string {
  const ahead = atMs - Date.now()
  const module = `const now = Date.now; Date.now = () => now() + ${ahead}`
  return `--import=data:text/javascript,${encodeURIComponent(module)}`
}
