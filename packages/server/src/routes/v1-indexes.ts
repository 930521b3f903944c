// /api/v1/index: create, list, info, delete.
import type { FastifyInstance } from 'fastify'
import { sendText } from '../replies.ts'
import type { RouteContext } from '../route-context.ts'
import type { RouteDoc } from '../route-doc.ts'
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
} from '../wire/v1-index.ts'

type Named = { Params: { name: string } }

export function v1IndexRoutes(app: FastifyInstance, { slot }: RouteContext): void {
  const create = { schema: { body: createIndexBody }, config: { doc: docs.create, audit: 'index.create' } }
  app.post<{ Body: CreateIndexBody }>('/index/create', create, async (request, reply) => {
    await slot.database().createCollection(definitionOf(request.body))
    return sendText(reply, 'Index created successfully', { name: request.body.index_name })
  })

  app.get('/index/list', { config: { doc: docs.list } }, async () => ({
    indexes: slot
      .database()
      .collections()
      .flatMap((description) => {
        const index = paramsOf(description)
        return index === undefined ? [] : [indexListItem(description, index)]
      }),
  }))

  app.get<Named>('/index/:name/info', { schema: { params: nameParam }, config: { doc: docs.info } }, async (request) =>
    indexInfo(describedIndex(slot.database(), request.params.name)),
  )

  app.delete<Named>(
    '/index/:name/delete',
    { schema: { params: nameParam }, config: { doc: docs.drop, audit: 'index.delete' } },
    async (request, reply) => {
      openIndex(slot.database(), request.params.name)
      const done = await slot.database().dropCollection(request.params.name)
      return sendText(reply, 'Index deleted successfully', done)
    },
  )
}

const docs = {
  create: {
    summary: 'Creates an index.',
    reply: { description: 'It can be written and searched at once.', text: 'Index created successfully' },
  },
  list: { summary: 'Lists all indexes.', reply: { description: 'indexes, each with its parameters.' } },
  info: { summary: 'Describes an index.', reply: { description: 'Parameters and the number of objects.' } },
  drop: {
    summary: 'Deletes an index with everything in it.',
    reply: { description: 'It is gone.', text: 'Index deleted successfully' },
  },
} satisfies Record<string, RouteDoc>
