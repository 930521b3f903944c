// Which route is for whom. Every route says so in its documentation, and one that does not stops the server from being made.
// What a caller may reach follows from the token alone: no path, body or header chooses a database.
import type { Database } from '@annal/engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineSlot } from '../engine-slot.ts'
import { ServerError } from '../http/errors.ts'
import type { Principal } from './auth.ts'

/**
 * - `open`: everybody, without a token.
 * - `any`: every token.
 * - `server`: the server as a whole: the owner of a plain deployment, else the root token.
 * - `control`: databases and their tokens: the root token, which plain deployments do not have.
 * - `read`, `search`, `write`: what is in one database; `write` asks for a token that may. Without a license only `read` goes on.
 */
export type Access = 'open' | 'any' | 'server' | 'control' | 'read' | 'search' | 'write'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; undefined on open routes and before the guard has looked. */
    principal: Principal | undefined
    /** The database that the token opens; `default` in a plain deployment. */
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
export function checkAccess({ kind, ...principal }: Principal, access: Access): void {
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
      if ('mayWrite' in principal && !principal.mayWrite)
        throw new ServerError('token_read_only', 'this token is read-only')
      break
    case 'read':
    case 'search':
  }
  if (kind === 'root')
    throw new ServerError('access_denied', 'the root token manages databases and tokens; it cannot access data')
}

/** Whether a license must be in force for a call; without one, what only looks goes on, except for searches. */
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

/** One sentence for all that is not the token's: it does not tell what exists. */
export function denied(): ServerError {
  return new ServerError('access_denied', 'this token does not allow this operation')
}
