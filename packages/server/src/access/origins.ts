// Which web pages may use the server from a browser. Pages of other origins can send requests without being allowed to read the
// answers, so a request that changes something is refused unless its page belongs to this server or NDD_CORS_ORIGINS names it.
// Programs that are no browsers send neither Origin nor Sec-Fetch-Site, and are not concerned.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServerError } from '../http/errors.ts'
import { preflightMaxAgeS } from '../http/limits.ts'
import { forwardedHosts } from './hosts.ts'

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Throws origin_refused for a request that may change something and comes from a page that is neither ours nor in `named`. */
export function checkOrigin(method: string, headers: IncomingHttpHeaders, named: ReadonlySet<string>): void {
  if (safeMethods.has(method)) return
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined && site === undefined) return
  if (origin !== undefined && named.has(origin)) return
  // Pages cannot set Sec-Fetch-Site, so it is right also behind a proxy that replaced Host.
  if (site === 'same-origin' || site === 'none') return
  if (site !== 'cross-site' && origin !== undefined && isOwn(origin, headers)) return
  throw new ServerError('origin_refused', 'a web page of another origin may not change data; see NDD_CORS_ORIGINS', {
    field: origin === undefined ? 'sec-fetch-site' : 'origin',
    value: origin ?? site,
  })
}

/**
 * Whether the origin is the address that the browser used. A proxy may end TLS, so schemes are not compared; one that replaced Host
 * tells it in X-Forwarded-Host, which a page of another origin cannot send without a preflight.
 */
function isOwn(origin: string, { host, 'x-forwarded-host': forwarded }: IncomingHttpHeaders): boolean {
  const url = URL.parse(origin)
  if (url === null || url.host === '') return false
  const hosts = [host ?? '', ...(forwarded === undefined ? [] : forwardedHosts(forwarded))]
  return hosts.some((one) => one !== '' && URL.parse(`${url.protocol}//${one}`)?.host === url.host)
}

/** Headers for the pages of `named` origins. Other origins get none, and browser credentials are never accepted. */
export interface Cors {
  /** True when the request was a preflight, which is answered then. */
  answer(request: FastifyRequest, reply: FastifyReply): boolean
}

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'accept, authorization, content-type, if-none-match, traceparent, tracestate',
  'access-control-max-age': String(preflightMaxAgeS),
}
const exposed = 'content-disposition, etag, retry-after, www-authenticate, x-annal-warnings, x-request-id'

/** Undefined where no origin is named. */
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
