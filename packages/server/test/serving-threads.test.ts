// The life of serving threads: what they answer, what they forward, and what happens to connections when a thread exits, loops, or stops.
import http from 'node:http'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readConfig } from '../src/index.ts'
import { watchServing } from '../src/serving/serving-figures.ts'
import { SharedState } from '../src/serving/shared-state.ts'
import { canSharePort, ThreadedServer } from '../src/serving/threaded-server.ts'
import { exchange, repliesOf } from './raw-exchange.ts'

const program = fileURLToPath(new URL('serving-program.ts', import.meta.url))
const rounds = process.env.ANNAL_LONG === '1' ? 500 : 4

interface Fixture {
  readonly server: ThreadedServer
  readonly url: string
  readonly notices: string[]
}

/** The main thread replies with what it received. */
async function startServer(
  t: { teardown(fn: () => Promise<void>): unknown },
  threads: number,
  patienceMs = 60_000,
  node: http.ServerOptions = {},
): Promise<Fixture> {
  const notices: string[] = []
  const server = new ThreadedServer(
    { threads, tls: undefined, node, program, patienceMs, onNotice: (sentence) => void notices.push(sentence) },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => void chunks.push(chunk))
      request.on('end', () => {
        const bytes = Buffer.concat(chunks).length
        const { remoteAddress, remotePort } = request.socket
        response.setHeader('content-type', 'application/json')
        const reply = JSON.stringify({ main: true, url: request.url, bytes, remoteAddress, remotePort })
        if (request.url === '/later') setTimeout(() => response.end(reply), 5)
        else response.end(reply)
      })
    },
  )
  // As the server sets it.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = 100
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: 0 })
  })
  server.threads?.setParts(() => ({ value: undefined, transfer: [] }))
  t.teardown(async () => {
    server.closeAllConnections()
    await server.threads?.end()
  })
  return { server, url: `http://127.0.0.1:${server.address()?.port}`, notices }
}

interface Found {
  readonly body: Readonly<Record<string, unknown>>
  readonly head: string
}

async function post(url: string, route: string, body: string | Buffer = ''): Promise<Found> {
  const head = `POST ${route} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`
  const bytes = await exchange(url, { pieces: [Buffer.from(head), Buffer.from(body)], methods: ['POST'] })
  const [reply] = repliesOf(bytes, ['POST'])
  if (reply === undefined) throw new Error('the connection was closed')
  return { head: reply.head, body: JSON.parse(reply.body.toString()) as Found['body'] }
}

/** Until the parts of the threads are there, the main thread answers. */
async function hot(url: string, route: string, body: string | Buffer = ''): Promise<Found> {
  for (;;) {
    const found = await post(url, route, body)
    if (found.body.main !== true) return found
  }
}

t.test('threads share a port where the system and Node.js can', async (t) => {
  for (const version of ['22.12.0', '22.23.3', '23.1.0', '24.0.0', '26.10.1'])
    t.ok(canSharePort('linux', version), version)
  for (const version of ['20.20.2', '21.7.3', '22.11.0', '23.0.0']) t.notOk(canSharePort('linux', version), version)
  for (const platform of ['darwin', 'win32'] as const) t.notOk(canSharePort(platform, '24.0.0'), platform)
})

t.test(
  'a thread answers hot requests, and forwards what it leaves to the main thread with its whole body',
  async (t) => {
    const { url, notices } = await startServer(t, 2)
    const { head, body } = await hot(url, '/hot/answer', 'abc')
    t.match(body, { held: 1, body: 'abc', bytes: 3 })
    t.match(
      head,
      /^HTTP\/1.1 200 OK\r\nx-request-id: [0-9a-f-]{36}\r\nx-content-type-options: nosniff\r\nvary: origin\r\n/,
    )
    t.match((await hot(url, '/hot/later', 'abc')).body, { body: 'abc' })
    const large = Buffer.alloc(90_000, 'x')
    t.match((await hot(url, '/hot/answer', large)).body, { bytes: 90_000 })
    for (const action of ['forward', 'later-forward', 'revoked', 'throw'])
      t.match((await post(url, `/hot/${action}`, large)).body, { main: true, url: `/hot/${action}`, bytes: 90_000 })
    t.match((await post(url, '/cold', Buffer.alloc(3_000_000))).body, { main: true, bytes: 3_000_000 })
    t.match(notices, [/thrown by a hot route/])
    // Every admission was released.
    const helds = await Promise.all(Array.from({ length: 20 }, () => hot(url, '/hot/answer')))
    t.ok(helds.every(({ body: { held } }) => Number(held) <= 20))
    t.equal((await hot(url, '/hot/answer')).body.held, 1)
  },
)

