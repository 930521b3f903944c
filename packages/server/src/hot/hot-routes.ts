// Answers hot requests from the shared memory of the engine. The body of a search is read from the received bytes, and its reply is written
// from the bytes of the hits. The replies are those of routes/v1-vectors.ts and routes/v2-objects.ts, byte for byte. Every error and every unusual
// request is left to the main thread (see hot/contract.ts).
import type { IncomingHttpHeaders } from 'node:http'
import type { CollectionSchema, DatabaseType, SearchRequest, SearchResult } from '@annal/engine'
import type { HitBytes, ReaderCollection, ReaderSearch } from '@annal/engine/reader'
import { acceptsOnlyJson } from '../http/accept.ts'
import { hotBodyBytesMax, largeReplyBytes } from '../limits.ts'
import {
  collectionSearchJson,
  collectionSearchMsgpack,
  hitsOf,
  searchBatchJson,
  searchReplyJson,
  searchReplyMsgpack,
} from '../wire/hit-replies.ts'
import { fieldsOfIndex, namesOf } from '../wire/index-fields.ts'
import { copyFloats, firstNotFinite, parametersAt, vectorOffset } from '../wire/vector-bytes.ts'
import type { HotReply, HotRoute, HotRoutes, ThreadObserver } from './contract.ts'
import { answerHealth, healthRoutes } from './health.ts'
import { JsonCursor } from './json-cursor.ts'
import { openBody } from './open-body.ts'
import { jsonType, msgpackType, replyOf } from './pieces-reply.ts'
import { readRoutes } from './read-objects.ts'
import { readCollectionSearch, readIndexSearch, readSearchBatch } from './read-search.ts'
import {
  collectionJson,
  collectionMsgpack,
  type HitCopy,
  indexJson,
  indexMsgpack,
  type ReplyForm,
  recallJson,
} from './reply-bytes.ts'
import { matchPath, type RoutePath } from './route-paths.ts'
import type { HotSearch, SearchContext } from './search-draft.ts'
import type { SharedHealth } from './shared-health.ts'

/** What hot routes need of the collection of a reader. */
export type HotReader = Pick<
  ReaderCollection,
  'definition' | 'collectionId' | 'searchHere' | 'searchBatchHere' | 'getHere'
>

/** A collection that this thread can search. */
export interface HotCollection {
  readonly reader: HotReader
  /** Limits of the database, at most those of the server. */
  readonly topKMax: number
  readonly filterBoostMax: number
}

/** Undefined for a collection that does not exist or that this thread does not know. */
export type FindCollection = (database: string, name: string, type: DatabaseType) => HotCollection | undefined

type HotAnswer = ReturnType<HotRoutes['answer']>
type WriteResult = (
  result: SearchResult,
  definition: CollectionSchema,
  headers: IncomingHttpHeaders,
) => HotReply | undefined

interface SearchRoute extends RoutePath {
  readonly read: typeof readIndexSearch
  readonly msgpack: ReplyForm<Buffer>
  readonly json: ReplyForm<HitCopy>
  readonly reply: WriteResult
}

const searchRoutes: readonly SearchRoute[] = [
  {
    name: 'v1-search',
    prefix: '/api/v1/index/',
    ending: '/search',
    bodyBytesMax: hotBodyBytesMax,
    pattern: '/api/v1/index/:name/search',
    read: readIndexSearch,
    msgpack: indexMsgpack,
    json: indexJson,
    reply: indexReply,
  },
  {
    name: 'v2-search',
    prefix: '/api/v2/collection/',
    ending: '/search',
    bodyBytesMax: hotBodyBytesMax,
    pattern: '/api/v2/collection/:name/search',
    read: readCollectionSearch,
    msgpack: collectionMsgpack,
    json: collectionJson,
    reply: collectionReply,
  },
]
const batchRoute: RoutePath = {
  name: 'v2-batch',
  prefix: '/api/v2/collection/',
  ending: '/search/batch',
  bodyBytesMax: hotBodyBytesMax,
  pattern: '/api/v2/collection/:name/search/batch',
}
/** Routes of POST. */
const paths: readonly RoutePath[] = [...searchRoutes, batchRoute, ...readRoutes]

