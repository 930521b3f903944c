// Requests that are refused before their body has arrived: clients that send everything before they read, and clients that read while they
// send, get the reply. The rest of the body is read for a limited time.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Endee } from 'endee'
import { type Test, test } from 'tap'
import { pythonWith } from '../../client-python/test/python.ts'
import { createBodyWatch } from '../src/http/body-watch.ts'
import { type RunningApp, runningApp, unlimitedAttempts } from './running-app.ts'

const authToken = 'the-token-of-this-server'
const rootToken = 'the-root-token-0123456789'
/** Much more than sockets buffer. */
const chunk = Buffer.alloc(65_536, '[')
const chunks = 160
const bytes = chunk.length * chunks

interface Refused {
  readonly status: number
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Reply {
  readonly status: number
  readonly body: string
}

type Client = (url: string, refused: Refused, declares: boolean) => Promise<Reply>
type Clients = Readonly<Record<string, Client>>

/** Reads nothing before everything is sent. */
const sendsThenReads: Client = async (url, { method, path, headers = {} }, declares) => {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  const failed = once(socket, 'error').then(([error]) => {
    throw error
  })
  failed.catch(() => undefined)
  const lines = Object.entries({
    host: 'localhost',
    'content-type': 'application/json',
    ...(declares ? { 'content-length': bytes } : { 'transfer-encoding': 'chunked' }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  for (let i = 0; i < chunks; i++) {
    const part = declares
      ? chunk
      : Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
    if (!socket.write(part)) await Promise.race([once(socket, 'drain'), failed])
  }
  if (!declares) socket.write('0\r\n\r\n')
  let reply = ''
  socket.on('data', (data) => {
    reply += data.toString()
  })
  while (!/\r\n\r\n.*\}$/s.test(reply)) await Promise.race([once(socket, 'data'), failed])
  socket.destroy()
  return { status: Number(reply.slice(9, 12)), body: reply.slice(reply.indexOf('\r\n\r\n') + 4) }
}

/** The same, and says that it closes the connection after the reply, as urllib of Python does. */
const sendsThenCloses: Client = (url, refused, declares) =>
  sendsThenReads(url, { ...refused, headers: { ...refused.headers, connection: 'close' } }, declares)

const nodeHttp: Client = async (url, { method, path, headers }, declares) => {
  const request = http.request(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...(declares && { 'content-length': bytes }), ...headers },
  })
  const responded = once(request, 'response') as Promise<[http.IncomingMessage]>
  let isAnswered = false
  const answered = responded.then(() => {
    isAnswered = true
  })
  for (let i = 0; i < chunks && !isAnswered; i++)
    if (!request.write(chunk)) await Promise.race([once(request, 'drain'), answered])
  if (!isAnswered) request.end()
  const [response] = await responded
  const body = Buffer.concat(await response.toArray()).toString()
  // The server waits for the rest of the body, so the connection cannot be reused.
  request.destroy()
  return { status: response.statusCode ?? 0, body }
}

const nodeFetch: Client = async (url, { method, path, headers }, declares) => {
  const whole = Buffer.concat(Array.from({ length: chunks }, () => chunk))
  const body = declares ? whole : new Blob([whole]).stream()
  const init = { method, body, headers: { 'content-type': 'application/json', ...headers }, duplex: 'half' } as const
  const response = await fetch(url + path, init)
  return { status: response.status, body: await response.text() }
}

const clients: Clients = { sendsThenReads, sendsThenCloses, nodeHttp, nodeFetch }

/** A process of Python that sends one request after another. */
function pythonClients(t: Test, python: string, names: readonly string[]): Clients {
  const child = spawn(python, [fileURLToPath(new URL('refused-clients.py', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  t.teardown(async () => {
    child.stdin.end()
    await once(child, 'exit')
  })
  const clientNamed =
    (client: string): Client =>
    async (url, { method, path, headers }, declares) => {
      const request = { client, url, method, path, chunks, declares }
      const all = { 'content-type': 'application/json', ...headers }
      child.stdin.write(`${JSON.stringify({ ...request, headers: all })}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the process of Python has ended')
      return JSON.parse(value) as Reply
    }
  return Object.fromEntries(names.map((name) => [name, clientNamed(name)]))
}

async function checkAll(
  running: RunningApp,
  refused: readonly Refused[],
  t: Pick<Test, 'match'>,
  senders = clients,
): Promise<void> {
  for (const one of refused)
    for (const [name, client] of Object.entries(senders))
      for (const declares of [true, false]) {
        const what = `${one.status} ${one.method} ${one.path}, ${name}, ${declares ? 'with' : 'without'} Content-Length`
        const reply = await client(running.url, one, declares).catch((error: Error) => ({
          status: 0,
          body: error.message,
        }))
        t.match(reply, { status: one.status, body: /"code":"/ }, what)
      }
}

const upsert = { method: 'POST', path: '/api/v2/collection/docs/objects' }
const search = { method: 'POST', path: '/api/v2/collection/docs/search' }

const right = { authorization: authToken }
const member = { authorization: `root/default:${rootToken}` }
/** By a server with one token. */
const refusedRequests: readonly Refused[] = [
  { status: 401, ...upsert },
  { status: 401, ...search, headers: { authorization: 'wrong' } },
  { status: 413, ...search, headers: right },
  { status: 413, method: 'POST', path: '/api/v1/index/create', headers: right },
  { status: 404, ...upsert, headers: right },
  { status: 415, ...upsert, headers: { ...right, 'content-type': 'text/plain' } },
  {
    status: 400,
    method: 'POST',
    path: '/api/v2/backups/upload',
    headers: { ...right, 'content-type': 'application/x-tar' },
  },
]
const unlicensed: Refused = { status: 402, ...upsert, headers: member }
const forbidden: Refused = {
  status: 403,
  method: 'POST',
  path: '/api/v2/tokens',
  headers: { authorization: rootToken },
}

test('a client reads why it was refused before its body arrived', async (t) => {
  const running = await runningApp(t, { authToken }, { attempts: unlimitedAttempts() })
  await checkAll(running, refusedRequests, t)
})

test('a client without a license or permission reads the refusal, too', async (t) => {
  await checkAll(await runningApp(t, { rootToken }, { licensed: false }), [unlicensed], t)
  await checkAll(await runningApp(t, { rootToken }), [forbidden], t)
})

const withRequests = pythonWith('requests')
const python = withRequests ?? pythonWith('http.client')

test('http.client and requests of Python read the refusals, too', {
  skip: python === undefined && 'needs python3',
}, async (t) => {
  const names = withRequests === undefined ? ['http.client'] : ['http.client', 'requests']
  if (withRequests === undefined) t.comment('requests is not installed (python3-requests)')
  const senders = pythonClients(t, python as string, names)
  const running = await runningApp(t, { authToken }, { attempts: unlimitedAttempts() })
  await checkAll(running, refusedRequests, t, senders)
  await checkAll(await runningApp(t, { rootToken }, { licensed: false }), [unlicensed], t, senders)
  await checkAll(await runningApp(t, { rootToken }), [forbidden], t, senders)
})

test('the published client reads the refusal, too', async (t) => {
  const running = await runningApp(t, { authToken })
  const client = new Endee(authToken)
  client.setBaseUrl(`${running.url}/api/v1`)
  await client.createIndex({ name: 'items', dimension: 1_024, spaceType: 'l2', precision: 'float32' } as never)
  const index = await client.getIndex('items')
  const wrong = new Endee('wrong')
  wrong.setBaseUrl(`${running.url}/api/v1`)
  const vector = Array.from({ length: 1_024 }, (_, i) => i / 1_000)
  const items = Array.from({ length: 1_000 }, (_, i) => ({ id: `${i}`, vector }))
  t.ok(await index.upsert(items))
  ;(index as unknown as { token: string }).token = 'wrong'
  await t.rejects(index.upsert(items), /token/i)
})

test('data sent after the reply is read for a limited time', async (t) => {
  const server = http.createServer({ requestTimeout: 0 })
  const watch = createBodyWatch(server, { checkEveryMs: 20, checksMax: 1_000, bytesMin: 0, unreadBytesMax: 1_000_000 })
  server.on('request', (request, response) => {
    response.on('close', watch.watch(request))
    response.end('no')
  })
  let refused = 0
  server.on('clientError', () => void refused++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    watch.end()
    server.close()
  })
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  let reply = ''
  socket.on('data', (data) => {
    reply += data.toString()
  })
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  let isClosed = false
  void closed.then(() => {
    isClosed = true
  })
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n')
  let sent = 0
  while (!isClosed) {
    sent += chunk.length
    if (!socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`))
      await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
  }
  t.match(reply, /^HTTP\/1\.1 200 .*no$/s, 'one reply')
  t.equal(refused, 0, 'and nothing after it')
  t.ok(sent > 1_000_000)
})
