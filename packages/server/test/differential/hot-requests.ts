// Searches, reads, and health checks, valid and malformed: the requests that a serving thread may answer without the main thread.
import { encode } from '@msgpack/msgpack'
import { base64Of, bytesOf, vectorBody } from '../vector-bodies.ts'
import type { Choices } from './choices.ts'
import { dimension, idOf, names, vectorOf } from './contents.ts'

/** A request before it is written as HTTP. */
export interface Plan {
  readonly method: string
  readonly path: string
  readonly type: string | undefined
  readonly body: Buffer | undefined
}

export function hotRequest(choices: Choices): Plan {
  const kind = choices.one(['v1', 'v1', 'v1', 'v1', 'v2', 'v2', 'v1 get', 'v2 query', 'batch', 'health'] as const)
  const name = choices.chance(0.97) ? choices.one(names.slice(0, 3)) : choices.one([...names, 'absent', 'A%20b', '..'])
  switch (kind) {
    case 'v1':
      return searchOfIndex(choices, v1Name(choices, name))
    case 'v2':
      return withBody(choices, `/api/v2/collection/${name}/search`, v2Search(choices, name))
    case 'v1 get':
      return withBody(choices, `/api/v1/index/${v1Name(choices, name)}/vector/get`, { id: idOf(choices) })
    case 'v2 query':
      return withBody(choices, `/api/v2/collection/${name}/objects/query`, {
        ids: Array.from({ length: choices.below(4) }, () => idOf(choices)),
        ...(choices.chance(0.3) && { include_vectors: choices.chance(0.5) }),
      })
    case 'batch': {
      const searches = Array.from({ length: choices.below(4) }, () => v2Search(choices, name))
      return withBody(choices, `/api/v2/collection/${name}/search/batch`, { searches })
    }
    case 'health':
      return {
        method: 'GET',
        path: choices.one(['/api/v1/health', '/api/v2/health']),
        type: undefined,
        body: undefined,
      }
  }
}

/** Most searches have one dense field. */
function v1Name(choices: Choices, name: string): string {
  return name === 'films' && choices.chance(0.8) ? 'docs' : name
}

type Body = { [key: string]: unknown }

function searchOfIndex(choices: Choices, name: string): Plan {
  return withBody(choices, `/api/v1/index/${name}/search`, v1Search(choices, name === 'mixed'))
}

function v1Search(choices: Choices, isHybrid: boolean): Body {
  const hasTerms = isHybrid && choices.chance(0.6)
  const body: Body = { ...(choices.chance(hasTerms ? 0.6 : 0.96) && { vector: queryVector(choices) }) }
  if (hasTerms) {
    body.sparse_indices = [1 + choices.below(6), 10 + choices.below(11)]
    body.sparse_values = [1, choices.one([0.5, choices.next(), -1])]
  }
  if (choices.chance(0.8)) body.k = count(choices)
  if (choices.chance(0.5))
    body.ef = choices.chance(0.9) ? choices.one([1, 8, 64, 128, 1_024]) : choices.one([1_025, 0, null, 'x'])
  if (choices.chance(0.05)) {
    body.sparse_indices = choices.one([[1, 10], [10], [], [1, 1], [-1], [4_294_967_296], 'x'])
    body.sparse_values = choices.one([[1, 0.5], [2], [], [1, 1], [0]])
  }
  if (choices.chance(0.1)) body.dense_rrf_weight = choices.one([0, 0.3, 1, 2])
  if (choices.chance(0.1)) body.rrf_rank_constant = choices.one([1, 60, 0])
  return { ...body, ...tuning(choices) }
}

const fieldsOfFilms = [
  ['plot'],
  ['plot'],
  ['code'],
  ['words'],
  ['rare'],
  ['pages'],
  ['plot', 'words'],
  ['rare', 'plot'],
  ['plot', 'code'],
  ['code', 'pages'],
]

function v2Search(choices: Choices, collection: string): Body {
  const own = collection === 'films' ? fieldsOfFilms : [['dense']]
  const names = choices.chance(0.95) ? choices.one(own) : choices.one([['absent'], []])
  const fields = Object.fromEntries(
    names.map((name) => {
      const field: Body = { query: fieldQuery(choices, name) }
      if (choices.chance(0.7)) field.limit = count(choices)
      if (choices.chance(0.3)) field[choices.one(['ef', 'ef_search'])] = choices.one([1, 64, 1_024, 0, 2.5, null])
      if (choices.chance(0.1)) field.score_threshold = choices.one([0.1, -1, 'x'])
      return [name, field]
    }),
  )
  const list = Object.entries(fields).map(([name, field]) => ({ [name]: field }))
  return {
    fields: choices.chance(0.8) ? fields : list,
    ...(names.length > 1 &&
      choices.chance(0.7) && { fusion: { method: choices.one(['rrf', 'relative_score']), limit: 5 } }),
    ...tuning(choices),
  }
}

