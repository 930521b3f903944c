// Sends hostile bodies to every route that accepts one, as a client that reads while it sends.
import { once } from 'node:events'
import http from 'node:http'
import type { frames } from './hostile-shapes.ts'
import { callers } from './route-table.ts'

const oneConnection = new http.Agent({ keepAlive: true, maxSockets: 1 })

export interface Reply {
  readonly status: number
  readonly code: string | undefined
}

export interface Upload {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly bytes: number
  readonly chunks: Iterable<Buffer>
  readonly declares: boolean
}

/** Sends until the reply arrives; a server that has replied may close the connection. */
export async function sendBody(
  url: string,
  { method, path, type, bytes, chunks, declares }: Upload,
  agent = oneConnection,
): Promise<Reply> {
  const headers = { 'content-type': type, accept: 'application/json', ...(declares && { 'content-length': bytes }) }
  // An agent that keeps connections, so that the server need not close one.
  const request = http.request(url + path, { method, headers, agent })
  const replied = new Promise<Reply>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => void parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(parts).toString()
        resolve({ status: response.statusCode ?? 0, code: codeOf(body) })
      })
    })
  })
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  const over = replied.then(end, end)
  for (const chunk of chunks) {
    if (isOver || request.destroyed) break
    if (!request.write(chunk)) await Promise.race([once(request, 'drain').catch(() => undefined), over])
  }
  if (!isOver) request.end()
  const reply = await replied
  request.destroy()
  return reply
}

function codeOf(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { code?: string }).code
  } catch {
    return undefined
  }
}

export const types = { json: 'application/json', msgpack: 'application/msgpack' } as const

/** Routes that read lists, and how their lists begin. */
export const listRoutes: readonly [string, keyof typeof frames][] = [
  ['POST /api/v1/index/docs/vector/insert', 'insert'],
  ['POST /api/v2/collection/docs/objects', 'objects'],
  ['POST /api/v1/index/docs/filters/update', 'updates'],
  ['POST /api/v2/collection/docs/filters', 'updates'],
]

/** Routes of searches and reads, which accept 8 MiB and read the body at once. */
export const queryRoutes = [
  'POST /api/v1/index/docs/search',
  'POST /api/v1/index/docs/vector/get',
  'POST /api/v2/collection/docs/search',
  'POST /api/v2/collection/docs/search/batch',
  'POST /api/v2/collection/docs/objects/count',
  'POST /api/v2/collection/docs/facets',
  'POST /api/v2/collection/docs/objects/scroll',
  'POST /api/v2/collection/docs/objects/query',
  'DELETE /api/v2/collection/docs/objects',
]

/** All other routes that may have a body. */
export function otherRoutes(): string[] {
  const filled = [...callers.keys()].map((route) => {
    // Not the collection itself, because later requests would have no target.
    const isDrop = /^DELETE .*(index\/:name\/delete|collection\/:name)$/.test(route)
    return route
      .replace(':name', isDrop ? 'none' : 'docs')
      .replace(/:\w+/g, 'none')
      .replace('*', 'none/delete')
  })
  const lists = new Set(listRoutes.map(([route]) => route))
  return filled.filter((route) => !route.startsWith('GET') && !lists.has(route))
}
