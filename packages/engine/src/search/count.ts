// Counts the objects that match conditions on texts.
import type { Filter } from '../model/filter.ts'
import type { CountRequest } from '../model/reads.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { type Conditions, withMatches } from './match-texts.ts'

/** The exact number, and the record as of which it is. */
export function countMatching(
  replica: ReadableReplica,
  conditions: Conditions,
): Promise<{ readonly count: number; readonly lsn: number }> {
  return withMatches(replica, conditions, async ({ count, lsn }) => ({ count, lsn }))
}

/** A filter is a list. A wrong value is taken for a filter, whose parser refuses it. */
export function isCountRequest(given: Filter | CountRequest): given is CountRequest {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && 'match' in given
}