function fieldQuery(choices: Choices, name: string): unknown {
  if (choices.chance(0.1)) return { id: idOf(choices) }
  if (name === 'words' || name === 'rare')
    return choices.chance(0.9)
      ? { indices: [1, 10 + choices.below(11)], values: [1, choices.one([0.5, choices.next()])] }
      : { sparse_indices: [choices.below(2 ** 32), 3], sparse_values: choices.one([[1, 1], [1], [], ['x']]) }
  if (name === 'pages' && choices.chance(0.7)) return [vectorOf(choices), vectorOf(choices)]
  return queryVector(choices)
}

function count(choices: Choices): unknown {
  if (choices.chance(0.9)) return choices.one([1, 2, 5, 10, 10, 100, 512])
  return choices.one([513, 0, -1, 1.5, '10', null, true])
}

function tuning(choices: Choices): Body {
  const body: Body = {}
  if (choices.chance(0.35)) body.filter = filter(choices)
  if (choices.chance(0.1)) body.include_vectors = choices.one([true, false, false, null, 'x'])
  if (choices.chance(0.05)) body.exact = choices.chance(0.8) || 1
  if (choices.chance(0.1)) body.rescore = choices.chance(0.5)
  if (choices.chance(0.05)) body.prefilter_cardinality_threshold = choices.one([0, 10, 1_000_000_000, -1])
  if (choices.chance(0.05)) body.filter_boost_percentage = choices.one([0, 50, 100, 101])
  if (choices.chance(0.05)) body.filter_params = choices.one([{}, { boost_percentage: 20 }, { unknown: 1 }, []])
  if (choices.chance(0.05))
    body[choices.one(['unknown', 'K', '', 'constructor', 'ｋ'])] = choices.one([1, [], { a: {} }])
  return body
}

function filter(choices: Choices): unknown {
  const condition = (): unknown =>
    choices.chance(0.07) ? choices.one([{ n: { $equals: 3 } }, { n: 3 }, {}, 'x']) : valid()
  const valid = (): unknown =>
    choices.one([
      { n: { $eq: choices.below(130) } },
      { n: { $range: [choices.below(60), 60 + choices.below(70)] } },
      { n: { $gt: choices.below(120), $lt: 90 } },
      { color: { $in: choices.some(['red', 'green', 'blue', 'none'], 0.5) } },
      { tags: { $eq: 't3' } },
      { $not: { color: { $eq: 'red' } } },
      { $or: [{ n: { $lt: 5 } }, { color: { $ne: 'blue' } }] },
      { n: { $exists: choices.chance(0.5) } },
    ])
  const conditions = Array.from({ length: choices.one([0, 1, 1, 1, 1, 2, 3]) }, condition)
  if (choices.chance(0.9)) return choices.chance(0.7) ? conditions : JSON.stringify(conditions)
  return choices.one([conditions[0] ?? null, '', '[', null])
}

function queryVector(choices: Choices): unknown {
  const vector = vectorOf(choices)
  if (choices.chance(0.93)) return choices.chance(0.5) ? vector : vector.map((x) => Number(x.toFixed(3)))
  return choices.one<unknown>([
    vector.slice(1),
    [...vector, 0],
    vector.map((x) => Math.round(x * 10)),
    vector.map(() => 0),
    vector.map((x, i) => (i === 3 ? 1e39 : x)),
    vector.map((x, i) => (i === 3 ? `${x}` : x)),
    vector.map((x, i) => (i === 0 ? null : x)),
    [],
    null,
    'text',
    { 0: 1 },
    base64Of(vector),
    base64Of(vector).slice(1),
    base64Of(vector.slice(1)),
  ])
}

function withBody(choices: Choices, path: string, body: Body): Plan {
  const method = choices.chance(0.97) ? 'POST' : choices.one(['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'])
  const { type, bytes } = encodeBody(choices, body)
  const mutated = choices.chance(0.06) ? mutate(choices, bytes) : bytes
  return { method, path, type: choices.chance(0.95) ? type : oddType(choices, type), body: mutated }
}

