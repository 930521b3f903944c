// One HTTP call, from its first attempt to its reply: deadline, abort and retries. Independent of the operation.
import { AnnalError, isPassing } from '../errors.ts'
import { failureOf, unreachable, wasRefused } from './failure.ts'
import { pause, waitBefore } from './retry.ts'
import type { HttpReply, HttpRequest, RetryRule } from './route.ts'

export interface Exchange {
  readonly request: HttpRequest
  readonly retry: RetryRule
  /** Statuses other than 2xx that are valid replies. */
  readonly answers: ((status: number, code: string | undefined) => boolean) | undefined
  /** Aborts when the caller aborts or the deadline passes. */
  readonly signal: AbortSignal
  /** In the time of performance.now(). */
  readonly deadlineMs: number
}

export interface Peer {
  /** Without a trailing slash. */
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
      const waitMs = waitBefore(attempt, { random: Math.random(), requestedMs: error.retryAfterMs })
      // The server's error is more useful than a timeout after a pointless wait.
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

/** After 502, 504 or a broken connection the call may have been executed. */
function mayRepeat(error: AnnalError, rule: RetryRule): boolean {
  if (rule === 'never') return false
  if (wasRefused(error) || wasNotBegun(error)) return true
  if (rule === 'when-refused') return false
  return error.status === undefined ? error.code === 'unreachable' : isPassing(error.status)
}

/** 429 and 503 are sent before any work, except after a disk failure, when the outcome is unknown. */
function wasNotBegun({ status, code }: AnnalError): boolean {
  return status === 429 || (status === 503 && code !== 'log_failed')
}
