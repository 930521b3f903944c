// Converts results of an engine to results of the client.
import type {
  CollectionDescription as EngineDescription,
  FusedHit as EngineFused,
  SearchHit as EngineHit,
  SearchResult as EngineResult,
  StoredObject as EngineStored,
} from '@annal/engine'
import {
  type CollectionDescription,
  denseDescription,
  type FieldDescription,
  sparseDescription,
} from '../collection-definition.ts'
import type { HitGroup, VectorRow } from '../model.ts'
import { fusedHit, type SearchHit, type SearchResult } from '../search.ts'
import type { StoredObject } from '../stored-object.ts'
import { Metas } from './metas.ts'

export function descriptionOf(from: EngineDescription): CollectionDescription {
  const { name, fields, ttlSeconds, objects, createdAt, lsn, condition, memory, reason } = from
  return {
    name,
    fields: fields.map(fieldOf),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
    count: objects,
    createdAt: new Date(createdAt),
    lsn,
    condition,
    memory,
    ...(reason !== undefined && { reason }),
  }
}

function fieldOf(field: EngineDescription['fields'][number]): FieldDescription {
  const { name, elements: count } = field
  if (field.kind === 'sparse') return sparseDescription(name, field.params, count)
  if (field.kind === 'text') return { name, type: 'text', params: field.params, count }
  const { dimension, spaceType, precision, M, efConstruction, keepOriginals, recall, embed } = field.params
  const params = denseDescription({
    dimension,
    spaceType,
    precision,
    M,
    efConstruction,
    keepOriginals: keepOriginals !== false,
    ...(recall !== undefined && { recall }),
    ...(embed && { embed }),
  })
  if (field.kind === 'dense') return { name, type: 'vector', params, count }
  return { name, type: 'multi_vector', params: Object.assign(params, { pooling: field.params.pooling }), count }
}

export function resultOf(
  { results, fused, groups, fusedGroups, complete, lsn, recall, explain, asOf }: EngineResult,
  metas = new Metas(),
): SearchResult {
  // A hit of a list, of the fused list, and of a group is one object.
  const convert = once((hit: EngineHit) => hitOf(hit, metas))
  const fuse = once(({ hit, score, standings }: EngineFused) => fusedHit({ hit: convert(hit), score, standings }))
  return {
    results: mapValues(results, (hits) => hits.map(convert)),
    ...(fused !== undefined && { fused: fused.map(fuse) }),
    ...(groups !== undefined && { groups: mapValues(groups, (list) => list.map((group) => groupOf(group, convert))) }),
    ...(fusedGroups !== undefined && { fusedGroups: fusedGroups.map((group) => groupOf(group, fuse)) }),
    complete,
    lsn,
    ...(recall !== undefined && { recall }),
    ...(explain !== undefined && { explain }),
    ...(asOf !== undefined && { asOf }),
  }
}

function groupOf<A, B>({ value, hits }: HitGroup<A>, convert: (hit: A) => B): HitGroup<B> {
  return { value, hits: hits.map(convert) }
}

function mapValues<A, B>(values: { readonly [name: string]: A }, convert: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, convert(value)]))
}

function once<A extends object, B>(convert: (from: A) => B): (from: A) => B {
  const known = new Map<A, B>()
  return (from) => {
    const converted = known.get(from) ?? convert(from)
    known.set(from, converted)
    return converted
  }
}

export function hitOf(hit: EngineHit, metas: Metas): SearchHit {
  const { id, similarity, distance, norm, filter, expiresAt, vector, members, texts, highlight } = hit
  return {
    id,
    similarity,
    distance,
    norm,
    ...metas.collectionMeta(hit.metaBytes),
    filter,
    ...(expiresAt !== undefined && { expiresAt }),
    vector,
    members: members?.map(rowOf),
    ...(members !== undefined && { vectors: members.map((member) => member.vector) }),
    ...(texts !== undefined && { texts }),
    ...(highlight !== undefined && { highlight }),
  }
}

export function storedOf(stored: EngineStored, metas: Metas): StoredObject {
  const { id, lsn, filter, expiresAt, dense, sparse, multi, text } = stored
  return {
    id,
    lsn,
    ...metas.collectionMeta(stored.metaBytes),
    filter,
    ...(expiresAt !== undefined && { expiresAt }),
    dense: Object.fromEntries(Object.entries(dense).map(([name, row]) => [name, rowOf(row)])),
    sparse,
    multi: Object.fromEntries(Object.entries(multi).map(([name, members]) => [name, members.map(rowOf)])),
    text,
  }
}

function rowOf({ vector, norm }: VectorRow): VectorRow {
  return { vector, norm }
}
