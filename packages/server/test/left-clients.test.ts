// A client that closes its connection while its request waits has left, which is noticed. A client that only sends no more gets its reply, behind
// interim replies that it may ignore.
import http, { type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { hasLeft } from '../src/http/left-clients.ts'
import { eventually, until } from './eventually.ts'

interface Opened {
  readonly client: Socket
  readonly reply: ServerResponse
}

/** A client whose request has no reply yet. */
async function open(t: Test, version: string): Promise<Opened> {
  const server = http.createServer()
  Object.assign(server, { httpAllowHalfOpen: true })
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const arriving = new Promise<ServerResponse>((resolve) =>
    server.on('request', (request, reply) => {
      request.resume()
      resolve(reply)
    }),
  )
  const client = net.connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  client.on('error', () => undefined)
  client.write(`GET / HTTP/${version}\r\nHost: localhost\r\n\r\n`)
  return { client, reply: await arriving }
}

for (const [name, leave] of [
  ['closes its connection', (client: Socket) => client.destroy()],
  ['resets its connection', (client: Socket) => client.resetAndDestroy()],
] as const)
  test(`a client that ${name} has left`, async (t) => {
    const { client, reply } = await open(t, '1.1')
    t.equal(hasLeft(reply), false, 'not while it waits')
    leave(client)
    await until(() => hasLeft(reply))
  })

for (const version of ['1.1', '1.0'])
  test(`a client of HTTP/${version} that sends no more gets its reply`, async (t) => {
    const { client, reply } = await open(t, version)
    client.end()
    let received = ''
    client.setEncoding('latin1').on('data', (text: string) => {
      received += text
    })
    await eventually(() => reply.socket?.readableEnded || undefined)
    t.equal(hasLeft(reply), false)
    if (version === '1.1') await until(() => hasLeft(reply) || received.split('100 Continue').length > 2)
    t.equal(hasLeft(reply), false, 'it still waits')
    reply.end('done')
    await new Promise((resolve) => client.on('close', resolve))
    t.match(received, version === '1.1' ? /^(HTTP\/1\.1 100 Continue\r\n\r\n){2,}HTTP\/1\.1 200/ : /^HTTP\/1\.1 200/)
    t.match(received, /done/)
  })
