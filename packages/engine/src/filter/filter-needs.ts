// Sums up the needs of the filter index for the values of several objects, one object at a time, so that the values
// need not be kept.
import { EngineError } from '../errors.ts'
import { filterKeysOfCollectionMax } from '../limits.ts'
import type { JsonObject, JsonValue } from '../model/json.ts'
import { expiryKey } from '../model/stored-text.ts'

export class FilterNeeds {
  readonly keys = new Set<string>()
  entries = 0
  strings = 0
  /** Bytes of the strings, as UTF-8. */
  bytes = 0

  static from(objects: Iterable<JsonObject>): FilterNeeds {
    const needs = new FilterNeeds()
    for (const values of objects) needs.add(values)
    return needs
  }

  /** Counts the expiries of objects. */
  addExpiries(objects: number): void {
    if (objects === 0) return
    this.keys.add(expiryKey)
    this.entries += objects
  }

  /** Throws EngineError limit_exceeded when the objects have more distinct keys than a collection may have. */
  add(values: JsonObject): void {
    for (const [key, value] of Object.entries(values)) {
      this.keys.add(key)
      if (!Array.isArray(value)) this.#addElement(value)
      else for (const element of value) this.#addElement(element)
    }
    if (this.keys.size > filterKeysOfCollectionMax) throw tooManyKeys(`these objects have more`)
  }

  #addElement(element: JsonValue): void {
    this.entries++
    if (typeof element !== 'string') return
    this.strings++
    this.bytes += Buffer.byteLength(element)
  }
}

export function tooManyKeys(why: string): EngineError {
  return new EngineError(
    'limit_exceeded',
    `a collection has at most ${filterKeysOfCollectionMax} distinct filter keys; ${why}`,
    { field: 'filter', limit: filterKeysOfCollectionMax },
  )
}
