// A real HTTP server on a free port that sends the given replies in sequence and records the requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Reply = (response: ServerResponse, request: RecordedRequest) => void

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly RecordedRequest[]
}

/** The last reply is repeated when the others are used up. */
export async function scriptedServer(...replies: readonly [Reply, ...Reply[]]): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body: Buffer.concat(chunks) })
    const reply = replies[Math.min(requests.length, replies.length) - 1] as Reply
    reply(response, requests.at(-1) as RecordedRequest)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // listen on a TCP port returns an AddressInfo; a string is for pipes only.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

export function plain(status: number, body: string): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
  }
}

export const silence: Reply = () => undefined

export const hangUp: Reply = (response) => {
  response.destroy()
}
