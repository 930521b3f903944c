// /api/v2/collection: create, list, describe, delete.
import type { CollectionDefinition } from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { sendJson } from '../http/replies.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkDefinition } from '../license/tiers.ts'
import { refuseId } from '../wire/path-id.ts'
import { arrayPieces, objectPieces } from '../wire/pieces.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type CreateCollectionBody,
  collectionSummary,
  createCollectionBody,
  definitionOf,
  readFieldChanges,
  type UpdateFieldsBody,
  updateFieldsBody,
} from '../wire/v2-collection.ts'

type Named = { Params: { name: string } }

/** Adds the routes that create, list, describe, and delete collections. */
export function v2CollectionRoutes(app: FastifyInstance): void {
  const params = nameParam

  const create = { schema: { body: createCollectionBody }, config: { doc: docs.create, audit: 'collection.create' } }
  app.post<{ Body: CreateCollectionBody }>('/collection', create, async (request) => {
    const definition = definitionOf(request.body)
    checkDefinition(request.database, definition)
    // The engine checks the rest of the definition.
    const collection = await request.database.createCollection(definition as CollectionDefinition)
    return collectionSummary(collection.describe())
  })

  app.get('/collection', { config: { doc: docs.list } }, async (request, reply) => {
    const summaries = arrayPieces(request.database.collections(), (described) => [
      JSON.stringify(collectionSummary(described)),
    ])
    return sendJson(reply, objectPieces([['collections', summaries]]))
  })

  app.get<Named>('/collection/:name', { schema: { params }, config: { doc: docs.describe } }, async (request) =>
    collectionSummary(request.database.collection(request.params.name).describe()),
  )

  const update = {
    schema: { params, body: updateFieldsBody },
    config: { doc: docs.update, audit: 'collection.update' },
  }
  app.post<Named & { Body: UpdateFieldsBody }>(
    '/collection/:name/fields',
    update,
    async ({ database, params, body }) => {
      const acknowledged = await database.collection(params.name).updateFields(readFieldChanges(body))
      return { message: 'Fields updated', ...acknowledged }
    },
  )

  app.delete<Named>(
    '/collection/:name',
    { schema: { params }, config: { doc: docs.drop, audit: 'collection.delete' } },
    async (request) => {
      refuseId(request)
      return { message: 'Collection deleted', ...(await request.database.deleteCollection(request.params.name)) }
    },
  )
}

const docs = {
  create: {
    access: 'write',
    summary: 'Creates a collection.',
    reply: { description: 'The summary of the collection.', json: 'Collection' },
  },
  list: {
    access: 'read',
    summary: 'Lists all collections.',
    reply: { description: 'collections: the summary of each.', json: 'Collections' },
  },
  describe: {
    access: 'read',
    summary: 'Describes a collection.',
    reply: { description: 'The summary: fields, counts, state.', json: 'Collection' },
  },
  update: {
    access: 'write',
    summary: 'Changes defaults of the searches of fields, without a rebuild.',
    reply: { description: 'They hold for searches from now on.', json: 'Acknowledged' },
  },
  drop: {
    access: 'write',
    summary: 'Deletes a collection and its data.',
    reply: { description: 'It is deleted.', json: 'Acknowledged' },
  },
} satisfies Record<string, RouteDoc>
