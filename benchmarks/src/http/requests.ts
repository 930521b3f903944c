// Requests in the form of the published clients, as bytes.
import { encode } from '@msgpack/msgpack'
import type { Terms } from './terms.ts'

const meta = new Uint8Array(0)

/** The forms of a search. Servers reply 415 or 400 to forms that they do not know. */
export const bodyForms = [
  'json',
  'python',
  'digits',
  'msgpack',
  'bin',
  'base64',
  'octets',
  // Serving threads forward the same body with another case of its type.
  'sparse',
  'forwarded sparse',
  'hybrid',
  'forwarded hybrid',
] as const
export type BodyForm = (typeof bodyForms)[number]

/** Requests that are not one search. Objects are read with their vectors; batches are of searches in JSON. */
const otherForms = ['health', 'get', 'get 16', 'batch 10', 'batch 100'] as const
export type OtherForm = (typeof otherForms)[number]

export function isOther(form: BodyForm | OtherForm): form is OtherForm {
  return otherForms.some((other) => other === form)
}

/** Number of searches or objects of a request. */
export function countOf(form: BodyForm | OtherForm): number {
  return isOther(form) ? Number(form.split(' ')[1] ?? 1) : 1
}

export interface Search {
  readonly ef: number
  readonly form: BodyForm
  readonly filter?: readonly object[]
  /** Of the query, in the forms that have a sparse part. */
  readonly terms?: Terms
}

/** Objects have one key of 100 values in their filter, so that one value selects 1 % and ten select 10 %. */
function filterValueOf(row: number): number {
  return (Math.imul(row, 2_654_435_761) >>> 0) % 100
}

export const filters = {
  '1 %': { conditions: [{ n: { $eq: 7 } }], matches: (row: number) => filterValueOf(row) === 7 },
  '10 %': {
    conditions: [{ n: { $range: [20, 29] } }],
    matches: (row: number) => filterValueOf(row) >= 20 && filterValueOf(row) <= 29,
  },
} as const
export type FilterName = keyof typeof filters

export interface Sender {
  /** `Host: ...`, and the token if the server needs one. */
  readonly headers: readonly string[]
}

export interface CreatedIndex {
  readonly name: string
  readonly dimension: number
  readonly space: string
  /** Whether it has a sparse field, too. */
  readonly hasTerms?: boolean
}

export function createRequest(sender: Sender, index: CreatedIndex): Buffer {
  const { name, dimension, space, hasTerms = false } = index
  const body = {
    ...(hasTerms && { sparse_model: 'endee_bm25' }),
    index_name: name,
    dim: dimension,
    space_type: space,
    M: 16,
    ef_con: 128,
    precision: 'int8',
    checksum: -1,
  }
  return post(sender, '/api/v1/index/create', 'application/json', Buffer.from(JSON.stringify(body)))
}

/** An insert of the Python client: a MessagePack array of tuples, with 32-bit floats. */
export function insertRequest(sender: Sender, name: string, objects: InsertedRows): Buffer {
  const { rows, dimension, first, prefix = '', terms } = objects
  const tuples = Array.from({ length: rows.length / dimension }, (_, i) => [
    `${prefix}${first + i}`,
    meta,
    `{"n":${filterValueOf(first + i)}}`,
    1,
    Array.from(rows.subarray(i * dimension, (i + 1) * dimension)),
    ...(terms === undefined ? [] : [terms[first + i]!.indices, terms[first + i]!.values]),
  ])
  const body = encode(tuples, { forceFloat32: true })
  return post(sender, `/api/v1/index/${name}/vector/insert`, 'application/msgpack', Buffer.from(body))
}

export interface InsertedRows {
  readonly rows: Float32Array
  readonly dimension: number
  /** Number of the first row; the ids are `prefix` and the number. */
  readonly first: number
  readonly prefix?: string
  /** Of every row of the corpus. */
  readonly terms?: readonly Terms[] | undefined
}

export function searchRequest(sender: Sender, name: string, query: Float32Array, search: Search): Buffer {
  const { type, body } = bodyOf(query, search)
  return post(sender, `/api/v1/index/${name}/search`, type, body)
}

