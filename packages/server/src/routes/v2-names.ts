// /api/v2/alias, and the branches of a collection: which collection a name leads to.
import type { FastifyInstance } from 'fastify'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkCollections } from '../license/tiers.ts'
import {
  aliasParam,
  aliasReply,
  type BranchBody,
  branchBody,
  branchReply,
  type PromoteBody,
  type PutAliasBody,
  promoteBody,
  putAliasBody,
  readBranch,
} from '../wire/names.ts'
import { nameParam } from '../wire/schema.ts'

type Named = { Params: { name: string } }

/** Adds the routes of aliases. */
export function v2AliasRoutes(app: FastifyInstance): void {
  app.get('/alias', { config: { doc: docs.list } }, async ({ database }) => ({
    aliases: database.aliases().map(aliasReply),
  }))

  const put = {
    schema: { params: aliasParam, body: putAliasBody },
    config: { doc: docs.put, audit: 'alias.put', requestKey: 'kept' },
  } as const
  app.put<Named & { Body: PutAliasBody }>('/alias/:name', put, async (request, reply) => {
    const { database, params, body } = request
    const { lsn, durable } = await once(request, reply, (requestKey) =>
      database.putAlias(params.name, body.collection, { requestKey }),
    )
    return { name: params.name, collection: body.collection, lsn, durable }
  })

  const remove = {
    schema: { params: aliasParam },
    config: { doc: docs.remove, audit: 'alias.delete', requestKey: 'kept' },
  } as const
  app.delete<Named>('/alias/:name', remove, async (request, reply) => {
    const { database, params } = request
    const deleted = await once(request, reply, (requestKey) => database.deleteAlias(params.name, { requestKey }))
    return { message: 'Alias deleted', ...deleted }
  })
}

/** Adds the routes of branches. */
export function v2BranchRoutes(app: FastifyInstance): void {
  const params = nameParam
  app.get<Named>(
    '/collection/:name/branches',
    { schema: { params }, config: { doc: docs.branches } },
    async (request) => ({
      branches: request.database.branches(request.params.name).map(branchReply),
    }),
  )

  const branch = {
    schema: { params, body: branchBody },
    config: {
      ...({ doc: docs.branch, audit: 'collection.branch', requestKey: 'kept', isLong: true } as const),
      fieldNames: { 'asOf.timeMs': 'as_of.time', asOf: 'as_of' },
    },
  } as const
  app.post<Named & { Body: BranchBody }>('/collection/:name/branch', branch, async (request, reply) => {
    const wanted = readBranch(request.body)
    const { contentLsn, lsn, durable } = await once(request, reply, async (requestKey) => {
      checkCollections(request.database)
      return request.database.branch(request.params.name, wanted, {
        requestKey,
        keepExpired: request.body.keep_expired ?? false,
      })
    })
    const done = { content_lsn: contentLsn, lsn, durable }
    return reply.code(201).send({ message: 'Branch created', collection: wanted.name, ...done })
  })

  const promote = {
    schema: { params, body: promoteBody },
    config: { doc: docs.promote, audit: 'collection.promote', requestKey: 'kept' },
  } as const
  app.post<Named & { Body: PromoteBody }>('/collection/:name/promote', promote, async (request, reply) => {
    const { over, keep_as: keepAs } = request.body
    const { lsn, durable } = await once(request, reply, (requestKey) =>
      request.database.promote(request.params.name, { over, keepAs }, { requestKey }),
    )
    return { message: 'Collection promoted', collection: over, kept_as: keepAs, lsn, durable }
  })
}

const docs = {
  list: {
    access: 'read',
    summary: 'Lists the aliases.',
    reply: {
      description: 'aliases: each with its collection, and the event since which it leads there.',
      json: 'Aliases',
    },
  },
  put: {
    access: 'write',
    summary: 'Creates an alias, or switches it to another collection. Every route takes an alias in place of a name.',
    reply: { description: 'No later request by this name reaches the old collection.', json: 'AliasPut' },
  },
  remove: {
    access: 'write',
    summary: 'Deletes an alias. Its collection stays.',
    reply: { description: 'The alias is deleted.', json: 'Acknowledged' },
  },
  branches: {
    access: 'read',
    summary: 'Lists a collection and everything that has a common ancestor with it.',
    reply: { description: 'branches: in the order of creation, deleted ancestors included.', json: 'Branches' },
  },
  branch: {
    access: 'write',
    summary: 'Creates a collection with the content of another one as of now or of an earlier moment.',
    reply: { description: 'The branch exists; requests to it wait until it is loaded.', status: 201, json: 'Cloned' },
  },
  promote: {
    access: 'write',
    summary: 'Gives a collection the name and the aliases of another one, which is kept under another name.',
    reply: { description: 'Both names have changed in one event.', json: 'Promoted' },
  },
} satisfies Record<string, RouteDoc>
