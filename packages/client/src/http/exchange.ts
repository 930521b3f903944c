// One call over HTTP, from its first attempt to its answer: deadline, abort, retries. Knows nothing of what is asked.
import { AnnalError, isPassing } from '../errors.ts'
import { failureOf, unreachable, wasRefused } from './failure.ts'
import { pause, waitBefore } from './retry.ts'
import type { HttpReply, HttpRequest, RetryRule } from './route.ts'

export interface Exchange {
  readonly request: HttpRequest
  readonly retry: RetryRule
  /** Statuses besides 2xx that are answers. */
  readonly answers: ((status: number, code: string | undefined) => boolean) | undefined
  /** Aborts when the caller gives up or the deadline passes. */
  readonly signal: AbortSignal
  /** By performance.now(). */
  readonly deadlineMs: number
}

export interface Peer {
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly token: string | undefined
  readonly retriesMax: number
  readonly fetch: typeof fetch
}

/** Fails with AnnalError, or with the signal's reason once it has aborted. */
export async function exchange(peer: Peer, call: Exchange): Promise<HttpReply> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptOnce(peer, call)
    } catch (error) {
      call.signal.throwIfAborted()
      if (!(error instanceof AnnalError) || attempt >= peer.retriesMax || !mayRepeat(error, call.retry)) throw error
      const waitMs = waitBefore(attempt, { random: Math.random(), askedMs: error.retryAfterMs })
      // What the server said is worth more than a timeout after waiting for nothing.
      if (performance.now() + waitMs >= call.deadlineMs) throw error
      await pause(waitMs, call.signal)
    }
  }
}

async function attemptOnce(peer: Peer, { request, answers, signal }: Exchange): Promise<HttpReply> {
  const { response, bytes, stream } = await send(peer, request, signal)
  const reply: HttpReply = {
    status: response.status,
    bytes,
    get text() {
      return new TextDecoder().decode(bytes)
    },
    ...(stream !== undefined && { stream }),
  }
  if (response.ok) return reply
  const failure = failureOf(response, reply.text)
  if (answers?.(response.status, failure.code)) return reply
  throw failure
}

async function send(peer: Peer, request: HttpRequest, signal: AbortSignal) {
  try {
    const response = await peer.fetch(peer.baseUrl + request.path, {
      method: request.method,
      headers: headersOf(request, peer.token),
      body: request.body ?? null,
      // A redirect would carry the request, and perhaps the token, somewhere that nobody named.
      redirect: 'error',
      signal,
      // Asked for by fetch where the body is a stream, and of no consequence elsewhere.
      ...{ duplex: 'half' },
    })
    if (request.streamed && response.ok && response.body !== null) {
      return { response, bytes: new Uint8Array(0), stream: response.body }
    }
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
  } catch (error) {
    throw unreachable(peer.baseUrl, error)
  }
}

function headersOf(request: HttpRequest, token: string | undefined): Record<string, string> {
  return {
    Accept: request.accept ?? 'application/json, text/plain',
    ...(request.contentType !== undefined && { 'Content-Type': request.contentType }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  }
}

/** Behind 502, 504 and a broken connection the call may have happened. */
function mayRepeat(error: AnnalError, rule: RetryRule): boolean {
  if (rule === 'never') return false
  if (wasRefused(error) || wasNotBegun(error)) return true
  if (rule === 'when-refused') return false
  return error.status === undefined ? error.code === 'unreachable' : isPassing(error.status)
}

/** 429 and 503 are said before anything is done, except when the disk fails: then nobody knows. */
function wasNotBegun({ status, code }: AnnalError): boolean {
  return status === 429 || (status === 503 && code !== 'log_failed')
}
