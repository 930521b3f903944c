// The operations on indexes over /api/v1.
import type { IndexDefinition } from '../definition.ts'
import type { IndexOperations } from '../operations.ts'
import { encodeBatch } from './batch.ts'
import { parseCount, parseDescription, parseHits, parseStored, parseSummaries } from './index-replies.ts'
import { parseJson } from './read.ts'
import { get, messagePack, objectPath, post, type Routes, segment, sentence } from './route.ts'
import { searchBody } from './search-body.ts'
import { checkNumbers } from './vector.ts'
import { postVector } from './vector-body.ts'

/** The operations on indexes of the published API, for `routedTransport`. */
export const indexRoutes: Routes<keyof IndexOperations> = {
  createIndex: {
    retry: 'when-refused',
    takesKey: true,
    request: (definition) => post('/api/v1/index/create', definitionBody(definition), sentence),
    reply: () => undefined,
  },
  listIndexes: {
    retry: 'always',
    reads: 'query',
    request: () => get('/api/v1/index/list'),
    reply: ({ text }) => parseSummaries(parseJson(text)),
  },
  describeIndex: {
    retry: 'always',
    reads: 'query',
    request: ({ index }) => get(`${indexPath(index)}/info`),
    reply: ({ text }, { index }) => parseDescription(parseJson(text), index),
  },
  deleteIndex: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ index }) => ({ method: 'DELETE', path: `${indexPath(index)}/delete` }),
    reply: () => undefined,
  },
  upsert: {
    retry: 'always',
    takesKey: true,
    request: ({ index, records }) => ({
      method: 'POST',
      path: `${indexPath(index)}/vector/insert`,
      body: encodeBatch(records),
      contentType: messagePack,
    }),
    reply: () => undefined,
  },
  query: {
    retry: 'always',
    reads: 'query',
    request: ({ index, query }) => post(searchPath(index), searchBody(query)),
    compact: ({ index, query }) => {
      const { vector, ...rest } = query
      if (vector === undefined || rest.sparse !== undefined) return undefined
      checkNumbers(vector, 'vector')
      return postVector(searchPath(index), searchBody(rest), vector)
    },
    reply: ({ text }) => parseHits(parseJson(text)),
  },
  get: {
    retry: 'always',
    reads: 'query',
    request: ({ index, id }) => post(`${indexPath(index)}/vector/get`, { id }),
    answers: isMissingVector,
    reply: ({ status, text }) => (status === 404 ? undefined : parseStored(parseJson(text))),
  },
  delete: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ index, id }) => ({
      method: 'DELETE',
      path: objectPath(`${indexPath(index)}/vector`, id, '/delete'),
    }),
    answers: isMissingVector,
    reply: ({ status }) => status !== 404,
  },
  deleteWhere: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ index, filter }) => ({
      ...post(`${indexPath(index)}/vectors/delete`, { filter }, sentence),
      method: 'DELETE',
    }),
    reply: ({ text }) => parseCount(text),
  },
  updateFilters: {
    retry: 'always',
    takesKey: true,
    request: ({ index, updates }) => post(`${indexPath(index)}/filters/update`, { updates }, sentence),
    reply: ({ text }) => parseCount(text),
  },
}

function indexPath(name: string): string {
  return `/api/v1/index/${segment(name)}`
}

function searchPath(index: string): string {
  return `${indexPath(index)}/search`
}

/** A missing index is a failure; a missing vector is a valid result. */
function isMissingVector(status: number, code: string | undefined): boolean {
  return status === 404 && code === 'object_not_found'
}

function definitionBody(definition: IndexDefinition): unknown {
  return {
    index_name: definition.name,
    dim: definition.dimension,
    space_type: definition.spaceType ?? 'cosine',
    precision: definition.precision ?? 'int8',
    M: definition.m,
    ef_con: definition.efConstruction,
    keep_originals: definition.keepOriginals,
    sparse_dim: definition.sparseDimension,
  }
}
