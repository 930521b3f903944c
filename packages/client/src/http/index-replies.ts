// What the index API answers, checked once and turned into what the client promises.
import type { IndexDescription, IndexSummary, Precision, SpaceType } from '../definition.ts'
import type { Hit, JsonObject, StoredVector } from '../record.ts'
import { MetaReader } from './meta.ts'
import { bytes, floats, list, number, object, parseJson, parseObject, text, unexpected, unpack } from './read.ts'
import { withLength } from './vector.ts'

/** Hits as [similarity, id, meta, filter, norm, vector]. */
export function parseHits(body: Uint8Array, space: SpaceType): readonly Hit[] {
  const metas = new MetaReader()
  return list(unpack(body), 'hits').map((entry) => {
    const [similarity, id, meta, filter, norm, vector] = list(entry, 'hit')
    const hit: Hit = {
      id: text(id, 'id'),
      similarity: number(similarity, 'similarity'),
      distance: distanceOf(number(similarity, 'similarity'), space),
      norm: number(norm, 'norm'),
      meta: metas.unpack(bytes(meta, 'meta')),
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
    meta: new MetaReader().unpack(bytes(meta, 'meta')),
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

/** The leading number of a sentence such as `12 vectors deleted`. */
export function parseCount(sentence: string): number {
  const count = Number.parseInt(sentence, 10)
  if (Number.isNaN(count)) throw unexpected('count', sentence)
  return count
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
