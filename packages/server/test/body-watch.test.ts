// A body may take as long as it makes progress.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { type Test, test } from 'tap'
import { createBodyWatch } from '../src/http/body-watch.ts'

// The client and the server share one event loop, so on a slow machine both the checks and the bytes are late.
const looks = { checkEveryMs: 50, checksMax: 10, bytesMin: 100 }

async function listening(t: Test, answer: (request: http.IncomingMessage, response: http.ServerResponse) => void) {
  const server = http.createServer({ requestTimeout: 0 })
  const watch = createBodyWatch(server, looks)
  server.on('request', (request, response) => {
    response.on('close', watch.watch(request))
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    watch.end()
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function whole(request: http.IncomingMessage, response: http.ServerResponse): void {
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  request.on('end', () => response.end(String(bytes)))
}

test('a body with progress is received, however long it takes', async (t) => {
  const port = await listening(t, whole)
  const request = http.request({ port, host: '127.0.0.1', method: 'POST' })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  for (let i = 0; i < 60; i++) {
    request.write('x'.repeat(200))
    await sleep(20)
  }
  request.end()
  const [response] = await answered
  t.equal(response.statusCode, 200)
  t.equal(Buffer.concat(await response.toArray()).toString(), '12000')
})

for (const [name, answer] of [
  ['a body that comes byte by byte is cut off', whole],
  ['so is the rest of one that was answered already', (_, response) => void response.end('no')],
] as const satisfies [string, typeof whole][]) {
  test(name, async (t) => {
    const port = await listening(t, answer)
    const socket = net.connect(port, '127.0.0.1')
    // A reset is an acceptable end, too.
    socket.on('error', () => undefined)
    socket.resume()
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n')
    const timer = setInterval(() => socket.write('x'), 20)
    t.teardown(() => clearInterval(timer))
    await closed
    t.pass('the connection was closed')
  })
}

test('an injected request has no connection, and is not monitored', async (t) => {
  const app = fastify()
  const watch = createBodyWatch(app.server, { checkEveryMs: 1, checksMax: 1, unreadChecksMax: 0 })
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.on('close', watch.watch(request.raw))
    done()
  })
  app.post('/', () => 'yes')
  t.teardown(async () => {
    watch.end()
    await app.close()
  })
  const { statusCode } = await app.inject({ method: 'POST', url: '/', payload: { some: 'body' } })
  t.equal(statusCode, 200)
  // Later than the first check: timers of one length fire in the order in which they were started.
  await new Promise((resolve) => setTimeout(resolve, 1))
  await new Promise((resolve) => setTimeout(resolve, 1))
})
