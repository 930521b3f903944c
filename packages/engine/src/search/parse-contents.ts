// Which contents of their fields a read returns objects with.
import { EngineError } from '../errors.ts'
import { checkObject, printed } from '../model/ids.ts'
import type { ContentOptions } from '../model/query.ts'
import { allContents, type WantedContents } from './answer-room.ts'

/** Texts are there if vectors are, unless the caller says otherwise. Throws invalid_argument. */
export function parseContents(options: ContentOptions | undefined, path = 'options'): WantedContents {
  if (options === undefined) return allContents
  checkObject(options, path)
  const vectors = choiceOf(options, 'includeVectors') ?? true
  return { vectors, texts: choiceOf(options, 'includeTexts') ?? vectors }
}

function choiceOf(options: ContentOptions, field: keyof ContentOptions): boolean | undefined {
  // Programs in JavaScript may pass anything.
  const value: unknown = options[field]
  if (value === undefined || typeof value === 'boolean') return value
  throw new EngineError('invalid_argument', `${field} must be true or false, got ${printed(value)}`, {
    field,
    value: printed(value),
  })
}
