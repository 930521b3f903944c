// Bytes that are no request, or one that HTTP/1.1 forbids: each gets the JSON form of every error, behind the replies to the requests before it,
// and the server goes on. With one and with several serving threads.
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import tap, { type Test, test } from 'tap'
import { answerRefusedBytes, refuseBytes } from '../src/http/refused-bytes.ts'
import { splitReplies } from './differential/raw-connection.ts'
import { type RunningApp, runningApp } from './running-app.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const health = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n'
const get = (headers: string, version = 'HTTP/1.1') => `GET /api/v2/collection ${version}\r\n${headers}\r\n`
const post = (headers: string, body = '{}') =>
  `POST /api/v2/collection HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n${body}`
const long = 'x'.repeat(20_000)

type Case = readonly [bytes: string, status: number, error: RegExp, more?: object]

const cases: Readonly<Record<string, Case>> = {
  'no Host': [get(''), 400, /exactly one Host/, { field: 'Host', value: 0 }],
  'two Hosts': [get('Host: localhost\r\nHost: other\r\n'), 400, /exactly one Host/, { field: 'Host', value: 2 }],
  'an unknown Expect': [
    post('Expect: 200-ok\r\nContent-Length: 2\r\n'),
    417,
    /100-continue/,
    { code: 'expectation_failed', field: 'Expect', value: '200-ok' },
  ],
  'a coding before chunked': [
    post('Transfer-Encoding: gzip, chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    400,
    /chunked/,
    { field: 'Transfer-Encoding', value: 'gzip, chunked' },
  ],
  'another coding': [post('Transfer-Encoding: gzip\r\n'), 400, /Transfer-Encoding .*chunked/],
  'two lengths': [post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'), 400, /not HTTP/],
  'a negative length': [post('Content-Length: -1\r\n'), 400, /Content-Length/],
  'a bad chunk': [post('Transfer-Encoding: chunked\r\n', 'zz\r\n'), 400, /size of a chunk/],
  'a huge chunk': [post('Transfer-Encoding: chunked\r\n', 'ffffffffffffffffff\r\n'), 400, /size of a chunk/],
  'a long extension of a chunk': [
    post('Transfer-Encoding: chunked\r\n', `2;${long}\r\n{}`),
    400,
    /extensions of a chunk/,
  ],
  'long headers': [get(`Host: localhost\r\nX: ${long}\r\n`), 431, /headers are too large/],
  'a long path': [`GET /${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431, /headers are too large/],
  'long trailers': [post('Transfer-Encoding: chunked\r\n', `0\r\nX: ${long}\r\n\r\n`), 431, /headers are too large/],
  'no first line': ['NONSENSE\r\n\r\n', 400, /not HTTP/],
  'an unknown method': ['FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, /not HTTP/],
  'an unknown version': [get('Host: localhost\r\n', 'HTTP/9.9'), 400, /version/],
  'a header with a control character': [get('Host: localhost\r\nX: a\x01b\r\n'), 400, /header/],
  'an HTTP/2 preface': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, /this is (HTTP\/2|not HTTP)/],
  'a TLS handshake': [`\x16\x03\x01\x02\x00\x01\x00${'\x11'.repeat(100)}`, 400, /this is (TLS|not HTTP)/],
  'another protocol': ['*1\r\n$4\r\nPING\r\n', 400, /not HTTP/],
  CONNECT: [
    'CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    405,
    /no proxy/,
    { code: 'method_not_allowed' },
  ],
}

/** Sends the bytes and ends, and resolves to everything that comes back. */
async function sendAndEnd({ url }: RunningApp, bytes: string): Promise<Buffer> {
  const client = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  client.end(Buffer.from(bytes, 'latin1'))
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function check(t: Test, threads: number): Promise<void> {
  const running = await runningApp(t, { serverThreads: threads })
  for (const [name, [bytes, status, error, more]] of Object.entries(cases))
    for (const before of [0, 1, 2]) {
      const received = await sendAndEnd(running, health.repeat(before) + bytes)
      const replies = splitReplies(received, Array(before + 1).fill('GET'))
      const sent = `${name} behind ${before}: ${received.toString('latin1').slice(-300)}`
      t.strictSame(
        replies.map((reply) => reply.status),
        [...Array(before).fill(200), status],
        sent,
      )
      const last = received.toString('latin1').split('HTTP/1.1 ').at(-1) ?? ''
      const [head = '', body = ''] = last.split('\r\n\r\n')
      t.match(head.toLowerCase(), /content-type: application\/json; charset=utf-8/, sent)
      const reply = JSON.parse(body) as Record<string, unknown>
      t.match(reply, { code: 'bad_request', error, ...more }, sent)
      t.ok(head.toLowerCase().includes(`x-request-id: ${String(reply.request_id)}`), sent)
    }
  t.equal((await running.send('GET', '/api/v1/health')).status, 200)
}

for (const threads of [1, 3]) tap.test(`${threads} serving threads answer what is no request`, (t) => check(t, threads))

tap.test('what follows a request does not get into its reply', async (t) => {
  const running = await runningApp(t)
  const params = { dimension: 1_000, space_type: 'l2', precision: 'float32' }
  const fields = [{ name: 'v', type: 'vector', params }]
  await running.send('POST', '/api/v2/collection', { json: { name: 'docs', fields } })
  const objects = Array.from({ length: 300 }, (_, i) => ({ id: `a${i}`, fields: { v: Array(1_000).fill(i / 3) } }))
  const { status } = await running.send('POST', '/api/v2/collection/docs/objects', { json: { objects } })
  t.equal(status, 200)
  const body = JSON.stringify({ limit: 300, include_vectors: true })
  const scroll = `POST /api/v2/collection/docs/objects/scroll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const received = await sendAndEnd(running, `${scroll}NONSENSE\r\n\r\n`)
  t.ok(received.length > 1_000_000, 'a reply of many pieces')
  const replies = splitReplies(received, ['POST', 'GET'])
  t.strictSame(
    replies.map(({ status, isComplete }) => [status, isComplete]),
    [
      [200, true],
      [400, true],
    ],
  )
})

for (const threads of [1, 3])
  tap.test(`nothing follows a reply that is the last of its connection, ${threads} serving threads`, async (t) => {
    const running = await runningApp(t, { serverThreads: threads })
    const last = 'Connection: close\r\n'
    const body = `Content-Length: 2000\r\n`
    for (const bytes of [
      `GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n${last}\r\nNONSENSE\r\n\r\n`,
      `GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n${last}\r\n${health}`,
      post(last + body, `${'['.repeat(2_000)}NONSENSE\r\n\r\n`),
      post(body, `${'['.repeat(2_000)}NONSENSE\r\n\r\n`),
      post(body, `${'['.repeat(2_000)}${health}`),
    ]) {
      const text = (await sendAndEnd(running, bytes)).toString('latin1')
      const end = text.search(/^connection: close/im)
      t.notOk(end >= 0 && text.slice(end).includes('HTTP/1.1'), JSON.stringify([bytes.slice(0, 90), text]))
    }
  })

test('whatever follows refused bytes waits for nothing of its own', async (t) => {
  let reply: ServerResponse | undefined
  const server = http.createServer((_request, response) => {
    reply = response
  })
  answerRefusedBytes(server)
  let refused = 0
  server.on('clientError', (error, socket) => {
    refused += 1
    refuseBytes(error, socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(health)
  while (refused < 20) {
    client.write('no request\r\n')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  t.ok((reply?.listenerCount('finish') ?? 0) < 5)
  reply?.end('first')
  client.end()
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk as Buffer)
  const replies = splitReplies(Buffer.concat(chunks), ['GET', 'GET'])
  t.strictSame(
    replies.map(({ status }) => status),
    [200, 400],
  )
})
