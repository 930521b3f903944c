// Measures which nodes serve, and how near they are: one small request to each, at most every 10 s, while calls are made. It delays no call.
import type { Node, Nodes } from './nodes.ts'

const everyMs = 10_000
const timeoutMs = 2_000

interface Measured {
  readonly nodes: Nodes
  readonly fetch: typeof fetch
}

export function measure({ nodes, fetch }: Measured): void {
  const nowMs = performance.now()
  if (nowMs < nodes.measureAtMs) return
  nodes.measureAtMs = nowMs + everyMs
  for (const node of nodes.all) {
    void roundTrip(node, fetch).then((rttMs) => nodes.measured(node, rttMs, performance.now()))
  }
}

/** Without the token, because the URL may come from a reply. Undefined if the node does not serve. */
async function roundTrip({ url }: Node, request: typeof fetch): Promise<number | undefined> {
  const startMs = performance.now()
  try {
    const response = await request(`${url}/api/v2/health`, {
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.arrayBuffer()
    return response.ok ? performance.now() - startMs : undefined
  } catch {
    // No reply is an answer, too.
    return undefined
  }
}
