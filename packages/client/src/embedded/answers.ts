// What an engine gives, as the client gives it.
import type {
  CollectionDescription as EngineDescription,
  SearchHit as EngineHit,
  SearchResult as EngineResult,
  StoredObject as EngineStored,
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
  const { dimension, spaceType, precision, M, efConstruction } = field.params
  const params = { dimension, space_type: spaceType, precision, M, ef_con: efConstruction }
  if (field.kind === 'dense') return { name, type: 'vector', params, count }
  return { name, type: 'multi_vector', params: { ...params, pooling: field.params.pooling }, count }
}

export function resultOf({ results, fused, complete, lsn, explain }: EngineResult): SearchResult {
  return {
    results: Object.fromEntries(Object.entries(results).map(([name, hits]) => [name, hits.map(hitOf)])),
    ...(fused !== undefined && { fused: fused.map(fusedOf) }),
    complete,
    lsn,
    // Numbers and texts by name, as JSON has them.
    ...(explain !== undefined && { explain: explain as unknown as JsonObject }),
  }
}

export function hitOf(hit: EngineHit): SearchHit {
  const { id, similarity, distance, norm, filter, vector, members } = hit
  return {
    id,
    similarity,
    distance,
    norm,
    meta: metaOf(hit),
    filter,
    ...(vector !== undefined && { vector }),
    ...(members !== undefined && { vectors: members.map((member) => member.vector) }),
  }
}

function fusedOf({ hit, score, standings }: NonNullable<EngineResult['fused']>[number]): FusedHit {
  const fields = standings.map(({ field, rank, similarity }) => [field, { rank, similarity }] as const)
  return { id: hit.id, score, meta: metaOf(hit), filter: hit.filter, fields: Object.fromEntries(fields) }
}

export function storedOf(stored: EngineStored): StoredObject {
  const dense = Object.entries(stored.dense).map(([name, { vector, norm }]) => [name, { vector, norm }] as const)
  return {
    id: stored.id,
    meta: metaOf(stored),
    filter: stored.filter,
    dense: Object.fromEntries(dense),
    sparse: stored.sparse,
    multi: Object.fromEntries(
      Object.entries(stored.multi).map(([name, members]) => [name, members.map(({ vector }) => vector)]),
    ),
  }
}

/** Bytes where what is stored is not JSON; empty where nothing is. */
function metaOf(from: { readonly meta: JsonObject | undefined; readonly metaBytes: Uint8Array }) {
  return from.meta ?? (from.metaBytes.length > 0 ? from.metaBytes : {})
}
