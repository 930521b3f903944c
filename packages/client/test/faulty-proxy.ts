// A real HTTP proxy in front of a server. It forwards whole requests, and does with each what the test says.
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface ForwardedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * `pass`: the client gets the reply. `drop-reply`: the server replies, and the client's connection breaks. `drop-request`: the connection
 * breaks before the server gets anything. `afterReply` runs between the reply and the break. A function replies instead of the server.
 */
export type Fate =
  | 'pass'
  | 'drop-reply'
  | 'drop-request'
  | { readonly afterReply: () => Promise<unknown> }
  | ((response: ServerResponse) => void)

export interface FaultyProxy {
  readonly url: string
  /** The server behind it; it may change at any time. */
  target: string
  /** Called with every request and its number from 0, before it is forwarded. */
  fate: (request: ForwardedRequest, number: number) => Fate | Promise<Fate>
  /** Headers that it adds to a reply of the server. */
  adds: (request: ForwardedRequest, body: Buffer) => Record<string, string>
  readonly requests: readonly ForwardedRequest[]
  /** Refuses connections from now on. */
  close(): Promise<void>
}

export async function faultyProxy(t: Test, target: string): Promise<FaultyProxy> {
  const requests: ForwardedRequest[] = []
  const agent = new http.Agent({ keepAlive: true })
  const server = http.createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk)
    } catch {
      // The client went away.
      return
    }
    const { method = '', url = '', headers } = incoming
    const request = { method, url, headers, body: Buffer.concat(chunks) }
    requests.push(request)
    const fate = await proxy.fate(request, requests.length - 1)
    if (typeof fate === 'function') return fate(response)
    if (fate === 'drop-request') return void response.destroy()
    forward(proxy.target, request, agent).then(
      async ({ status, headers, body }) => {
        if (fate === 'pass') return response.writeHead(status, { ...headers, ...proxy.adds(request, body) }).end(body)
        if (typeof fate === 'object') await fate.afterReply()
        return response.destroy()
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    agent.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  t.teardown(close)
  // listen on a TCP port returns an AddressInfo; a string is for pipes only.
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const proxy: FaultyProxy = { url, target, fate: () => 'pass', adds: () => ({}), requests, close }
  return proxy
}

interface WholeReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

function forward(target: string, { method, url, headers, body }: ForwardedRequest, agent: http.Agent) {
  return new Promise<WholeReply>((resolve, reject) => {
    const outgoing = http.request(target + url, { method, headers: { ...headers, host: new URL(target).host }, agent })
    outgoing.on('error', reject)
    outgoing.on('response', (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('error', reject)
      reply.on('aborted', () => reject(new Error('the server ended its reply')))
      reply.on('end', () =>
        resolve({ status: reply.statusCode ?? 502, headers: reply.headers, body: Buffer.concat(chunks) }),
      )
    })
    outgoing.end(body)
  })
}
