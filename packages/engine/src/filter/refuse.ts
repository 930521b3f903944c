// How a filter is refused: with a sentence that names the place and shows what stood there.
import { EngineError } from '../errors.ts'
import { shown } from './values.ts'

export interface Place {
  /** As a path into the request. */
  readonly path: string
  /** Index of the outermost condition. */
  readonly condition?: number
  readonly key?: string
  readonly operator?: string
}

export function refuse(place: Place, what: string, value: unknown, limit?: unknown): EngineError {
  const key = place.key === undefined ? '' : ` (key ${JSON.stringify(shown(place.key))})`
  const given = value === undefined ? '' : `; it was given ${shown(value)}`
  const { path, ...details } = place
  return new EngineError('invalid_filter', `${path}${key}: ${what}${given}`, {
    field: path,
    ...details,
    value: shown(value),
    ...(limit === undefined ? {} : { limit }),
  })
}
