// Requests of the flood: one connection for each client, and repeated if the server has done nothing.
import http from 'node:http'

export interface Reply {
  readonly status: number
  readonly text: string
}

export type Send = (method: string, path: string, json?: unknown, token?: string) => Promise<Reply>

/**
 * Repeats requests of which the server has done nothing: it was too busy, or the request arrived too late, or the server had closed the idle
 * connection before. Both happen if this process was stopped for some seconds.
 */
export function sender(url: string, agent: http.Agent, ownToken: string): Send {
  const send = senderOnce(url, agent, ownToken)
  return async (...request) => {
    for (;;) {
      const reply = await send(...request)
      if (reply === undefined) continue
      if (reply.status === 408 || (reply.status === 503 && JSON.parse(reply.text).code === 'overloaded')) continue
      return reply
    }
  }
}

/** Resolves to undefined if the connection was idle before and closed without a reply. */
function senderOnce(
  url: string,
  agent: http.Agent,
  ownToken: string,
): (...request: Parameters<Send>) => Promise<Reply | undefined> {
  return (method, path, json, token = ownToken) =>
    new Promise((resolve, reject) => {
      const body = json === undefined ? '' : JSON.stringify(json)
      const headers = {
        authorization: token,
        accept: 'application/json',
        ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      }
      const request = http.request(`${url}/api/v2${path}`, { method, headers, agent }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }))
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) resolve(undefined)
        else reject(error)
      })
      request.end(body)
    })
}

export function newAgent(): http.Agent {
  return new http.Agent({ keepAlive: true, maxSockets: 1 })
}

export async function expect(sent: Promise<Reply>, statuses: readonly number[] = [200, 201, 202]): Promise<Reply> {
  const reply = await sent
  if (!statuses.includes(reply.status)) throw new Error(`${reply.status}: ${reply.text}`)
  return reply
}

export async function eventually(send: Send, path: string, wanted: Readonly<Record<string, unknown>>): Promise<void> {
  for (;;) {
    const body = JSON.parse((await expect(send('GET', path))).text) as Readonly<Record<string, unknown>>
    if (Object.entries(wanted).every(([key, value]) => body[key] === value)) return
  }
}
