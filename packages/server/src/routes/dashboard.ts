// The dashboard at `/`. Its files are public, because they contain no data; it requests data with the token.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServerError } from '../errors.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { openStaticFiles, type StaticFiles } from '../http/static-files.ts'

/** Allows only this server's own scripts and connections. Text never becomes markup or script. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types annal',
].join('; ')

const yearS = 31_536_000

/** Adds the routes of the dashboard. Its files are found at the first request. */
export function dashboardRoutes(app: FastifyInstance): void {
  let opened: Promise<StaticFiles> | undefined
  // If they could not be opened, the requests have reported it, and there is nothing to close.
  app.addHook('onClose', async () => (await opened?.catch(() => undefined))?.close())
  const serve = async (request: FastifyRequest, reply: FastifyReply, name: string, cacheControl: string) => {
    opened ??= openStaticFiles()
    const { files, read } = await opened
    const file = files.get(name)
    if (file === undefined) {
      const message = name === 'index.html' ? 'the dashboard is not built here: npm run build' : 'there is no such file'
      throw new ServerError('route_not_found', message)
    }
    reply
      .header('content-security-policy', contentSecurityPolicy)
      .header('referrer-policy', 'no-referrer')
      .header('cross-origin-opener-policy', 'same-origin')
      .header('cross-origin-resource-policy', 'same-origin')
      .header('cache-control', cacheControl)
      .header('vary', 'accept-encoding, origin')
      .header('etag', file.etag)
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    const { coding, bytes } = await read(name, request.headers['accept-encoding'])
    if (coding !== undefined) reply.header('content-encoding', coding)
    return reply.type(file.type).send(bytes)
  }
  app.get('/', { config: { doc: docs.page } }, (request, reply) => serve(request, reply, 'index.html', 'no-cache'))
  // The name of an asset contains a hash of its content.
  app.get<{ Params: { file: string } }>('/assets/:file', { config: { doc: docs.asset } }, (request, reply) =>
    serve(request, reply, `assets/${request.params.file}`, `public, max-age=${yearS}, immutable`),
  )
}

const docs = {
  page: {
    access: 'open',
    summary: 'The dashboard.',
    reply: { description: 'An HTML page.', media: 'text/html' },
  },
  asset: {
    access: 'open',
    summary: 'A file of the dashboard.',
    reply: { description: 'A script, style sheet, or image.', media: '*/*' },
  },
} satisfies Record<string, RouteDoc>
