// Random bodies of searches as text, bytes, and MessagePack: usual ones, rare ones, and wrong ones.
import type { Random } from '@annal/wal/testing'
import { encode } from '@msgpack/msgpack'
import { base64Of, bytesOf, vectorBody } from './vector-bodies.ts'

/** A search route, and the fields of its collection. */
export interface SearchPlace {
  readonly version: 'v1' | 'v2'
  readonly fields: readonly string[]
  readonly dimension: number
}

export interface RandomSearch {
  readonly type: string
  readonly accept: string | undefined
  readonly body: Buffer
}

const filters = [
  '[]',
  '[{"color":{"$eq":"red"}}]',
  '[{"color":{"$eq":"gr\u00fcn"}}]',
  '[{"size":{"$range":[1,5]}},{"color":{"$ne":"red"}}]',
  '[{"$or":[{"size":{"$gt":3}},{"color":{"$in":["red","blue"]}}]}]',
  '[{"size":{"$lt":1e1}}]',
  '[{"color":{"$EQ":"red"}}]',
  '[{"__proto__":{"$eq":1}}]',
  '[{"color":{"$eq":"\\u0041\\"]"}}]',
  '[5]',
  '{}',
  'null',
  '[{"color":',
]

/** Texts of values; the last ones are rare or wrong. */
const numbers = {
  count: ['1', '2', '3', '10', '7', '100', '0', '512', '513', '1.0', '1e1', '-1', '"5"', 'null', '007', '99999999999'],
  ef: ['16', '64', '128', '1024', '1025', '0', '1.5', 'null', '[]'],
  threshold: ['1000', '5000', '1000000', '999', '0', 'null', '1000000001'],
  boost: ['0', '10', '100', '400', '401', '-1', 'null'],
  recall: ['0.5', '0.9', '0.99', '0.999', '1', '0', '-1', '"0.9"', 'null', '1e-1'],
  lsn: ['0', '1', '2', '3e0', '007', '-1', '0.5', '"1"', 'null', '9007199254740993'],
  score: ['-1', '0.5', '-1e3', '0', 'null', '"0"', '-0', '1e400', '.5', '01'],
  weight: ['0.5', '0', '1', '1e-3', '-0', '1.1', '-1', 'null', '"1"'],
  constant: ['60', '60.0', '0.1', '1e6', '0', '-1', 'null'],
  flag: ['false', 'true', 'null', '0', 'falsey'],
}

export function randomSearch(random: Random, place: SearchPlace): RandomSearch {
  const accept = pick(random, [
    undefined,
    'application/json',
    'application/json',
    '*/*',
    'application/json, text/plain',
  ])
  const form = random.below(4)
  if (form === 0) {
    const parameters = bodyText(random, place, undefined)
    const vector = bytesOf(randomVector(random, place.dimension))
    return { type: 'application/octet-stream', accept, body: mutated(random, vectorBody(parameters, vector)) }
  }
  const vector = vectorText(random, place.dimension)
  if (form === 1) {
    const type = pick(random, ['application/msgpack', 'application/x-msgpack'])
    return { type, accept, body: mutated(random, packedBody(random, place, vector)) }
  }
  const type = pick(random, [
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'application/JSON',
  ])
  return { type, accept, body: mutated(random, Buffer.from(bodyText(random, place, vector))) }
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)]!
}

/** Mostly one of the first values, which are usual. */
function usually(random: Random, items: readonly string[], usual: number): string {
  return random.chance(0.93) ? items[random.below(usual)]! : pick(random, items)
}

function randomVector(random: Random, dimension: number): number[] {
  return Array.from({ length: dimension }, () => random.next() * 2 - 1)
}

function vectorText(random: Random, dimension: number): string {
  const length = random.chance(0.03) ? pick(random, [0, 1, dimension + 1]) : dimension
  const vector = randomVector(random, length)
  if (random.chance(0.25)) return JSON.stringify(base64Of(vector))
  const digits = random.below(20)
  const texts = vector.map((x) => (random.chance(0.5) ? String(x) : x.toFixed(digits)))
  if (random.chance(0.03)) texts.push(pick(random, ['null', '"1"', '1e39', '[1]', '01', '']))
  return `[${texts.join(pick(random, [',', ', ', ' ,\n']))}]`
}

