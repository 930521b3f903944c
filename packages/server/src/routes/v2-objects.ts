// /api/v2/collection/{name}: upsert, read, search, delete, filter updates.
import type { ConditionalOptions, RequestClaim } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { ServerError } from '../errors.ts'
import type { ArrivingBody } from '../http/arriving-body.ts'
import { addListParsers, addVectorBodyParser } from '../http/bodies.ts'
import { present, readList } from '../http/list-body.ts'
import { answerRoom, noteRecall, sendEither } from '../http/replies.ts'
import { once } from '../http/request-keys.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkObjects, checkSearch } from '../license/tiers.ts'
import { bodyBytesFiltersMax, bodyBytesQueryMax, bodyBytesUpsertMax } from '../limits.ts'
import type { NamedRequest, RouteContext } from '../route-context.ts'
import { openPast, readAsOf } from '../wire/as-of.ts'
import {
  AtomicChoice,
  type AtomicQuery,
  atomicQuery,
  conditionFields,
  ifLsnQuery,
  patchesReader,
  patchObjectsBody,
  writtenResults,
} from '../wire/conditions.ts'
import { readContents } from '../wire/contents.ts'
import { fieldKindsOf } from '../wire/field-kinds.ts'
import { collectionSearchJson, collectionSearchMsgpack, fusedBytes } from '../wire/hit-replies.ts'
import { objectBatchReply, objectsJsonReply } from '../wire/object-replies.ts'
import { idQuery, idsOfPath, onlyId } from '../wire/path-id.ts'
import { nameParam } from '../wire/schema.ts'
import { type DeleteWhereBody, deleteWhereBody, filterUpdatesReader, updateFiltersBody } from '../wire/v1-object.ts'
import { readConditions } from '../wire/v1-search.ts'
import { objectsReader, type QueryObjectsBody, queryObjectsBody, upsertObjectsBody } from '../wire/v2-objects.ts'
import { readCollectionSearch, type SearchCollectionBody, searchCollectionBody } from '../wire/v2-search.ts'

type Named = { Params: { name: string } }
type Listed = Named & { Body: ArrivingBody; Querystring: AtomicQuery }

/** Adds the routes for the objects of a collection. */
export function v2ObjectRoutes(app: FastifyInstance, { config }: RouteContext): void {
  const params = nameParam
  const open = ({ database, params }: NamedRequest) => database.collection(params.name)

  app.register(async (lists) => {
    addListParsers(lists)
    const upsert = {
      schema: { params, querystring: atomicQuery },
      bodyLimit: bodyBytesUpsertMax,
      config: { doc: docs.upsert, requestKey: 'kept', fieldNames: conditionFields('objects[]') },
    } as const
    lists.post<Listed>('/collection/:name/objects', upsert, async (request, reply) => {
      const written = await once(request, reply, async (requestKey) => {
        const { database } = request
        const reader = objectsReader(
          config.batchMax,
          fieldKindsOf(() => open(request)),
          (count) => checkObjects(database, count),
        )
        const choice = new AtomicChoice(request.query)
        const objects = await readList(request.body, { ...reader, rest: (body) => choice.readBody(body) })
        if (Array.isArray(objects)) checkObjects(database, objects.length)
        const { expectedBytes } = request.body
        const beforeEmbedding = () => request.bodyRoom?.waitForProvider()
        return open(request).upsert(
          objects,
          Object.assign(atomicOptions(choice, requestKey), { beforeEmbedding, expectedBytes }),
        )
      })
      const { upserted, lsn, durable } = written
      return { upserted, lsn, durable, ...writtenResults(written) }
    })

    const patch = {
      schema: { params, querystring: atomicQuery },
      bodyLimit: bodyBytesFiltersMax,
      config: {
        ...({ doc: { ...docs.patch, body: patchObjectsBody(config.batchMax) }, requestKey: 'kept' } as const),
        fieldNames: conditionFields('patches[]'),
      },
    } as const
    lists.patch<Listed>('/collection/:name/objects', patch, async (request, reply) => {
      const written = await once(request, reply, async (requestKey) => {
        const choice = new AtomicChoice(request.query)
        const reader = patchesReader(config.batchMax)
        const patches = await readList(request.body, { ...reader, rest: (body) => choice.readBody(body) })
        return open(request).patch(patches, atomicOptions(choice, requestKey))
      })
      const { updated, lsn, durable } = written
      return { updated, lsn, durable, ...writtenResults(written) }
    })

    const update = {
      schema: { params },
      config: { doc: { ...docs.updateFilters, body: updateFiltersBody(config.batchMax) }, requestKey: 'kept' },
      bodyLimit: bodyBytesFiltersMax,
    } as const
    lists.post<Named & { Body: ArrivingBody }>('/collection/:name/filters', update, async (request, reply) =>
      once(request, reply, async (requestKey) => {
        const updates = await readList(request.body, filterUpdatesReader(config.batchMax))
        return open(request).updateFilters(present(updates), { requestKey })
      }),
    )
  })

  const query = {
    schema: { params, body: queryObjectsBody(config.batchMax) },
    bodyLimit: bodyBytesQueryMax,
    config: { doc: docs.query },
  }
  app.post<Named & { Body: QueryObjectsBody }>('/collection/:name/objects/query', query, async (request, reply) => {
    const room = answerRoom(reply, 'request fewer ids per call')
    const { ids, min_lsn: minLsn } = request.body
    const contents = readContents(request.body)
    const moment = readAsOf(request.body)
    if (moment !== undefined) {
      const past = await openPast(request.database, request.params.name, moment, reply)
      const objects = await past.getMany(ids.map(String), contents, room)
      return sendEither(reply, {
        msgpack: () => objectBatchReply(objects),
        json: () => objectsJsonReply(objects, { asOf: past.asOf, contents }),
      })
    }
    const collection = open(request)
    if (minLsn != null) await collection.waitFor(minLsn)
    const objects = await collection.getMany(ids.map(String), contents, room)
    return sendEither(reply, {
      msgpack: () => objectBatchReply(objects),
      json: () => objectsJsonReply(objects, { contents }),
    })
  })

  // A wildcard, because some clients write ids into the path without encoding, including slashes.
  app.delete<{ Params: { name: string; '*': string }; Querystring: { if_lsn?: string } }>(
    '/collection/:name/objects/*',
    {
      schema: { params, querystring: Type.Object({ ...idQuery.properties, if_lsn: ifLsnQuery }) },
      config: { doc: docs.remove, requestKey: 'kept', fieldNames: { ifLsn: 'if_lsn' } },
    },
    async (request, reply) => {
      const written = await once(request, reply, async (requestKey) => {
        const collection = open(request)
        const id = await onlyId(collection, idsOfPath(request, request.params['*']))
        requestKey?.addFacts({ id })
        const { if_lsn: ifLsn } = request.query
        const { deleted, ...done } = await collection.delete([id], {
          requestKey,
          ...(ifLsn !== undefined && { ifLsn: Number(ifLsn) }),
        })
        if (deleted.length > 0 || done.isRefused) return { id, ...done }
        throw new ServerError('object_not_found', 'there is no object with this id', { field: 'id', value: id })
      })
      writtenResults(written)
      const { id, lsn, durable } = written
      return { deleted: id, lsn, durable }
    },
  )

  const deletion = {
    schema: { params, body: deleteWhereBody },
    bodyLimit: bodyBytesQueryMax,
    config: { doc: docs.deleteWhere, audit: 'objects.delete_by_filter', requestKey: 'kept' },
  } as const
  app.delete<Named & { Body: DeleteWhereBody }>('/collection/:name/objects', deletion, async (request, reply) =>
    once(request, reply, async (requestKey) =>
      open(request).deleteWhere(readConditions(request.body.filter), { requestKey }),
    ),
  )

  const search = {
    schema: { params, body: searchCollectionBody(config.topKMax) },
    bodyLimit: bodyBytesQueryMax,
    config: { vectorKey: '"query"', doc: docs.search },
  } as const
  app.register(async (searches) => {
    addVectorBodyParser(searches)
    searches.post<Named & { Body: SearchCollectionBody }>(
      '/collection/:name/search',
      search,
      async (request, reply) => {
        const search = readCollectionSearch(
          request.body,
          config.topKMax,
          fieldKindsOf(() => open(request)),
        )
        checkSearch(request.database, search)
        const room = answerRoom(reply, 'request fewer results, or leave out the vectors')
        const moment = readAsOf(request.body)
        const collection = moment ? await openPast(request.database, request.params.name, moment, reply) : open(request)
        const result = await collection.search(search, room)
        noteRecall(reply, result)
        return sendEither(reply, {
          msgpack: () => collectionSearchMsgpack(result),
          json: () => {
            room.take(fusedBytes(result))
            return collectionSearchJson(result)
          },
        })
      },
    )
  })
}

