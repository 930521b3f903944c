// The server that a client calls: its address, its token, and how requests reach it. Checked once, before the first request.
import { AnnalError } from '../errors.ts'
import { checkActor } from './actor.ts'
import type { Peer } from './exchange.ts'
import { Nodes } from './nodes.ts'
import { RetryBudget } from './retry-budget.ts'

/** The server of a client, or the nodes of a cluster, and how calls are sent. */
export interface HttpOptions {
  /**
   * The URL of the server, with a path if a proxy adds one: `https://search.example.com/annal`. Several URLs are nodes of one cluster: writes
   * go to the leader, reads to the nearest node, and both to another node if one does not answer.
   */
  readonly url: string | URL | readonly (string | URL)[]
  /** Sent in the Authorization header and nowhere else. */
  readonly token?: string | undefined
  /** Who acts in calls that name no `actor`: 1 to 128 printable ASCII characters. */
  readonly actor?: string | undefined
  /** The time limit of a call, including its retries; default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries after a temporary failure; default 3, with several URLs 10. */
  readonly retriesMax?: number | undefined
  /**
   * With several URLs: a read includes every write that this client was acknowledged, and is not older than what the client has read before,
   * whichever node answers. Default true.
   */
  readonly readYourWrites?: boolean | undefined
  /** Replaces the global fetch. */
  readonly fetch?: typeof fetch | undefined
}

export const timeoutDefaultMs = 30_000

export function peerOf(options: HttpOptions): Peer {
  const urls: readonly (string | URL)[] = Array.isArray(options.url) ? options.url : [options.url]
  const [first, ...others] = urls.map(baseUrlOf)
  if (first === undefined) throw new AnnalError('invalid_argument', 'url has no URL', { field: 'url' })
  if (options.actor !== undefined) checkActor(options.actor)
  const isCluster = others.length > 0
  return {
    nodes: new Nodes([first, ...others]),
    token: checkedToken(options.token),
    actor: options.actor,
    retriesMax: options.retriesMax ?? (isCluster ? 10 : 3),
    budget: isCluster ? new RetryBudget(performance.now()) : undefined,
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    keepsKeys: undefined,
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
