// The links of fault scenarios: what is held up arrives later and in order, and a link that is cut resets connections.
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'tap'
import { until } from '../eventually.ts'
import { Link } from './chaos/link.ts'

test('a link passes, holds up, delays, and cuts', async (t) => {
  const received: string[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received.push(bytes.toString())
      socket.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const link = await Link.open(t, (server.address() as net.AddressInfo).port)
  const client = () => {
    const socket = net.connect(link.port, '127.0.0.1')
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString()
    })
    socket.on('error', () => undefined)
    return { socket, text: () => text }
  }

  const first = client()
  first.socket.write('a')
  await until(() => first.text() === 'a')

  link.hold('back')
  first.socket.write('b')
  await until(() => received.join('') === 'ab')
  link.hold('there', 'back')
  first.socket.write('c')
  const late = client()
  late.socket.write('d')
  await once(late.socket, 'connect')
  t.equal(received.join(''), 'ab')
  t.equal(first.text(), 'a')
  link.heal()
  await until(() => first.text() === 'abc' && late.text() === 'd')

  link.delayMs = 30
  first.socket.write('e')
  first.socket.write('f')
  await until(() => first.text() === 'abcef')
  link.heal()

  link.cut()
  await until(() => first.socket.closed && late.socket.closed)
  const refused = client()
  await until(() => refused.socket.closed)
  link.heal()
  const again = client()
  again.socket.write('g')
  await until(() => again.text() === 'g')
  again.socket.destroy()
})
