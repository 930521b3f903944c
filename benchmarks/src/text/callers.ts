// Callers over TCP that cost as little as Node.js permits, so that a measurement is that of the servers: a request is bytes that are prepared in
// advance, and a reply is only searched for its end. One request at a time on each connection.
import { once } from 'node:events'
import net from 'node:net'
import { type Connection, openConnection, type Target } from '../http/connection.ts'
import { bodyOf, isLastReply, statusOf } from '../http/framing.ts'

export interface Caller {
  /** Sends a request, and resolves when the reply is there. */
  call(request: Buffer): Promise<void>
  close(): void
}

/** Servers close a connection after 1,000 requests. */
const requestsPerConnection = 900

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export function httpCaller(target: Target): Caller {
  let connection: Connection | undefined
  let waiting: Waiting | undefined
  const open = () =>
    openConnection(target, {
      onReply(from, reply) {
        // The server sends some connections to another thread.
        if (isLastReply(reply) || from.sent >= requestsPerConnection) {
          from.close()
          connection = undefined
        }
        if (statusOf(reply) === 200) waiting?.resolve()
        else waiting?.reject(new Error(bodyOf(reply).toString()))
      },
      onLost: () => waiting?.reject(new Error('the server closed the connection')),
    })
  return {
    async call(request) {
      connection ??= await open()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting = { resolve, reject }
      connection.send(request)
      await promise
    },
    close: () => connection?.close(),
  }
}

/** The request of a search as JSON. */
export function httpRequest({ host, port }: Target, path: string, body: object): Buffer {
  const json = JSON.stringify(body)
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}:${port}`, 'Content-Type: application/json']
  return Buffer.from(`${head.join('\r\n')}\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`)
}

/** ReadyForQuery, outside of a transaction: the end of every reply. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const errorResponse = 0x45

/** A connection with one prepared statement, by version 3 of the protocol of PostgreSQL. */
export async function postgresCaller({ host, port }: Target, statement: string): Promise<Caller> {
  const socket = net.connect({ host, port, noDelay: true })
  let waiting: Waiting | undefined
  let reply: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes) => {
    reply = reply.length === 0 ? bytes : Buffer.concat([reply, bytes])
    if (reply.length < ready.length || !reply.subarray(-ready.length).equals(ready)) return
    const whole = reply
    reply = Buffer.alloc(0)
    // An error is the only part of a reply to Bind, or the first one.
    if (whole[0] === errorResponse) waiting?.reject(new Error(whole.toString('latin1')))
    else waiting?.resolve()
  })
  socket.on('error', (error) => waiting?.reject(error))
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')))
  await once(socket, 'connect')
  const call = async (request: Buffer) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting = { resolve, reject }
    socket.write(request)
    await promise
  }
  const protocol = Buffer.from([0, 3, 0, 0])
  const startup = Buffer.concat([protocol, Buffer.from('user\0postgres\0database\0postgres\0\0')])
  await call(Buffer.concat([uint32(startup.length + 4), startup]))
  await call(Buffer.concat([message('P', text('ranked'), text(statement), Buffer.from([0, 0])), message('S')]))
  return {
    call,
    close: () => {
      socket.removeAllListeners('close')
      socket.end(message('X'))
    },
  }
}

/** Runs the prepared statement with one parameter, a text: Bind, Execute, Sync. */
export function postgresRequest(parameter: string): Buffer {
  const value = Buffer.from(parameter)
  const bind = [text(''), text('ranked'), Buffer.from([0, 0, 0, 1]), uint32(value.length), value, Buffer.from([0, 0])]
  return Buffer.concat([message('B', ...bind), message('E', text(''), uint32(0)), message('S')])
}

function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), uint32(body.length + 4), body])
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
