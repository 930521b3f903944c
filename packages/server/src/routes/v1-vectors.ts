// /api/v1/index/{name}: insert, search, get, delete, filter updates.
import type { FastifyInstance } from 'fastify'
import { ServerError } from '../errors.ts'
import type { ArrivingBody } from '../http/arriving-body.ts'
import { addListParsers, addVectorBodyParser } from '../http/bodies.ts'
import { present, readList } from '../http/list-body.ts'
import { answerRoom, noteRecall, sendEither, sendText } from '../http/replies.ts'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkObjects, checkSearch } from '../license/tiers.ts'
import { bodyBytesFiltersMax, bodyBytesQueryMax, bodyBytesUpsertMax } from '../limits.ts'
import type { NamedRequest, RouteContext } from '../route-context.ts'
import { hitsOf, searchReplyJson, searchReplyMsgpack } from '../wire/hit-replies.ts'
import { objectReplyJson, objectReplyMsgpack } from '../wire/object-replies.ts'
import { idQuery, idsOfPath, onlyId } from '../wire/path-id.ts'
import { nameParam } from '../wire/schema.ts'
import { openIndex } from '../wire/v1-index.ts'
import {
  type DeleteWhereBody,
  deleteWhereBody,
  filterUpdatesReader,
  type GetVectorBody,
  getVectorBody,
  updateFiltersBody,
} from '../wire/v1-object.ts'
import { readConditions, readSearch, type SearchBody, searchBody } from '../wire/v1-search.ts'
import { insertBody, insertReader } from '../wire/v1-upsert.ts'

type Named = { Params: { name: string } }

const deleteEnding = '/delete'

/** Adds the routes for the objects of an index. */
export function v1VectorRoutes(app: FastifyInstance, { config }: RouteContext): void {
  const params = nameParam
  // Published clients expect 400 instead of 404 for writes to a missing index.
  const write = { missingCollectionStatus: 400 }
  const open = ({ database, params }: NamedRequest) => openIndex(database, params.name)

  app.register(async (lists) => {
    addListParsers(lists)
    const insertConfig = { ...write, doc: docs.insert, requestKey: 'kept' } as const
    const insert = { schema: { params }, bodyLimit: bodyBytesUpsertMax, config: insertConfig }
    lists.post<Named & { Body: ArrivingBody }>('/index/:name/vector/insert', insert, async (request, reply) => {
      const done = await once(request, reply, async (requestKey) => {
        const { database } = request
        const { collection, shape } = open(request)
        const reader = insertReader({ shape, batchMax: config.batchMax }, (count) => checkObjects(database, count))
        const objects = await readList(request.body, reader)
        if (Array.isArray(objects)) checkObjects(database, objects.length)
        const { expectedBytes } = request.body
        return collection.upsert(objects, { requestKey, expectedBytes })
      })
      return sendText(reply, '', done)
    })

    const update = {
      schema: { params },
      config: {
        ...write,
        doc: { ...docs.updateFilters, body: updateFiltersBody(config.batchMax) },
        requestKey: 'kept',
      },
      bodyLimit: bodyBytesFiltersMax,
    } as const
    lists.post<Named & { Body: ArrivingBody }>('/index/:name/filters/update', update, async (request, reply) => {
      const done = await once(request, reply, async (requestKey) => {
        const updates = await readList(request.body, filterUpdatesReader(config.batchMax))
        return open(request).collection.updateFilters(present(updates), { requestKey })
      })
      return sendText(reply, `${done.updated} filters updated`, done)
    })
  })

  const search = {
    schema: { params, body: searchBody(config.topKMax) },
    bodyLimit: bodyBytesQueryMax,
    config: { vectorKey: '"vector"', doc: docs.search },
  } as const
  app.register(async (searches) => {
    addVectorBodyParser(searches)
    searches.post<Named & { Body: SearchBody }>('/index/:name/search', search, async (request, reply) => {
      const { collection, shape } = open(request)
      const search = readSearch(request.body, shape)
      checkSearch(request.database, search)
      const room = answerRoom(reply, 'request fewer results, or leave out the vectors')
      const result = await collection.search(search, room)
      const hits = hitsOf(result, shape)
      noteRecall(reply, result)
      return sendEither(reply, { msgpack: () => searchReplyMsgpack(hits), json: () => searchReplyJson(hits, result) })
    })
  })

  const get = { schema: { params, body: getVectorBody }, config: { doc: docs.get } }
  app.post<Named & { Body: GetVectorBody }>('/index/:name/vector/get', get, async (request, reply) => {
    const id = String(request.body.id)
    const { collection, shape } = open(request)
    const [object] = await collection.getMany(
      [id],
      {},
      answerRoom(reply, 'read it from a backup or with the embedded library'),
    )
    if (object === undefined) throw notFound(id)
    return sendEither(reply, {
      msgpack: () => objectReplyMsgpack(object, shape),
      json: () => objectReplyJson(object, shape),
    })
  })

  // A wildcard, because some clients write ids into the path without encoding, including slashes.
  app.delete<{ Params: { name: string; '*': string } }>(
    '/index/:name/vector/*',
    { schema: { params, querystring: idQuery }, config: { doc: docs.remove, requestKey: 'kept' } },
    async (request, reply) => {
      const path = request.params['*']
      if (!path.endsWith(deleteEnding)) throw new ServerError('route_not_found', 'there is no such route')
      const { id, lsn, durable } = await once(request, reply, async (requestKey) => {
        const { collection } = open(request)
        const withoutEnding = (rest: string) => rest.slice(0, -deleteEnding.length)
        const id = await onlyId(collection, idsOfPath(request, withoutEnding(path), withoutEnding))
        requestKey?.addFacts({ id })
        const { deleted, ...acknowledged } = await collection.delete([id], { requestKey })
        if (deleted.length === 0) throw notFound(id)
        return { id, ...acknowledged }
      })
      const done = { lsn, durable, deleted: [id] }
      return sendText(reply, 'Vector deleted successfully', done)
    },
  )

  const deletion = {
    schema: { params, body: deleteWhereBody },
    bodyLimit: bodyBytesQueryMax,
    config: { ...write, doc: docs.deleteWhere, audit: 'objects.delete_by_filter', requestKey: 'kept' },
  } as const
  app.delete<Named & { Body: DeleteWhereBody }>('/index/:name/vectors/delete', deletion, async (request, reply) => {
    const done = await once(request, reply, async (requestKey) =>
      open(request).collection.deleteWhere(readConditions(request.body.filter), { requestKey }),
    )
    return sendText(reply, `${done.deleted} vectors deleted`, done)
  })
}