function bodyText(random: Random, { version, fields, dimension }: SearchPlace, vector: string | undefined): string {
  const members: string[] = []
  const add = (probability: number, key: string, value: () => string) => {
    if (random.chance(probability)) members.push(`"${key}":${value()}`)
  }
  const tuning = () => {
    add(0.35, 'filter', () => filterText(random, version === 'v1'))
    add(0.1, 'filter_params', () => parameters(random))
    add(0.08, 'prefilter_cardinality_threshold', () => usually(random, numbers.threshold, 3))
    add(0.08, 'filter_boost_percentage', () => usually(random, numbers.boost, 3))
    add(0.2, 'include_vectors', () => usually(random, numbers.flag, 2))
    add(0.1, 'explain', () => usually(random, numbers.flag, 1))
    add(0.1, 'exact', () => usually(random, numbers.flag, 2))
    add(0.1, 'rescore', () => usually(random, numbers.flag, 2))
    add(0.02, pick(random, ['top_k', 'K', 'fusion', 'sparse_indices', '', 'k\\u0065']), () => '5')
  }
  if (version === 'v1') {
    add(0.85, 'k', () => usually(random, numbers.count, 5))
    const statesRecall = random.chance(0.25)
    add(statesRecall ? 0.03 : 0.7, 'ef', () => usually(random, numbers.ef, 4))
    add(statesRecall ? 1 : 0.02, 'recall', () => usually(random, numbers.recall, 4))
    const isHybrid = fields.includes('sparse') ? random.chance(0.6) : random.chance(0.02)
    if (vector !== undefined) add(isHybrid ? 0.6 : 0.98, 'vector', () => vector)
    if (isHybrid) {
      const { indices, values } = termTexts(random)
      add(0.98, 'sparse_indices', () => indices)
      add(0.98, 'sparse_values', () => values)
    }
    add(isHybrid ? 0.4 : 0.1, 'dense_rrf_weight', () => usually(random, numbers.weight, 4))
    add(isHybrid ? 0.4 : 0.1, 'rrf_rank_constant', () => usually(random, numbers.constant, 4))
    tuning()
  } else {
    const texts = fields.filter((field) => field === 'body').flatMap((field) => [field, field, field])
    const one = (name = random.chance(0.95) ? pick(random, [fields[0]!, ...fields, ...texts]) : 'none') => {
      const inner: string[] = []
      if (vector !== undefined) inner.push(`"query":${queryText(random, { vector, dimension, name })}`)
      if (random.chance(0.8)) inner.push(`"limit":${usually(random, numbers.count, 5)}`)
      const statesRecall = name !== 'parts' && random.chance(0.25)
      if (random.chance(statesRecall ? 1 : 0.02)) inner.push(`"recall":${usually(random, numbers.recall, 4)}`)
      if (random.chance(statesRecall ? 0.03 : 0.5)) inner.push(`"ef_search":${usually(random, numbers.ef, 4)}`)
      if (random.chance(statesRecall ? 0.01 : 0.1)) inner.push(`"ef":${usually(random, numbers.ef, 4)}`)
      if (random.chance(0.2)) inner.push(`"score_threshold":${usually(random, numbers.score, 4)}`)
      if (random.chance(name === 'body' ? 0.6 : 0.01))
        inner.push(`"operator":${usually(random, ['"and"', '"or"', '"AND"', 'null'], 2)}`)
      if (random.chance(name === 'body' ? 0.2 : 0.01)) inner.push(`"k1":${usually(random, numbers.constant, 3)}`)
      if (random.chance(name === 'body' ? 0.2 : 0.01)) inner.push(`"b":${usually(random, numbers.weight, 4)}`)
      return `"${name}":{${shuffled(random, inner).join(',')}}`
    }
    // Mostly different ones.
    const two = () =>
      shuffled(random, fields)
        .slice(0, 2)
        .map((name) => one(name))
    const list = vector === undefined || random.chance(0.8) ? [one()] : random.chance(0.95) ? two() : [one(), one()]
    const listed = () => `[${list.map((text) => `{${text}}`).join(',')}]`
    add(0.98, 'fields', () => (random.chance(0.1) ? listed() : `{${list.join(',')}}`))
    add(0.15, 'min_lsn', () => usually(random, numbers.lsn, 4))
    add(list.length > 1 ? 0.7 : 0.03, 'fusion', () => fusionText(random, fields))
    tuning()
  }
  if (random.chance(0.02)) members.push(...members.slice(0, 1))
  const body = `{${shuffled(random, members).join(pick(random, [',', ', ', ' , ']))}}`
  return random.chance(0.03) ? `${body}${pick(random, [' ', '\n', 'x', '{}', '\0'])}` : body
}

/** The indices and values of a sparse query. */
function termTexts(random: Random): { readonly indices: string; readonly values: string } {
  const found = new Set(Array.from({ length: random.below(9) }, () => random.below(random.chance(0.9) ? 15 : 2 ** 32)))
  const indices = [...found].map(String)
  const values = indices.map(() => {
    const value = random.chance(0.9) ? random.next() * 3 : -random.next()
    return random.chance(0.5) ? String(value) : value.toFixed(random.below(20))
  })
  if (random.chance(0.04))
    indices.push(pick(random, ['4294967295', '4294967296', '1.0', '-1', '"3"', 'null', '03', '1']))
  if (random.chance(0.04)) values.push(pick(random, ['1', 'null', '1e39', '"1"', '-0', '1e-50']))
  const separator = pick(random, [',', ', '])
  return { indices: `[${indices.join(separator)}]`, values: `[${values.join(separator)}]` }
}

