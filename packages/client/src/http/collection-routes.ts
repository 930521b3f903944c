// The operations on collections over /api/v2. Objects are sent in MessagePack, a quarter of the size of JSON; replies are JSON.
import type { SearchRequest } from '../model.ts'
import type { CollectionOperations } from '../operations.ts'
import {
  asOfBody,
  asOfParameters,
  contentsBody,
  defaultChangesBody,
  definitionBody,
  facetsBody,
  fieldChangesBody,
  matchBody,
  patchBody,
  rebuildBody,
  scrollBody,
  searchBody,
  vectorSearch,
} from './collection-bodies.ts'
import {
  parseAcknowledgement,
  parseCalibration,
  parseFacets,
  parseObjects,
  parsePage,
  parseRebuildStatus,
  parseRecall,
  parseSearchResult,
  parseSearchResults,
  parseSummary,
  parseWritten,
} from './collection-replies.ts'
import { encodeObjects } from './object-batch.ts'
import { list, number, object, parseJson, text } from './read.ts'
import { conditionsBody, greatest, type ReadConditions } from './read-conditions.ts'
import { get, messagePack, objectPath, post, type Routes, remove, segment } from './route.ts'
import { postVector } from './vector-body.ts'

/** The call waits while a collection is rebuilt or measured. */
const vacuumTimeoutMs = 600_000

