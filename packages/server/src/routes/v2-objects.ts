// /api/v2/collection/{name}: upsert, read, search, delete, filter updates.
import type { FastifyInstance } from 'fastify'
import type { RouteContext } from '../app.ts'
import { MsgpackBytes } from '../bodies.ts'
import { ServerError } from '../errors.ts'
import { bodyBytesFiltersMax, bodyBytesUpsertMax } from '../limits.ts'
import { sendEither } from '../replies.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type DeleteByFilterBody,
  deleteByFilterBody,
  readFilterUpdates,
  type UpdateFiltersBody,
  updateFiltersBody,
} from '../wire/v1-object.ts'
import { readConditions } from '../wire/v1-search.ts'
import {
  objectBatchReply,
  objectsJsonReply,
  type QueryObjectsBody,
  queryObjectsBody,
  readObjectBatch,
  readObjectsJson,
} from '../wire/v2-objects.ts'
import {
  collectionSearchJson,
  collectionSearchMsgpack,
  fusedOf,
  readCollectionSearch,
  type SearchCollectionBody,
  searchCollectionBody,
} from '../wire/v2-search.ts'

type Named = { Params: { name: string } }

export function v2ObjectRoutes(app: FastifyInstance, { slot, config }: RouteContext): void {
  const params = nameParam
  const open = (name: string) => slot.database().collection(name)

  const upsert = { schema: { params }, bodyLimit: bodyBytesUpsertMax, config: { msgpackBytes: true } }
  app.post<Named>('/collection/:name/objects', upsert, async (request) => {
    const { body } = request
    const objects =
      body instanceof MsgpackBytes
        ? readObjectBatch(body.bytes, config.batchMax)
        : readObjectsJson(body, config.batchMax)
    return open(request.params.name).upsert(objects)
  })

  const query = { schema: { params, body: queryObjectsBody(config.batchMax) } }
  app.post<Named & { Body: QueryObjectsBody }>('/collection/:name/objects/query', query, async (request, reply) => {
    const objects = await open(request.params.name).get(request.body.ids.map(String))
    return sendEither(reply, { msgpack: () => objectBatchReply(objects), json: () => objectsJsonReply(objects) })
  })

  // A wildcard, since some clients write ids into the path as they are, slashes included.
  app.delete<{ Params: { name: string; '*': string } }>(
    '/collection/:name/objects/*',
    { schema: { params } },
    async (request) => {
      const id = request.params['*']
      const { deleted, ...done } = await open(request.params.name).delete([id])
      if (deleted.length > 0) return { deleted: id, ...done }
      throw new ServerError('object_not_found', 'there is no object of that id', { field: 'id', value: id })
    },
  )

  const byFilter = { schema: { params, body: deleteByFilterBody } }
  app.delete<Named & { Body: DeleteByFilterBody }>('/collection/:name/objects', byFilter, async (request) =>
    open(request.params.name).deleteWhere(readConditions(request.body.filter)),
  )

  const update = { schema: { params, body: updateFiltersBody(config.batchMax) }, bodyLimit: bodyBytesFiltersMax }
  app.post<Named & { Body: UpdateFiltersBody }>('/collection/:name/filters', update, async (request) =>
    open(request.params.name).replaceFilters(readFilterUpdates(request.body)),
  )

  const search = { schema: { params, body: searchCollectionBody(config.topKMax) } }
  app.post<Named & { Body: SearchCollectionBody }>('/collection/:name/search', search, async (request, reply) => {
    const result = await open(request.params.name).search(readCollectionSearch(request.body, config.topKMax))
    const fused = fusedOf(result, request.body)
    return sendEither(reply, {
      msgpack: () => collectionSearchMsgpack(result, fused),
      json: () => collectionSearchJson(result, fused),
    })
  })
}
