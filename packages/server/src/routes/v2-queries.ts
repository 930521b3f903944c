// /api/v2/collection/{name}: batches of searches, counts, facets, pages, recall, neighbors.
import { asOfPage, type Collection, type Database } from '@annal/engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { answerRoom, sendJson } from '../http/replies.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { checkSearch } from '../license/tiers.ts'
import { bodyBytesQueryMax } from '../limits.ts'
import type { RouteContext } from '../route-context.ts'
import { openPast, readAsOf, readAsOfBatch, readAsOfQuery, readWait } from '../wire/as-of.ts'
import { fieldKindsOf } from '../wire/field-kinds.ts'
import { fusedBytes, searchBatchJson } from '../wire/hit-replies.ts'
import { asOfMember, momentJson } from '../wire/moment.ts'
import { idQuery, idsOfPath, onlyId } from '../wire/path-id.ts'
import { nameParam } from '../wire/schema.ts'
import {
  type CalibrateBody,
  type CountBody,
  calibrateBody,
  calibrationJson,
  countBody,
  type FacetsBody,
  facetsBody,
  type NeighborParams,
  neighborParams,
  ofSearch,
  type RecallQuery,
  readCalibrate,
  readCount,
  readFacets,
  readRecall,
  readScroll,
  recallQuery,
  type ScrollBody,
  type SearchBatchBody,
  scrollBody,
  scrollReply,
  searchBatchBody,
} from '../wire/v2-queries.ts'
import { readCollectionSearch } from '../wire/v2-search.ts'

type Named = { Params: { name: string } }

/** Adds the routes that read a collection without changing it, except single searches. */
export function v2QueryRoutes(app: FastifyInstance, { config }: RouteContext): void {
  const params = nameParam
  const bodyLimit = bodyBytesQueryMax

  const batch = { schema: { params, body: searchBatchBody(config.topKMax) }, bodyLimit, config: { doc: docs.batch } }
  app.post<Named & { Body: SearchBatchBody }>(
    '/collection/:name/search/batch',
    batch,
    async ({ database, params, body }, reply) => {
      const kindOf = fieldKindsOf(() => database.collection(params.name))
      const requests = body.searches.map((search, i) =>
        ofSearch(i, () => {
          const request = readCollectionSearch(search, config.topKMax, kindOf)
          checkSearch(database, request)
          return request
        }),
      )
      const room = answerRoom(reply, 'send fewer searches per call, request fewer results, or leave out the vectors')
      const moment = readAsOfBatch(body)
      const collection = moment
        ? await openPast(database, params.name, moment, reply)
        : database.collection(params.name)
      const results = await collection.searchBatch(requests, room)
      for (const result of results) room.take(fusedBytes(result))
      return sendJson(reply, searchBatchJson(results))
    },
  )

  const count = { schema: { params, body: countBody }, bodyLimit, config: { doc: docs.count } }
  app.post<Named & { Body: CountBody }>(
    '/collection/:name/objects/count',
    count,
    async ({ database, params, body }, reply) => {
      const moment = readAsOf(body)
      const request = readCount(body)
      if (moment === undefined) {
        const collection = await served(database, params.name)
        return 'match' in request ? collection.count(request) : collection.count(request.filter)
      }
      const past = await openPast(database, params.name, moment, reply)
      const { asOf, ...count } = await past.count('match' in request ? request : request.filter)
      return { ...count, as_of: momentJson(asOf) }
    },
  )

  const facets = { schema: { params, body: facetsBody }, bodyLimit, config: { doc: docs.facets } }
  app.post<Named & { Body: FacetsBody }>(
    '/collection/:name/facets',
    facets,
    async ({ database, params, body }, reply) => {
      const moment = readAsOf(body)
      const collection = moment
        ? await openPast(database, params.name, moment, reply)
        : await served(database, params.name)
      const { asOf, ...facets } = await collection.facets(readFacets(body))
      return { ...facets, ...asOfMember(asOf) }
    },
  )

  const scroll = { schema: { params, body: scrollBody(config.batchMax) }, bodyLimit, config: { doc: docs.scroll } }
  app.post<Named & { Body: ScrollBody }>(
    '/collection/:name/objects/scroll',
    scroll,
    async ({ database, params, body }, reply) => {
      const room = answerRoom(reply, 'leave out the vectors')
      const request = readScroll(body)
      const { waitMs, ...given } = readAsOf(body) ?? { waitMs: readWait(body.wait) }
      const asOf = asOfPage({ ...request, ...given })
      const collection = asOf
        ? await openPast(database, params.name, { asOf, waitMs }, reply)
        : database.collection(params.name)
      return sendJson(reply, scrollReply(await collection.scroll(request, room), body))
    },
  )

  const recall = {
    schema: { params, querystring: recallQuery },
    config: { doc: docs.recall, fieldNames: { 'as_of.lsn': 'as_of', 'as_of.time': 'as_of' } },
  }
  app.get<Named & { Querystring: RecallQuery }>(
    '/collection/:name/recall',
    recall,
    async ({ database, params, query }, reply) => {
      const moment = readAsOfQuery(query)
      const collection = moment
        ? await openPast(database, params.name, moment, reply)
        : database.collection(params.name)
      const { recallWorst, asOf, ...report } = await collection.recall(readRecall(query))
      return { ...report, recall_worst: recallWorst, ...asOfMember(asOf) }
    },
  )

  const calibrations = { schema: { params }, config: { doc: docs.calibrations } }
  app.get<Named>('/collection/:name/calibrations', calibrations, async ({ database, params }) => ({
    calibrations: (await served(database, params.name)).calibrations().map(calibrationJson),
  }))

  const calibrate = { schema: { params, body: calibrateBody }, bodyLimit, config: { doc: docs.calibrate } }
  app.post<Named & { Body: CalibrateBody }>(
    '/collection/:name/calibrate',
    calibrate,
    async ({ database, params, body }) =>
      calibrationJson(await database.collection(params.name).calibrate(readCalibrate(body))),
  )

  const object = '/collection/:name/objects/:id/field/:field'
  const neighbors = { schema: { params: neighborParams, querystring: idQuery }, config: { doc: docs.neighbors } }
  app.get<{ Params: NeighborParams }>(`${object}/neighbors`, neighbors, readNeighbors)

  // The published name of the same operation.
  const links = { schema: neighbors.schema, config: { doc: docs.links } }
  app.get<{ Params: NeighborParams }>(`${object}/links`, links, async (request) => {
    const { neighbors, ...rest } = await readNeighbors(request)
    return { ...rest, links: neighbors }
  })
}

