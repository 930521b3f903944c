// The operations on indexes, on an engine: an index is a collection with one dense field and, if it is hybrid, one sparse field, as on
// the server. New fields are named `dense` and `sparse`.
import {
  type CollectionDefinition,
  type CollectionDescription,
  type Database,
  EngineError,
  type ObjectInput,
  topKDefault,
} from '@annal/engine'
import type { IndexDefinition, IndexDescription } from '../definition.ts'
import type { IndexOperations } from '../operations.ts'
import type { Hit, Query, StoredVector, VectorRecord } from '../record.ts'
import type { SearchHit } from '../search.ts'
import type { StoredObject } from '../stored-object.ts'
import { hitOf, storedOf } from './answers.ts'
import type { Calls } from './calls.ts'
import { defined } from './defined.ts'
import { Metas } from './metas.ts'

export const indexCalls: Calls<keyof IndexOperations> = {
  async createIndex({ database }, definition, write) {
    await database.createCollection(collectionOf(definition), write)
    return undefined
  },
  listIndexes: ({ database }) => database.collections().flatMap((description) => indexOf(description)?.index ?? []),
  describeIndex: ({ database }, { index }) => open(database, index).index,
  async deleteIndex({ database }, { index }, write) {
    open(database, index)
    await database.deleteCollection(index, write)
    return undefined
  },
  async upsert({ database }, { index, records }, write) {
    const { collection, names } = open(database, index)
    await collection.upsert(
      records.map((record) => objectInput(record, names)),
      write,
    )
    return undefined
  },
  async query({ database }, { index, query }) {
    const { collection, names } = open(database, index)
    const { results, fused } = await collection.search(searchOf(query, names))
    const { [names.dense]: dense = [], [names.sparse]: sparse = [] } = results
    const metas = new Metas()
    if (sparse.length === 0) return dense.map((hit) => indexHit(hitOf(hit, metas)))
    if (dense.length === 0) return sparse.map((hit) => indexHit(hitOf(hit, metas)))
    return (fused ?? []).map(({ hit, score }) => ({
      ...indexHit(hitOf(hit, metas)),
      similarity: score,
      distance: 1 - score,
    }))
  },
  async get({ database }, { index, id }) {
    const { collection, names } = open(database, index)
    const [object] = await collection.getMany([id])
    return object === undefined ? undefined : storedVector(storedOf(object, new Metas()), names)
  },
  async delete({ database }, { index, id }, write) {
    return (await open(database, index).collection.delete([id], write)).deleted.length > 0
  },
  async deleteWhere({ database }, { index, filter }, write) {
    return (await open(database, index).collection.deleteWhere(filter, write)).deleted
  },
  async updateFilters({ database }, { index, updates }, write) {
    return (await open(database, index).collection.updateFilters(updates, write)).updated
  },
}

function collectionOf({
  name,
  dimension,
  spaceType,
  precision,
  m: M,
  efConstruction,
  keepOriginals,
  sparseDimension,
}: IndexDefinition): CollectionDefinition {
  const params = { dimension, spaceType, precision, M, efConstruction, keepOriginals }
  const sparse = { name: 'sparse', type: 'sparse', params: { model: 'default', dimension: sparseDimension } } as const
  return {
    name,
    fields: [
      { name: 'dense', type: 'vector', params },
      ...(sparseDimension === undefined || sparseDimension === 0 ? [] : [sparse]),
    ],
  }
}

/** No field has this name; not `sparse`, because the dense field may have it. */
const noField = ''

/** The field names of an index. */
interface FieldNames {
  readonly dense: string
  readonly sparse: string
}

function open(database: Database, name: string) {
  const collection = database.collection(name)
  const found = indexOf(collection.describe())
  if (found !== undefined) return { collection, ...found }
  const message = `${name} has fields other than one dense and at most one sparse field; use client.collection`
  throw new EngineError('collection_not_found', message, { field: 'name', value: name })
}

/** Undefined if the collection is not an index. */
function indexOf({ name, fields, objects }: CollectionDescription) {
  const dense = fields.find((field) => field.kind === 'dense')
  const sparse = fields.find((field) => field.kind === 'sparse')
  if (dense === undefined || fields.length !== (sparse === undefined ? 1 : 2)) return undefined
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals } = dense.params
  const index: IndexDescription = {
    name,
    dimension,
    spaceType,
    precision,
    m: M,
    count: objects,
    hybrid: sparse !== undefined,
    efConstruction,
    keepOriginals: keepOriginals !== false,
    sparseDimension: sparse?.params.dimension ?? 0,
  }
  const names: FieldNames = { dense: dense.name, sparse: sparse?.name ?? noField }
  return { index, names }
}

function objectInput({ id, vector, meta, filter, sparse }: VectorRecord, names: FieldNames): ObjectInput {
  return {
    id,
    fields: { [names.dense]: vector, ...(sparse !== undefined && { [names.sparse]: sparse }) },
    ...(meta !== undefined && { meta }),
    ...(filter !== undefined && { filter }),
  }
}

function searchOf({ vector, sparse, topK = topKDefault, ef, filter, ...rest }: Query, names: FieldNames) {
  const common = { limit: topK, ...(ef !== undefined && { ef }) }
  // The server's default weights.
  const weights = { [names.dense]: 0.5, [names.sparse]: 0.5 }
  return {
    ...defined(rest),
    fields: {
      ...(vector !== undefined && { [names.dense]: { query: vector, ...common } }),
      ...(sparse !== undefined && { [names.sparse]: { query: sparse, ...common } }),
    },
    ...(filter !== undefined && { filter: filter }),
    ...(vector !== undefined && sparse !== undefined && { fusion: { method: 'rrf' as const, weights, limit: topK } }),
  }
}

function indexHit({ id, similarity, distance, norm, meta, metaBytes, filter, vector }: SearchHit): Hit {
  return { id, similarity, distance, norm, meta: meta ?? metaBytes, filter, ...(vector !== undefined && { vector }) }
}

function storedVector({ id, meta, metaBytes, filter, dense, sparse }: StoredObject, names: FieldNames): StoredVector {
  const { vector = new Float32Array(0), norm = 1 } = dense[names.dense] ?? {}
  const terms = sparse[names.sparse]
  return {
    id,
    vector,
    norm,
    meta: meta ?? metaBytes,
    filter,
    ...(terms !== undefined && { sparse: terms }),
  }
}
