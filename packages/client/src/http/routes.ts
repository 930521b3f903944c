// Every operation as an HTTP request of the index API and back. Knows paths and bodies; not sockets, not retries.
import type { IndexDefinition, SpaceType } from '../definition.ts'
import type { OperationName, Operations } from '../transport.ts'
import { encodeBatch } from './batch.ts'
import {
  parseCount,
  parseDescription,
  parseHits,
  parseJson,
  parseObject,
  parseStored,
  parseSummaries,
} from './replies.ts'
import { searchBody } from './search-body.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the base URL. */
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly contentType?: string
  readonly accept?: string
}

export interface HttpReply {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
}

/**
 * When a failed call may be sent again. `always`: reading, or writing that leaves the same state when done twice.
 * `when-refused`: only when it surely was not begun. `never`: the caller wants the first answer.
 */
export type RetryRule = 'always' | 'when-refused' | 'never'

export interface Route<Name extends OperationName> {
  readonly retry: RetryRule
  /** `space` asks for the space type of the index in the input; most requests do not depend on it. */
  request(input: Operations[Name]['input'], space: () => Promise<SpaceType>): HttpRequest | Promise<HttpRequest>
  /** Statuses besides 2xx that are answers and not failures. */
  readonly answers?: (status: number, code: string | undefined) => boolean
  reply(
    reply: HttpReply,
    input: Operations[Name]['input'],
    space: () => Promise<SpaceType>,
  ): Operations[Name]['output'] | Promise<Operations[Name]['output']>
}

export const routes: { readonly [Name in OperationName]: Route<Name> } = {
  health: {
    retry: 'never',
    request: () => ({ method: 'GET', path: '/api/v2/health' }),
    answers: (status) => status === 503,
    reply: ({ text }) => {
      const { status, ...details } = parseObject(parseJson(text))
      return { status: typeof status === 'string' ? status : 'unknown', details }
    },
  },
  stats: {
    retry: 'always',
    request: () => ({ method: 'GET', path: '/api/v2/stats' }),
    reply: ({ text }) => parseObject(parseJson(text)),
  },
  createIndex: {
    retry: 'when-refused',
    request: (definition) => post('/api/v1/index/create', definitionBody(definition)),
    reply: () => undefined,
  },
  listIndexes: {
    retry: 'always',
    request: () => ({ method: 'GET', path: '/api/v1/index/list' }),
    reply: ({ text }) => parseSummaries(parseJson(text)),
  },
  describeIndex: {
    retry: 'always',
    request: ({ index }) => ({ method: 'GET', path: `${indexPath(index)}/info` }),
    reply: ({ text }, { index }) => parseDescription(parseJson(text), index),
  },
  deleteIndex: {
    retry: 'when-refused',
    request: ({ index }) => ({ method: 'DELETE', path: `${indexPath(index)}/delete` }),
    reply: () => undefined,
  },
  upsert: {
    retry: 'always',
    request: async ({ index, records }, space) => ({
      method: 'POST',
      path: `${indexPath(index)}/vector/insert`,
      body: encodeBatch(records, await space()),
      contentType: messagePack,
    }),
    reply: () => undefined,
  },
  query: {
    retry: 'always',
    request: async ({ index, query }, space) =>
      post(`${indexPath(index)}/search`, searchBody(query, await space()), messagePack),
    reply: async ({ bytes }, _input, space) => parseHits(bytes, await space()),
  },
  get: {
    retry: 'always',
    request: ({ index, id }) => post(`${indexPath(index)}/vector/get`, { id }, messagePack),
    answers: isMissingVector,
    reply: async ({ status, bytes }, _input, space) => (status === 404 ? undefined : parseStored(bytes, await space())),
  },
  delete: {
    retry: 'when-refused',
    request: ({ index, id }) => ({
      method: 'DELETE',
      path: `${indexPath(index)}/vector/${encodeURIComponent(id)}/delete`,
    }),
    answers: isMissingVector,
    reply: ({ status }) => status !== 404,
  },
  deleteWhere: {
    retry: 'when-refused',
    request: ({ index, filter }) => ({ ...post(`${indexPath(index)}/vectors/delete`, { filter }), method: 'DELETE' }),
    reply: ({ text }) => parseCount(text),
  },
  updateFilters: {
    retry: 'always',
    request: ({ index, updates }) => post(`${indexPath(index)}/filters/update`, { updates }),
    reply: ({ text }) => parseCount(text),
  },
}

const messagePack = 'application/msgpack'

function indexPath(name: string): string {
  return `/api/v1/index/${encodeURIComponent(name)}`
}

function post(path: string, body: unknown, accept?: string): HttpRequest {
  const request: HttpRequest = { method: 'POST', path, body: JSON.stringify(body), contentType: 'application/json' }
  return accept === undefined ? request : { ...request, accept }
}

/** A missing index is a failure; a missing vector is an answer. */
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
    sparse_dim: definition.sparseDimension,
  }
}
