// The dashboard in a process of its own: serves its files and passes what they ask on to a server, so that a browser talks to one
// address and the server's own port can stay closed to it. Holds no token and stores nothing.
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance } from 'fastify'
import { sendError } from './error-replies.ts'
import { errorBody, ServerError, statusOf } from './errors.ts'
import { bodyBytesUpsertMax } from './limits.ts'
import { dashboardRoutes } from './routes/dashboard.ts'

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
  dashboardRoutes(app)
  // Answers for itself, so that a container is not started anew because its server is away.
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

async function passOn(app: FastifyInstance, prefix: string, upstream: string): Promise<void> {
  await app.register(httpProxy, {
    prefix,
    rewritePrefix: prefix,
    upstream,
    replyOptions: {
      onError: (reply, { error }) => {
        const away = new ServerError('server_away', `the server at ${upstream} does not answer (${error.name})`)
        const body = JSON.stringify(errorBody(away, String(reply.request.id)))
        reply.code(statusOf(away.code)).type('application/json; charset=utf-8').send(body)
      },
    },
  })
}
