// The operations on databases and tokens.
import type { DatabaseInfo, TokenInfo } from '../database-info.ts'
import type { AdminOperations, Operations } from '../operations.ts'
import { list, moment, object, parseJson, text } from './read.ts'
import { get, post, type Routes, remove, segment } from './route.ts'

/** The operations on databases, tokens, and the license, for `routedTransport`. */
export const adminRoutes: Routes<keyof AdminOperations> = {
  createDatabase: {
    retry: 'when-refused',
    request: ({ database, type }) => post(databases, { db_name: database, db_type: type }),
    reply: (reply) => text(object(parseJson(reply.text), 'reply').db_token, 'db_token'),
  },
  listDatabases: {
    retry: 'always',
    reads: 'query',
    request: () => get(databases),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').dbs, 'dbs').map(parseDatabase),
  },
  databaseInfo: {
    retry: 'always',
    reads: 'query',
    request: ({ database }) => get(`/api/v2/dbs/${segment(database)}/info`),
    reply: (reply) => parseDatabase(parseJson(reply.text)),
  },
  deleteDatabase: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ database }) => remove(pathOf(database)),
    reply: () => undefined,
  },
  setDatabaseActive: {
    retry: 'always',
    takesKey: true,
    request: ({ database, active }) => ({
      method: 'POST',
      path: `${pathOf(database)}/${active ? 'activate' : 'deactivate'}`,
    }),
    reply: () => undefined,
  },
  setDatabaseType: {
    retry: 'always',
    takesKey: true,
    request: ({ database, type }) => ({ ...post(`${pathOf(database)}/type`, { db_type: type }), method: 'PUT' }),
    reply: () => undefined,
  },
  listDatabaseCollections: {
    retry: 'always',
    reads: 'query',
    request: ({ database }) => get(`${pathOf(database)}/collection`),
    reply: (reply) =>
      list(object(parseJson(reply.text), 'reply').collections, 'collections').map((name) => text(name, 'collection')),
  },
  deleteDatabaseCollection: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ database, collection }) => remove(`${pathOf(database)}/collection/${segment(collection)}`),
    reply: () => undefined,
  },
  createToken: {
    retry: 'when-refused',
    request: (input) => post(tokensOf(input), { name: input.name, token_type: input.type }),
    reply: (reply) => text(object(parseJson(reply.text), 'reply').db_token, 'db_token'),
  },
  listTokens: {
    retry: 'always',
    reads: 'query',
    request: (input) => get(tokensOf(input)),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').tokens, 'tokens').map(parseToken),
  },
  deleteToken: {
    retry: 'when-refused',
    takesKey: true,
    request: (input) => remove(`${tokensOf(input)}/${segment(input.name)}`),
    reply: () => undefined,
  },
}

const databases = '/api/v2/admin/dbs'

function pathOf(database: string): string {
  return `${databases}/${segment(database)}`
}

function tokensOf({ database }: Operations['listTokens']['input']): string {
  return database === undefined ? '/api/v2/tokens' : `${pathOf(database)}/tokens`
}

function parseDatabase(value: unknown): DatabaseInfo {
  const database = object(value, 'database')
  return {
    name: text(database.db_name, 'db_name'),
    type: text(database.db_type, 'db_type'),
    isActive: database.is_active !== false,
    createdAt: moment(database.created_at, 'created_at'),
  }
}

function parseToken(value: unknown): TokenInfo {
  const token = object(value, 'token')
  return {
    name: text(token.name, 'name'),
    type: token.token_type === 'r' ? 'r' : 'rw',
    createdAt: moment(token.created_at, 'created_at'),
  }
}
