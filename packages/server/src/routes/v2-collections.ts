// /api/v2/collection: create, list, describe, delete.
import type { FastifyInstance } from 'fastify'
import type { RouteContext } from '../app.ts'
import { nameParam } from '../wire/schema.ts'
import { type CreateCollectionBody, collectionSummary, createCollectionBody } from '../wire/v2-collection.ts'

type Named = { Params: { name: string } }

export function v2CollectionRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  const params = nameParam

  const create = { schema: { body: createCollectionBody } }
  app.post<{ Body: CreateCollectionBody }>('/collection', create, async (request) => {
    const collection = await slot.database().createCollection(request.body)
    return collectionSummary(collection.describe())
  })

  app.get('/collection', async () => ({ collections: slot.database().collections().map(collectionSummary) }))

  app.get<Named>('/collection/:name', { schema: { params } }, async (request) =>
    collectionSummary(slot.database().collection(request.params.name).describe()),
  )

  app.delete<Named>('/collection/:name', { schema: { params } }, async (request) => ({
    message: 'Collection deleted',
    ...(await slot.database().dropCollection(request.params.name)),
  }))
}