/** What hot routes need of their thread. */
export interface HotContext {
  readonly find: FindCollection
  readonly observer?: Pick<ThreadObserver, 'searched'>
  /** Without it, health is left to the main thread. */
  readonly health?: Pick<SharedHealth, 'read'>
}

/** The hot routes of a thread. */
export function createHotRoutes({ find, observer, health }: HotContext): HotRoutes {
  return {
    match(method, url) {
      if (method === 'POST') return matchPath(paths, url)
      return method === 'GET' ? healthRoutes.get(url) : undefined
    },
    answer({ route, database, databaseType }, headers, body) {
      if (route.name === 'health') return health && answerHealth(route, health)
      const found = find(database, route.collection, databaseType)
      if (found === undefined) return undefined
      const answer = answerFrom(found, route, headers, body)
      // A request that names an LSN may have found it after its name was looked up. The main thread answers for what the name leads to now.
      const checked = (reply: HotReply | undefined) =>
        find(database, route.collection, databaseType)?.reader === found.reader ? reply : undefined
      return answer instanceof Promise ? answer.then(checked) : checked(answer)
    },
  }

  function answerFrom(
    { reader, topKMax, filterBoostMax }: HotCollection,
    route: HotRoute,
    headers: IncomingHttpHeaders,
    body: Buffer,
  ): HotAnswer {
    const context = { definition: reader.definition, topKMax, filterBoostMax }
    if (route.name === 'v2-batch') return answerBatch(reader, context, headers, body, observer)
    const place = searchRoutes.find(({ name }) => name === route.name)
    if (place === undefined) return readRoutes.find(({ name }) => name === route.name)?.answer(reader, headers, body)
    const read = readBody(place, context, headers, body)
    if (read === undefined) return undefined
    if (read.kind === 'full') {
      const write = ([result]: readonly SearchResult[]) => result && place.reply(result, reader.definition, headers)
      return searchFully(reader, [read.request], write, observer)
    }
    const { search } = read
    const { collectionId } = reader
    const facts = (lsn: number) => ({ collectionId, lsn, request: requestOf(search) })
    const note = observer && ((lsn: number) => observer.searched(() => facts(lsn)))
    return acceptsOnlyJson(headers.accept)
      ? searchAndWrite(reader, search, place.json, note)
      : searchAndWrite(reader, search, place.msgpack, note)
  }
}

function searchAndWrite<Copied>(
  reader: HotReader,
  search: ReaderSearch,
  { contentType, copy, write }: ReplyForm<Copied>,
  note: ((lsn: number) => void) | undefined,
): HotAnswer {
  let searchedLsn = 0
  let chosen: HitBytes['recall']
  const copied = reader.searchHere(search, (hits) => {
    searchedLsn = hits.lsn
    chosen = hits.recall
    return copy(hits, search.field)
  })
  const finish = (copied: Copied | undefined): HotReply | undefined => {
    const body = copied === undefined ? undefined : write(copied, search.field)
    if (body === undefined) return undefined
    note?.(searchedLsn)
    return chosen === undefined
      ? { status: 200, contentType, body }
      : { status: 200, contentType, recall: recallJson(search.field, chosen), body }
  }
  return copied instanceof Promise ? copied.then(finish) : finish(copied)
}

