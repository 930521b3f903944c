// Checks the request of an undo.
import { EngineError } from '../errors.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { undoIdsMax } from '../limits.ts'
import type { UndoRequest } from '../model/history.ts'
import { checkObject, parseIds, printed, shownValue } from '../model/ids.ts'
import type { Chosen } from './undo.ts'

/** Throws invalid_argument, invalid_filter, and limit_exceeded. */
export function chosenBy(request: UndoRequest): Chosen {
  checkObject(request, 'request')
  const { ids, filter } = request
  if ((ids === undefined) === (filter === undefined))
    throw new EngineError('invalid_argument', 'give either ids or filter', { field: 'ids', value: shownValue(ids) })
  if (ids === undefined) {
    const conditions = parseFilter(filter)
    if (Array.isArray(filter) && filter.length === 0)
      throw new EngineError(
        'invalid_argument',
        'an empty filter matches every object; restore the collection instead',
        {
          field: 'filter',
          value: shownValue(filter),
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

/** What an undo does besides. Throws invalid_argument. */
export function undoFlags({ dryRun, keepExpired }: UndoRequest): {
  readonly dryRun: boolean
  readonly keepsExpired: boolean
} {
  return { dryRun: flagOf(dryRun, 'dryRun'), keepsExpired: flagOf(keepExpired, 'keepExpired') }
}

function flagOf(value: unknown, field: string): boolean {
  if (value === undefined) return false
  if (typeof value === 'boolean') return value
  const message = `${field} must be true or false, got ${printed(value)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(value) })
}
