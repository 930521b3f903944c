// Checks a request for changes.
import { EngineError } from '../errors.ts'
import { changeKinds } from '../events/codec.ts'
import type { Filter } from '../filter/condition.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { feedNamesMax } from '../limits.ts'
import type { ChangesRequest } from '../model/changes.ts'
import { checkObject, parseName, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'

/** A checked request. */
export interface ChangesWanted {
  readonly from: number | undefined
  readonly cursor: string | undefined
  readonly collections: ReadonlySet<string> | undefined
  readonly kinds: ReadonlySet<string> | undefined
  readonly filter: Filter | undefined
  readonly includeVectors: boolean
  readonly signal: AbortSignal | undefined
  /** The same for requests that get the same changes. */
  readonly view: string
}

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseChanges(request: ChangesRequest = {}): ChangesWanted {
  checkObject(request, 'request')
  const { from, cursor, collections, kinds, filter, includeVectors = false, signal } = request
  if (typeof includeVectors !== 'boolean')
    throw invalid('includeVectors', `must be true or false, got ${printed(includeVectors)}`, includeVectors)
  const names = namesOf(collections, 'collections')?.map((name, i) => parseName(name, `collections[${i}]`))
  const chosen = namesOf(kinds, 'kinds')
  for (const [i, kind] of (chosen ?? []).entries())
    if (!changeKinds.includes(kind))
      throw invalid(`kinds[${i}]`, `is ${printed(kind)}, but kinds are ${changeKinds.join(', ')}`, kind)
  return {
    from: from === undefined ? undefined : wholeNumber(from, 'from', 0, Number.MAX_SAFE_INTEGER),
    cursor: cursor === undefined ? undefined : parseName(cursor, 'cursor'),
    collections: names && new Set(names),
    kinds: chosen && new Set(chosen),
    filter: filter === undefined ? undefined : parseFilter(filter),
    includeVectors,
    signal,
    view: JSON.stringify([names, chosen, filter, includeVectors]),
  }
}

function namesOf(value: unknown, field: string): readonly string[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(field, `must be a list of one or more names, got ${printed(value)}`, value)
  if (value.length > feedNamesMax) {
    const details = { field, value: value.length, limit: feedNamesMax }
    throw new EngineError(
      'limit_exceeded',
      `${field} has ${value.length} names, at most ${feedNamesMax} are allowed`,
      details,
    )
  }
  return value as readonly string[]
}

function invalid(field: string, what: string, value: unknown): EngineError {
  return new EngineError('invalid_argument', `${field} ${what}`, { field, value: shownValue(value) })
}
