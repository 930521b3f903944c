// The values in a stored text: those of its filter, and its expiry as the index of filter values has it.
import type { JsonObject } from '../model/json.ts'
import { expiryKey, filterIn, splitText } from '../model/stored-text.ts'
import { parseFilterValues } from './values.ts'

/** The filter values in a stored text. */
export function storedValues(text: string): JsonObject {
  return parseFilterValues(filterIn(text)).values
}

/** What the index of filter values has of a stored text. */
export function indexedValues(text: string): JsonObject {
  if (text === '') return {}
  const { filter, expiresAt } = splitText(text)
  const { values } = parseFilterValues(filter)
  return expiresAt === undefined ? values : { ...values, [expiryKey]: expiresAt }
}