/** A large body says only at its end whether it is atomic, and the engine asks after it has read the objects, so it must not be copied. */
function atomicOptions(choice: AtomicChoice, requestKey: RequestClaim | undefined): ConditionalOptions {
  return {
    requestKey,
    get atomic() {
      return choice.atomic
    },
  }
}

const docs = {
  upsert: {
    access: 'write',
    summary: 'Inserts objects and replaces objects with the same ids; those whose conditions do not hold are left out.',
    body: upsertObjectsBody,
    bodyMsgpack: '[[[id, meta, filter, {field: vector}, {field: [indices, values]}, {}], ...]]',
    reply: { description: 'The write is durable and visible: upserted, lsn, durable.', json: 'ObjectsUpserted' },
  },
  patch: {
    access: 'write',
    summary: 'Changes the meta and filter values of objects, and leaves their vectors.',
    reply: {
      description: 'updated is the number of changed objects; results has one entry for each.',
      json: 'ObjectsPatched',
    },
  },
  query: {
    access: 'read',
    summary: 'Gets objects by id; unknown ids are left out.',
    reply: {
      description: 'The objects, in the order of the ids.',
      msgpack: '[[[id, meta, filter, {field: row}, {field: [indices, values]}, {}, expiry?], ...]]',
      json: 'Objects',
    },
  },
  remove: {
    access: 'write',
    summary: 'Deletes one object.',
    reply: { description: 'deleted is the id of the object.', json: 'ObjectDeleted' },
  },
  deleteWhere: {
    access: 'write',
    summary: 'Deletes the objects that match a filter; an empty filter matches none.',
    reply: { description: 'deleted is the number of deleted objects.', json: 'ObjectsDeleted' },
  },
  updateFilters: {
    access: 'write',
    summary: 'Updates the filters of objects: replaces each filter completely and skips unknown ids.',
    reply: { description: 'updated is the number of updated objects.', json: 'FiltersUpdated' },
  },
  search: {
    access: 'search',
    summary: 'Finds the nearest objects by one or several fields, and optionally fuses the lists.',
    bodyBytes: 'The length of the parameters as u32, the parameters as JSON, and the vector as 32-bit floats.',
    reply: {
      description: 'Hits per field, best first.',
      msgpack: '[{number: [id, meta, filter, expiry?]}, {field: [[number, score], ...]}, [[number, score], ...]?]',
      json: 'SearchResult',
    },
  },
} satisfies Record<string, RouteDoc>
