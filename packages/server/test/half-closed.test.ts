// A client may end its side of the connection as soon as its requests are sent (`nc -N`, some proxies). It gets every reply, with any number of
// serving threads, in every form of a request whose end a thread does or does not know, also when the reply takes several turns.
import net from 'node:net'
import tap, { type Test } from 'tap'
import { repliesIn, splitReplies } from './differential/raw-connection.ts'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

/** Sends the bytes and ends, and resolves to everything that comes back. */
async function sendAndEnd({ url }: RunningApp, bytes: string): Promise<Buffer> {
  const client = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  client.end(bytes)
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk as Buffer)
  // A search that waits may have got interim replies, which clients ignore.
  return Buffer.from(Buffer.concat(chunks).toString('latin1').replaceAll('HTTP/1.1 100 Continue\r\n\r\n', ''), 'latin1')
}

const vector = [1, 2, 3, 4]
const insert = JSON.stringify([{ id: 'a', vector }])
const search = JSON.stringify({ vector, k: 1 })

function post(route: string, body: string, extra = ''): string {
  return `POST /api/v1/index/docs/${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${extra}Content-Length: ${body.length}\r\n\r\n${body}`
}

function postChunked(route: string, body: string): string {
  const size = body.length.toString(16)
  return `POST /api/v1/index/docs/${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`
}

async function check(t: Test, threads: number): Promise<void> {
  const running = await runningApp(t, { serverThreads: threads })
  await createIndex(running)
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json: JSON.parse(insert) })
  const forms: { readonly [name: string]: readonly string[] } = {
    'a search': [post('search', search)],
    'a search in chunks': [postChunked('search', search)],
    'a write': [post('vector/insert', insert)],
    'a write in chunks': [postChunked('vector/insert', insert)],
    'a write, then close': [post('vector/insert', insert, 'Connection: close\r\n')],
    'writes at once': [post('vector/insert', insert), postChunked('vector/insert', insert)],
    'searches and a write': [post('search', search), post('vector/insert', insert), post('search', search)],
    'an unknown filter, then a write': [
      post('search', JSON.stringify({ vector, k: 1, filter: [{ n: { $eq: 3 } }] })),
      post('vector/insert', insert),
    ],
  }
  for (const [name, requests] of Object.entries(forms))
    for (let i = 0; i < 5; i++) {
      const bytes = await sendAndEnd(running, requests.join(''))
      const methods = requests.map(() => 'POST')
      t.equal(repliesIn(bytes, methods), requests.length, `${name}: ${bytes.toString('latin1').slice(0, 60)}`)
      t.ok(
        splitReplies(bytes, methods).every(({ status }) => status === 200),
        name,
      )
    }
}

for (const threads of [1, 3])
  tap.test(`a client that ends its side gets its replies from ${threads} serving threads`, (t) => check(t, threads))
