// One call over HTTP, from its first attempt to its reply: nodes, deadline, abort and retries. Independent of the operation.
import { AnnalError } from '../errors.ts'
import { actorHeader } from './actor.ts'
import { failureOf, systemCode, unreachable } from './failure.ts'
import { measure } from './measure.ts'
import type { Course, Node, Nodes, Target, Visit } from './nodes.ts'
import { object, parseJson } from './read.ts'
import { mayRepeat } from './repeat.ts'
import { requestKeyHeader } from './request-key.ts'
import { pause, waitBefore } from './retry.ts'
import type { RetryBudget } from './retry-budget.ts'
import { get, type HttpReply, type HttpRequest, type RetryRule } from './route.ts'

export interface Exchange {
  /** The same bytes in every attempt, or a request for each node: a read may say what the node must have applied. */
  readonly request: HttpRequest | ((node: Node) => HttpRequest | Promise<HttpRequest>)
  readonly retry: RetryRule
  /** The request key, the same in every attempt. */
  readonly key?: string | undefined
  /** Who acts; by default the actor of the peer. */
  readonly actor?: string | undefined
  /** Statuses other than 2xx that are valid replies. */
  readonly answers: ((status: number, code: string | undefined) => boolean) | undefined
  /** Which node gets the request, if there are several. */
  readonly target: Target
  /** Aborts when the caller aborts or the deadline passes. */
  readonly signal: AbortSignal
  /** When the time is over, in milliseconds of performance.now(). */
  readonly deadlineMs: number
  /** The call takes long by nature, so a node that has not replied yet is not given up before the deadline. */
  readonly takesLong: boolean
}

export interface Peer {
  readonly nodes: Nodes
  readonly token: string | undefined
  /** Who acts in calls that name nobody. */
  readonly actor: string | undefined
  readonly retriesMax: number
  readonly fetch: typeof fetch
  /** Undefined for a client of one URL, whose calls are limited by `retriesMax` only. */
  readonly budget: RetryBudget | undefined
  /** Whether the server keeps request keys. Read from it before the first repetition that depends on it. */
  keepsKeys: boolean | undefined
}

/** A reply and the node that sent it. */
export interface Exchanged {
  readonly reply: HttpReply
  readonly node: Node
}

const loadingWaitMs = 1_000

/** Fails with AnnalError, or with the signal's reason once it has aborted. */
export async function exchange(peer: Peer, call: Exchange): Promise<Exchanged> {
  const { nodes, budget } = peer
  const course: Course = { tried: new Set(), redirections: 0 }
  // A node that does not reply leaves time for two others.
  const attemptMs = Math.max(1, Math.round((call.deadlineMs - performance.now()) / 3))
  for (let attempt = 0; ; ) {
    const visit = nodes.choose(budget === undefined ? 'any' : call.target, course, performance.now())
    if (budget !== undefined) measure(peer)
    try {
      const reply = await attemptOnce(peer, call, visit, attemptMs)
      budget?.succeeded()
      return { reply, node: visit.node }
    } catch (thrown) {
      call.signal.throwIfAborted()
      if (!(thrown instanceof AnnalError)) throw thrown
      if (thrown.code === 'moment_loading') {
        const waitMs = thrown.retryAfterMs ?? loadingWaitMs
        if (performance.now() + waitMs >= call.deadlineMs) throw thrown
        await pause(waitMs, call.signal)
        continue
      }
      const error = isMisdirected(visit, thrown) ? await leaderNamed(peer, call, visit) : thrown
      const isElsewhere = nodes.failed(visit, error, course, performance.now())
      // Nothing was done but to name the leader.
      if (error.status === 421 && isElsewhere) continue
      if (attempt >= peer.retriesMax) throw error
      const repeat = mayRepeat(error, { retry: call.retry, key: call.key })
      if (repeat === 'no' || budget?.take(performance.now()) === false) throw error
      if (!isElsewhere) {
        const waitMs = waitBefore(attempt, { random: Math.random(), requestedMs: error.retryAfterMs })
        // The server's error is more useful than a timeout after a pointless wait.
        if (performance.now() + waitMs >= call.deadlineMs) throw error
        await pause(waitMs, call.signal)
      }
      if (repeat === 'with-key' && !(await keepsKeys(peer, call))) throw error
      attempt += 1
    }
  }
}

/** Node.js sends a request again after 421, as fetch requires, but without its body, and then reports this error instead of the reply. */
function isMisdirected({ namesLeader }: Visit, error: AnnalError): boolean {
  return namesLeader && error.status === undefined && systemCode(error.cause) === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH'
}

