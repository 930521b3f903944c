// The HTTP transport. Between calls it only remembers what a server of an earlier version does not have.

import { within } from '../deadline.ts'
import { AnnalError } from '../errors.ts'
import type { OperationName, Operations } from '../operations.ts'
import type { ReadOptions, Transport, WriteOptions } from '../transport.ts'
import { type Exchange, exchange } from './exchange.ts'
import { type HttpOptions, peerOf, timeoutDefaultMs } from './peer.ts'
import { checkRequestKey, newRequestKey } from './request-key.ts'
import type { Route, Routes } from './route.ts'
import { routes } from './routes.ts'

/** What all requests of a call have in common: the time limit, and the request key. */
type Common = Pick<Exchange, 'signal' | 'deadlineMs' | 'key'>

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
    options: WriteOptions & ReadOptions = {},
  ): Promise<Operations[Name]['output']> {
    const route: Route<Name> | undefined = known[name]
    if (route === undefined) throw new AnnalError('not_supported', `${name} is not among the routes of this transport`)
    const key = keyOf(name, route, options.idempotencyKey)
    const timeoutMs = options.timeoutMs ?? Math.max(route.timeoutMs ?? 0, timeoutFallbackMs)
    return within({ name, timeoutMs, signal: options.signal }, (limits) => perform(route, input, { key, ...limits }))
  }

  /** A client that never repeats a call needs no key of its own. */
  function keyOf(name: OperationName, { takesKey }: { readonly takesKey?: true }, given: string | undefined) {
    if (given !== undefined) checkRequestKey(given)
    if (takesKey) return given ?? (peer.retriesMax > 0 ? newRequestKey() : undefined)
    if (given === undefined) return undefined
    throw new AnnalError('invalid_argument', `${name} takes no idempotencyKey`, { field: 'idempotencyKey' })
  }

  async function perform<Name extends OperationName>(
    route: Route<Name>,
    input: Operations[Name]['input'],
    common: Common,
  ): Promise<Operations[Name]['output']> {
    const call = { retry: route.retry, answers: route.answers, ...common }
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
