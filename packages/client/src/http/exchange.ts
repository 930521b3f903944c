// One HTTP call, from its first attempt to its reply: deadline, abort and retries. Independent of the operation.
import { AnnalError } from '../errors.ts'
import { failureOf, unreachable } from './failure.ts'
import { object, parseJson } from './read.ts'
import { mayRepeat } from './repeat.ts'
import { requestKeyHeader } from './request-key.ts'
import { pause, waitBefore } from './retry.ts'
import { get, type HttpReply, type HttpRequest, type RetryRule } from './route.ts'

export interface Exchange {
  readonly request: HttpRequest
  readonly retry: RetryRule
  /** The request key, the same in every attempt. */
  readonly key?: string | undefined
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
  /** Whether the server keeps request keys. Read from it before the first repetition that depends on it. */
  keepsKeys: boolean | undefined
}

/** Fails with AnnalError, or with the signal's reason once it has aborted. */
export async function exchange(peer: Peer, call: Exchange): Promise<HttpReply> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attemptOnce(peer, call)
    } catch (error) {
      call.signal.throwIfAborted()
      if (!(error instanceof AnnalError) || attempt >= peer.retriesMax) throw error
      const repeat = mayRepeat(error, { retry: call.retry, key: call.key })
      if (repeat === 'no') throw error
      const waitMs = waitBefore(attempt, { random: Math.random(), requestedMs: error.retryAfterMs })
      // The server's error is more useful than a timeout after a pointless wait.
      if (performance.now() + waitMs >= call.deadlineMs) throw error
      await pause(waitMs, call.signal)
      if (repeat === 'with-key' && !(await keepsKeys(peer, call))) throw error
    }
  }
}

/** False if the server does not answer either. Servers of earlier versions ignore request keys, and their `/info` does not name them. */
async function keepsKeys(peer: Peer, { signal, deadlineMs }: Exchange): Promise<boolean> {
  if (peer.keepsKeys !== undefined) return peer.keepsKeys
  try {
    const info = await exchange(peer, {
      request: get('/api/v2/info'),
      retry: 'always',
      answers: undefined,
      signal,
      deadlineMs,
    })
    peer.keepsKeys = 'request_keys' in object(parseJson(info.text), 'reply')
    return peer.keepsKeys
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AnnalError) return false
    throw error
  }
}

async function attemptOnce(peer: Peer, { request, key, answers, signal }: Exchange): Promise<HttpReply> {
  const { response, bytes, stream } = await send(peer, request, key, signal)
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

async function send(peer: Peer, request: HttpRequest, key: string | undefined, signal: AbortSignal) {
  try {
    const response = await peer.fetch(peer.baseUrl + request.path, {
      method: request.method,
      headers: headersOf(request, { token: peer.token, key }),
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

function headersOf(
  request: HttpRequest,
  { token, key }: { readonly token: string | undefined; readonly key: string | undefined },
): Record<string, string> {
  return {
    Accept: request.accept ?? 'application/json, text/plain',
    ...(request.contentType !== undefined && { 'Content-Type': request.contentType }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(key !== undefined && { [requestKeyHeader]: key }),
  }
}
