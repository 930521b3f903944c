// What a read requires of the node that answers it.
import type { ReadOptions } from '../transport.ts'

export type ReadConditions = Pick<ReadOptions, 'minLsn' | 'consistency' | 'maxStalenessMs'>

/** The members of a body. JSON.stringify omits undefined ones. */
export function conditionsBody({ minLsn, consistency, maxStalenessMs }: ReadConditions) {
  return { min_lsn: minLsn, consistency, max_staleness_ms: maxStalenessMs }
}

/** The same in the query string, for reads without such a body. */
export function pathWith(path: string, read: ReadConditions): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(conditionsBody(read))) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${parameters}`
}

export function greatest(...lsns: readonly (number | undefined)[]): number | undefined {
  const given = lsns.filter((lsn) => lsn !== undefined)
  return given.length === 0 ? undefined : Math.max(...given)
}
