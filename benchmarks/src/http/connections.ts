// An HTTP client with minimal cost: raw sockets, requests prepared in advance, replies only parsed for their end.
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** The server closes a connection after 1,000 requests; this client closes it first. */
const requestsPerSocket = 900

export interface LoadOptions {
  readonly port: number
  readonly count: number
  readonly connections: number
  readonly request: (index: number) => Buffer
  /** Rate at which requests start, regardless of replies. If undefined, each connection sends its next request after a reply. */
  readonly perSecond?: number
  readonly onReply?: (index: number, body: Buffer) => void
}

/** Returns the latencies in milliseconds, ascending. They start when a request is due, so they include waiting for a connection. */
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
      if (connection.sent >= requestsPerSocket) {
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
  readonly sent: number
  ask(request: Buffer): Promise<Buffer>
  close(): void
}

function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let sent = 0
    let received = Buffer.alloc(0)
    let waiting: { resolve(body: Buffer): void; reject(error: Error): void } | undefined
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }, () =>
      resolve({
        get sent() {
          return sent
        },
        ask(request) {
          sent += 1
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
      const body = bodyOf(received)
      if (body === undefined) return
      const status = received.toString('latin1', 9, 12)
      received = Buffer.alloc(0)
      if (status === '200') waiting?.resolve(body)
      else waiting?.reject(new Error(body.toString()))
    })
  })
}

/** Returns the body once it is complete. A reply that the server generates over time has chunks. */
function bodyOf(received: Buffer): Buffer | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const body = received.subarray(headEnd + 4)
  if (/transfer-encoding: chunked/i.test(head)) return joinChunks(body)
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
  return body.length >= length ? body : undefined
}

function joinChunks(body: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let from = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', from)
    if (lineEnd < 0) return undefined
    const length = Number.parseInt(body.toString('latin1', from, lineEnd), 16)
    from = lineEnd + 2 + length + 2
    if (from > body.length) return undefined
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(body.subarray(lineEnd + 2, from - 2))
  }
}
