// What a server answers, checked once and turned into what the client promises.
import { decode } from '@msgpack/msgpack'
import type { IndexDescription, IndexSummary, Precision, SpaceType } from '../definition.ts'
import { AnnalError } from '../errors.ts'
import type { Hit, JsonObject, StoredVector } from '../record.ts'
import { unpackMeta } from './meta.ts'
import { withLength } from './vector.ts'

/** Hits as [similarity, id, meta, filter, norm, vector]. */
export function parseHits(body: Uint8Array, space: SpaceType): readonly Hit[] {
  return list(unpack(body), 'hits').map((entry) => {
    const [similarity, id, meta, filter, norm, vector] = list(entry, 'hit')
    const hit: Hit = {
      id: text(id, 'id'),
      similarity: number(similarity, 'similarity'),
      distance: distanceOf(number(similarity, 'similarity'), space),
      norm: number(norm, 'norm'),
      meta: unpackMeta(bytes(meta, 'meta')),
      filter: parseFilter(filter),
    }
    const direction = floats(vector ?? [], 'vector')
    return direction.length === 0 ? hit : { ...hit, vector: withLength(direction, hit.norm, space) }
  })
}

/** One vector as [id, meta, filter, norm, vector, sparse indices, sparse values]. */
export function parseStored(body: Uint8Array, space: SpaceType): StoredVector {
  const [id, meta, filter, norm, vector, indices, values] = list(unpack(body), 'vector')
  const stored: StoredVector = {
    id: text(id, 'id'),
    vector: withLength(floats(vector, 'vector'), number(norm, 'norm'), space),
    norm: number(norm, 'norm'),
    meta: unpackMeta(bytes(meta, 'meta')),
    filter: parseFilter(filter),
  }
  const terms = list(indices ?? [], 'sparse indices')
  if (terms.length === 0) return stored
  return {
    ...stored,
    sparse: { indices: Uint32Array.from(terms as number[]), values: floats(values, 'sparse values') },
  }
}

export function parseSummaries(value: unknown): readonly IndexSummary[] {
  return list(object(value, 'index list').indexes, 'indexes').map((entry) => {
    const index = object(entry, 'index')
    return summary(index, text(index.name, 'name'))
  })
}

export function parseDescription(value: unknown, name: string): IndexDescription {
  const index = object(value, 'index')
  return {
    ...summary(index, name),
    efConstruction: number(index.ef_con, 'ef_con'),
    sparseDimension: number(index.sparse_dim ?? 0, 'sparse_dim'),
  }
}

export function parseObject(value: unknown): JsonObject {
  // What JSON.parse made is JSON.
  return object(value, 'reply') as JsonObject
}

/** The leading number of a sentence such as `12 vectors deleted`. */
export function parseCount(sentence: string): number {
  const count = Number.parseInt(sentence, 10)
  if (Number.isNaN(count)) throw unexpected('count', sentence)
  return count
}

function unpack(body: Uint8Array): unknown {
  try {
    return decode(body)
  } catch (error) {
    // What the decoder throws are RangeError and its own DecodeError, both about these bytes.
    throw unexpected('MessagePack', error instanceof Error ? error.message : error)
  }
}

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    if (error instanceof SyntaxError) throw unexpected('JSON', body.slice(0, 80))
    throw error
  }
}

function summary(index: Record<string, unknown>, name: string): IndexSummary {
  return {
    name,
    dimension: number(index.dimension, 'dimension'),
    spaceType: spaceType(index.space_type),
    // A newer server may know more precisions than this client names; it is for reading only.
    precision: text(index.precision, 'precision') as Precision,
    m: number(index.M, 'M'),
    count: number(index.total_elements, 'total_elements'),
    hybrid: index.sparse_model !== undefined && index.sparse_model !== 'None',
  }
}

function spaceType(value: unknown): SpaceType {
  if (value === 'cosine' || value === 'l2' || value === 'ip') return value
  throw unexpected('space_type', value)
}

function distanceOf(similarity: number, space: SpaceType): number {
  return space === 'cosine' ? 1 - similarity : -similarity
}

function parseFilter(value: unknown): JsonObject {
  const json = text(value, 'filter')
  return json === '' ? {} : parseObject(parseJson(json))
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unexpected(what, value)
}

function object(value: unknown, what: string): Record<string, unknown> {
  // An object that is no array has string keys, and that is all a Record says.
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  throw unexpected(what, value)
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw unexpected(what, value)
}

function number(value: unknown, what: string): number {
  if (typeof value === 'number') return value
  throw unexpected(what, value)
}

function bytes(value: unknown, what: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw unexpected(what, value)
}

function floats(value: unknown, what: string): Float32Array {
  // Anything but numbers becomes NaN here, which the check behind it finds.
  const vector = Float32Array.from(list(value, what) as number[])
  if (vector.some(Number.isNaN)) throw unexpected(what, 'not a list of numbers')
  return vector
}

function unexpected(what: string, value: unknown): AnnalError {
  const seen = value === null ? 'null' : typeof value === 'string' ? JSON.stringify(value) : typeof value
  return new AnnalError('invalid_reply', `the server's answer has no usable ${what}: ${seen}`, { field: what })
}