const textQueries = [
  '"text"',
  '"more text"',
  '"Number 3, grün"',
  '"nothing like it"',
  '""',
  '"the"',
  '"quoted \\"text\\""',
  '{"must":["text"],"should":[{"phrase":"more text"}]}',
  '{"must_not":["text"]}',
]

/** The query of a field: a vector, terms, a text, a stored object, or the vectors of a multi-vector field. */
function queryText(
  random: Random,
  { vector, dimension, name }: { readonly vector: string; readonly dimension: number; readonly name: string },
): string {
  if (random.chance(0.15))
    return pick(random, ['{"id":"plain"}', '{"id":" "}', '{"id":"none"}', '{"id":7}', '{"id":"plain","x":1}'])
  if ((name === 'words' || name === 'rare') && random.chance(0.97)) {
    const { indices, values } = termTexts(random)
    const long = random.chance(0.2) ? 'sparse_' : ''
    return `{"${long}indices":${indices},"${random.chance(0.95) ? long : ''}values":${values}}`
  }
  if (name === 'body' && random.chance(0.97)) return pick(random, textQueries)
  if (name !== 'parts' || random.chance(0.3)) return vector
  return `[${Array.from({ length: random.below(4) }, () => vectorText(random, dimension)).join(',')}]`
}

function fusionText(random: Random, fields: readonly string[]): string {
  const inner = [`"method":${usually(random, ['"rrf"', '"relative_score"', '"other"', 'null'], 2)}`]
  if (random.chance(0.3)) inner.push(`"k":${usually(random, numbers.constant, 4)}`)
  if (random.chance(0.3)) inner.push(`"limit":${usually(random, numbers.count, 5)}`)
  if (random.chance(0.3))
    inner.push(
      `"weights":{"${random.chance(0.95) ? pick(random, fields) : 'none'}":${usually(random, numbers.weight, 4)}}`,
    )
  return `{${shuffled(random, inner).join(',')}}`
}

/** A batch of up to four searches of /api/v2. */
export function randomBatch(random: Random, place: SearchPlace): RandomSearch {
  const accept = pick(random, [undefined, 'application/json', '*/*'])
  const one = () => bodyText(random, place, vectorText(random, place.dimension))
  const text = `{"searches":[${Array.from({ length: random.below(5) }, one).join(',')}]}`
  const body = random.chance(0.97) ? text : text.replace('searches', pick(random, ['search', 'searches":[],"searches']))
  if (random.chance(0.3)) {
    try {
      const packed = Buffer.from(encode(JSON.parse(body), { forceFloat32: random.chance(0.5) }))
      return { type: 'application/msgpack', accept, body: mutated(random, packed) }
    } catch {
      // Not JSON.
    }
  }
  const type = pick(random, ['application/json', 'application/json', 'application/octet-stream'])
  return { type, accept, body: mutated(random, Buffer.from(body)) }
}

function shuffled(random: Random, items: readonly string[]): string[] {
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

function filterText(random: Random, mayBeText: boolean): string {
  const filter = usually(random, filters, 6)
  const asText = mayBeText ? random.chance(0.5) : random.chance(0.02)
  return asText ? JSON.stringify(random.chance(0.05) ? ' ' : filter) : filter
}

function parameters(random: Random): string {
  const inner: string[] = []
  if (random.chance(0.7)) inner.push(`"prefilter_threshold":${usually(random, numbers.threshold, 3)}`)
  if (random.chance(0.7)) inner.push(`"boost_percentage":${usually(random, numbers.boost, 3)}`)
  if (random.chance(0.03)) inner.push('"other":1')
  return `{${inner.join(',')}}`
}

/** The same members as MessagePack, if the text is JSON. Some vectors are bytes. */
function packedBody(random: Random, place: SearchPlace, vector: string): Buffer {
  const text = bodyText(random, place, vector)
  const asBytes = random.chance(0.5)
  try {
    const revive = (key: string, value: unknown) =>
      asBytes && (key === 'vector' || key === 'query') && Array.isArray(value) ? bytesOf(value as number[]) : value
    const packed = Buffer.from(encode(JSON.parse(text, revive), { forceFloat32: random.chance(0.5) }))
    return random.chance(0.1) ? Buffer.concat([packed, Buffer.alloc(8)]) : packed
  } catch {
    return Buffer.from(text)
  }
}

/** A tenth of the bodies with some other bytes. */
export function mutated(random: Random, body: Buffer): Buffer {
  if (!random.chance(0.1)) return body
  const changed = Buffer.from(body)
  for (let i = random.below(3); i >= 0 && changed.length > 0; i--) {
    const at = random.below(random.chance(0.5) ? Math.min(40, changed.length) : changed.length)
    changed[at] = random.chance(0.5) ? random.below(256) : pick(random, [...Buffer.from(' ,:[]{}"0\\')])
  }
  return random.chance(0.2) ? changed.subarray(0, random.below(changed.length)) : changed
}
