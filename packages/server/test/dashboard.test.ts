// The files of the dashboard as the server sends them, and the settings that it reports.
import { access } from 'node:fs/promises'
import { test } from 'tap'
import { chooseForm, readDashboard } from '../src/http/static-files.ts'
import { readConfig } from '../src/index.ts'
import { runningApp } from './running-app.ts'

const built = await access(new URL('../../dashboard/dist/index.html', import.meta.url)).then(
  () => true,
  () => false,
)
const skip = built ? false : 'the dashboard is not built: npm run build'

test('the page and its files need no token, are compressed and cached, and have a strict policy', {
  skip,
}, async (t) => {
  const running = await runningApp(t, { authToken: 'a-token-of-enough-characters' })
  const page = await running.send('GET', '/', { headers: { 'accept-encoding': 'identity' } })
  t.equal(page.status, 200)
  t.equal(page.headers.get('cache-control'), 'no-cache')
  const policy = page.headers.get('content-security-policy') ?? ''
  t.match(policy, "default-src 'none'")
  t.match(policy, "frame-ancestors 'none'")
  t.notMatch(policy, /unsafe|\*|https?:/)
  t.notMatch(page.text, /<script(?![^>]* src=)/, 'no script in the page')
  const assets = [...page.text.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name]) => `/${name}`)
  t.ok(assets.length >= 3)
  for (const asset of assets) {
    const file = await fetch(running.url + asset, { headers: { 'accept-encoding': 'gzip, br' } })
    t.equal(file.status, 200, asset)
    t.equal(file.headers.get('content-encoding'), 'br')
    t.match(file.headers.get('cache-control'), 'immutable')
    t.equal(file.headers.get('x-content-type-options'), 'nosniff')
    await file.arrayBuffer()
  }
  const etag = page.headers.get('etag') ?? ''
  t.equal((await running.send('GET', '/', { headers: { 'if-none-match': etag } })).status, 304)
  for (const path of [
    '/assets/nothing.js',
    '/assets/..%2findex.html',
    '/assets/%2e%2e%2f%2e%2e%2fpackage.json',
    '/index.html',
  ]) {
    const answer = await running.send('GET', path)
    t.match([answer.status, answer.json().code], [404, 'route_not_found'], path)
  }
})

test('all files together are below 400 KB as sent', { skip }, async (t) => {
  let total = 0
  for (const file of (await readDashboard()).values()) total += chooseForm(file, 'br')[1].length
  t.ok(total < 400_000, `${total} bytes`)
})

test('the reply has the encoding that the browser accepts', (t) => {
  const forms = new Map([
    ['br', Buffer.from('b')],
    ['gzip', Buffer.from('g')],
    ['identity', Buffer.from('i')],
  ])
  const file = { type: 'text/css', etag: '""', forms }
  const cases = {
    'gzip, deflate, br': 'br',
    gzip: 'gzip',
    'br;q=0, gzip': 'gzip',
    BR: 'br',
    '': 'identity',
    zstd: 'identity',
  }
  for (const [accepted, expected] of Object.entries(cases)) t.equal(chooseForm(file, accepted)[0], expected, accepted)
  t.equal(chooseForm(file)[0], 'identity')
  t.end()
})

test('current settings are reported without secrets and paths', async (t) => {
  const environment = {
    NDD_AUTH_TOKEN: 'a-token-of-enough-characters',
    NDD_DATA_DIR: '/somewhere/secret',
    NDD_TOP_K_MAX: '100',
  }
  const { config } = readConfig(environment)
  const running = await runningApp(t, { authToken: config.authToken, inForce: config.inForce })
  const answer = await running.send('GET', '/api/v2/configuration', { headers: { authorization: config.authToken! } })
  t.equal(answer.status, 200)
  t.notMatch(answer.text, /a-token-of|somewhere/)
  const settings = answer.json().settings as { name: string; value: string; fallback: string }[]
  t.match(
    settings.find(({ name }) => name === 'NDD_TOP_K_MAX'),
    { value: '100', fallback: '512' },
  )
  t.match(
    settings.find(({ name }) => name === 'NDD_AUTH_TOKEN'),
    { value: 'set' },
  )
})
