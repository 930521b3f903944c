// The files of the dashboard as the server sends them, and the settings that it reports.
import { createHash } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import http, { type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { test } from 'tap'
import { openStaticFiles } from '../src/http/static-files.ts'
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
  const running = await runningApp(t)
  let total = 0
  for (const name of await fileNames()) {
    const route = name === 'index.html' ? '/' : `/${name}`
    total += (await received(running.url + route, { 'accept-encoding': 'br' })).bytes.length
  }
  t.ok(total > 50_000, `${total} bytes`)
  t.ok(total < 400_000, `${total} bytes`)
})

test('the reply has an encoding that the browser accepts, and unpacks to the file', { skip }, async (t) => {
  const running = await runningApp(t)
  const [script = ''] = (await fileNames()).filter((name) => name.endsWith('.js'))
  const file = await readFile(new URL(`../../dashboard/dist/${script}`, import.meta.url))
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes }
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['BR', 'br'],
    ['', 'identity'],
    ['zstd', 'identity'],
    [undefined, 'identity'],
  ] as const) {
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const { bytes, headers: sent, status } = await received(`${running.url}/${script}`, headers)
    t.equal(status, 200)
    t.equal(sent['content-encoding'] ?? 'identity', coding, `accept-encoding: ${accepted}`)
    t.equal(sent['content-type'], 'text/javascript; charset=utf-8')
    t.equal(sent.vary, 'accept-encoding, origin')
    t.equal(sent['content-length'], String(bytes.length))
    t.ok(unpack[coding](bytes).equals(file), 'the content of the file')
  }
  const page = await received(running.url, {})
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
})

test('the ETag is that of the content, whatever the time of the file', { skip }, async (t) => {
  const running = await runningApp(t)
  const page = await received(running.url, {})
  const file = await readFile(new URL('../../dashboard/dist/index.html', import.meta.url))
  t.equal(page.headers.etag, `"${createHash('sha256').update(file).digest('base64url').slice(0, 22)}"`)
  t.equal(page.headers['last-modified'], undefined)
  const again = await received(running.url, { 'if-none-match': page.headers.etag! })
  t.match([again.status, again.bytes.length, again.headers.etag], [304, 0, page.headers.etag])
})

async function fileNames(): Promise<string[]> {
  const opened = await openStaticFiles()
  await opened.close()
  return [...opened.files.keys()]
}

interface Received {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** The bytes as they are sent; fetch would unpack them. */
function received(url: string, headers: Readonly<Record<string, string>>): Promise<Received> {
  return new Promise((resolve, reject) => {
    http
      .get(url, { headers }, (response) => {
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode, headers: response.headers, bytes }),
          reject,
        )
      })
      .on('error', reject)
  })
}

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
