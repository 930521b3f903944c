// The server and the dashboard with the environment of docker/docker-compose.yml and no token: a browser that opens a published port gets
// replies without any other setting, and pages of other sites are rejected. docker/test/install.test.ts runs the containers.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const compose = await readFile(new URL('../../../docker/docker-compose.yml', import.meta.url), 'utf8')

/** A setting of the file, with the defaults of its variables. */
function setting(name: string): string {
  const value = new RegExp(`^ +${name}: (.*)$`, 'm').exec(compose)?.[1]
  if (value === undefined) throw new Error(`${name} is not in docker-compose.yml`)
  return value.replaceAll(/\$\{\w+(?::[-+]([^}]*))?\}/g, (text, fallback: string | undefined) =>
    text.includes(':-') ? (fallback ?? '') : '',
  )
}

async function started(t: Test, environment: Readonly<Record<string, string>>, main?: string): Promise<number> {
  const { child, serving, ended } = startProcess({ NDD_LOG_LEVEL: 'silent', ...environment }, main)
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return Number(new URL(await serving).port)
}

interface Visit {
  readonly port: number
  /** What the browser shows as the address, without the port. */
  readonly host: string
  readonly origin?: string
  readonly site?: string
  readonly body?: object
}

/** A request with the headers that browsers write themselves; fetch does not let a program write them. */
async function visit(path: string, { port, host, origin, site = 'same-origin', body }: Visit) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers = {
    host: `${host}:${port}`,
    'sec-fetch-site': site,
    ...(body && { 'content-type': 'application/json', origin: origin ?? `http://${host}:${port}` }),
  }
  const request = http.request({ host: '127.0.0.1', port, path, method: body ? 'POST' : 'GET', headers })
  request.end(text)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const reply = Buffer.concat(await response.toArray()).toString()
  return { status: response.statusCode, code: /"code":"(\w+)"/.exec(reply)?.[1] }
}

test('a browser gets replies from both published ports, by every name of this machine', async (t) => {
  const allowed = setting('NDD_ALLOWED_HOSTS')
  t.equal(allowed, 'server,annal-server')
  const api = await started(t, { NDD_DATA_DIR: await temporaryDirectory(t), NDD_ALLOWED_HOSTS: allowed })
  const upstream = new URL(setting('NDD_SERVER_URL'))
  t.equal(upstream.hostname, 'server')
  upstream.port = String(api)
  const web = await started(
    t,
    { NDD_SERVER_URL: upstream.origin, NODE_OPTIONS: `--import=${file('name-server.ts')}` },
    file('dashboard-process.ts'),
  )
  let created = 0
  for (const port of [api, web])
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const what = `${port === api ? 'the API' : 'the dashboard'} at ${host}`
      t.match(await visit('/api/v2/health', { port, host }), { status: 200 }, what)
      const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
      const body = { name: `c${created++}`, fields }
      t.match(await visit('/api/v2/collection', { port, host, body }), { status: 200 }, `${what}, a change`)
      const foreign = { port, host, body, origin: 'http://evil.example', site: 'cross-site' }
      t.match(
        await visit('/api/v2/collection', foreign),
        { status: 403, code: 'origin_refused' },
        `${what}, a foreign page`,
      )
    }
  t.match(await visit('/health', { port: web, host: 'localhost' }), { status: 200 })
  for (const port of [api, web])
    t.match(await visit('/api/v2/collection', { port, host: 'rebound.example' }), { status: 403, code: 'host_refused' })
})
