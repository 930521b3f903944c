// Converts results of an engine to results of the client.
import {
  type CollectionDescription as EngineDescription,
  type SearchHit as EngineHit,
  type SearchResult as EngineResult,
  type StoredObject as EngineStored,
  MetaBudget,
} from '@annal/engine'
import {
  type CollectionDescription,
  denseDescription,
  type FieldDescription,
  sparseDescription,
} from '../collection-definition.ts'
import type { VectorRow } from '../model.ts'
import { fusedHit, type SearchHit, type SearchResult } from '../search.ts'
import { type StoredObject, splitMeta } from '../stored-object.ts'

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
  if (field.kind === 'sparse') return sparseDescription(name, field.params, count)
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals } = field.params
  const params = denseDescription({
    dimension,
    spaceType,
    precision,
    M,
    efConstruction,
    keepOriginals: keepOriginals !== false,
  })
  if (field.kind === 'dense') return { name, type: 'vector', params, count }
  return { name, type: 'multi_vector', params: Object.assign(params, { pooling: field.params.pooling }), count }
}

export function resultOf(
  { results, fused, complete, lsn, explain }: EngineResult,
  metas = new MetaBudget(),
): SearchResult {
  const lists = Object.entries(results).map(([name, hits]) => [name, hits.map((hit) => hitOf(hit, metas))] as const)
  return {
    results: Object.fromEntries(lists),
    ...(fused !== undefined && {
      fused: fused.map(({ hit, score, standings }) => fusedHit({ hit: hitOf(hit, metas), score, standings })),
    }),
    complete,
    lsn,
    ...(explain !== undefined && { explain }),
  }
}

export function hitOf(hit: EngineHit, metas: MetaBudget): SearchHit {
  const { id, similarity, distance, norm, filter, vector, members } = hit
  return {
    id,
    similarity,
    distance,
    norm,
    ...metaOf(hit, metas),
    filter,
    vector,
    members: members?.map(rowOf),
    ...(members !== undefined && { vectors: members.map((member) => member.vector) }),
  }
}

export function storedOf(stored: EngineStored, metas: MetaBudget): StoredObject {
  const { id, filter, dense, sparse, multi } = stored
  return {
    id,
    ...metaOf(stored, metas),
    filter,
    dense: Object.fromEntries(Object.entries(dense).map(([name, row]) => [name, rowOf(row)])),
    sparse,
    multi: Object.fromEntries(Object.entries(multi).map(([name, members]) => [name, members.map(rowOf)])),
  }
}

function rowOf({ vector, norm }: VectorRow): VectorRow {
  return { vector, norm }
}

/** Bytes if the stored meta is not JSON or inflates beyond a limit. */
function metaOf({ metaBytes }: { readonly metaBytes: Uint8Array }, metas: MetaBudget) {
  return splitMeta(metas.read(metaBytes).meta ?? metaBytes)
}
