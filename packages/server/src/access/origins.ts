// The web pages that may use the server from a browser. Pages of other origins can send requests even if they may not read the replies.
// A request that may change data is therefore rejected unless its page belongs to this server or NDD_CORS_ORIGINS lists its origin.
// Programs other than browsers send neither Origin nor Sec-Fetch-Site and are not affected.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServerError } from '../errors.ts'
import { preflightMaxAgeS } from '../limits.ts'
import { forwardedHosts } from './hosts.ts'

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Throws origin_refused for a request that may change data and comes from a page of another origin that is not in `named`. */
export function checkOrigin(method: string, headers: IncomingHttpHeaders, named: ReadonlySet<string>): void {
  if (safeMethods.has(method)) return
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined && site === undefined) return
  if (origin !== undefined && named.has(origin)) return
  // Pages cannot set Sec-Fetch-Site, so it is reliable even if a proxy replaced Host.
  if (site === 'same-origin' || site === 'none') return
  if (site !== 'cross-site' && origin !== undefined && isOwn(origin, headers)) return
  throw new ServerError('origin_refused', 'a web page of another origin may not change data; see NDD_CORS_ORIGINS', {
    field: origin === undefined ? 'sec-fetch-site' : 'origin',
    value: origin ?? site,
  })
}

/**
 * Whether the origin is the address that the browser used. A proxy may terminate TLS, so schemes are not compared. A proxy that replaces
 * Host sends the original in X-Forwarded-Host, which a page of another origin cannot send without a preflight.
 */
function isOwn(origin: string, { host, 'x-forwarded-host': forwarded }: IncomingHttpHeaders): boolean {
  const url = URL.parse(origin)
  if (url === null || url.host === '') return false
  const hosts = [host ?? '', ...(forwarded === undefined ? [] : forwardedHosts(forwarded))]
  return hosts.some((one) => one !== '' && URL.parse(`${url.protocol}//${one}`)?.host === url.host)
}

/** Sends the CORS headers to pages of `named` origins, and to no others. Browser credentials are never accepted. */
export interface Cors {
  /** Returns true if the request is a preflight; the reply is sent then. */
  answer(request: FastifyRequest, reply: FastifyReply): boolean
}

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'accept, annal-forward, authorization, content-type, idempotency-key, if-none-match, traceparent, tracestate, x-annal-actor',
  'access-control-max-age': String(preflightMaxAgeS),
}
const exposed =
  'annal-lag, annal-leader, annal-lsn, annal-staleness, content-disposition, etag, idempotency-replayed, retry-after, www-authenticate, x-annal-recall, x-annal-warnings, x-request-id'

/** Undefined if no origin is named. */
export function createCors(named: ReadonlySet<string>): Cors | undefined {
  if (named.size === 0) return undefined
  return {
    answer({ method, headers }, reply) {
      reply.header('vary', 'origin')
      const { origin } = headers
      if (origin === undefined || !named.has(origin)) return false
      reply.header('access-control-allow-origin', origin)
      if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
        reply.header('access-control-expose-headers', exposed)
        return false
      }
      reply.headers(preflightHeaders).code(204).send()
      return true
    },
  }
}
