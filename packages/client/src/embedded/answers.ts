// Converts results of an engine to results of the client.
import {
  type CollectionDescription as EngineDescription,
  type SearchHit as EngineHit,
  type SearchResult as EngineResult,
  type StoredObject as EngineStored,
  MetaBudget,
} from '@annal/engine'
import type { CollectionDescription, FieldDescription } from '../collection-definition.ts'
import type { JsonObject } from '../record.ts'
import type { FusedHit, SearchHit, SearchResult } from '../search.ts'
import type { StoredObject } from '../stored-object.ts'

export function descriptionOf(from: EngineDescription): CollectionDescription {
  const { name, fields, objects, createdAt, lsn, condition, reason } = from
  return {
    name,
    fields: fields.map(fieldOf),
    count: objects,
    createdAt: new Date(createdAt),
    lsn,
    condition,
    ...(reason !== undefined && { reason }),
  }
}

function fieldOf(field: EngineDescription['fields'][number]): FieldDescription {
  const { name, elements: count } = field
  if (field.kind === 'sparse') {
    const { model, dimension } = field.params
    return { name, type: 'sparse', model, dimension, count }
  }
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals } = field.params
  const params = {
    dimension,
    space_type: spaceType,
    precision,
    M,
    ef_con: efConstruction,
    keep_originals: keepOriginals !== false,
  }
  if (field.kind === 'dense') return { name, type: 'vector', params, count }
  return { name, type: 'multi_vector', params: { ...params, pooling: field.params.pooling }, count }
}

export function resultOf(
  { results, fused, complete, lsn, explain }: EngineResult,
  metas = new MetaBudget(),
): SearchResult {
  const lists = Object.entries(results).map(([name, hits]) => [name, hits.map((hit) => hitOf(hit, metas))] as const)
  return {
    results: Object.fromEntries(lists),
    ...(fused !== undefined && { fused: fused.map((hit) => fusedOf(hit, metas)) }),
    complete,
    lsn,
    // Numbers and strings by name, as JSON.
    ...(explain !== undefined && { explain: explain as unknown as JsonObject }),
  }
}

export function hitOf(hit: EngineHit, metas: MetaBudget): SearchHit {
  const { id, similarity, distance, norm, filter, vector, members } = hit
  return {
    id,
    similarity,
    distance,
    norm,
    meta: metaOf(hit, metas),
    filter,
    ...(vector !== undefined && { vector }),
    ...(members !== undefined && { vectors: members.map((member) => member.vector) }),
  }
}

function fusedOf({ hit, score, standings }: NonNullable<EngineResult['fused']>[number], metas: MetaBudget): FusedHit {
  const fields = standings.map(({ field, rank, similarity }) => [field, { rank, similarity }] as const)
  return { id: hit.id, score, meta: metaOf(hit, metas), filter: hit.filter, fields: Object.fromEntries(fields) }
}

export function storedOf(stored: EngineStored, metas: MetaBudget): StoredObject {
  const dense = Object.entries(stored.dense).map(([name, { vector, norm }]) => [name, { vector, norm }] as const)
  return {
    id: stored.id,
    meta: metaOf(stored, metas),
    filter: stored.filter,
    dense: Object.fromEntries(dense),
    sparse: stored.sparse,
    multi: Object.fromEntries(
      Object.entries(stored.multi).map(([name, members]) => [name, members.map(({ vector }) => vector)]),
    ),
  }
}

/** Bytes if the stored meta is not JSON or inflates beyond a limit; empty if there is none. */
function metaOf({ metaBytes }: { readonly metaBytes: Uint8Array }, metas: MetaBudget): JsonObject | Uint8Array {
  return metas.read(metaBytes).meta ?? metaBytes
}
