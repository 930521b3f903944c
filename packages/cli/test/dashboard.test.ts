// The dashboard in its own process: it serves the page and forwards requests to the server unchanged.
import { test } from 'tap'
import { freshDir, serve, start } from './command.ts'

async function dashboardFor(server: string) {
  const { child, serving, ended } = start(['dashboard', '--server', server, '--port', '0'])
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { address: await serving, stop }
}

test('questions, their tokens and their answers go through; the page says where scripts may come from', async (t) => {
  const token = 'dashboard-test-0123456789'
  const { address } = await serve(t, freshDir(t), { NDD_AUTH_TOKEN: token })
  const dashboard = await dashboardFor(address)
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const ask = (path: string, options: RequestInit = {}) => fetch(`${dashboard.address}${path}`, options)
  t.equal((await ask('/api/v2/collection')).status, 401)
  const fields = [{ name: 'place', type: 'vector', params: { dimension: 2 } }]
  const body = JSON.stringify({ name: 'places', fields })
  t.match(await (await ask('/api/v2/collection', { method: 'POST', headers, body })).json(), { name: 'places' })
  const large = Array.from({ length: 900 }, (_, i) => ({
    id: `${i}`,
    meta: { text: 'x'.repeat(2_000) },
    fields: { place: [1, i] },
  }))
  const upsert = { method: 'POST', headers, body: JSON.stringify({ objects: large }) }
  t.match(await (await ask('/api/v2/collection/places/objects', upsert)).json(), { upserted: 900 })
  t.match(await (await ask('/api/v2/collection/nowhere', { headers })).json(), { code: 'collection_not_found' })
  t.match(await (await ask('/metrics', { headers })).text(), /^# HELP/m)
  t.equal((await ask('/nothing')).status, 404)
  t.same(await (await ask('/health')).json(), { status: 'ok' })
  const page = await ask('/')
  if (page.status === 200) t.match(page.headers.get('content-security-policy'), "connect-src 'self'")
  else t.match(await page.json(), { error: /not built/ })
  t.equal((await dashboard.stop()).code, 0)
})

test('a server that does not respond is reported as such', async (t) => {
  const dashboard = await dashboardFor('http://127.0.0.1:9')
  const answer = await fetch(`${dashboard.address}/api/v2/health`)
  t.equal(answer.status, 502)
  t.match(await answer.json(), { code: 'server_away' })
  t.equal((await dashboard.stop()).code, 0)
})
