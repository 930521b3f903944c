// The dashboard in a separate process: it serves the files of the dashboard and forwards API requests to a server. A browser connects to
// one address, and the server's own port can stay closed. The process holds no token and stores nothing. Only its own page may change
// data through it: it compares Origin with its own Host and does not forward Origin, so the server's NDD_CORS_ORIGINS does not apply here.
// It forwards the host that the browser named as X-Forwarded-Host, which a server without a token checks.
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { checkOrigin } from './access/origins.ts'
import { errorBody, ServerError, statusOf } from './errors.ts'
import { sendError } from './http/error-replies.ts'
import { answerRefusedBytes, refuseBytes } from './http/refused-bytes.ts'
import { bodyBytesUpsertMax } from './limits.ts'
import { dashboardRoutes } from './routes/dashboard.ts'

/** Where the dashboard listens, and the server that it shows. */
export interface DashboardOptions {
  readonly host: string
  /** 0: the system chooses a free port. */
  readonly port: number
  /** Address of the server: `http://server:8080`. */
  readonly serverUrl: string
}

/** A dashboard that is served. `address` is its URL. */
export interface RunningDashboard {
  readonly address: string
  /** Idempotent. */
  stop(): Promise<void>
}

/** Serves the dashboard and forwards `/api` and `/metrics` to the server at `serverUrl`. Port 0 chooses a free port. */
export async function startDashboard({ host, port, serverUrl }: DashboardOptions): Promise<RunningDashboard> {
  const app = fastify({ logger: false, bodyLimit: bodyBytesUpsertMax, clientErrorHandler: refuseBytes })
  answerRefusedBytes(app.server)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) =>
    sendError(new ServerError('route_not_found', 'there is no such route'), request, reply),
  )
  app.addHook('onRequest', async ({ method, headers }) => checkOrigin(method, headers, noOrigins))
  dashboardRoutes(app)
  // Reports its own health, so that a container is not restarted because its server is down.
  app.get('/health', async () => ({ status: 'ok' }))
  for (const prefix of ['/api', '/metrics']) await forward(app, prefix, serverUrl)
  const address = await app.listen({ host, port })
  let stopped: Promise<void> | undefined
  return {
    address,
    stop() {
      stopped ??= app.close()
      return stopped
    },
  }
}

const noOrigins: ReadonlySet<string> = new Set()

type Headers = FastifyRequest['headers']

/** Forwards headers about the caller and the host, and drops those about the page. */
function forwardedHeaders({ headers, socket }: FastifyRequest, received: Headers): Headers {
  const kept = Object.entries(received).filter(([name]) => name !== 'origin' && !name.startsWith('sec-fetch-'))
  return {
    ...Object.fromEntries(kept),
    'x-forwarded-for': appended(headers['x-forwarded-for'], socket.remoteAddress),
    'x-forwarded-host': appended(headers['x-forwarded-host'], headers.host),
  }
}

function appended(header: string | string[] | undefined, value: string | undefined): string {
  return [header, value].flat().filter(Boolean).join(', ')
}

async function forward(app: FastifyInstance, prefix: string, upstream: string): Promise<void> {
  await app.register(httpProxy, {
    prefix,
    rewritePrefix: prefix,
    upstream,
    replyOptions: {
      rewriteRequestHeaders: (request, headers) => forwardedHeaders(request as FastifyRequest, headers as Headers),
      onError: (reply, { error }) => {
        const unreachable = new ServerError('server_away', `the server at ${upstream} does not respond (${error.name})`)
        const body = JSON.stringify(errorBody(unreachable, String(reply.request.id)))
        reply.code(statusOf(unreachable.code)).type('application/json; charset=utf-8').send(body)
      },
    },
  })
}
