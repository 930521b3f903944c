// A connection of a client with minimal cost: requests are bytes prepared in advance, and a reply is only searched for its end. All
// connections of a process share one buffer for reading.
import { once } from 'node:events'
import net from 'node:net'
import { bodyOf, replyBytes, statusOf } from './framing.ts'

const shared = Buffer.allocUnsafeSlow(1_048_576)

export interface Target {
  readonly host: string
  readonly port: number
}

export interface Connection {
  /** Requests sent since the connection was opened. */
  readonly sent: number
  send(request: Buffer): void
  close(): void
}

export interface ConnectionEvents {
  /** `reply` is valid only during the call. */
  onReply(connection: Connection, reply: Buffer): void
  /** The server closed the connection, or it failed. */
  onLost(connection: Connection): void
}

export async function openConnection({ host, port }: Target, events: ConnectionEvents): Promise<Connection> {
  let sent = 0
  let partial: Buffer | undefined
  const callback = (length: number): boolean => {
    const bytes = partial === undefined ? shared : Buffer.concat([partial, shared.subarray(0, length)])
    const received = partial === undefined ? length : bytes.length
    const end = replyBytes(bytes, received)
    partial = end < 0 ? Buffer.from(bytes.subarray(0, received)) : undefined
    if (end >= 0) events.onReply(connection, bytes.subarray(0, end))
    return true
  }
  const socket = net.connect({ host, port, noDelay: true, onread: { buffer: shared, callback } })
  const connection: Connection = {
    get sent() {
      return sent
    },
    send(request) {
      sent += 1
      socket.write(request)
    },
    close() {
      socket.removeAllListeners('close')
      socket.destroy()
    },
  }
  await once(socket, 'connect')
  // A reset connection is closed too.
  socket.on('error', () => undefined)
  socket.on('close', () => events.onLost(connection))
  return connection
}

/** Sends requests over one connection, each after the reply to the one before. Rejects at a reply with another status than 200. */
export async function sendInTurn(target: Target, requests: readonly Buffer[]): Promise<void> {
  let next = 0
  await new Promise<void>((resolve, reject) => {
    const sendNext = (connection: Connection): void => {
      if (next < requests.length) connection.send(requests[next++]!)
      else {
        connection.close()
        resolve()
      }
    }
    const events: ConnectionEvents = {
      onReply(connection, reply) {
        if (statusOf(reply) === 200) sendNext(connection)
        else {
          connection.close()
          reject(new Error(`request ${next}: ${bodyOf(reply).toString()}`))
        }
      },
      onLost: () => reject(new Error(`the server closed the connection after request ${next}`)),
    }
    openConnection(target, events).then(sendNext, reject)
  })
}
