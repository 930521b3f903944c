// The typed calls of the client with the token of the session: databases and their tokens, backups, and the license.
import { Backups, Databases, License } from '@annal/client'
import { adminRoutes, backupRoutes, routedTransport, systemRoutes } from '@annal/client/http'
import { authorization } from '../session.ts'
import { connectionWith } from './connection.ts'

const routes = { ...adminRoutes, ...backupRoutes, ...systemRoutes }

/** The scope `control` is for calls that require the root token; `token` replaces that of the session while it is being verified. */
export function client(scope: 'data' | 'control' = 'data', token = authorization(scope)) {
  const transport = routedTransport(connectionWith(token), routes)
  return { databases: new Databases(transport), backups: new Backups(transport), license: new License(transport) }
}
