// The operations on indexes, by an engine: an index is a collection with a dense field named `dense` and, when it is hybrid, a
// sparse field named `sparse`, as the server has it.
import { type CollectionDescription, type Database, EngineError, type ObjectInput } from '@annal/engine'
import type { IndexDefinition, IndexDescription } from '../definition.ts'
import type { IndexOperations } from '../operations.ts'
import type { Hit, JsonObject, Query, StoredVector, VectorRecord } from '../record.ts'
import type { SearchHit } from '../search.ts'
import type { StoredObject } from '../stored-object.ts'
import { hitOf, storedOf } from './answers.ts'
import type { Calls } from './calls.ts'
import { filterInput } from './collection-calls.ts'
import { defined } from './defined.ts'

const topKDefault = 10

export const indexCalls: Calls<keyof IndexOperations> = {
  async createIndex({ database }, definition) {
    await database.createCollection(collectionOf(definition))
    return undefined
  },
  listIndexes: ({ database }) => database.collections().flatMap((description) => indexOf(description) ?? []),
  describeIndex: ({ database }, { index }) => describedIndex(database, index),
  async deleteIndex({ database }, { index }) {
    describedIndex(database, index)
    await database.dropCollection(index)
    return undefined
  },
  async upsert({ database }, { index, records }) {
    await open(database, index).upsert(records.map(objectInput))
    return undefined
  },
  async query({ database }, { index, query }) {
    const { results, fused } = await open(database, index).search(searchOf(query))
    const { dense = [], sparse = [] } = results
    if (sparse.length === 0) return dense.map((hit) => indexHit(hitOf(hit)))
    if (dense.length === 0) return sparse.map((hit) => indexHit(hitOf(hit)))
    return (fused ?? []).map(({ hit, score }) => ({
      ...indexHit(hitOf(hit)),
      similarity: score,
      distance: 1 - score,
    }))
  },
  async get({ database }, { index, id }) {
    const [object] = await open(database, index).get([id])
    return object === undefined ? undefined : storedVector(storedOf(object))
  },
  async delete({ database }, { index, id }) {
    return (await open(database, index).delete([id])).deleted.length > 0
  },
  async deleteWhere({ database }, { index, filter }) {
    return (await open(database, index).deleteWhere(filterInput(filter))).deleted
  },
  async updateFilters({ database }, { index, updates }) {
    return (await open(database, index).replaceFilters(updates)).updated
  },
}

function collectionOf({ name, dimension, spaceType, precision, m, efConstruction, sparseDimension }: IndexDefinition) {
  const params = { dimension, space_type: spaceType ?? 'cosine', precision: precision ?? 'int8' }
  const graph = { ...(m !== undefined && { M: m }), ...(efConstruction !== undefined && { ef_con: efConstruction }) }
  const sparse = { name: 'sparse', type: 'sparse', params: { model: 'default', dimension: sparseDimension } }
  return {
    name,
    fields: [
      { name: 'dense', type: 'vector', params: { ...params, ...graph } },
      ...(sparseDimension === undefined || sparseDimension === 0 ? [] : [sparse]),
    ],
  }
}

function open(database: Database, index: string) {
  describedIndex(database, index)
  return database.collection(index)
}

function describedIndex(database: Database, name: string): IndexDescription {
  const index = indexOf(database.collection(name).describe())
  if (index !== undefined) return index
  const details = { field: 'name', value: name }
  throw new EngineError('collection_not_found', `${name} was not made as an index; use client.collection`, details)
}

/** Undefined for a collection of another kind. */
function indexOf({ name, fields, objects }: CollectionDescription): IndexDescription | undefined {
  const [dense, sparse, more] = fields
  if (dense?.kind !== 'dense' || dense.name !== 'dense' || more !== undefined) return undefined
  if (sparse !== undefined && (sparse.kind !== 'sparse' || sparse.name !== 'sparse')) return undefined
  const { dimension, spaceType, precision, M, efConstruction } = dense.params
  return {
    name,
    dimension,
    spaceType,
    precision,
    m: M,
    count: objects,
    hybrid: sparse !== undefined,
    efConstruction,
    sparseDimension: sparse?.params.dimension ?? 0,
  }
}

function objectInput({ id, vector, meta, filter, sparse }: VectorRecord): ObjectInput {
  return {
    id,
    fields: { dense: vector, ...(sparse !== undefined && { sparse }) },
    ...(meta !== undefined && { meta }),
    ...(filter !== undefined && { filter }),
  }
}

function searchOf({ vector, sparse, topK = topKDefault, ef, filter, ...rest }: Query) {
  const common = { limit: topK, ...(ef !== undefined && { ef }) }
  return {
    ...defined(rest),
    fields: {
      ...(vector !== undefined && { dense: { query: vector, ...common } }),
      ...(sparse !== undefined && { sparse: { query: sparse, ...common } }),
    },
    ...(filter !== undefined && { filter: filterInput(filter) }),
    ...(vector !== undefined && sparse !== undefined && { fusion: { method: 'rrf' as const, weights, limit: topK } }),
  }
}

/** What the server weighs both sides with unless it is told otherwise. */
const weights = { dense: 0.5, sparse: 0.5 }

function indexHit({ meta, ...hit }: SearchHit): Hit {
  return { ...hit, meta: present(meta) }
}

function storedVector({ id, meta, filter, dense, sparse }: StoredObject): StoredVector {
  const { vector = new Float32Array(0), norm = 1 } = dense.dense ?? {}
  return {
    id,
    vector,
    norm,
    meta: present(meta),
    filter,
    ...(sparse.sparse !== undefined && { sparse: sparse.sparse }),
  }
}

/** The index API says undefined where there is no meta. */
function present(meta: JsonObject | Uint8Array): JsonObject | Uint8Array | undefined {
  return meta instanceof Uint8Array || Object.keys(meta).length > 0 ? meta : undefined
}
