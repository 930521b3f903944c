// /api/v2/collection: create, list, describe, delete.
import type {
  Acknowledgement,
  CollectionDefinition,
  CollectionDescription,
  FieldSchema,
  RecordedRequest,
} from '@annal/engine'
import type { FastifyInstance } from 'fastify'
import { sendJson } from '../http/replies.ts'
import { once } from '../http/request-keys.ts'
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
  type UpdateDefaultsBody,
  type UpdateFieldsBody,
  updateDefaultsBody,
  updateFieldsBody,
} from '../wire/v2-collection.ts'

type Named = { Params: { name: string } }

/** Adds the routes that create, list, describe, and delete collections. */
export function v2CollectionRoutes(app: FastifyInstance): void {
  const params = nameParam

  const create = {
    schema: { body: createCollectionBody },
    config: { doc: docs.create, audit: 'collection.create', requestKey: 'kept' },
  } as const
  app.post<{ Body: CreateCollectionBody }>('/collection', create, async (request, reply) => {
    const { description } = await once<Created>(
      request,
      reply,
      async (requestKey) => {
        const definition = definitionOf(request.body)
        checkDefinition(request.database, definition)
        // The engine checks the rest of the definition.
        const collection = await request.database.createCollection(definition as CollectionDefinition, { requestKey })
        if (requestKey?.recorded === undefined) return { lsn: 0, durable: true, description: collection.describe() }
        return created(request.body.name, { ...requestKey.recorded, durable: true, facts: requestKey.facts })
      },
      (recorded) => created(request.body.name, recorded),
    )
    return collectionSummary(description)
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
    config: { doc: docs.update, audit: 'collection.update', requestKey: 'kept' },
  } as const
  app.post<Named & { Body: UpdateFieldsBody }>('/collection/:name/fields', update, async (request, reply) => {
    const { database, params, body } = request
    const acknowledged = await once(request, reply, async (requestKey) =>
      database.collection(params.name).updateFields(readFieldChanges(body), { requestKey }),
    )
    return { message: 'Fields updated', ...acknowledged }
  })

  const defaults = {
    schema: { params, body: updateDefaultsBody },
    config: {
      ...({ doc: docs.defaults, audit: 'collection.update', requestKey: 'kept' } as const),
      fieldNames: { 'changes.ttlSeconds': 'ttl_seconds' },
    },
  } as const
  app.post<Named & { Body: UpdateDefaultsBody }>('/collection/:name/defaults', defaults, async (request, reply) => {
    const { database, params, body } = request
    const acknowledged = await once(request, reply, async (requestKey) =>
      database.collection(params.name).updateDefaults({ ttlSeconds: body.ttl_seconds }, { requestKey }),
    )
    return { message: 'Defaults updated', ...acknowledged }
  })

  app.delete<Named>(
    '/collection/:name',
    { schema: { params }, config: { doc: docs.drop, audit: 'collection.delete', requestKey: 'kept' } },
    async (request, reply) => {
      refuseId(request)
      const deleted = await once(request, reply, (requestKey) =>
        request.database.deleteCollection(request.params.name, { requestKey }),
      )
      return { message: 'Collection deleted', ...deleted }
    },
  )
}

interface Created extends Acknowledgement {
  readonly description: CollectionDescription
}

/** A new collection as its record says, the same for a repetition: without objects, and without the memory that it has now. */
function created(name: string, { lsn, durable, timeMs, facts }: RecordedRequest): Created {
  const fields = (facts.fields as readonly FieldSchema[]).map((field) => ({ ...field, elements: 0 }))
  const ttl = typeof facts.ttlSeconds === 'number' ? { ttlSeconds: facts.ttlSeconds } : {}
  const state = { condition: 'ready', memory: {} } as const
  return { lsn, durable, description: { name, fields, ...ttl, objects: 0, createdAt: timeMs, lsn, ...state } }
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
    reply: { description: 'The defaults apply to searches from now on.', json: 'Acknowledged' },
  },
  defaults: {
    access: 'write',
    summary: 'Changes the default expiry of objects.',
    reply: { description: 'The default applies to objects written from now on.', json: 'Acknowledged' },
  },
  drop: {
    access: 'write',
    summary: 'Deletes a collection and its data.',
    reply: { description: 'The collection is deleted.', json: 'Acknowledged' },
  },
} satisfies Record<string, RouteDoc>
