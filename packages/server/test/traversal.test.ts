// Names with path traversal, on every route that accepts a name or an id, in paths and in bodies: none reaches a file, none breaks the
// server.
import { mkdir, readdir } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { test } from 'tap'
import { createApp, readConfig, slotWith } from '../src/index.ts'
import { runningApp, temporaryDirectory } from './running-app.ts'

const plain = [
  ...[
    '..',
    '.',
    '../',
    '../../',
    '../../../etc/passwd',
    '..\\..\\windows',
    '/etc/passwd',
    '//etc/passwd',
    'C:\\x',
    '\\\\host\\share',
  ],
  ...[
    '~',
    '~root',
    '$HOME',
    '%TEMP%',
    'file:///etc/passwd',
    'a/../../b',
    'a/./b',
    '....//....//',
    '..;/',
    '.../',
    '. .',
    ' ..',
    '.. ',
  ],
  ...[
    '\0',
    'a\0b',
    '../\0',
    'a\n',
    'a\r\nb',
    'a\t',
    '.hidden',
    '.git/config',
    'LOCK',
    'IDENTITY',
    'wal',
    'wal/TIP',
    'checkpoints',
    'tmp-x',
  ],
  ...[
    'CON',
    'NUL',
    'aux',
    'com1',
    'lpt1.txt',
    'x'.repeat(65),
    'x'.repeat(5_000),
    '..'.repeat(400),
    '\u2025/',
    '\u2024\u2024/',
    '\uff0e\uff0e/',
  ],
  ...[
    '\u3002\u3002/',
    '\u202e..',
    '\ufeff..',
    'é/..',
    '%',
    '%%',
    '%s',
    '%00',
    '%2e',
    '{}',
    '[]',
    '*',
    '?',
    '#',
    'a?b',
    'a#b',
    '|',
    ';',
    '`id`',
    '$(id)',
  ],
]

/** Each unencoded where a path permits it, encoded once, and encoded twice. */
const payloads = plain.flatMap((text) => [
  encodeURIComponent(text),
  encodeURIComponent(encodeURIComponent(text)),
  raw(text),
])

function raw(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]|[?#]/gu, (char) => encodeURIComponent(char))
}

const routes: [method: string, route: (name: string) => string][] = [
  ['GET', (name) => `/api/v1/index/${name}/info`],
  ['DELETE', (name) => `/api/v1/index/${name}/delete`],
  ['POST', (name) => `/api/v1/index/${name}/search`],
  ['POST', (name) => `/api/v1/index/${name}/vector/insert`],
  ['POST', (name) => `/api/v1/index/${name}/vector/get`],
  ['DELETE', (name) => `/api/v1/index/docs/vector/${name}/delete`],
  ['GET', (name) => `/api/v1/users/${name}/info`],
  ['GET', (name) => `/api/v2/collection/${name}`],
  ['DELETE', (name) => `/api/v2/collection/${name}`],
  ['POST', (name) => `/api/v2/collection/${name}/objects/query`],
  ['DELETE', (name) => `/api/v2/collection/docs/objects/${name}`],
  ['GET', (name) => `/api/v2/collection/docs/objects/${name}/field/dense/links`],
]

