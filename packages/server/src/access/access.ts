// Who may call which route. Every route declares its access in its documentation; a server with a route that does not cannot be created.
// The token alone determines what a caller can access: no path, body, or header selects a database.
import type { Database } from '@annal/engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from '../errors.ts'
import type { Principal } from './auth.ts'

/** What the access of a caller depends on. */
export interface CallerFacts {
  readonly kind: Principal['kind']
  /** Whether the token may write; undefined if every token of this kind may. */
  readonly mayWrite?: boolean
}

/**
 * - `open`: every caller, without a token.
 * - `any`: every token.
 * - `server`: the server as a whole: the owner of a plain deployment, otherwise the root token.
 * - `control`: databases and their tokens: the root token, which plain deployments do not have.
 * - `read`, `search`, `write`: the data of one database; `write` needs a token that may write. Without a license only `read` is allowed.
 */
export type Access = 'open' | 'any' | 'server' | 'control' | 'read' | 'search' | 'write'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; undefined on open routes and before the guard has checked the token. */
    principal: Principal | undefined
    /** The database of the token; `default` in a plain deployment. */
    readonly database: Database
  }
}

export function addAccess(app: FastifyInstance, slot: EngineSlot): void {
  app.decorateRequest('principal', undefined)
  app.decorateRequest('database', {
    getter(this: FastifyRequest) {
      if (this.principal?.kind === 'member') return this.principal.database
      if (this.principal?.kind === 'owner') return slot.database()
      throw denied()
    },
  })
  app.addHook('onRoute', (route) => {
    if (route.config?.doc === undefined) throw new Error(`${route.method} ${route.url} does not define who may call it`)
  })
}

/** Throws access_denied, token_read_only or enterprise_only. */
export function checkAccess({ kind, mayWrite }: CallerFacts, access: Access): void {
  switch (access) {
    case 'open':
    case 'any':
      return
    case 'server':
      if (kind === 'member') throw denied()
      return
    case 'control':
      if (kind === 'owner') throw enterpriseOnly()
      if (kind === 'member') throw denied()
      return
    case 'write':
      if (mayWrite === false) throw new ServerError('token_read_only', 'this token is read-only')
      break
    case 'read':
    case 'search':
  }
  if (kind === 'root')
    throw new ServerError('access_denied', 'the root token manages databases and tokens; it cannot access data')
}

/** Whether a call needs an active license. Reads do not need one, except for searches. */
export function needsLicense(access: Access, method: string): boolean {
  if (access === 'control') return method !== 'GET' && method !== 'HEAD'
  return access === 'write' || access === 'search'
}

export function enterpriseOnly(): ServerError {
  return new ServerError(
    'enterprise_only',
    'this server runs in plain mode with one database and no license; set NDD_ROOT_TOKEN for enterprise mode',
  )
}

/** The same message for everything that the token cannot access, so that it does not reveal what exists. */
export function denied(): ServerError {
  return new ServerError('access_denied', 'this token does not allow this operation')
}
