// A client that costs as little as can be: raw sockets, requests made beforehand, replies only measured for their end.
import net from 'node:net'

/** The server closes a connection after 1,000 requests; this client is first. */
const requestsPerSocket = 900

export interface LoadOptions {
  readonly port: number
  readonly count: number
  readonly connections: number
  readonly request: (index: number) => Buffer
}

/** Sends `count` requests, one at a time on each of the connections, and returns their latencies in milliseconds. */
export async function load({ port, count, connections, request }: LoadOptions): Promise<Float64Array> {
  const latencies = new Float64Array(count)
  let sent = 0
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const open = (): void => {
        let onSocket = 0
        let startedAt = 0
        let index = 0
        let received = Buffer.alloc(0)
        const socket = net.connect({ port, host: '127.0.0.1', noDelay: true }, () => next())
        const next = (): void => {
          if (sent >= count) {
            socket.destroy()
            resolve()
          } else if (onSocket >= requestsPerSocket) {
            socket.destroy()
            open()
          } else {
            index = sent++
            onSocket += 1
            startedAt = performance.now()
            socket.write(request(index))
          }
        }
        socket.on('error', reject)
        socket.on('data', (bytes) => {
          received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
          if (!isWhole(received)) return
          if (received.toString('latin1', 9, 12) !== '200') reject(new Error(received.toString()))
          latencies[index] = performance.now() - startedAt
          received = Buffer.alloc(0)
          next()
        })
      }
      open()
    })
  await Promise.all(Array.from({ length: connections }, one))
  return latencies.sort()
}

function isWhole(received: Buffer): boolean {
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return false
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, head))?.[1]
  return received.length >= head + 4 + Number(length ?? 0)
}
