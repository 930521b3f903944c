// The dashboard in a process of its own: serves its files and passes what they ask on to a server, so that a browser talks to one
// address and the server's own port can stay closed to it. Holds no token and stores nothing. Only its own page may change anything
// through it: it judges Origin by its own Host and forwards none, so that the server's NDD_CORS_ORIGINS do not count here. The host that
// the browser named goes on as X-Forwarded-Host, which a server without a token checks.
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { checkOrigin } from '../access/origins.ts'
import { dashboardRoutes } from '../routes/dashboard.ts'
import { sendError } from './error-replies.ts'
import { errorBody, ServerError, statusOf } from './errors.ts'
import { bodyBytesUpsertMax } from './limits.ts'

export interface DashboardOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Where the server is: `http://server:8080`. */
  readonly serverUrl: string
}

export interface RunningDashboard {
  readonly address: string
  /** Idempotent. */
  stop(): Promise<void>
}

export async function startDashboard({ host, port, serverUrl }: DashboardOptions): Promise<RunningDashboard> {
  const app = fastify({ logger: false, bodyLimit: bodyBytesUpsertMax })
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) =>
    sendError(new ServerError('route_not_found', 'there is no such route'), request, reply),
  )
  app.addHook('onRequest', async ({ method, headers }) => checkOrigin(method, headers, noOrigins))
  dashboardRoutes(app)
  // Reports its own health, so that a container is not restarted because its server is down.
  app.get('/health', async () => ({ status: 'ok' }))
  for (const prefix of ['/api', '/metrics']) await passOn(app, prefix, serverUrl)
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

/** Headers about the page are not forwarded; those about the caller and the host are. */
function forwardedHeaders({ headers, socket }: FastifyRequest, passed: Headers): Headers {
  const kept = Object.entries(passed).filter(([name]) => name !== 'origin' && !name.startsWith('sec-fetch-'))
  return {
    ...Object.fromEntries(kept),
    'x-forwarded-for': appended(headers['x-forwarded-for'], socket.remoteAddress),
    'x-forwarded-host': appended(headers['x-forwarded-host'], headers.host),
  }
}

function appended(header: string | string[] | undefined, value: string | undefined): string {
  return [header, value].flat().filter(Boolean).join(', ')
}

async function passOn(app: FastifyInstance, prefix: string, upstream: string): Promise<void> {
  await app.register(httpProxy, {
    prefix,
    rewritePrefix: prefix,
    upstream,
    replyOptions: {
      rewriteRequestHeaders: (request, headers) => forwardedHeaders(request as FastifyRequest, headers as Headers),
      onError: (reply, { error }) => {
        const away = new ServerError('server_away', `the server at ${upstream} does not respond (${error.name})`)
        const body = JSON.stringify(errorBody(away, String(reply.request.id)))
        reply.code(statusOf(away.code)).type('application/json; charset=utf-8').send(body)
      },
    },
  })
}
