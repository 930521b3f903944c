// Leaders and clients that hang, break off, or are slow while a write is forwarded. Leaders with faults are plain TCP servers; the node that
// forwards is a real server.
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { type Test, test } from 'tap'
import { type HttpNode, startNodes, until } from './http-nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const things = '/api/v2/collection/things'
const fields = [{ name: 'dense', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
const body = JSON.stringify({ objects: [{ id: 'a', fields: { dense: [1, 2] } }] })

/** Accepts connections as a leader would, and does with each what `serve` does. */
async function badLeader(t: Test, serve: (socket: net.Socket) => void): Promise<string> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
}

async function follower(t: Test, writeMs: number): Promise<HttpNode> {
  const { nodes } = await startNodes(t, { count: 1, cluster: { writeMs } })
  const [node] = nodes as [HttpNode]
  node.view.role = 'follower'
  return node
}

/** Requests in progress on a node, with the one that asks. */
async function inFlight({ send }: HttpNode): Promise<number> {
  return Number(/annal_http_requests_in_flight (\d+)/.exec((await send('GET', '/metrics')).text)?.[1])
}

function write(node: HttpNode, options: Parameters<HttpNode['send']>[2] = { body, type: 'application/json' }) {
  return node.send('POST', `${things}/objects`, options)
}

test('a leader that got the write and does not answer leaves its outcome unknown', async (t) => {
  const node = await follower(t, 100)
  const faults: Record<string, (socket: net.Socket) => void> = {
    'it hangs': () => undefined,
    'it resets the connection': (socket) => socket.on('data', () => socket.resetAndDestroy()),
    'it closes the connection': (socket) => socket.on('data', () => socket.end()),
    'it breaks off within the head': (socket) => socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nConte')),
    'it breaks off within the body': (socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{')),
    'it sends no HTTP': (socket) => socket.on('data', () => socket.end('what?\r\n\r\n')),
  }
  for (const [name, serve] of Object.entries(faults)) {
    node.view.known = { node: 'bad', url: await badLeader(t, serve) }
    const reply = await write(node)
    t.match([reply.status, reply.json().code], [503, 'outcome_unknown'], `${name}: ${reply.text}`)
  }
})

test('a leader that cannot have got the whole write leaves no doubt', async (t) => {
  const node = await follower(t, 100)
  const large = Buffer.alloc(8_000_000, 0x20)
  const sent = { body: large, type: 'application/json' }
  const faults: Record<string, (socket: net.Socket) => void> = {
    'it resets within the body': (socket) => socket.once('data', () => socket.resetAndDestroy()),
    'it does not read': (socket) => socket.pause(),
  }
  for (const [name, serve] of Object.entries(faults)) {
    node.view.known = { node: 'bad', url: await badLeader(t, serve) }
    const reply = await write(node, sent)
    t.match([reply.status, reply.json().code], [503, 'not_leader'], `${name}: ${reply.text}`)
  }
})

test('a body of 90 MB to a leader that does not read stays with the client', async (t) => {
  const node = await follower(t, 3_000)
  node.view.known = { node: 'bad', url: await badLeader(t, (socket) => socket.pause()) }
  const { port } = new URL(node.url)
  const total = 90_000_000
  const client = net.connect(Number(port), '127.0.0.1')
  client.on('error', () => undefined)
  let reply = ''
  client.on('data', (bytes) => {
    reply += bytes.toString('latin1')
  })
  client.write(
    `POST ${things}/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${total}\r\n\r\n`,
  )
  const before = process.memoryUsage().arrayBuffers
  const chunk = Buffer.alloc(65_536, 0x20)
  let most = 0
  let whileSent = 0
  // Until the node replies, what it takes is bounded by the buffers of the connections.
  for (let sent = 0; sent < total && reply === ''; sent += chunk.length) {
    if (!client.write(chunk)) await Promise.race([once(client, 'drain'), until(() => reply !== '')])
    if (reply === '') whileSent = sent
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  await until(() => reply.includes('\r\n\r\n'))
  t.match(reply, /^HTTP\/1\.1 503 /)
  t.match(reply, /not_leader/)
  t.ok(whileSent < 32_000_000, `${whileSent} bytes were taken before the reply`)
  t.ok(most < 32_000_000, `${most} bytes of memory`)
  client.destroy()
})

/** Writes with a body that takes twice the time that the leader has for a write. Returns the statuses of the collection and of the write. */
async function writeSlowly(t: Test, writeMs: number): Promise<readonly number[]> {
  const { nodes } = await startNodes(t, { cluster: { writeMs } })
  const [leader, node] = nodes as [HttpNode, HttpNode]
  const created = await leader.send('POST', '/api/v2/collection', { json: { name: 'things', fields } })
  async function* slowly() {
    for (let at = 0; at < body.length; at += 10) {
      await sleep((2 * writeMs * 10) / body.length)
      yield Buffer.from(body.slice(at, at + 10))
    }
  }
  const reply = await fetch(`${node.url}${things}/objects`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json' } },
    ...{ body: ReadableStream.from(slowly()), duplex: 'half' },
  } as RequestInit)
  t.comment(`${writeMs} ms: ${await reply.text()}`)
  return [created.status, reply.status]
}

test('a client may take longer than the leader', async (t) => {
  // A busy machine may take longer than a short limit itself; a limit that included the client would refuse every one of these.
  let statuses: readonly number[] = []
  for (let writeMs = 1_000; writeMs <= 32_000 && statuses.join() !== '200,200'; writeMs *= 2)
    statuses = await writeSlowly(t, writeMs)
  t.strictSame(statuses, [200, 200])
})

test('a client that leaves within its body leaves no write, and nothing on the way', async (t) => {
  const { nodes } = await startNodes(t)
  const [leader, node] = nodes as [HttpNode, HttpNode]
  t.equal((await leader.send('POST', '/api/v2/collection', { json: { name: 'things', fields } })).status, 200)
  const { lsnApplied } = leader.node.engine
  const client = net.connect(Number(new URL(node.url).port), '127.0.0.1')
  const head = `POST ${things}/objects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  client.write(head + body.slice(0, -1))
  await until(async () => (await inFlight(leader)) === 2)
  client.destroy()
  await until(async () => (await inFlight(leader)) === 1)
  t.equal(leader.node.engine.lsnApplied, lsnApplied)
})

test('an early refusal of the leader reaches a client that still sends', async (t) => {
  const { nodes } = await startNodes(t)
  const [, node] = nodes as [HttpNode, HttpNode]
  const tooLarge = Buffer.alloc(2_000_000, 0x20)
  const chunked = await fetch(`${node.url}/api/v2/collection`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    ...{ body: new Blob([tooLarge]).stream(), duplex: 'half' },
  } as RequestInit)
  t.match([chunked.status, await chunked.json()], [413, { code: 'body_too_large' }])
  const declared = await node.send('POST', '/api/v2/collection', { body: tooLarge, type: 'application/json' })
  t.match([declared.status, declared.json().code], [413, 'body_too_large'])
  const invalid = Buffer.concat([Buffer.from('{"objects":[{"id":""},'), Buffer.alloc(4_000_000, 0x20)])
  const item = await write(node, { body: invalid, type: 'application/json' })
  t.equal(item.status >= 400 && item.status < 500, true, item.text)
  t.equal((await node.send('GET', '/api/v2/collection')).status, 200, 'the node serves on')
})

test('the reply of a write that the log does not confirm in time is outcome_unknown, and the write goes on', async (t) => {
  const { nodes } = await startNodes(t, { cluster: { writeMs: 500 } })
  const [leader, node] = nodes as [HttpNode, HttpNode]
  t.equal((await leader.send('POST', '/api/v2/collection', { json: { name: 'things', fields } })).status, 200)
  leader.store.isPartitioned = true
  for (const one of [leader, node]) {
    const reply = await write(one)
    t.match([reply.status, reply.json().code], [503, 'outcome_unknown'], reply.text)
  }
  // Otherwise, repeated writes could fill the memory while the log does not answer.
  t.equal(await inFlight(leader), 3, 'they hold their share of the limits')
  leader.store.isPartitioned = false
  await until(async () => (await inFlight(leader)) === 1)
  await until(async () => (await leader.send('POST', `${things}/objects/count`, { json: {} })).json().count === 1)
  t.equal((await write(leader)).status, 200)
})
