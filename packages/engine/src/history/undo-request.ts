// Checks the request of an undo.
import { EngineError } from '../errors.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { undoIdsMax } from '../limits.ts'
import type { UndoRequest } from '../model/history.ts'
import { parseIds } from '../model/ids.ts'
import type { Chosen } from './undo.ts'

/** Throws invalid_argument, invalid_filter, and limit_exceeded. */
export function chosenBy({ ids, filter }: UndoRequest): Chosen {
  if ((ids === undefined) === (filter === undefined))
    throw new EngineError('invalid_argument', 'give either ids or filter', { field: 'ids' })
  if (ids === undefined) {
    const conditions = parseFilter(filter)
    if (Array.isArray(filter) && filter.length === 0)
      throw new EngineError(
        'invalid_argument',
        'an empty filter matches every object; restore the collection instead',
        {
          field: 'filter',
        },
      )
    return { conditions }
  }
  if (Array.isArray(ids) && ids.length > undoIdsMax) {
    const message = `ids has ${ids.length} entries, but at most ${undoIdsMax} are allowed`
    throw new EngineError('limit_exceeded', message, { field: 'ids', value: ids.length, limit: undoIdsMax })
  }
  return { ids: parseIds(ids) }
}