function encodeBody(choices: Choices, body: Body): { readonly type: string; readonly bytes: Buffer } {
  const form = choices.one([
    'json',
    'json',
    'json',
    'json',
    'text',
    'msgpack',
    'msgpack',
    'bin',
    'bin',
    'octets',
  ] as const)
  switch (form) {
    case 'json':
      return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) }
    case 'text':
      return { type: 'application/json', bytes: Buffer.from(oddJson(choices, body)) }
    case 'msgpack':
      return { type: 'application/msgpack', bytes: Buffer.from(encode(body, { forceFloat32: choices.chance(0.5) })) }
    case 'bin':
      return { type: 'application/msgpack', bytes: Buffer.from(encode(withBytes(body))) }
    case 'octets': {
      const { rest, vector } = withoutVector(body)
      const bytes = isNumbers(vector) ? bytesOf(vector) : Buffer.alloc(choices.below(40))
      return { type: 'application/octet-stream', bytes: vectorBody(rest, bytes) }
    }
  }
}

/** The parameters of a search without its vector. */
function withoutVector(body: Body): { readonly rest: Body; readonly vector: unknown } {
  const { vector, ...rest } = body
  const { fields } = body
  const [name, field] = Object.entries((fields ?? {}) as { readonly [name: string]: Body })[0] ?? []
  if (name === undefined || Array.isArray(fields)) return { rest, vector }
  const { query, ...parameters } = field ?? {}
  return { rest: { ...body, fields: { [name]: parameters } }, vector: query }
}

/** Arrays of numbers of a vector's length become bytes, wherever they are. */
function withBytes(value: unknown): unknown {
  if (isNumbers(value) && value.length >= dimension - 1) return bytesOf(value)
  if (Array.isArray(value)) return value.map(withBytes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withBytes(entry)]))
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((x) => typeof x === 'number')
}

/** JSON that JSON.stringify does not write: white space, forms of numbers, escapes, and keys that repeat. */
function oddJson(choices: Choices, body: Body): string {
  const text = JSON.stringify(body)
  return choices.one<() => string>([
    () => JSON.stringify(body, undefined, 2),
    () => text.replace(/"k"/, '"\\u006b"'),
    () => text.replace(/-?\d+\.\d+/g, (x) => Number(x).toExponential()),
    () => text.replace(/-?\d+\.\d+/g, (x) => (Number(x) * 1.000000001).toPrecision(17)),
    () => text.replace(/(?<=[[,])(\d+)(?=[\],])/g, '$1.0'),
    () => text.replace(/(?<=[[,])(-?)(0\.)/g, '$10$2'),
    () => text.replace(/\d(?=[\],])/, '$&e400'),
    () => text.replace(/\}$/, ',"k":3}'),
    () => text.replace(/^\{/, '{"vector":[1],'),
    () => text.replace(/\}$/, ',}'),
    () => text.replace(/\}$/, ',"__proto__":{}}'),
    () => `\ufeff${text}`,
    () => ` \n\t${text}\r\n `,
    () => `${text}x`,
    () => text.slice(0, choices.below(text.length)),
    () => text.replace(/\d(?=[\],])/, 'NaN'),
    () => text.replaceAll('"', "'"),
    () => text.replace('[', '[,'),
    () => '',
    () => '[]',
    () => 'null',
    () => '"text"',
  ])()
}

function mutate(choices: Choices, bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes
  const copy = Buffer.from(bytes)
  const position = choices.below(copy.length)
  return choices.one<() => Buffer>([
    () => copy.subarray(0, position),
    () => Buffer.concat([copy.subarray(0, position), copy.subarray(position + 1)]),
    () => Buffer.concat([copy.subarray(0, position), Buffer.from([choices.below(256)]), copy.subarray(position)]),
    () => {
      copy[position] = choices.below(256)
      return copy
    },
    () => Buffer.concat([copy, copy.subarray(0, position)]),
  ])()
}

function oddType(choices: Choices, type: string): string | undefined {
  return choices.one([
    undefined,
    '',
    `${type}; charset=utf-8`,
    type.toUpperCase(),
    ` ${type}`,
    `${type};x`,
    'application/json',
    'application/msgpack',
    'application/x-msgpack',
    'application/octet-stream',
    'text/plain',
    'text/json',
    'application/jsonp',
    'multipart/form-data; boundary=x',
    'x',
  ])
}