const docs = {
  insert: {
    access: 'write',
    summary: 'Inserts objects and replaces objects with the same ids, all or none.',
    body: insertBody,
    bodyMsgpack: '[[id, meta, filter, norm, vector, sparse_indices?, sparse_values?], ...]',
    reply: {
      description:
        'The write is durable and visible. The body is empty, or {"upserted","lsn","durable"} if JSON is accepted.',
      text: '',
      json: 'VectorsUpserted',
    },
  },
  search: {
    access: 'search',
    summary: 'Finds the nearest objects by the dense vector, the sparse vector, or both with fused ranks.',
    bodyBytes: 'The length of the parameters as u32, the parameters as JSON, and the vector as 32-bit floats.',
    reply: {
      description: 'The hits, best first.',
      msgpack: '[[similarity, id, meta, filter, norm, vector], ...]',
      json: 'IndexSearchResult',
    },
  },
  get: {
    access: 'read',
    summary: 'Reads one object.',
    reply: {
      description: 'The object with its stored vector.',
      msgpack: '[id, meta, filter, norm, vector, sparse_indices, sparse_values]',
      json: 'StoredVector',
    },
  },
  remove: {
    access: 'write',
    summary: 'Deletes one object.',
    reply: { description: 'The object is deleted.', text: 'Vector deleted successfully', json: 'VectorDeleted' },
  },
  deleteWhere: {
    access: 'write',
    summary: 'Deletes the objects that match a filter; an empty filter matches none.',
    reply: { description: 'The number of deleted objects.', text: '3 vectors deleted', json: 'VectorsDeleted' },
  },
  updateFilters: {
    access: 'write',
    summary: 'Updates the filters of objects: replaces each filter completely and skips unknown ids.',
    reply: {
      description: 'The number of updated objects.',
      text: '3 filters updated',
      json: 'VectorFiltersUpdated',
    },
  },
} satisfies Record<string, RouteDoc>

function notFound(id: string): ServerError {
  return new ServerError('object_not_found', 'Vector with the given id does not exist', { field: 'id', value: id })
}
