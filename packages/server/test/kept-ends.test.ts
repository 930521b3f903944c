// A client that never ends its side keeps no connection that the server has ended: it would take the place of another client for ever.
import net from 'node:net'
import tap, { type Test } from 'tap'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

tap.setTimeout(120_000)

const search = JSON.stringify({ vector: [1, 2, 3, 4], k: 1 })
const kinds: { readonly [name: string]: string } = {
  'bytes that are no request': 'no request\r\n\r\n',
  'a request, and bytes that are none': 'GET /api/v2/health HTTP/1.1\r\nHost: localhost\r\n\r\nno request\r\n\r\n',
  CONNECT: 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'a last request': 'GET /api/v2/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  'a last search': `POST /api/v1/index/docs/search HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${search.length}\r\n\r\n${search}`,
}

/** Sends the bytes, and resolves when the server has closed both directions, which sending shows. */
async function keep({ url }: RunningApp, bytes: string): Promise<string> {
  const client = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  let sending: NodeJS.Timeout | undefined
  client.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  client.on('end', () => {
    sending = setInterval(() => client.write('x'), 50)
  })
  client.on('error', () => undefined)
  client.write(bytes)
  await new Promise((resolve) => client.on('close', resolve))
  clearInterval(sending)
  return received
}

async function check(t: Test, serverThreads: number): Promise<void> {
  const running = await runningApp(t, { serverThreads })
  await createIndex(running)
  await Promise.all(
    Object.entries(kinds).map(async ([name, bytes]) => t.match(await keep(running, bytes), /^HTTP\/1\.1 /, name)),
  )
  // Threads answer requests of callers that they know.
  t.match(await keep(running, kinds['a last search'] ?? ''), /^HTTP\/1\.1 200/)
}

for (const threads of [1, 3])
  tap.test(`connections that ${threads} serving threads ended are closed`, (t) => check(t, threads))