t.test('hot and forwarded requests of one connection are answered in order, in pieces of any size', async (t) => {
  const { url } = await startServer(t, 2)
  await hot(url, '/hot/answer')
  const routes = ['/hot/answer', '/hot/later', '/cold', '/hot/forward', '/hot/answer', '/cold', '/hot/later']
  const bytes = Buffer.from(
    routes.map((route, index) => `POST ${route} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n${index}`).join(''),
  )
  for (const size of [1, 7, 60, 10_000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )
    const received = await exchange(url, { pieces, methods: routes.map(() => 'POST') })
    const bodies = repliesOf(received, routes).map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    t.equal(bodies.length, routes.length, `pieces of ${size} bytes`)
    for (const [index, body] of bodies.entries())
      t.match(body, body.main === true ? { url: routes[index] } : { body: String(index) })
  }
})

t.test('a client that pipelines requests and does not read gets replies only as fast as it reads', async (t) => {
  const { url } = await startServer(t, 1)
  await hot(url, '/hot/answer')
  const requests = 500
  const client = net.connect(Number(new URL(url).port), '127.0.0.1').pause()
  t.teardown(() => client.destroy())
  client.write('POST /hot/large HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'.repeat(requests))
  // Until the thread has begun to answer.
  await until(async () => Number((await hot(url, '/hot/answer')).body.held) > 1)
  for (let i = 0; i < 20; i++) {
    const held = Number((await hot(url, '/hot/answer')).body.held)
    t.ok(held < 10, `${held} replies wait for the client`)
  }
  let received = 0
  for await (const chunk of client) {
    received += (chunk as Buffer).length
    if (received > requests * 100_000 + requests * 150) break
  }
  t.ok(received > requests * 100_000, 'all are answered in the end')
})

t.test('a client that sends no more after a request gets its reply', async (t) => {
  const { url } = await startServer(t, 2)
  await hot(url, '/hot/answer')
  for (const route of ['/cold', '/later', '/hot/forward', '/hot/later', '/hot/later-forward', '/hot/answer'])
    for (let i = 0; i < 10; i++) {
      const client = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
      client.end(`POST ${route} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`)
      const chunks: Buffer[] = []
      for await (const chunk of client) chunks.push(chunk as Buffer)
      t.match(Buffer.concat(chunks).toString(), /^HTTP\/1.1 200 OK/, route)
    }
})

t.test('a forwarded request has the address of its client', async (t) => {
  const { url } = await startServer(t, 2)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  for (let i = 0; i < 3; i++) {
    const [body, localPort] = await new Promise<[string, number | undefined]>((resolve, reject) => {
      http
        .get(`${url}/cold`, { agent }, (response) => {
          const { localPort } = response.socket
          let text = ''
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString()
          })
          response.on('end', () => resolve([text, localPort]))
        })
        .on('error', reject)
    })
    t.match(JSON.parse(body), { remoteAddress: '127.0.0.1', remotePort: localPort })
  }
  agent.destroy()
})

