// Sends a request that only the leader of a cluster can answer to the leader, and its reply to the client. The leader is the one that this node
// knows from the log; no reply of another server names one.

import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClusterView, NodeAddress } from '../cluster/cluster-view.ts'
import { ForwardedBody } from '../cluster/forwarded-body.ts'
import type { Forwarder, ForwardOutcome } from '../cluster/forwarder.ts'
import { ServerError } from '../errors.ts'
import { readRest } from '../http/error-replies.ts'
import { isMisdirected, lsnHeader, replyHeaders, requestHeaders } from '../http/forwarded-headers.ts'
import { tooLarge } from '../http/whole-body.ts'

/** How long a node looks for a new leader before it refuses a request, and how often. */
const learnMsMax = 1_000
const learnEveryMs = 20
/** How long a reply waits until this node has applied the write. */
const appliedMsMax = 2_000

export interface ForwardingParts {
  readonly node: string
  readonly view: ClusterView
  readonly forwarder: Forwarder
  /** Resolves to false if it takes longer. */
  whenApplied(lsn: number, timeoutMs: number): Promise<boolean>
  /** Called before a reply to a write. */
  onWritten(): void
}

/** Forwards a request whose body arrives. Throws ServerError not_leader, outcome_unknown, and body_too_large. */
export async function forwardWrite(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ForwardingParts,
  limits: { readonly idleMsMax?: number } = {},
): Promise<void> {
  const { bodyLimit } = request.routeOptions
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw tooLarge(bodyLimit)
  refuseMisdirected(request, parts.view)
  // It passes through, and does not accumulate in memory.
  request.bodyRoom?.release()
  const outcome = await sendToLeader(request, new ForwardedBody(request.raw), parts, limits)
  if (outcome.kind === 'unknown')
    throw new ServerError('outcome_unknown', 'the leader did not reply; the write may have been stored')
  await relay(request, reply, outcome, parts)
}

/** Forwards a read whose body has arrived. Throws ServerError not_leader. */
export async function forwardRead(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Buffer | undefined,
  parts: ForwardingParts,
): Promise<void> {
  refuseMisdirected(request, parts.view)
  const bodyBytes = body === undefined ? {} : { bodyBytes: body.length }
  const outcome = await sendToLeader(request, new ForwardedBody(body ?? Buffer.alloc(0)), parts, bodyBytes)
  if (outcome.kind === 'unknown') throw notLeader(parts.view, 'the leader did not reply')
  await relay(request, reply, outcome, parts)
}

/** The refusal of a request that this node cannot answer because it does not lead. */
export function notLeader(view: ClusterView, reason: string): ServerError {
  const leader = view.leader()
  return new ServerError('not_leader', reason, leader && { leader: leader.url })
}

function refuseMisdirected({ headers }: FastifyRequest, view: ClusterView): void {
  if (!isMisdirected(headers)) return
  const leader = view.leader()
  throw notLeader(
    view,
    leader === undefined
      ? 'this node does not lead the cluster, and knows no leader'
      : `this node does not lead the cluster; "${leader.node}" does`,
  )
}

type Answered = Extract<ForwardOutcome, { kind: 'reply' | 'abandoned' }>

/** Sends the request again, once, if the first node got no whole request or does not lead, and another one does. */
async function sendToLeader(
  request: FastifyRequest,
  body: ForwardedBody,
  { node, view, forwarder }: ForwardingParts,
  { bodyBytes, idleMsMax }: { readonly bodyBytes?: number; readonly idleMsMax?: number },
): Promise<Answered | Extract<ForwardOutcome, { kind: 'unknown' }>> {
  const { method, originalUrl: path, socket } = request
  const sender = { node, address: socket.remoteAddress, ...(bodyBytes !== undefined && { bodyBytes }) }
  const head = { method, path, headers: requestHeaders(request.headers, sender) }
  let leader = view.leader()
  if (leader === undefined) throw notLeader(view, 'the cluster has no leader at the moment; try again')
  const first = leader
  for (;;) {
    const outcome = await forwarder.send(leader.url, head, body, idleMsMax)
    if (outcome.kind !== 'misdirected' && outcome.kind !== 'not-received') return outcome
    if (leader === first && body.canRepeat) {
      const next = await nextLeader(view, first)
      if (next !== undefined) {
        leader = next
        continue
      }
    }
    const reason = outcome.kind === 'misdirected' ? 'does not lead any more' : 'cannot be reached'
    throw notLeader(
      view,
      `the leader "${leader.node}" ${reason}, and there is no other one yet; nothing was done, try again`,
    )
  }
}

/** Another leader than the one before. Undefined if there is none for a while. */
async function nextLeader(view: ClusterView, before: NodeAddress): Promise<NodeAddress | undefined> {
  for (let waitedMs = 0; waitedMs < learnMsMax; waitedMs += learnEveryMs) {
    const leader = view.leader()
    if (leader !== undefined && leader.url !== before.url) return leader
    await sleep(learnEveryMs)
  }
  return undefined
}

/** Sends the reply of the leader, when this node has what was written: the client may read here next. */
async function relay(
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: Answered,
  { whenApplied, onWritten }: ForwardingParts,
): Promise<void> {
  const { raw } = reply
  if (outcome.kind === 'abandoned') {
    reply.hijack()
    raw.destroy()
    return
  }
  const { status, rawHeaders, body, rest } = outcome
  const lsn = Number(rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === lsnHeader) + 1])
  // Clients that name the record in their reads wait there, if this takes longer.
  if (status < 400 && Number.isSafeInteger(lsn)) await whenApplied(lsn, appliedMsMax)
  onWritten()
  readRest(request, reply)
  const headers = replyHeaders(rawHeaders, reply.getHeaders())
  reply.hijack()
  if (raw.destroyed) {
    rest?.destroy()
    return
  }
  raw.writeHead(status, headers)
  if (rest === undefined) {
    raw.end(body)
    return
  }
  raw.write(body)
  await pipeline(rest, raw).catch(() => raw.destroy())
}