/** The operations on collections and their objects, for `routedTransport`. */
export const collectionRoutes: Routes<keyof CollectionOperations> = {
  createCollection: {
    retry: 'when-refused',
    takesKey: true,
    request: (definition) => post(collections, definitionBody(definition)),
    reply: () => undefined,
  },
  listCollections: {
    retry: 'always',
    reads: 'query',
    request: () => get(collections),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').collections, 'collections').map(parseSummary),
  },
  describeCollection: {
    retry: 'always',
    reads: 'query',
    request: ({ collection }) => get(pathOf(collection)),
    reply: (reply) => parseSummary(parseJson(reply.text)),
  },
  deleteCollection: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection }) => remove(pathOf(collection)),
    reply: () => undefined,
  },
  upsertObjects: {
    retry: 'always',
    takesKey: true,
    request: ({ collection, objects, atomic }) => ({
      method: 'POST',
      path: `${pathOf(collection)}/objects${atomic ? '?atomic=true' : ''}`,
      body: encodeObjects(objects),
      contentType: messagePack,
      accept: 'application/json',
    }),
    reply: (reply) => parseWritten(parseJson(reply.text)),
  },
  patchObjects: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection, patches, atomic }) => ({
      ...post(`${pathOf(collection)}/objects${atomic ? '?atomic=true' : ''}`, patches.map(patchBody)),
      method: 'PATCH',
    }),
    reply: (reply) => {
      const written = parseJson(reply.text)
      return { ...parseWritten(written), updated: number(object(written, 'reply').updated, 'updated') }
    },
  },
  getMany: {
    retry: 'always',
    reads: 'body',
    request: ({ collection, ids, minLsn, contents, asOf }, read) =>
      post(`${pathOf(collection)}/objects/query`, {
        ids,
        ...contentsBody(contents),
        ...asOfBody(asOf),
        ...conditionsBody({ ...read, minLsn: greatest(minLsn, read.minLsn) }),
      }),
    reply: (reply) => parseObjects(parseJson(reply.text)),
  },
  deleteObject: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection, id, ifLsn }) => {
      const path = objectPath(`${pathOf(collection)}/objects`, id)
      return remove(ifLsn === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}if_lsn=${ifLsn}`)
    },
    // A missing collection is a failure; a missing object is a valid result.
    answers: (status, code) => status === 404 && code === 'object_not_found',
    reply: ({ status }) => status !== 404,
  },
  deleteObjectsWhere: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection, filter }) => remove(`${pathOf(collection)}/objects`, { filter }),
    reply: (reply) => number(object(parseJson(reply.text), 'reply').deleted, 'deleted'),
  },
  updateObjectFilters: {
    retry: 'always',
    takesKey: true,
    request: ({ collection, updates }) => post(`${pathOf(collection)}/filters`, { updates }),
    reply: (reply) => number(object(parseJson(reply.text), 'reply').updated, 'updated'),
  },
  search: {
    retry: 'always',
    reads: 'body',
    request: ({ collection, request }, read) =>
      post(searchPath(collection), searchBody(conditioned(request, read), '')),
    compact: ({ collection, request }, read) => {
      const found = vectorSearch(conditioned(request, read))
      return found && postVector(searchPath(collection), found.parameters, found.vector)
    },
    reply: (reply) => parseSearchResult(parseJson(reply.text)),
  },
  searchBatch: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, requests }) =>
      post(`${pathOf(collection)}/search/batch`, {
        searches: requests.map((request, i) => searchBody(request, `requests[${i}].`)),
      }),
    reply: (reply) => parseSearchResults(parseJson(reply.text)),
  },
  countObjects: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, filter, match, asOf }) =>
      post(`${pathOf(collection)}/objects/count`, { filter, ...matchBody(match), ...asOfBody(asOf) }),
    reply: (reply) => number(object(parseJson(reply.text), 'reply').count, 'count'),
  },
  facets: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, request }) => post(`${pathOf(collection)}/facets`, facetsBody(request)),
    reply: (reply) => parseFacets(parseJson(reply.text)),
  },
  scroll: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, request }) => post(`${pathOf(collection)}/objects/scroll`, scrollBody(request)),
    reply: (reply) => parsePage(parseJson(reply.text)),
  },
  recall: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, request: { asOf, ...request } }) => {
      const parameters = new URLSearchParams(asOfParameters(asOf))
      for (const [name, value] of Object.entries(request)) if (value !== undefined) parameters.set(name, String(value))
      return get(`${pathOf(collection)}/recall?${parameters}`)
    },
    reply: (reply) => parseRecall(parseJson(reply.text)),
  },
  calibrate: {
    retry: 'always',
    reads: 'query',
    timeoutMs: vacuumTimeoutMs,
    request: ({ collection, request }) => post(`${pathOf(collection)}/calibrate`, request),
    reply: (reply) => parseCalibration(parseJson(reply.text)),
  },
  calibrations: {
    retry: 'always',
    reads: 'query',
    request: ({ collection }) => get(`${pathOf(collection)}/calibrations`),
    reply: (reply) => list(object(parseJson(reply.text), 'reply').calibrations, 'calibrations').map(parseCalibration),
  },
  neighbors: {
    retry: 'always',
    reads: 'query',
    request: ({ collection, field, id }) =>
      get(objectPath(`${pathOf(collection)}/objects`, id, `/field/${segment(field)}/neighbors`)),
    reply: (reply) =>
      list(object(parseJson(reply.text), 'reply').neighbors, 'neighbors').map((id) => text(id, 'neighbors')),
  },
  updateFields: {
    retry: 'always',
    takesKey: true,
    request: ({ collection, changes }) => post(`${pathOf(collection)}/fields`, fieldChangesBody(changes)),
    reply: (reply) => parseAcknowledgement(parseJson(reply.text)),
  },
  updateDefaults: {
    retry: 'always',
    takesKey: true,
    request: ({ collection, changes }) => post(`${pathOf(collection)}/defaults`, defaultChangesBody(changes)),
    reply: (reply) => parseAcknowledgement(parseJson(reply.text)),
  },
  rebuild: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ collection, changes }) => post(`${pathOf(collection)}/rebuild`, rebuildBody(changes)),
    reply: () => undefined,
  },
  rebuildStatus: {
    retry: 'always',
    request: ({ collection }) => get(`${pathOf(collection)}/rebuild/status`),
    reply: (reply) => parseRebuildStatus(parseJson(reply.text)),
  },
  vacuum: {
    retry: 'when-refused',
    takesKey: true,
    timeoutMs: vacuumTimeoutMs,
    request: ({ collection }) => post(`${pathOf(collection)}/vacuum`, {}),
    reply: (reply) => number(object(parseJson(reply.text), 'reply').reclaimed_bytes, 'reclaimed_bytes'),
  },
  clone: {
    retry: 'when-refused',
    takesKey: true,
    timeoutMs: vacuumTimeoutMs,
    request: ({ collection, target, keepExpired }) =>
      post(`${pathOf(collection)}/clone`, { target_collection_name: target, keep_expired: keepExpired }),
    reply: () => undefined,
  },
  createBackup: {
    retry: 'when-refused',
    request: ({ collection, name }) => post(`${pathOf(collection)}/backup`, { name }),
    reply: (reply) => text(object(parseJson(reply.text), 'reply').backup_name, 'backup_name'),
  },
}

const collections = '/api/v2/collection'

/** The conditions have their names on the wire here, because they are not among the options of a search. */
function conditioned(request: SearchRequest, read: ReadConditions): SearchRequest {
  const { min_lsn: minLsn, ...others } = conditionsBody({ ...read, minLsn: greatest(request.minLsn, read.minLsn) })
  return { ...request, minLsn, ...others }
}

function searchPath(collection: string): string {
  return `${pathOf(collection)}/search`
}

function pathOf(collection: string): string {
  return `${collections}/${segment(collection)}`
}