function bodyOf(
  query: Float32Array,
  { ef, form, filter, terms }: Search,
): { readonly type: string; readonly body: Buffer } {
  const options = { k: 10, ef, include_vectors: false, ...(filter && { filter: JSON.stringify(filter) }) }
  const json = (text: string) => ({ type: 'application/json', body: Buffer.from(text) })
  const msgpack = (value: unknown) => ({
    type: 'application/msgpack',
    body: Buffer.from(encode(value, { forceFloat32: true })),
  })
  const bytes = Buffer.from(query.buffer, query.byteOffset, query.byteLength)
  const members = JSON.stringify(options).slice(0, -1)
  switch (form) {
    case 'json':
      return json(`${members},"vector":[${Array.from(query, shortText).join()}]}`)
    case 'digits':
      return json(`${members},"vector":[${Array.from(query, longText).join()}]}`)
    // The Python client: every number has a decimal point, and every parameter is present.
    case 'python': {
      const numbers = Array.from(query, (x) => (Number.isInteger(x) ? `${x}.0` : `${x}`)).join(', ')
      return json(`${members},"dense_rrf_weight":0.5,"rrf_rank_constant":60,"vector":[${numbers}]}`)
    }
    case 'msgpack':
      return msgpack({ ...options, vector: Array.from(query) })
    case 'bin':
      return msgpack({ ...options, vector: new Uint8Array(bytes) })
    case 'sparse':
    case 'forwarded sparse':
    case 'hybrid':
    case 'forwarded hybrid': {
      const sparse = `"sparse_indices":[${terms?.indices}],"sparse_values":[${terms?.values.map(shortText)}]`
      const dense = form.endsWith('hybrid') ? `,"vector":[${Array.from(query, shortText).join()}]` : ''
      const { body } = json(`${members},${sparse}${dense}}`)
      return { type: form.startsWith('forwarded') ? 'application/JSON' : 'application/json', body }
    }
    case 'base64':
      return json(`${members},"vector":"${bytes.toString('base64')}"}`)
    // The length of the parameters, the parameters, and the vector.
    case 'octets': {
      const parameters = Buffer.from(JSON.stringify(options))
      const length = Buffer.alloc(4)
      length.writeUInt32LE(parameters.length)
      return { type: 'application/octet-stream', body: Buffer.concat([length, parameters, bytes]) }
    }
  }
}

/** At most four digits, as in vectors that were rounded before they were sent. */
function shortText(x: number): string {
  return Number.isInteger(x) ? `${x}` : `${Number(x.toFixed(4))}`
}

/** 17 significant digits, as a double that was computed prints. */
function longText(x: number): string {
  return (x + x * 1e-12 * Math.SQRT2).toPrecision(17)
}

/** Reads objects in the form of the published clients. */
export function getRequest(sender: Sender, name: string, ids: readonly string[]): Buffer {
  const json = (value: object) => Buffer.from(JSON.stringify(value))
  const [only] = ids
  return ids.length === 1
    ? post(sender, `/api/v1/index/${name}/vector/get`, 'application/json', json({ id: only }))
    : post(sender, `/api/v2/collection/${name}/objects/query`, 'application/json', json({ ids }))
}

export function batchRequest(sender: Sender, name: string, queries: readonly Float32Array[], ef: number): Buffer {
  const searches = queries.map((query) => {
    const numbers = Array.from(query, shortText).join()
    return `{"fields":{"dense":{"limit":10,"ef_search":${ef},"query":[${numbers}]}}}`
  })
  const body = Buffer.from(`{"searches":[${searches.join()}]}`)
  return post(sender, `/api/v2/collection/${name}/search/batch`, 'application/json', body)
}

export function healthRequest({ headers }: Sender): Buffer {
  return Buffer.from(`GET /api/v1/health HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
}

function post({ headers }: Sender, path: string, type: string, body: Buffer): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    ...headers,
    'Accept: application/json, text/plain, */*',
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}
