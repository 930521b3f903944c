// Errors that refuse a filter. They name the place and show the value.
import { EngineError } from '../errors.ts'
import { formatValue, plainValue } from './values.ts'

export interface Place {
  /** A path into the request. */
  readonly path: string
  /** Index of the outermost condition. */
  readonly condition?: number
  readonly key?: string
  readonly operator?: string
}

export function refuse(place: Place, what: string, value: unknown, limit?: unknown): EngineError {
  const key = place.key === undefined ? '' : ` (key ${JSON.stringify(formatValue(place.key))})`
  const given = value === undefined ? '' : `; got ${formatValue(value)}`
  const { path, ...details } = place
  return new EngineError('invalid_filter', `${path}${key}: ${what}${given}`, {
    field: path,
    ...details,
    ...(value === undefined ? {} : { value: plainValue(value) }),
    ...(limit === undefined ? {} : { limit }),
  })
}
