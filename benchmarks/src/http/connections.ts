// A client that costs as little as can be: raw sockets, requests made beforehand, replies only measured for their end.
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The server closes a connection after 1,000 requests; this client is first. */
const requestsPerSocket = 900

export interface LoadOptions {
  readonly port: number
  readonly count: number
  readonly connections: number
  readonly request: (index: number) => Buffer
  /** Requests begin at this rate, whatever the answers do; as fast as they are answered when not given. */
  readonly perSecond?: number
  readonly onReply?: (index: number, body: Buffer) => void
}

/** Latencies in milliseconds, ascending; counted from when a request was due, so that waiting for a connection is in them. */
export async function load(options: LoadOptions): Promise<Float64Array> {
  const { count, connections, perSecond, request, port, onReply } = options
  const latencies = new Float64Array(count)
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const begun = performance.now()
  const dueAt = (index: number) => (perSecond === undefined ? undefined : begun + (index * 1_000) / perSecond)
  let next = 0
  const one = async (first: Connection): Promise<void> => {
    let connection = first
    while (next < count) {
      if (connection.asked >= requestsPerSocket) {
        connection.close()
        connection = await openConnection(port)
      }
      const index = next++
      const due = dueAt(index) ?? performance.now()
      const early = due - performance.now()
      if (early > 0) await sleep(early)
      const body = await connection.ask(request(index))
      latencies[index] = performance.now() - due
      onReply?.(index, body)
    }
    connection.close()
  }
  await Promise.all(opened.map(one))
  return latencies.sort()
}

interface Connection {
  readonly asked: number
  ask(request: Buffer): Promise<Buffer>
  close(): void
}

function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let asked = 0
    let received = Buffer.alloc(0)
    let waiting: { resolve(body: Buffer): void; reject(error: Error): void } | undefined
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }, () =>
      resolve({
        get asked() {
          return asked
        },
        ask(request) {
          asked += 1
          socket.write(request)
          return new Promise((resolve, reject) => {
            waiting = { resolve, reject }
          })
        },
        close: () => socket.destroy(),
      }),
    )
    socket.on('error', (error) => (waiting ?? { reject }).reject(error))
    socket.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
      const from = bodyOf(received)
      if (from === undefined) return
      const body = received.subarray(from)
      const status = received.toString('latin1', 9, 12)
      received = Buffer.alloc(0)
      if (status === '200') waiting?.resolve(body)
      else waiting?.reject(new Error(body.toString()))
    })
  })
}

/** Where the body begins, once all of it is there. */
function bodyOf(received: Buffer): number | undefined {
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, head))?.[1]
  return received.length >= head + 4 + Number(length ?? 0) ? head + 4 : undefined
}
