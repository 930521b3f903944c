// Checks the filters that replace those of stored objects: given all at once or one after another.
import { TimeSlice } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { parseNewFilterValues } from '../filter/values.ts'
import type { Limits } from '../limits.ts'
import { checkBatch, checkObject, parseId } from '../model/ids.ts'
import type { FilterUpdate } from '../model/object.ts'

export type FilterUpdatesInput = readonly FilterUpdate[] | AsyncIterable<FilterUpdate>

/** Filter texts by id. */
export type FilterTexts = ReadonlyMap<string, string>

/**
 * Returns filter texts by id; of two updates of one id the later one wins. Throws EngineError invalid_argument or
 * limit_exceeded.
 */
export async function parseFilterUpdates(
  updates: FilterUpdatesInput,
  { batchMax }: Limits,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  const slice = new TimeSlice()
  let position = 0
  const add = (update: FilterUpdate): void => {
    const path = `updates[${position++}]`
    checkObject(update, path)
    const { id, filter } = update
    texts.set(parseId(id, `${path}.id`), filter === '' ? '' : parseNewFilterValues(filter, `${path}.filter`).text)
  }
  if (typeof updates === 'object' && updates !== null && Symbol.asyncIterator in updates) {
    for await (const update of updates) {
      if (position === batchMax) throw tooMany(batchMax)
      add(update)
      if (slice.isOver) await slice.renew()
    }
    return texts
  }
  checkBatch(updates, 'updates', batchMax)
  // In one turn, because the caller may change its list in the next.
  for (const update of updates) add(update)
  return texts
}

function tooMany(limit: number): EngineError {
  const message = `updates has more than ${limit} entries, the limit of one call`
  return new EngineError('limit_exceeded', message, { field: 'updates', value: limit + 1, limit })
}
