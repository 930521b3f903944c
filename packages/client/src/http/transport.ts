// The HTTP transport. It keeps no state between calls.

import { within } from '../deadline.ts'
import { AnnalError } from '../errors.ts'
import type { OperationName, Operations } from '../operations.ts'
import type { CallOptions, Transport } from '../transport.ts'
import { type Exchange, exchange, type Peer } from './exchange.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'

export interface HttpOptions {
  /** The URL of the server, with a path if a proxy adds one: `https://search.example.com/annal`. */
  readonly url: string | URL
  /** Sent in the Authorization header and nowhere else. */
  readonly token?: string | undefined
  /** The time limit of a call, including its retries; default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries after a temporary failure; default 3. */
  readonly retriesMax?: number | undefined
  /** Replaces the global fetch. */
  readonly fetch?: typeof fetch | undefined
}

/** The time limit of a call, including the requests it makes on the way. */
type Limits = Pick<Exchange, 'signal' | 'deadlineMs'>

/**
 * The transport of `connect({ url })`. It sends each operation as a request.
 *
 * @example
 * ```ts
 * const transport = httpTransport({ url: 'http://localhost:8080', retriesMax: 0 })
 * const client = connect({ transport })
 * ```
 */
export function httpTransport(options: HttpOptions): Transport {
  const peer: Peer = {
    baseUrl: baseUrlOf(options.url),
    token: checkedToken(options.token),
    retriesMax: options.retriesMax ?? 3,
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
  }
  const timeoutDefaultMs = options.timeoutMs ?? 30_000

  async function call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options: CallOptions = {},
  ): Promise<Operations[Name]['output']> {
    const timeoutMs = options.timeoutMs ?? Math.max(routes[name].timeoutMs ?? 0, timeoutDefaultMs)
    return within({ name, timeoutMs, signal: options.signal }, (limits) => perform(name, input, limits))
  }

  async function perform<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    limits: Limits,
  ): Promise<Operations[Name]['output']> {
    const route: Route<Name> = routes[name]
    const request = await route.request(input)
    return route.reply(await exchange(peer, { request, retry: route.retry, answers: route.answers, ...limits }), input)
  }

  return {
    call,
    async close() {
      // Nothing is kept open between calls.
    },
  }
}

function baseUrlOf(url: string | URL): string {
  const address = URL.parse(String(url))
  const field = 'url'
  if (address === null)
    throw new AnnalError('invalid_argument', 'url must be an absolute URL such as http://localhost:8080', { field })
  if (address.protocol !== 'http:' && address.protocol !== 'https:') {
    throw new AnnalError('invalid_argument', `url must be http: or https:, not ${address.protocol}`, { field })
  }
  // URLs end up in logs and error messages, so they must not contain secrets.
  if (address.username !== '' || address.password !== '' || address.search !== '' || address.hash !== '') {
    throw new AnnalError(
      'invalid_argument',
      'url must not contain credentials, a query or a fragment; pass a token as `token`',
      { field },
    )
  }
  return address.origin + address.pathname.replace(/\/+$/, '')
}

/** Refused here because fetch would quote the whole value in its error. */
function checkedToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw new AnnalError('invalid_argument', 'token contains characters that are not allowed in a header', {
    field: 'token',
  })
}
