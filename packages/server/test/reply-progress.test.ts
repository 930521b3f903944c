// Clients that do not read what they requested are disconnected, whatever they requested.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { test } from 'tap'
import { closeUnread, ReplyProgress } from '../src/http/reply-progress.ts'
import { readerBytesMin } from '../src/limits.ts'

const checks = 30

test('a client must receive some bytes in each period while bytes wait for it', async (t) => {
  const stallsWith = (bytesAtCheck: (check: number) => { waiting: number; taken: number }): number | undefined => {
    const progress = new ReplyProgress()
    for (let check = 1; check <= 10 * checks; check++) {
      const { waiting, taken } = bytesAtCheck(check)
      const socket = { writableLength: waiting, _bytesDispatched: taken + 7, _handle: { writeQueueSize: 7 } }
      if (progress.isStalled(socket, check)) return check
    }
    return undefined
  }
  t.equal(
    stallsWith(() => ({ waiting: 1, taken: 0 })),
    1 + checks,
    'nothing',
  )
  t.equal(
    stallsWith((check) => ({ waiting: 1, taken: check * 1_000 })),
    1 + checks,
    'too little',
  )
  t.equal(
    stallsWith((check) => ({ waiting: 1, taken: check * (readerBytesMin / checks + 1) })),
    undefined,
    'enough',
  )
  t.equal(
    stallsWith((check) => ({ waiting: check % 29 === 0 ? 0 : 1, taken: 0 })),
    undefined,
    'all of it, now and then',
  )
  t.equal(
    stallsWith((check) => ({ waiting: check < 100 ? 0 : 1, taken: 0 })),
    100 + checks,
    'after an idle time',
  )
})

test('a client that sends requests and reads no reply is disconnected', async (t) => {
  const reply = Buffer.alloc(200_000)
  // As the framework sends replies that are one buffer: without a timeout.
  const server = http.createServer((_request, response) => void response.end(reply))
  const end = closeUnread(server, { isSecure: false, checkEveryMs: 10 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    end()
    server.closeAllConnections()
    server.close()
  })
  const accepted = once(server, 'connection') as Promise<[net.Socket]>
  const client = net.connect(port, '127.0.0.1')
  client.on('error', () => undefined)
  client.pause()
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100))
  const [socket] = await accepted
  await once(socket, 'close')
  t.pass('while bytes waited for it')
  client.destroy()
})

test('a client that reads slowly gets all of it', async (t) => {
  const reply = Buffer.alloc(40_000_000)
  const server = http.createServer((_request, response) => void response.end(reply))
  const end = closeUnread(server, { isSecure: false, checkEveryMs: 20 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    end()
    server.closeAllConnections()
    server.close()
  })
  const [response] = (await once(
    http.get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }),
    'response',
  )) as [http.IncomingMessage]
  let bytes = 0
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  t.equal(bytes, reply.length)
})