test(`${payloads.length} names on ${routes.length} routes reach no file and break nothing`, {
  timeout: 120_000,
}, async (t) => {
  const dir = await temporaryDirectory(t)
  const dataDir = path.join(dir, 'inner', 'data')
  await mkdir(dataDir, { recursive: true })
  const engine = await openEngine({ dataDir, threads: 1 })
  const app = createApp({ slot: slotWith(engine), config: { ...readConfig({}).config, logLevel: 'silent' } })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const agent = new http.Agent({ keepAlive: true })
  const { port } = app.server.address() as { port: number }
  t.teardown(async () => {
    agent.destroy()
    await app.close()
    await engine.close()
  })
  await engine
    .database()
    .createCollection({ name: 'docs', fields: [{ name: 'dense', type: 'vector', params: { dimension: 2 } }] })
  const body = JSON.stringify({ k: 1, vector: [1, 2], id: 'a', ids: ['a'] })
  const faults: string[] = []
  for (const payload of payloads) {
    for (const [method, route] of routes) {
      const { status, text } = await ask({
        agent,
        port,
        method,
        path: route(payload),
        body: method === 'GET' ? '' : body,
      })
      if (status < 400 || status >= 500) faults.push(`${method} ${route(payload)}: ${status}`)
      if (/ENOENT|EACCES|node_modules|packages\/|root:x/.test(text)) faults.push(`${method} ${route(payload)}: ${text}`)
    }
  }
  for (const name of plain) {
    const json = JSON.stringify({
      index_name: name,
      dim: 2,
      space_type: 'l2',
      name,
      fields: [{ name: 'f', type: 'vector', params: { dimension: 2 } }],
    })
    for (const route of ['/api/v1/index/create', '/api/v2/collection']) {
      const { status } = await ask({ agent, port, method: 'POST', path: route, body: json })
      const fine = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/.test(name) && !/\n/.test(name)
      if (fine ? status !== 200 && status !== 409 : status !== 400)
        faults.push(`${route} ${JSON.stringify(name)}: ${status}`)
    }
  }
  t.strictSame(faults, [])
  await engine.checkpoint()
  t.strictSame(await readdir(path.join(dir)), ['inner'], 'nothing was created next to the data directory')
  t.strictSame(await readdir(path.join(dir, 'inner')), ['data'])
  const files = await readdir(dataDir, { recursive: true })
  const users = files.filter((file) =>
    plain.some((name) => name.length > 4 && !/^(wal|checkpoints|LOCK|IDENTITY)/.test(name) && file.includes(name)),
  )
  t.strictSame(users, [], 'no file is named after what a user wrote')
})

test('an invalid name and an absent one get the same reply', async (t) => {
  const running = await runningApp(t)
  const json = {
    k: 1,
    vector: [1, 2],
    ids: ['a'],
    fields: { f: { query: [1, 2] } },
    objects: [],
    updates: [],
    filter: [],
  }
  const names = ['..', 'a b', '-x', '__proto__', 'constructor', 'x'.repeat(65), 'a\n', 'é']
  const cases: [string, string][] = [
    ['GET', '/api/v1/index/:/info'],
    ['POST', '/api/v1/index/:/search'],
    ['POST', '/api/v1/index/:/vector/insert'],
    ['GET', '/api/v2/collection/:'],
    ['POST', '/api/v2/collection/:/search'],
    ['POST', '/api/v2/collection/:/objects'],
    ['POST', '/api/v2/collection/:/objects/count'],
    ['DELETE', '/api/v2/collection/:'],
  ]
  // Routes of the published protocol accept any keys, others only their own.
  const ownBody = (route: string) => (route.endsWith('/count') ? { filter: [] } : undefined)
  for (const [method, route] of cases) {
    const answerFor = async (name: string) => {
      const place = route.replace(':', name === '..' ? '%2e%2e%5c' : encodeURIComponent(name))
      const { status, ...answer } = await running.send(
        method,
        place,
        method === 'GET' ? {} : { json: ownBody(route) ?? json },
      )
      const { code, field } = answer.json()
      return { status, code, field }
    }
    const absent = await answerFor('absent')
    t.equal(absent.code, 'collection_not_found', route)
    for (const name of names) t.strictSame(await answerFor(name), absent, `${method} ${route} of ${name}`)
  }
})

interface Question {
  readonly agent: http.Agent
  readonly port: number
  readonly method: string
  readonly path: string
  readonly body: string
}

/** Not fetch, which would normalize the path before it is sent. */
function ask({ agent, port, method, path: route, body }: Question): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const request = http.request({ agent, host: '127.0.0.1', port, method, path: route, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}
