// Errors of one search of a batch name its position: the field `fields.plot.query` of the second search is `searches[1].fields.plot.query`.
import { EngineError } from '../errors.ts'

/** Errors about the request. Others, such as those of the state of the collection, concern the whole batch. */
const codesOfRequests: ReadonlySet<string> = new Set([
  ...['invalid_argument', 'invalid_filter', 'limit_exceeded', 'field_not_found', 'object_not_found'],
])

/** Reads the search at `position`. Errors name the position. */
export function inSearch<T>(position: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw errorOfSearch(position, error)
  }
}

/** The error with the position of the search, if it is one about the request. */
export function errorOfSearch(position: number, error: unknown): unknown {
  if (!(error instanceof EngineError) || !codesOfRequests.has(error.code)) return error
  const place = `searches[${position}]`
  const { field } = error.details
  if (field?.startsWith('searches[')) return error
  const named = field === undefined ? place : `${place}.${field}`
  const message =
    field !== undefined && error.message.includes(field)
      ? error.message.replace(field, () => named)
      : `${place}: ${error.message}`
  return new EngineError(error.code, message, { ...error.details, field: named }, { cause: error })
}
