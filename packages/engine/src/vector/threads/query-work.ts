// How much work a query is, which decides who answers it.
import type { Query } from '../pool.ts'

/** Rows whose codes are compared in the time that a walk takes for one entry of its pool. */
const comparedPerEntry = 16

/** The largest work of a small query: a few tenths of a millisecond. */
const smallWork = 2 ** 17

/** An upper bound for a walk: its pool times the dimension. Infinity for queries whose work is not known in advance. */
export function workOf(query: Query): number {
  if (query.kind !== 'search') return Number.POSITIVE_INFINITY
  const { compared, ef } = query
  return (compared > 0 ? compared / comparedPerEntry : ef) * query.query.length
}

/** Small queries are answered by the owner if it has time. */
export function isLong(query: Query): boolean {
  return workOf(query) > smallWork
}
