// Bodies of the routes that deal with single objects of an index: get, delete by filter, filter updates.
import { type JsonObject, MetaBudget, type StoredObject } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { MsgpackWriter } from './msgpack-writer.ts'
import { isObject } from './object-parts.ts'
import { numbersJson, withMembers } from './pieces.ts'
import { filterConditions, type Infer } from './schema.ts'
import type { IndexShape } from './v1-index.ts'
import { metaJson } from './v1-search.ts'

export const getVectorBody = Type.Object(
  { id: Type.Unsafe<string | number>({ type: ['string', 'integer'], description: 'Id of the object.' }) },
  { $id: 'GetVector' },
)
export type GetVectorBody = Infer<typeof getVectorBody>

export const deleteByFilterBody = Type.Object({ filter: filterConditions }, { $id: 'DeleteByFilter' })
export type DeleteByFilterBody = Infer<typeof deleteByFilterBody>

export function updateFiltersBody(batchMax: number) {
  return Type.Object(
    {
      updates: Type.Array(Type.Unknown(), {
        maxItems: batchMax,
        description: 'Entries {"id","filter"}; the whole filter is replaced. Entries without either are skipped.',
      }),
    },
    { $id: 'UpdateFilters' },
  )
}
export type UpdateFiltersBody = Infer<ReturnType<typeof updateFiltersBody>>

export interface FilterUpdate {
  readonly id: string
  readonly filter: JsonObject | string
}

/** Entries that lack a part are skipped, as the published server does. */
export function readFilterUpdates(body: UpdateFiltersBody): FilterUpdate[] {
  return body.updates.flatMap((entry) => {
    if (!isObject(entry)) return []
    const { id, filter } = entry
    if (typeof id !== 'string' && typeof id !== 'number') return []
    return typeof filter === 'string' || isObject(filter) ? [{ id: String(id), filter }] : []
  })
}

/** `[id, meta, filter, norm, vector, sparse_indices, sparse_values]`; the vector is the stored row. */
export function* objectReplyMsgpack(object: StoredObject, { denseField, sparseField }: IndexShape): Generator<Buffer> {
  const dense = object.dense[denseField]
  const sparse = object.sparse[sparseField]
  yield new MsgpackWriter()
    .array(7)
    .string(object.id)
    .binary(object.metaBytes)
    .string(object.filterText === '' ? '{}' : object.filterText)
    .float(dense?.norm ?? 1)
    .floats(dense?.row ?? [])
    .uints(sparse?.indices ?? [])
    .floats(sparse?.values ?? [])
    .finish()
}

export function objectReplyJson(object: StoredObject, { denseField, sparseField }: IndexShape): Generator<string> {
  const dense = object.dense[denseField]
  const sparse = object.sparse[sparseField]
  return withMembers({ ...objectHeadJson(object, new MetaBudget()), norm: dense?.norm ?? 1 }, [
    ['vector', [numbersJson(dense?.vector ?? [])]],
    ...(sparse === undefined ? [] : sparsePieces(sparse)),
  ])
}

/** All of an object but what it has in its fields. */
export function objectHeadJson(object: StoredObject, metas: MetaBudget) {
  return { id: object.id, ...metaJson(object, metas), filter: object.filter }
}

export function sparsePieces({ indices, values }: StoredObject['sparse'][string]): [string, Iterable<string>][] {
  return [
    ['sparse_indices', [numbersJson(indices)]],
    ['sparse_values', [numbersJson(values)]],
  ]
}
