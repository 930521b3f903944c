// The HTTP transport. Between calls it remembers what a server of an earlier version does not have and, with several URLs, the nodes.

import { within } from '../deadline.ts'
import { AnnalError } from '../errors.ts'
import type { OperationName, Operations } from '../operations.ts'
import type { ReadOptions, Transport, WriteOptions } from '../transport.ts'
import { checkActor } from './actor.ts'
import { type Exchange, exchange } from './exchange.ts'
import type { Node, Target } from './nodes.ts'
import { type HttpOptions, peerOf, timeoutDefaultMs } from './peer.ts'
import { greatest, pathWith, type ReadConditions } from './read-conditions.ts'
import { checkRequestKey, newRequestKey } from './request-key.ts'
import type { HttpRequest, Route, Routes } from './route.ts'
import { routes } from './routes.ts'

/** What all requests of a call have in common: the time limits, the request key, and the actor. */
type Common = Pick<Exchange, 'signal' | 'deadlineMs' | 'takesLong' | 'key' | 'actor'>

interface Requests {
  readonly request: Exchange['request'] | Promise<HttpRequest>
  /** The LSN that the last request named. */
  readonly lsnSent: () => number | undefined
}

/** Results of searches and of pages name the record that they are as of. */
function lsnOf(output: unknown): number | undefined {
  if (output === null || typeof output !== 'object' || !('lsn' in output)) return undefined
  return typeof output.lsn === 'number' ? output.lsn : undefined
}

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
  const { nodes } = peer
  const tracksLsn = peer.budget !== undefined && options.readYourWrites !== false
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
    const takesLong = route.timeoutMs !== undefined || timeoutMs > timeoutFallbackMs
    const { minLsn, consistency, maxStalenessMs, actor } = options
    if (actor !== undefined) checkActor(actor)
    const read = { minLsn, consistency, maxStalenessMs }
    return within({ name, timeoutMs, signal: options.signal }, (limits) =>
      perform(route, input, read, { key, actor, takesLong, ...limits }),
    )
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
    read: ReadConditions,
    common: Common,
  ): Promise<Operations[Name]['output']> {
    const target: Target = route.reads === undefined || read.consistency === 'strong' ? 'leader' : 'any'
    const call = { retry: route.retry, answers: route.answers, target, ...common }
    const compact = acceptsCompact ? route.compact?.(input, read) : undefined
    if (compact !== undefined) {
      try {
        const build = (conditions: ReadConditions) => route.compact?.(input, conditions) ?? compact
        return await answered(route, input, call, requests(route, read, build))
      } catch (error) {
        if (!(error instanceof AnnalError) || error.status !== 415) throw error
        acceptsCompact = false
      }
    }
    return answered(
      route,
      input,
      call,
      requests(route, read, (conditions) => route.request(input, conditions)),
    )
  }

  async function answered<Name extends OperationName>(
    route: Route<Name>,
    input: Operations[Name]['input'],
    call: Omit<Exchange, 'request'>,
    { request, lsnSent }: Requests,
  ): Promise<Operations[Name]['output']> {
    const { reply, node } = await exchange(peer, { ...call, request: await request })
    const output = await route.reply(reply, input)
    if (tracksLsn && route.reads !== undefined) nodes.applied(node, greatest(lsnSent(), lsnOf(output)) ?? 0)
    return output
  }

  /** The request of a call. A read names the newest record that the client has seen to a node that may not have applied it. */
  function requests(
    { reads }: { readonly reads?: 'body' | 'query' | 'none' },
    read: ReadConditions,
    build: (conditions: ReadConditions) => HttpRequest | Promise<HttpRequest>,
  ): Requests {
    const built = async (conditions: ReadConditions) => {
      const request = await build(conditions)
      return reads === 'query' ? { ...request, path: pathWith(request.path, conditions) } : request
    }
    if (!tracksLsn || (reads !== 'body' && reads !== 'query') || read.consistency === 'strong') {
      return { request: built(read), lsnSent: () => undefined }
    }
    let lsn: number | undefined
    const request = (node: Node) => {
      lsn = node.lsn < nodes.lsn ? nodes.lsn : undefined
      return built({ ...read, minLsn: greatest(read.minLsn, lsn) })
    }
    return { request, lsnSent: () => lsn }
  }

  return {
    call,
    async close() {
      // Nothing is kept open between calls.
    },
  }
}
