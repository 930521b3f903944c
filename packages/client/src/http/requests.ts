// Single requests to a server, with the deadline, the retries and the errors of every call. Knows no operations.
import { within } from '../deadline.ts'
import type { CallOptions } from '../transport.ts'
import { type Exchange, exchange } from './exchange.ts'
import { type HttpOptions, peerOf, timeoutDefaultMs } from './peer.ts'
import type { HttpReply, HttpRequest } from './route.ts'

export interface RequestOptions extends CallOptions {
  /** When the request may be sent again; default `never`. */
  readonly retry?: Exchange['retry'] | undefined
  /** Statuses other than 2xx that are valid replies. */
  readonly answers?: Exchange['answers']
}

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
  return {
    send(request, { signal, timeoutMs = options.timeoutMs ?? timeoutDefaultMs, retry = 'never', answers } = {}) {
      const name = `${request.method} ${request.path}`
      return within({ name, timeoutMs, signal }, (limits) => exchange(peer, { request, retry, answers, ...limits }))
    },
  }
}
