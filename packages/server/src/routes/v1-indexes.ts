// /api/v1/index: create, list, info, delete.
import type { FastifyInstance } from 'fastify'
import type { RouteContext } from '../app.ts'
import { sendText } from '../replies.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type CreateIndexBody,
  createIndexBody,
  definitionOf,
  indexInfo,
  indexListItem,
  openIndex,
  shapeOf,
} from '../wire/v1-index.ts'

type Named = { Params: { name: string } }

export function v1IndexRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  app.post<{ Body: CreateIndexBody }>(
    '/index/create',
    { schema: { body: createIndexBody } },
    async (request, reply) => {
      await slot.database().createCollection(definitionOf(request.body))
      return sendText(reply, 'Index created successfully', { name: request.body.index_name })
    },
  )

  app.get('/index/list', async () => ({
    indexes: slot
      .database()
      .collections()
      .flatMap((description) => {
        const shape = shapeOf(description)
        return shape === undefined ? [] : [indexListItem(description, shape)]
      }),
  }))

  app.get<Named>('/index/:name/info', { schema: { params: nameParam } }, async (request) => {
    const { collection, shape } = openIndex(slot.database(), request.params.name)
    return indexInfo(collection.describe(), shape)
  })

  app.delete<Named>('/index/:name/delete', { schema: { params: nameParam } }, async (request, reply) => {
    openIndex(slot.database(), request.params.name)
    const done = await slot.database().dropCollection(request.params.name)
    return sendText(reply, 'Index deleted successfully', done)
  })
}
