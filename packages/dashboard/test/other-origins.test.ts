// What pages of other origins can do to a server on this machine, in a real browser: nothing, unless a setting names them. The same
// page sends the same requests to a server that names it, so that the test proves each refusal.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'puppeteer-core'
import { type Test, test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realDashboard, realServer } from './real-server.ts'

const token = 'a-token-of-enough-characters'
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } }]

/** A site of another origin on this machine; resolves to its port. */
async function otherSite(t: Test): Promise<number> {
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>hello'))
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => site.close(resolve)))
  return (site.address() as AddressInfo).port
}

async function pageAt(browser: Browser, address: string): Promise<Page> {
  const page = await (await browser.createBrowserContext()).newPage()
  await page.goto(address)
  return page
}

/** The outcome of a request of the page: a status that it could read, `opaque` when it could not, or `blocked`. */
function sent(page: Page, url: string, options: RequestInit = {}): Promise<number | 'opaque' | 'blocked'> {
  return page.evaluate(
    (to, how) =>
      fetch(to, how).then(
        ({ type, status }) => (type === 'opaque' ? 'opaque' : status),
        () => 'blocked' as const,
      ),
    url,
    options,
  )
}

/** Requests that browsers send for any page without a preflight. */
const simple: readonly (readonly [route: string, body?: string])[] = [
  ['/api/v2/collection/docs/backup'],
  ['/api/v2/collection/docs/vacuum'],
  ['/api/v2/backup/upload?name=sent', 'x'],
  ['/api/v1/index/docs/backup'],
]

async function withCollection(t: Test, settings: Readonly<Record<string, string>>): Promise<string> {
  const address = await realServer(t, settings)
  await callServer(address, 'POST', '/api/v2/collection', { name: 'docs', fields }, settings.NDD_AUTH_TOKEN)
  return address
}

async function backupsOf(address: string): Promise<string[]> {
  // A backup that was started is listed once it is complete.
  for (;;) {
    const { status } = (await callServer(address, 'GET', '/api/v2/status/backup')) as { status: string }
    if (status !== 'running' && status !== 'in_progress') break
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return Object.keys((await callServer(address, 'GET', '/api/v2/backup')) as object)
}

async function submitForm(page: Page, action: string): Promise<number | undefined> {
  await page.evaluate((to) => {
    const form = document.body.appendChild(document.createElement('form'))
    Object.assign(form, { method: 'post', action: to, enctype: 'text/plain' })
  }, action)
  const [answer] = await Promise.all([
    page.waitForNavigation(),
    page.evaluate(() => document.querySelector('form')?.submit()),
  ])
  return answer?.status()
}

test('a page of another origin changes nothing on a server without a token', { skip, timeout: 300_000 }, async (t) => {
  const port = await otherSite(t)
  const site = `http://site.example:${port}`
  const [closed, open] = [await withCollection(t, {}), await withCollection(t, { NDD_CORS_ORIGINS: site })]
  const browser = await browserFor(t, ['site.example'])
  const page = await pageAt(browser, site)
  for (const [route, body] of simple) {
    const options: RequestInit = { method: 'POST', mode: 'no-cors', ...(body !== undefined && { body }) }
    t.equal(await sent(page, closed + route, options), 'opaque', `${route} is sent`)
  }
  for (const method of ['DELETE', 'PUT'])
    t.equal(await sent(page, `${closed}/api/v2/collection/docs`, { method }), 'blocked', method)
  t.equal(await sent(page, `${closed}/api/v2/collection`), 'blocked', 'and it reads nothing')
  t.strictSame(await backupsOf(closed), [], 'and nothing changed')

  const backup = { method: 'POST' }
  t.equal(
    await sent(page, `${open}${simple[0]![0]}`, backup),
    202,
    'the same requests succeed when the setting names the origin',
  )
  t.equal((await backupsOf(open)).length, 1)
  t.equal(await sent(page, `${open}/api/v2/collection`), 200)
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"ids":["a"]}' }
  t.equal(await sent(page, `${open}/api/v2/collection/docs/objects/query`, json), 200, 'after a preflight')
  t.equal(await sent(page, `${open}/api/v2/collection/docs`, { method: 'DELETE' }), 200)
  t.equal(await sent(page, `${open}/api/v2/collection`, { credentials: 'include' }), 'blocked', 'without credentials')

  t.equal(await submitForm(page, `${closed}${simple[0]![0]}`), 403, 'a form changes nothing either')
  t.strictSame(await backupsOf(closed), [])
})

test('a page whose name was bound to this machine gets nothing from a server without a token', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const browser = await browserFor(t, ['rebound.example'])
  for (const allowed of [false, true]) {
    const address = await withCollection(t, allowed ? { NDD_ALLOWED_HOSTS: 'rebound.example' } : {})
    const { port } = new URL(address)
    // To the browser the page and the server now have one origin.
    const page = await pageAt(browser, `http://rebound.example:${port}/api/v2/health`)
    const status = allowed ? 200 : 403
    t.equal(await sent(page, '/api/v2/collection'), status)
    t.equal(await sent(page, '/api/v2/collection/docs', { method: 'DELETE' }), status)
    const left = (await callServer(address, 'GET', '/api/v2/collection')) as { collections: readonly unknown[] }
    t.equal(left.collections.length, allowed ? 0 : 1)
  }
})

test('an application on a named origin works with a token, and another page does not', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const port = await otherSite(t)
  const address = await withCollection(t, {
    NDD_AUTH_TOKEN: token,
    NDD_CORS_ORIGINS: `http://app.example:${port}`,
  })
  const browser = await browserFor(t, ['app.example', 'site.example'])
  const objects = JSON.stringify({ objects: [{ id: 'a', fields: { v: [1, 2] } }] })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const upsert = { method: 'POST', headers, body: objects }
  const [app, site] = [
    await pageAt(browser, `http://app.example:${port}`),
    await pageAt(browser, `http://site.example:${port}`),
  ]
  const route = `${address}/api/v2/collection/docs/objects`
  t.equal(await sent(site, route, upsert), 'blocked', 'even with the token')
  t.equal(await sent(site, route, { method: 'DELETE', headers }), 'blocked')
  t.equal(await sent(app, route, upsert), 200)
  const wrong = { authorization: 'a-wrong-token' }
  t.equal(await sent(app, `${address}/api/v2/collection`, { headers: wrong }), 401, 'a refusal can be read')
})

test('the dashboard in its own process serves only its page', { skip, timeout: 300_000 }, async (t) => {
  const port = await otherSite(t)
  const server = await withCollection(t, {})
  const dashboard = await realDashboard(t, server)
  const browser = await browserFor(t, ['site.example'])
  const seen = await openPage(browser, dashboard)
  await seen.sees('docs')
  const backup = `${dashboard}${simple[0]![0]}`
  t.equal(
    await sent(await pageAt(browser, `http://site.example:${port}`), backup, { method: 'POST', mode: 'no-cors' }),
    'opaque',
  )
  t.strictSame(await backupsOf(server), [])
  const { port: own } = new URL(dashboard)
  const rebound = await pageAt(browser, `http://site.example:${own}/health`)
  t.equal(await sent(rebound, '/api/v2/collection'), 403, 'also not under a name that was bound to it')
  t.equal(await sent(seen.page, simple[0]![0], { method: 'POST' }), 202)
  t.equal((await backupsOf(server)).length, 1)
  t.strictSame(seen.faults, [])
})
