// The server's logs and replies: one line for each request, and never a token.
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'tap'
import { runningApp, send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const line =
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO|WARN|ERROR): default\/\S+: (GET|POST|DELETE) \S+ \d{3} \(\d+\.\dms\)$/

test('the newest requests are listed in the form that dashboards read, for any content of their paths', async (t) => {
  const running = await runningApp(t)
  await running.send('GET', '/api/v2/collection/docs?secret=1')
  for (const hostile of [
    '%0d%0aINFO:%20forged',
    '%1b%5b31mred',
    '%25s%25n',
    'x'.repeat(2_000),
    '%00',
    '%ff',
    '%F0%9F%92%A9',
  ]) {
    await running.send('GET', `/api/v2/collection/${hostile}`)
  }
  const { count, lines } = (await running.send('GET', '/api/v2/logs')).json() as { count: number; lines: string[] }
  t.equal(count, 7, 'the path that is no URL reached no route')
  t.match(lines[0], / WARN: default\/docs: GET \/api\/v2\/collection\/docs 404 /)
  t.notMatch(lines.join('\n'), /secret/, 'query strings are not kept')
  for (const text of lines) {
    t.match(text, line)
    t.ok(text.length < 1_024)
  }
  t.equal(((await running.send('GET', '/api/v2/logs?limit=2')).json().lines as string[]).length, 2)
  t.strictSame((await running.send('GET', '/api/v2/logs?limit=0')).json(), { count: 0, lines: [] })
  for (const bad of ['501', '-1', '1e2', 'all', '']) {
    t.equal((await running.send('GET', `/api/v2/logs?limit=${bad}`)).status, 400, bad)
  }
  for (let i = 0; i < 600; i++) await running.app.inject('/api/v1/users/endee/type')
  const newest = (await running.send('GET', '/api/v2/logs?limit=500')).json().lines as string[]
  t.equal(newest.length, 500)
})

test('no token is written anywhere, and every line of the log is one line of JSON', { timeout: 60_000 }, async (t) => {
  const secrets = ['planted-secret-one-0123456789', 'planted-secret-two-0123456789', 'planted-secret-three-012345']
  const dataDir = await temporaryDirectory(t)
  const running = startProcess({ NDD_DATA_DIR: dataDir, NDD_AUTH_TOKEN: secrets[0]!, NDD_LOG_LEVEL: 'trace' })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const headers = { authorization: secrets[0]!, cookie: `session=${secrets[1]}` }
  const bodies: string[] = []
  const ask = async (method: string, route: string, options: Parameters<typeof send>[3]): Promise<void> => {
    bodies.push((await send(url, method, route, options)).text)
  }
  await ask('POST', '/api/v1/index/create', { headers, json: { index_name: 'docs', dim: 2, space_type: 'l2' } })
  await ask('POST', '/api/v1/index/docs/vector/insert', { headers, json: [{ id: 'a', vector: [1, 2] }] })
  await ask('GET', '/api/v1/index/list', { headers: { authorization: `Bearer ${secrets[2]}` } })
  await ask('GET', `/api/v1/index/list?token=${secrets[1]}`, { headers })
  await ask('GET', '/api/v1/index/list%0a%1b%5b31mforged', { headers })
  await ask('POST', '/api/v1/index/docs/search', { headers, body: '{', type: 'application/json' })
  await ask('GET', '/api/v2/logs', { headers })
  await ask('GET', '/metrics', { headers })
  running.child.kill('SIGTERM')
  t.equal((await running.ended).code, 0)
  const files = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(path.join(file.parentPath, file.name), 'latin1')),
  )
  const traces = [running.stdout(), running.stderr(), ...bodies, ...contents].join('\n')
  for (const secret of secrets) t.notOk(traces.includes(secret), secret)
  const logLines = running
    .stdout()
    .trimEnd()
    .split('\n')
    .filter((text) => !text.startsWith('Annal serves'))
  t.ok(logLines.length >= 6, 'requests are logged at this level')
  for (const text of logLines) t.doesNotThrow(() => JSON.parse(text))
})
