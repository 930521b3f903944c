// /api/v1/index: create, list, info, delete.
import type { FastifyInstance } from 'fastify'
import { sendJson, sendText } from '../http/replies.ts'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkDefinition } from '../license/tiers.ts'
import { refuseId } from '../wire/path-id.ts'
import { arrayPieces, objectPieces } from '../wire/pieces.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type CreateIndexBody,
  createIndexBody,
  definitionOf,
  describedIndex,
  indexInfo,
  indexListItem,
  openIndex,
  paramsOf,
  refusalOf,
} from '../wire/v1-index.ts'

type Named = { Params: { name: string } }

/** Adds the routes that create, list, describe, and delete indexes. */
export function v1IndexRoutes(app: FastifyInstance): void {
  const create = {
    schema: { body: createIndexBody },
    config: { doc: docs.create, audit: 'index.create', requestKey: 'kept' },
  } as const
  app.post<{ Body: CreateIndexBody }>('/index/create', create, async (request, reply) => {
    await once(request, reply, async (requestKey) => {
      const definition = definitionOf(request.body)
      try {
        checkDefinition(request.database, definition)
        await request.database.createCollection(definition, { requestKey })
        // The reply does not have it.
        return { lsn: 0, durable: true }
      } catch (error) {
        throw refusalOf(error)
      }
    })
    return sendText(reply, 'Index created successfully', { name: request.body.index_name })
  })

  app.get('/index/list', { config: { doc: docs.list } }, async (request, reply) => {
    const items = request.database.collections().flatMap((description) => {
      const index = paramsOf(description)
      return index === undefined ? [] : [{ description, index }]
    })
    const written = arrayPieces(items, ({ description, index }) => [JSON.stringify(indexListItem(description, index))])
    return sendJson(reply, objectPieces([['indexes', written]]))
  })

  app.get<Named>('/index/:name/info', { schema: { params: nameParam }, config: { doc: docs.info } }, async (request) =>
    indexInfo(describedIndex(request.database, request.params.name)),
  )

  app.delete<Named>(
    '/index/:name/delete',
    { schema: { params: nameParam }, config: { doc: docs.drop, audit: 'index.delete', requestKey: 'kept' } },
    async (request, reply) => {
      refuseId(request)
      const done = await once(request, reply, async (requestKey) => {
        openIndex(request.database, request.params.name)
        return request.database.deleteCollection(request.params.name, { requestKey })
      })
      return sendText(reply, 'Index deleted successfully', done)
    },
  )
}

const docs = {
  create: {
    access: 'write',
    summary: 'Creates an index.',
    reply: {
      description: 'The index exists and can be written and searched.',
      text: 'Index created successfully',
      json: 'IndexCreated',
    },
  },
  list: {
    access: 'read',
    summary: 'Lists all indexes.',
    reply: { description: 'indexes: each with its parameters.', json: 'Indexes' },
  },
  info: {
    access: 'read',
    summary: 'Describes an index.',
    reply: { description: 'The parameters and the number of objects.', json: 'IndexInfo' },
  },
  drop: {
    access: 'write',
    summary: 'Deletes an index and its data.',
    reply: { description: 'The index is deleted.', text: 'Index deleted successfully', json: 'Acknowledged' },
  },
} satisfies Record<string, RouteDoc>