/** The search as the engine records it. */
function requestOf(search: ReaderSearch): SearchRequest {
  const { field, query, limit, ef, recall, minLsn, filter, scoreThreshold, operator, k1, b } = search
  const { prefilterThreshold, boostPercentage, exact = false } = search
  const effort = { ...(ef !== undefined && { ef }), ...(recall !== undefined && { recall }) }
  const scoring = { ...(operator && { operator }), ...(k1 !== undefined && { k1 }), ...(b !== undefined && { b }) }
  const threshold = scoreThreshold !== undefined && { scoreThreshold }
  return {
    fields: { [field]: { query, limit, ...effort, ...scoring, ...threshold } },
    ...(filter && { filter }),
    ...(minLsn !== undefined && { minLsn }),
    ...(prefilterThreshold !== undefined && { prefilterCardinalityThreshold: prefilterThreshold }),
    ...(boostPercentage !== undefined && { filterBoostPercentage: boostPercentage }),
    exact,
  }
}

function answerBatch(
  reader: HotReader,
  context: SearchContext,
  headers: IncomingHttpHeaders,
  body: Buffer,
  observer: HotContext['observer'],
): HotAnswer {
  const cursor = openBody(headers, body)
  const requests = cursor && readSearchBatch(cursor, context)
  if (requests === undefined) return undefined
  return searchFully(reader, requests, (results) => replyOf(jsonType, searchBatchJson(results)), observer)
}

/** Results that the main thread would count against its limit of large replies are left to it. */
function searchFully(
  reader: HotReader,
  requests: readonly SearchRequest[],
  write: (results: readonly SearchResult[]) => HotReply | undefined,
  observer: HotContext['observer'],
): HotAnswer {
  const finish = (results: readonly SearchResult[] | undefined): HotReply | undefined => {
    const reply = results && write(results)
    if (reply === undefined || results === undefined) return undefined
    const { collectionId } = reader
    for (const [i, { lsn }] of results.entries())
      observer?.searched(() => ({ collectionId, lsn, request: requests[i] as SearchRequest }))
    return reply
  }
  const found = reader.searchBatchHere(requests, { bytesMax: largeReplyBytes })
  return found instanceof Promise ? found.then(finish) : finish(found)
}

function indexReply(
  result: SearchResult,
  { fields }: CollectionSchema,
  { accept }: IncomingHttpHeaders,
): HotReply | undefined {
  const known = fieldsOfIndex(fields)
  if (known === undefined) return undefined
  const hits = hitsOf(result, namesOf(known))
  const reply = acceptsOnlyJson(accept)
    ? replyOf(jsonType, searchReplyJson(hits, result))
    : replyOf(msgpackType, searchReplyMsgpack(hits))
  return withRecall(reply, result)
}

function collectionReply(
  result: SearchResult,
  _definition: CollectionSchema,
  { accept }: IncomingHttpHeaders,
): HotReply | undefined {
  const reply = acceptsOnlyJson(accept)
    ? replyOf(jsonType, collectionSearchJson(result))
    : replyOf(msgpackType, collectionSearchMsgpack(result))
  return withRecall(reply, result)
}

/** See noteRecall of http/replies.ts. */
function withRecall(reply: HotReply | undefined, { recall }: SearchResult): HotReply | undefined {
  return reply && recall && Object.keys(recall).length > 0 ? { ...reply, recall: JSON.stringify(recall) } : reply
}

function readBody(
  { read }: SearchRoute,
  context: SearchContext,
  headers: IncomingHttpHeaders,
  body: Buffer,
): HotSearch | undefined {
  if (headers['content-type'] === 'application/octet-stream')
    return headers['content-encoding'] === undefined ? readVectorBody(read, context, body) : undefined
  const cursor = openBody(headers, body)
  return cursor && read(cursor, context)
}

/** See wire/vector-body.ts. */
function readVectorBody(read: typeof readIndexSearch, context: SearchContext, body: Buffer): HotSearch | undefined {
  const vectorAt = vectorOffset(body)
  if (vectorAt === undefined || vectorAt === parametersAt || vectorAt > body.length) return undefined
  const outside = (dimension: number) => {
    if (body.length - vectorAt !== 4 * dimension) return undefined
    const floats = copyFloats(body.subarray(vectorAt))
    return firstNotFinite(floats) < 0 ? floats : undefined
  }
  return read(new JsonCursor(body, parametersAt, vectorAt), { ...context, outside })
}
