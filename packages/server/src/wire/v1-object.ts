// Bodies of the routes for objects of an index: get, delete with a filter, and filter updates.
import type { FilterUpdate, FilterValues } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { itemTextBytesMax } from '../limits.ts'
import type { ListReader } from './list-reader.ts'
import { decodeMsgpack } from './msgpack-scan.ts'
import { describedAs, filterConditions, type Infer } from './schema.ts'

/** Body that reads one object. */
export const getVectorBody = Type.Object(
  { id: Type.Unsafe<string | number>({ type: ['string', 'integer'], description: 'Id of the object.' }) },
  { $id: 'GetVector' },
)
export type GetVectorBody = Infer<typeof getVectorBody>

/** Body that deletes the objects matching a filter. */
export const deleteWhereBody = Type.Object({ filter: filterConditions }, { $id: 'DeleteByFilter' })
export type DeleteWhereBody = Infer<typeof deleteWhereBody>

/** Body that updates filters. */
export function updateFiltersBody(batchMax: number) {
  return Type.Object(
    {
      updates: Type.Array(describedAs(Type.Unknown(), 'FilterUpdate'), {
        maxItems: batchMax,
        description: 'Each filter is replaced completely. Entries without an id or a filter are skipped.',
      }),
    },
    { $id: 'UpdateFilters' },
  )
}

/**
 * Reads filter updates in both forms. Like the published server, skips entries that lack a part: they are returned as undefined.
 */
export function filterUpdatesReader(batchMax: number): ListReader<FilterUpdate | undefined> {
  const whole = (body: unknown) => updatesOf(body, batchMax).map(readFilterUpdate)
  const noList = (body: unknown): never => {
    updatesOf(body, batchMax)
    throw updatesMissing()
  }
  let count = 0
  return {
    json: {
      shape: { listKey: 'updates', name: 'updates', vectorKeys: new Set() },
      whole,
      item: (value) => {
        checkUpdates(++count, batchMax)
        return compact(readFilterUpdate(value))
      },
      noList,
    },
    msgpack: {
      shape: {
        list: { key: 'updates' },
        itemBytesMax: itemTextBytesMax,
        onCount: (count) => checkUpdates(count, batchMax),
      },
      whole: (bytes) => whole(decodeMsgpack(bytes)),
      // biome-ignore lint/correctness/useYield: an entry is small
      *item(bytes) {
        return compact(readFilterUpdate(decodeMsgpack(bytes)))
      },
      noList: () => {
        throw updatesMissing()
      },
    },
    end: () => undefined,
  }
}

/**
 * Stores the filter as text, because the entries of a large body all wait for the last one and a text takes less memory than an
 * object.
 */
function compact(update: FilterUpdate | undefined): FilterUpdate | undefined {
  if (update === undefined || typeof update.filter === 'string') return update
  return { id: update.id, filter: JSON.stringify(update.filter) }
}

function updatesOf(body: unknown, batchMax: number): readonly unknown[] {
  if (!isObject(body)) throw invalidArgument('body must be object', { field: 'body', value: body })
  const { updates } = body
  if (updates === undefined) throw updatesMissing()
  if (!Array.isArray(updates)) throw invalidArgument('updates must be array', { field: 'updates', value: updates })
  checkUpdates(updates.length, batchMax)
  return updates
}

function checkUpdates(count: number, limit: number): void {
  if (count <= limit) return
  const message = `updates must have at most ${limit} entries`
  throw new ServerError('limit_exceeded', message, { field: 'updates', value: count, limit })
}

function updatesMissing(): ServerError {
  return invalidArgument('updates is required', { field: 'updates' })
}

function readFilterUpdate(entry: unknown): FilterUpdate | undefined {
  if (!isObject(entry)) return undefined
  const { id, filter } = entry
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  if (typeof filter === 'string') return { id: String(id), filter }
  // The engine checks the values.
  return isObject(filter) ? { id: String(id), filter: filter as FilterValues } : undefined
}
