// Validates replies of the index API and converts them to results.
import type { IndexDescription, IndexSummary } from '../definition.ts'
import type { JsonObject, Precision, SpaceType } from '../model.ts'
import { MetaReader } from '../packed-meta.ts'
import type { Hit, StoredVector } from '../record.ts'
import { floats, list, number, object, text, unexpected } from './read.ts'

/** Hits in JSON, which has the original vectors. */
export function parseHits(reply: unknown): readonly Hit[] {
  const metas = new MetaReader()
  return list(object(reply, 'reply').results, 'results').map((entry) => {
    const hit = object(entry, 'hit')
    return {
      id: text(hit.id, 'id'),
      similarity: number(hit.similarity, 'similarity'),
      distance: number(hit.distance, 'distance'),
      norm: number(hit.norm, 'norm'),
      meta: parseMeta(hit, metas),
      filter: object(hit.filter, 'filter') as JsonObject,
      ...(hit.vector !== undefined && { vector: floats(hit.vector, 'vector') }),
    }
  })
}

/** One vector in JSON. */
export function parseStored(reply: unknown): StoredVector {
  const stored = object(reply, 'vector')
  const terms = list(stored.sparse_indices ?? [], 'sparse indices')
  return {
    id: text(stored.id, 'id'),
    vector: floats(stored.vector, 'vector'),
    norm: number(stored.norm, 'norm'),
    meta: parseMeta(stored, new MetaReader()),
    filter: object(stored.filter, 'filter') as JsonObject,
    ...(terms.length > 0 && {
      sparse: { indices: Uint32Array.from(terms as number[]), values: floats(stored.sparse_values, 'sparse values') },
    }),
  }
}

/** The index API uses undefined for missing meta. */
function parseMeta(entry: Record<string, unknown>, metas: MetaReader): JsonObject | Uint8Array | undefined {
  const meta = metas.fromJson(entry)
  return meta instanceof Uint8Array || Object.keys(meta).length > 0 ? meta : undefined
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
    keepOriginals: index.keep_originals !== false,
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
    // A newer server may have precisions that this client does not know; they are for reading only.
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
