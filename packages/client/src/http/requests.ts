// Single requests to a server, with the deadline, the retries and the errors of every call. Knows no operations.
import { within } from '../deadline.ts'
import type { CallOptions } from '../transport.ts'
import { type Exchange, exchange } from './exchange.ts'
import { type HttpOptions, peerOf, timeoutDefaultMs } from './peer.ts'
import { checkRequestKey } from './request-key.ts'
import type { HttpReply, HttpRequest } from './route.ts'

/** Options of a single request. */
export interface RequestOptions extends CallOptions {
  /** When the request may be sent again; default `never`. */
  readonly retry?: Exchange['retry'] | undefined
  /** The request key of a write, 1 to 255 visible ASCII characters: with it, `when-refused` also repeats after an ambiguous failure. */
  readonly idempotencyKey?: string | undefined
  /** Statuses other than 2xx that are valid replies. */
  readonly answers?: Exchange['answers']
}

/** Sends single requests. */
export interface HttpRequests {
  /** Fails with AnnalError for every failure outside this program, and for each status that is neither 2xx nor a valid reply. */
  send(request: HttpRequest, options?: RequestOptions): Promise<HttpReply>
}

/**
 * Requests to routes that the client has no call for, or that need the reply as it is sent.
 *
 * @example
 * ```ts
 * const requests = httpRequests({ url: 'http://localhost:8080' })
 * const { text } = await requests.send({ method: 'GET', path: '/metrics', accept: 'text/plain' })
 * ```
 */
export function httpRequests(options: HttpOptions): HttpRequests {
  const peer = peerOf(options)
  const timeoutFallbackMs = options.timeoutMs ?? timeoutDefaultMs
  return {
    send(request, { signal, timeoutMs = timeoutFallbackMs, retry = 'never', answers, idempotencyKey: key } = {}) {
      const name = `${request.method} ${request.path}`
      return within({ name, timeoutMs, signal }, (limits) => {
        if (key !== undefined) checkRequestKey(key)
        const takesLong = timeoutMs > timeoutFallbackMs
        const call = { request, retry, key, answers, target: 'leader', takesLong, ...limits } as const
        return exchange(peer, call).then(({ reply }) => reply)
      })
    },
  }
}