t.test(
  'a request that arrives while the main thread is busy is not lost to the limit of idle connections',
  async (t) => {
    const { server, url } = await startServer(t, 2, 60_000, { keepAliveTimeout: 10, keepAliveTimeoutBuffer: 0 })
    const client = net.connect(Number(new URL(url).port), '127.0.0.1')
    client.on('error', () => undefined)
    const closed = new Promise<string>((resolve) => client.on('close', () => resolve('closed')))
    const request = 'POST /cold HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'
    const reply = () => new Promise<string>((resolve) => client.once('data', (bytes) => resolve(String(bytes))))
    const counts = new Int32Array(server.counts.memory)
    const first = reply()
    client.write(request)
    t.match(await first, /^HTTP\/1.1 200/)
    const second = reply()
    const before = counts.join()
    client.write(request)
    // The write was handed to the system. A serving thread receives it, and counts the piece of work, while this thread does nothing.
    while (counts.join() === before) Atomics.wait(counts, 1, counts[1]!, 10)
    // Longer than the time between two checks, and than that in which the thread forwards what it has received.
    Atomics.wait(counts, 1, counts[1]!, 2_000)
    t.match(await Promise.race([second, closed]), /^HTTP\/1.1 200/)
    client.destroy()
  },
)

t.test('a request that has arrived is not lost to the limit of idle connections of a busy thread', async (t) => {
  const { url } = await startServer(t, 1)
  await hot(url, '/hot/answer')
  const sent = 'POST /hot/answer HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'
  const clients = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      const closed = new Promise<string>((resolve) => socket.on('close', () => resolve('closed')))
      const answer = async (): Promise<string> => {
        const reply = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
        socket.write(sent)
        return Promise.race([reply, closed])
      }
      t.match(await answer(), /^HTTP\/1.1 200/)
      return { socket, answer }
    }),
  )
  // The thread looks for idle connections about once in each of these pauses; one of the clients sends in the pause before its limit.
  const answers: Promise<string>[] = []
  for (let pause = 1; answers.length < clients.length; pause++) {
    const sleeping = post(url, '/hot/sleep', '1100')
    await new Promise((resolve) => setTimeout(resolve, 300))
    // A connection that was closed before is seen now.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    const client = clients[pause - 4]
    if (client !== undefined)
      answers.push(client.socket.readyState === 'open' ? client.answer() : Promise.resolve('idle'))
    await sleeping
  }
  for (const answer of await Promise.all(answers)) t.match(answer, /^HTTP\/1.1 200|idle/)
  for (const { socket } of clients) socket.destroy()
})

t.test('connections of all threads count toward one limit, and closed ones no longer', async (t) => {
  const { server, url } = await startServer(t, 3)
  await hot(url, '/hot/answer')
  await until(async () => (await connectionsOf(server)) === 0)
  server.maxConnections = 10
  const sockets = Array.from({ length: 16 }, () => net.connect(Number(new URL(url).port), '127.0.0.1'))
  const closed = new Set<net.Socket>()
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.on('close', () => void closed.add(socket))
    socket.resume()
  }
  await until(async () => closed.size === 6)
  t.equal(await connectionsOf(server), 10)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await connectionsOf(server)) === 0)
  t.match((await hot(url, '/hot/answer')).body, { bytes: 0 })
})

t.test(`threads that exit ${rounds} times under traffic are replaced, and every reply is right`, async (t) => {
  t.setTimeout(600_000)
  const { server, url, notices } = await startServer(t, 3)
  await hot(url, '/hot/answer')
  let isOver = false
  const counts = { answered: 0, forwarded: 0, closed: 0 }
  const client = async (id: number): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      const text = `${id}-${n}`
      const route = n % 3 === 0 ? '/cold' : n % 3 === 1 ? '/hot/later' : '/hot/answer'
      const reply = await post(url, route, text).catch((error: Error) => error)
      // One thread exits at a time, so another one always listens.
      if (reply instanceof Error && !/closed|RESET/.test(reply.message)) t.fail(reply.message)
      if (reply instanceof Error) counts.closed++
      else if (reply.body.main === true) {
        counts.forwarded++
        if (reply.body.bytes !== text.length) t.fail(`${route} ${text} has the reply ${JSON.stringify(reply.body)}`)
      } else {
        counts.answered++
        if (reply.body.body !== text) t.fail(`${route} ${text} has the reply ${JSON.stringify(reply.body)}`)
      }
    }
  }
  const clients = Array.from({ length: 6 }, (_, id) => client(id))
  for (let round = 1; round <= rounds; round++) {
    const before = { ...counts }
    if (round % 2 === 0) server.threads?.terminate(round % 3, 'of the test')
    else await post(url, '/hot/exit').catch(() => undefined)
    await until(async () => (server.threads?.lost ?? 0) >= round || counts.answered > before.answered + 1_000)
    await until(async () => server.threads?.listening === 3)
    await until(async () => counts.answered > before.answered + 20 && counts.forwarded > before.forwarded + 10)
  }
  isOver = true
  await Promise.all(clients)
  t.ok((server.threads?.lost ?? 0) >= rounds / 2, `${server.threads?.lost} threads were lost`)
  t.ok(counts.closed <= 12 * rounds, `${counts.closed} connections were closed`)
  t.ok(notices.length >= rounds / 2)
  await until(async () => (await connectionsOf(server)) === 0)
})

