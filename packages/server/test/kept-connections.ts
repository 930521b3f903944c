// A client that keeps its connections for long runs. A server closes a connection that idled, maybe just as the next request is on its
// way; such a request, and no other, is sent once more, on a connection of its own. What fails on a fresh connection is a fault of the
// server and is thrown.
import http from 'node:http'

export interface KeptReply {
  readonly status: number
  readonly text: string
  /** Sent twice: the first may have been done. */
  readonly again: boolean
}

export interface KeptConnections {
  send(method: string, path: string, body?: unknown): Promise<KeptReply>
  /** Requests that were sent twice. */
  readonly repeated: number
  close(): void
}

/** Codes of a connection that ended without a reply. */
const ended: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

export function keepConnections(url: string): KeptConnections {
  const agent = new http.Agent({ keepAlive: true })
  let repeated = 0
  return {
    get repeated() {
      return repeated
    },
    async send(method, path, body) {
      const request = { url: url + path, method, body: body === undefined ? '' : JSON.stringify(body) }
      try {
        return { ...(await sendOn(agent, request)), again: false }
      } catch (error) {
        if (!(error instanceof IdleClosed)) throw error
        repeated += 1
        return { ...(await sendOn(false, request)), again: true }
      }
    },
    close: () => agent.destroy(),
  }
}

class IdleClosed extends Error {}

interface Outgoing {
  readonly url: string
  readonly method: string
  /** JSON, or nothing. */
  readonly body: string
}

function sendOn(agent: http.Agent | false, { url, method, body }: Outgoing): Promise<Omit<KeptReply, 'again'>> {
  return new Promise((resolve, reject) => {
    const type = body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const request = http.request(url, { agent, method, headers: { accept: 'application/json', ...type } })
    request.on('error', (error: Error & { readonly code?: string }) => {
      const cause = new Error(`${method} ${url}: ${error.message}`, { cause: error })
      reject(request.reusedSocket && ended.has(error.code) ? new IdleClosed(cause.message, { cause }) : cause)
    })
    request.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      // A reply that breaks off is no connection that idled.
      response.on('error', (error) => reject(new Error(`${method} ${url}: the reply broke off`, { cause: error })))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }))
    })
    request.end(body)
  })
}
