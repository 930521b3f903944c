// Checks which values of their fields the objects of a read have: vectors and sparse terms, texts.
import { EngineError } from '../errors.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import type { ContentOptions } from '../model/reads.ts'
import { allContents, type WantedContents } from './answer-room.ts'

/** Texts are there if vectors are, unless the caller says otherwise. Throws invalid_argument. */
export function parseContents(options: ContentOptions | undefined, path = 'options'): WantedContents {
  if (options === undefined) return allContents
  checkObject(options, path)
  const vectors = choiceOf(options, 'includeVectors') ?? true
  return { vectors, texts: choiceOf(options, 'includeTexts') ?? vectors }
}

/** A member that is true or false, if it is there. Throws invalid_argument. */
export function choiceOf<O extends object>(options: O, field: keyof O & string): boolean | undefined {
  // Programs in JavaScript may pass anything.
  const value: unknown = options[field]
  if (value === undefined || typeof value === 'boolean') return value
  throw new EngineError('invalid_argument', `${field} must be true or false, got ${printed(value)}`, {
    field,
    value: shownValue(value),
  })
}