t.test('a thread that loops is replaced, and other connections are served meanwhile', async (t) => {
  t.setTimeout(120_000)
  const { server, url, notices } = await startServer(t, 2, 300)
  await hot(url, '/hot/answer')
  const looping = post(url, '/hot/loop').catch((error: Error) => error.message)
  // New connections reach the other thread by chance, until the looping one is replaced.
  t.match(await looping, 'the connection was closed')
  await until(async () => server.threads?.lost === 1)
  t.match(notices.join(), /made no progress in \d+ ms of CPU time/)
  for (let i = 0; i < 20; i++) t.match((await hot(url, '/hot/answer')).body, { bytes: 0 })
})

t.test('threads that stay missing are a fault until they listen again', async (t) => {
  const { server, url, notices } = await startServer(t, 2)
  const shared = new SharedState(readConfig({}).config, { threads: 2, memoryBytes: 2 ** 30 })
  const figures = watchServing(server, shared)
  await hot(url, '/hot/answer')
  t.match(figures(), { running: 2, configured: 2, lost: 0, replaced: 0, fault: undefined })
  // A new thread has a copy of the environment.
  process.env.ANNAL_TEST_THREADS = 'exit'
  t.teardown(async () => {
    delete process.env.ANNAL_TEST_THREADS
  })
  server.threads?.terminate(1, 'of the test')
  await until(async () => (server.threads?.lost ?? 0) > 2)
  t.match(figures(), { running: 1, configured: 2, replaced: 0, fault: /^1 of 2 serving threads run; / })
  t.match((await hot(url, '/hot/answer')).body, { thread: 0 }, 'the other thread serves')
  delete process.env.ANNAL_TEST_THREADS
  await until(async () => server.threads?.listening === 2)
  t.match(figures(), { running: 2, configured: 2, replaced: 1, fault: undefined })
  t.equal(figures().lost, notices.filter((notice) => / exited/.test(notice)).length)
})

t.test('a stop finishes requests in progress, and closes idle connections', async (t) => {
  const { server, url } = await startServer(t, 3)
  await hot(url, '/hot/answer')
  const { port } = new URL(url)
  const idle = Array.from({ length: 9 }, () => net.connect(Number(port), '127.0.0.1'))
  // The system resets a connection that no thread has accepted yet.
  for (const socket of idle) socket.on('error', () => undefined)
  const idleClosed = Promise.all(idle.map((socket) => new Promise((resolve) => socket.on('close', resolve).resume())))
  await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  const [first] = [idle[0]!]
  const text = new Promise<string>((resolve) => {
    let received = ''
    first.on('data', (chunk: Buffer) => {
      received += chunk.toString()
      if (received.includes('"main"')) resolve(received)
    })
  })
  first.write('POST /cold HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab')
  await new Promise<void>((resolve) => server.once('request', () => resolve()))
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  first.write('cde')
  t.match(await text, /"bytes":5/)
  await idleClosed
  await closed
  t.rejects(post(url, '/cold'), 'nobody listens')
})

t.test('an address in use is the error of the system', async (t) => {
  const { url } = await startServer(t, 2)
  const second = new ThreadedServer(
    { threads: 2, tls: undefined, node: {}, program, onNotice: () => undefined },
    () => undefined,
  )
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => {
    second.once('error', resolve)
    second.listen({ host: '127.0.0.1', port: Number(new URL(url).port) })
  })
  t.match(error, { code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port: Number(new URL(url).port) })
})

function connectionsOf(server: ThreadedServer): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
