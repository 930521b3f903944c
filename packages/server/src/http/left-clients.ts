// Whether a client still waits for a reply. TCP does not tell a client that has closed its connection from one that only sends no more and
// reads on: both send the same FIN, and only bytes that are sent to the first one come back as a reset. So a client that has ended its side
// gets interim replies 100, which every client of HTTP/1.1 ignores (RFC 9110, 15.2). The first one provokes the reset, and writing the next one
// fails, because Node.js reads nothing behind a FIN.
import type { ServerResponse } from 'node:http'
import { interimRepliesAtMs } from '../limits.ts'

interface Probes {
  readonly sinceMs: number
  sent: number
}

const probes = new WeakMap<ServerResponse, Probes>()

/** Whether nobody receives the reply. Sends an interim reply if the client has ended its side and one is due. */
export function hasLeft(reply: ServerResponse): boolean {
  if (reply.destroyed) return true
  if (reply.socket?.readableEnded === true) probe(reply)
  return reply.destroyed
}

function probe(reply: ServerResponse): void {
  // Clients of HTTP/1.0 know no interim replies.
  if (reply.headersSent || reply.req.httpVersion !== '1.1') return
  const now = performance.now()
  const known = probes.get(reply) ?? { sinceMs: now, sent: 0 }
  probes.set(reply, known)
  const dueMs = interimRepliesAtMs[known.sent]
  if (dueMs === undefined || now - known.sinceMs < dueMs) return
  known.sent++
  reply.writeContinue()
}
