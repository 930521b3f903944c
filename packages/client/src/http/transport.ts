// The HTTP transport. Between calls it only remembers whether the server is of an earlier version.

import { within } from '../deadline.ts'
import { AnnalError } from '../errors.ts'
import type { OperationName, Operations } from '../operations.ts'
import type { CallOptions, Transport } from '../transport.ts'
import { type Exchange, exchange } from './exchange.ts'
import { type HttpOptions, peerOf, timeoutDefaultMs } from './peer.ts'
import type { Route, Routes } from './route.ts'
import { routes } from './routes.ts'

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
  return routedTransport(options, routes)
}

/**
 * Only the operations of the given routes; others fail with `not_supported`. A bundle for a browser then has only these.
 *
 * @example
 * ```ts
 * const backups = new Backups(routedTransport({ url: 'http://localhost:8080' }, backupRoutes))
 * ```
 */
export function routedTransport<Names extends OperationName>(options: HttpOptions, routes: Routes<Names>): Transport {
  const known: Partial<Routes<OperationName>> = routes
  const peer = peerOf(options)
  const timeoutFallbackMs = options.timeoutMs ?? timeoutDefaultMs
  let acceptsCompact = true

  async function call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options: CallOptions = {},
  ): Promise<Operations[Name]['output']> {
    const route: Route<Name> | undefined = known[name]
    if (route === undefined) throw new AnnalError('not_supported', `${name} is not among the routes of this transport`)
    const timeoutMs = options.timeoutMs ?? Math.max(route.timeoutMs ?? 0, timeoutFallbackMs)
    return within({ name, timeoutMs, signal: options.signal }, (limits) => perform(route, input, limits))
  }

  async function perform<Name extends OperationName>(
    route: Route<Name>,
    input: Operations[Name]['input'],
    limits: Limits,
  ): Promise<Operations[Name]['output']> {
    const call = { retry: route.retry, answers: route.answers, ...limits }
    const compact = acceptsCompact ? route.compact?.(input) : undefined
    if (compact !== undefined) {
      try {
        return await route.reply(await exchange(peer, { request: compact, ...call }), input)
      } catch (error) {
        if (!(error instanceof AnnalError) || error.status !== 415) throw error
        acceptsCompact = false
      }
    }
    const request = await route.request(input)
    return route.reply(await exchange(peer, { request, ...call }), input)
  }

  return {
    call,
    async close() {
      // Nothing is kept open between calls.
    },
  }
}
