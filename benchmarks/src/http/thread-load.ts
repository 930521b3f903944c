// How the connections and the requests of a server are divided among its serving threads, as its metrics state it.
import http from 'node:http'
import type { Target } from './connection.ts'
import type { Sender } from './requests.ts'

/** By thread. */
export interface ThreadLoad {
  readonly connections: ReadonlyMap<string, number>
  readonly replies: ReadonlyMap<string, number>
}

/** The share of the thread that has the most: 0.5 with two threads is an even split. */
export interface Split {
  readonly connections: number
  readonly replies: number
}

const figure = /^annal_thread_(connections|requests_total)\{thread="(\d+)"\} (\d+)$/gm

/** Undefined for a server with one thread, or without these metrics. */
export async function threadLoad(target: Target, sender: Sender): Promise<ThreadLoad | undefined> {
  const text = await metricsOf(target, sender)
  const connections = new Map<string, number>()
  const replies = new Map<string, number>()
  for (const [, name, thread = '', value] of text.matchAll(figure)) {
    if (name === 'connections') connections.set(thread, Number(value))
    else replies.set(thread, Number(value))
  }
  return connections.size > 1 ? { connections, replies } : undefined
}

export function splitBetween(before: ThreadLoad, after: ThreadLoad): Split {
  const replies = [...after.replies].map(([thread, count]) => count - (before.replies.get(thread) ?? 0))
  return { connections: largestShare([...after.connections.values()]), replies: largestShare(replies) }
}

function largestShare(counts: readonly number[]): number {
  return (
    Math.max(...counts) /
    Math.max(
      1,
      counts.reduce((sum, count) => sum + count, 0),
    )
  )
}

/** Over a connection that closes, so that it is not one of those that are measured. */
function metricsOf({ host, port }: Target, { headers }: Sender): Promise<string> {
  const lines = headers.map((line) => [line.replace(/:.*/, ''), line.replace(/^[^:]*: */, '')] as const)
  return new Promise((resolve, reject) => {
    const request = http.get({ host, port, path: '/metrics', agent: false, headers: Object.fromEntries(lines) })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve(text))
      response.on('error', reject)
    })
  })
}
