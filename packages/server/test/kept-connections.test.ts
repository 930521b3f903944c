// The client of long runs: it repeats a request on a connection that the server closed while it idled, and hides nothing else.
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { keepConnections } from './kept-connections.ts'

const reply = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'

/** A server that answers or ends a connection, by the number of the connection and of the request on it. */
async function serverThat(t: Test, act: (connection: number, request: number) => 'reply' | 'reset' | 'half') {
  let connections = 0
  const server = net.createServer((socket) => {
    const connection = connections++
    let request = 0
    socket.on('error', () => undefined)
    socket.on('data', () => {
      const what = act(connection, request++)
      if (what === 'reset') socket.resetAndDestroy()
      else socket.write(what === 'half' ? reply.slice(0, -1) : reply, () => what === 'half' && socket.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const kept = keepConnections(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.teardown(() => {
    kept.close()
    server.close()
  })
  return { kept, connections: () => connections }
}

test('a request on a connection that idled is sent again on a fresh one', async (t) => {
  const { kept, connections } = await serverThat(t, (connection, request) =>
    connection < 3 && request > 0 ? 'reset' : 'reply',
  )
  // Three connections idle, all of which the server closes.
  const first = await Promise.all([1, 2, 3].map(() => kept.send('GET', '/')))
  t.ok(first.every(({ status, again }) => status === 200 && !again))
  t.equal(connections(), 3)
  t.match(await kept.send('POST', '/', { a: 1 }), { status: 200, text: '{}', again: true })
  t.equal(connections(), 4, 'not on another that idled')
  t.equal(kept.repeated, 1)
})

test('what fails on a fresh connection, or breaks off, is thrown', async (t) => {
  const resets = await serverThat(t, () => 'reset')
  await t.rejects(resets.kept.send('GET', '/'), /GET/)
  t.equal(resets.connections(), 1)
  const breaks = await serverThat(t, (_, request) => (request === 0 ? 'reply' : 'half'))
  await breaks.kept.send('GET', '/')
  await t.rejects(breaks.kept.send('GET', '/'), /broke off|aborted/)
  const twice = await serverThat(t, (connection, request) => (connection + request === 0 ? 'reply' : 'reset'))
  await twice.kept.send('GET', '/')
  await t.rejects(twice.kept.send('GET', '/'), /GET/, 'the second time it was a fresh connection')
  t.equal(twice.connections(), 2)
})
