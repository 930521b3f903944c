// /api/v2/admin: databases, their collections, and their tokens, for the root token.
import type { RequestClaim } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { denied } from '../access/access.ts'
import { asAuthor } from '../http/author.ts'
import { once, secretReply } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import {
  type CreateDatabaseBody,
  createDatabaseBody,
  type DatabaseTypeBody,
  databaseChange,
  databaseChildParams,
  databaseInfo,
  databaseParam,
  databaseTypeBody,
  firstTokenName,
  mintToken,
  readDatabaseType,
} from '../wire/v2-admin.ts'

type Of = { Params: { database: string } }
type Child = { Params: { database: string; name: string } }

/** Adds the administration routes of enterprise mode. */
export function v2AdminRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  const control = () => slot.engine().control
  const params = databaseParam

  const create = {
    schema: { body: createDatabaseBody },
    config: { doc: docs.create, audit: 'database.create', requestKey: secretReply },
  }
  app.post<{ Body: CreateDatabaseBody }>('/admin/dbs', create, async (request, reply) => {
    const { body } = request
    const { secret, facts } = mintToken(body.db_name, firstTokenName, 'rw')
    const type = readDatabaseType(body.db_type)
    const made = await asAuthor(request, () => control().createDatabase({ name: body.db_name, type, token: facts }))
    return reply.code(201).send({ ...databaseChange(made), db_token: secret, message: 'Database created' })
  })

  app.get('/admin/dbs', { config: { doc: docs.list } }, async () => ({ dbs: control().databases().map(databaseInfo) }))

  app.get<Of>('/dbs/:database/info', { schema: { params }, config: { doc: docs.info } }, async (request) => {
    const { principal, params } = request
    // The reply is the same for other databases and for those that do not exist.
    if (principal?.kind === 'member' && principal.database.name !== params.database) throw denied()
    return databaseInfo(slot.database(params.database).describe())
  })

  const dropConfig = { doc: docs.drop, audit: 'database.delete', requestKey: 'kept' } as const
  const drop = { schema: { params }, config: dropConfig }
  app.delete<Of>('/admin/dbs/:database', drop, async (request, reply) => {
    const { database } = request.params
    const write = (requestKey: RequestClaim | undefined) => control().deleteDatabase(database, { requestKey })
    return { message: 'Database deleted', db_name: database, ...(await once(request, reply, write)) }
  })

  for (const [verb, active] of [
    ['activate', true],
    ['deactivate', false],
  ] as const) {
    const doc = active ? docs.activate : docs.deactivate
    const config = { doc, audit: `database.${verb}`, requestKey: 'kept' } as const
    app.post<Of>(`/admin/dbs/:database/${verb}`, { schema: { params }, config }, async (request, reply) => {
      const changed = await once(request, reply, (requestKey) =>
        control().setDatabaseActive(request.params.database, active, { requestKey }),
      )
      return { message: `Database ${verb}d`, ...databaseChange(changed) }
    })
  }

  const typeConfig = { doc: docs.type, audit: 'database.type', requestKey: 'kept' } as const
  const retype = { schema: { params, body: databaseTypeBody }, config: typeConfig }
  app.put<Of & { Body: DatabaseTypeBody }>('/admin/dbs/:database/type', retype, async (request, reply) => {
    const changed = await once(request, reply, async (requestKey) => {
      const { params, body } = request
      return control().setDatabaseType(params.database, readDatabaseType(body.db_type), { requestKey })
    })
    return { message: 'Database type set', ...databaseChange(changed) }
  })

  const names = (database: string) =>
    slot
      .database(database)
      .collections()
      .map(({ name }) => name)

  app.get<Of>(
    '/admin/dbs/:database/collection',
    { schema: { params }, config: { doc: docs.collections } },
    async (request) => ({ collections: names(request.params.database) }),
  )

  app.get('/admin/collection', { config: { doc: docs.allCollections } }, async () => ({
    collections: control()
      .databases()
      .map(({ name }) => ({ db_name: name, collections: names(name), count: names(name).length })),
  }))

  const deleteCollection = {
    schema: { params: databaseChildParams },
    config: { doc: docs.deleteCollection, audit: 'collection.delete', requestKey: 'kept' },
  } as const
  app.delete<Child>('/admin/dbs/:database/collection/:name', deleteCollection, async (request, reply) => {
    const { database, name } = request.params
    const deleted = await once(request, reply, async (requestKey) =>
      slot.database(database).deleteCollection(name, { requestKey }),
    )
    return { message: 'Collection deleted', ...deleted }
  })
}

const docs = {
  create: {
    access: 'control',
    summary: 'Creates a database and its first token.',
    reply: { description: 'db_token is in this reply only.', status: 201, json: 'DatabaseCreated' },
  },
  list: {
    access: 'control',
    summary: 'Lists all databases.',
    reply: { description: 'dbs: each with its type and state.', json: 'Databases' },
  },
  info: {
    access: 'any',
    summary: 'Describes a database.',
    reply: { description: 'The name, type, and state.', json: 'Database' },
  },
  drop: {
    access: 'control',
    summary: 'Deletes a database, its collections, and its tokens.',
    reply: { description: 'The collection is deleted.', json: 'DatabaseDeleted' },
  },
  activate: {
    access: 'control',
    summary: 'Activates a database, so that its tokens work again.',
    reply: { description: 'The updated database.', json: 'DatabaseChanged' },
  },
  deactivate: {
    access: 'control',
    summary: 'Deactivates a database: its tokens are rejected, its data is kept.',
    reply: { description: 'The updated database.', json: 'DatabaseChanged' },
  },
  type: {
    access: 'control',
    summary: 'Sets the type of a database.',
    reply: { description: 'The updated database.', json: 'DatabaseChanged' },
  },
  collections: {
    access: 'control',
    summary: 'Lists the collections of a database.',
    reply: { description: 'collections: their names.', json: 'CollectionNames' },
  },
  allCollections: {
    access: 'control',
    summary: 'Lists the collections of every database.',
    reply: { description: 'collections: one entry per database.', json: 'CollectionsOfDatabases' },
  },
  deleteCollection: {
    access: 'control',
    summary: 'Deletes a collection of a database.',
    reply: { description: 'The collection is deleted.', json: 'Acknowledged' },
  },
} satisfies Record<string, RouteDoc>