async function readNeighbors(request: FastifyRequest<{ Params: NeighborParams }>) {
  const { database, params } = request
  const { name, field } = params
  const collection = await served(database, name)
  const ids = idsOfPath(request, params.id, (rest) => rest.split('/', 1)[0] ?? '')
  const id = await onlyId(collection, ids)
  return { id, field, neighbors: collection.neighbors(field, id) }
}

/** Waits until a clone is loaded. */
async function served(database: Database, name: string): Promise<Collection> {
  const collection = database.collection(name)
  await collection.served()
  return collection
}

const docs = {
  batch: {
    access: 'search',
    summary: 'Runs several searches in one call, all on the collection as of one moment.',
    reply: { description: 'searches: the replies, in the order of the searches.', json: 'SearchResults' },
  },
  count: {
    access: 'read',
    summary: 'Counts the objects that match a filter, and whose texts match.',
    reply: { description: 'count: the exact number.', json: 'Count' },
  },
  facets: {
    access: 'read',
    summary: 'Counts the values of a filter key among the objects that match a filter, and whose texts match.',
    reply: { description: 'values: most frequent first; distinct: the number of distinct values.', json: 'Facets' },
  },
  scroll: {
    access: 'read',
    summary: 'Pages through the objects that match a filter, and whose texts match.',
    reply: {
      description: 'objects, and cursor: the cursor of the next page, null on the last page.',
      json: 'ObjectPage',
    },
  },
  recall: {
    access: 'search',
    summary: 'Runs sample queries with stored vectors and compares each result with exact search.',
    reply: { description: 'recall: the mean of the sample; recall_worst: that of the worst query.', json: 'Recall' },
  },
  calibrations: {
    access: 'read',
    summary: 'Returns what was measured for searches that state a recall.',
    reply: {
      description: 'calibrations: by field, limit, and rescore; none before the first search that states a recall.',
      json: 'Calibrations',
    },
  },
  calibrate: {
    access: 'search',
    summary: 'Measures which ef reaches which recall, for searches that state a recall, and replies when it is done.',
    reply: { description: 'The calibration, with the recall at each measured ef.', json: 'Calibration' },
  },
  neighbors: {
    access: 'read',
    summary: 'Returns the neighbors of an object in the graph of a dense field.',
    reply: { description: 'neighbors: the ids, empty if the object has no vector in the field.', json: 'Neighbors' },
  },
  links: {
    access: 'read',
    summary: 'The published name of `neighbors`.',
    reply: {
      description: 'links: the ids of the neighbors, empty if the object has no vector in the field.',
      json: 'Links',
    },
  },
} satisfies Record<string, RouteDoc>