/** The refusal of a request without a body, which names the leader; or what happened instead. Nothing was written. */
async function leaderNamed(peer: Peer, { signal }: Exchange, visit: Visit): Promise<AnnalError> {
  try {
    const request = get('/api/v2/info?consistency=strong')
    const { response } = await send(peer, { request, key: undefined, visit, signal })
    if (!response.ok) return failureOf(response, '')
    return new AnnalError('not_leader', `${visit.node.url} leads now`, { status: 421, leaderUrl: visit.node.url })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AnnalError) return error
    throw error
  }
}

/** False if the server does not answer either. Servers of earlier versions ignore request keys, and their `/info` does not name them. */
async function keepsKeys(peer: Peer, { signal, deadlineMs }: Exchange): Promise<boolean> {
  if (peer.keepsKeys !== undefined) return peer.keepsKeys
  try {
    const request = get('/api/v2/info')
    const { reply } = await exchange(peer, {
      ...{ request, retry: 'always', answers: undefined, target: 'any', signal, deadlineMs, takesLong: false },
    })
    peer.keepsKeys = 'request_keys' in object(parseJson(reply.text), 'reply')
    return peer.keepsKeys
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AnnalError) return false
    throw error
  }
}

async function attemptOnce(peer: Peer, call: Exchange, visit: Visit, attemptMs: number): Promise<HttpReply> {
  const { node, namesLeader } = visit
  const request = typeof call.request === 'function' ? await call.request(node) : call.request
  const mayTimeOut = peer.budget !== undefined && !call.takesLong && !request.streamed && mayRepeatAmbiguous(call)
  const signal = mayTimeOut ? AbortSignal.any([call.signal, AbortSignal.timeout(attemptMs)]) : call.signal
  const { response, bytes, stream } = await send(peer, {
    request,
    key: call.key,
    actor: call.actor ?? peer.actor,
    visit,
    signal,
  })
  peer.nodes.replied(node)
  const reply: HttpReply = {
    status: response.status,
    bytes,
    get text() {
      return new TextDecoder().decode(bytes)
    },
    ...(stream !== undefined && { stream }),
  }
  if (isLoading(response)) throw failureOf(response, reply.text)
  if (response.ok) {
    const lsn = Number(response.headers.get('annal-lsn') ?? 0)
    // A node that forwarded the write may not have applied it yet.
    if (namesLeader) peer.nodes.applied(node, lsn)
    else peer.nodes.lsn = Math.max(peer.nodes.lsn, lsn)
    return reply
  }
  const failure = failureOf(response, reply.text)
  if (call.answers?.(response.status, failure.code)) return reply
  throw failure
}

/** A moment of the past that is being loaded is not a failure of the node: the same request succeeds later. */
function isLoading({ status, headers }: Response): boolean {
  return status === 202 && headers.get('location') === '/api/v2/status/asof'
}

/** Whether a call may be sent again though an attempt may have been executed. */
function mayRepeatAmbiguous({ retry, key }: Exchange): boolean {
  return retry === 'always' || (retry === 'when-refused' && key !== undefined)
}

interface Sent {
  readonly request: HttpRequest
  readonly key: string | undefined
  readonly actor?: string | undefined
  readonly visit: Visit
  readonly signal: AbortSignal
}

async function send(peer: Peer, { request, key, actor, visit, signal }: Sent) {
  const { url } = visit.node
  try {
    const response = await peer.fetch(url + request.path, {
      method: request.method,
      headers: headersOf(request, { token: peer.token, key, actor, namesLeader: visit.namesLeader }),
      body: request.body ?? null,
      // A redirect could send the request, and the token, to an unexpected server.
      redirect: 'error',
      signal,
      // Required by fetch if the body is a stream, and ignored otherwise.
      ...{ duplex: 'half' },
    })
    if (request.streamed && response.ok && response.body !== null) {
      return { response, bytes: new Uint8Array(0), stream: response.body }
    }
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
  } catch (error) {
    throw unreachable(url, error)
  }
}

interface Extras {
  readonly token: string | undefined
  readonly key: string | undefined
  readonly actor: string | undefined
  readonly namesLeader: boolean
}

function headersOf(request: HttpRequest, { token, key, actor, namesLeader }: Extras): Record<string, string> {
  return {
    Accept: request.accept ?? 'application/json, text/plain',
    ...(request.contentType !== undefined && { 'Content-Type': request.contentType }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(key !== undefined && { [requestKeyHeader]: key }),
    ...(actor !== undefined && { [actorHeader]: actor }),
    ...(namesLeader && { 'Annal-Forward': 'never' }),
  }
}
