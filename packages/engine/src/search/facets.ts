// How often the values of a filter key occur among the objects that match.

import { facetValuesDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { facetValuesMax } from '../limits.ts'
import { printed } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { FacetRequest, Facets } from '../model/query.ts'
import type { Replica } from '../replica/replica.ts'

export interface FacetInput {
  readonly key: string
  readonly filter: Filter | undefined
  readonly limit: number
}

/** Values kept until the least frequent are left out. */
const sortedAtOnce = 1_000

/** Values counted in one turn of the event loop: some milliseconds. */
const valuesOfTurn = 4_096

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseFacets({ key, filter, limit = facetValuesDefault }: FacetRequest): FacetInput {
  if (typeof key !== 'string') {
    throw new EngineError('invalid_argument', `key must be a filter key, got ${printed(key)}`, {
      field: 'key',
      value: printed(key),
    })
  }
  const conditions = filter === undefined ? undefined : parseFilter(filter)
  return {
    key,
    filter: conditions?.length === 0 ? undefined : conditions,
    limit: wholeNumber(limit, 'limit', 1, facetValuesMax),
  }
}

/**
 * Counts the values, and yields after every few thousand of them: a key may have millions. Throughout, the filters must be those of
 * one version.
 */
export function* countFacets(
  { filters, lsnApplied: lsn }: Pick<Replica, 'filters' | 'lsnApplied'>,
  { key, filter, limit }: FacetInput,
): Generator<void, Facets> {
  const within = filter && filters.evaluate(filter).bitmap
  let values: Facets['values'][number][] = []
  let distinct = 0
  for (const value of filters.valuesOf(key, within)) {
    values.push(value)
    distinct += 1
    if (values.length > 2 * limit + sortedAtOnce) values = first(values, limit)
    if (distinct % valuesOfTurn === 0) yield
  }
  return { values: first(values, limit), distinct, lsn }
}

function first(values: Facets['values'][number][], limit: number): Facets['values'][number][] {
  return values.sort((a, b) => b.count - a.count || compare(a.value as Counted, b.value as Counted)).slice(0, limit)
}

type Counted = string | number | boolean

/** Booleans, numbers, strings; each in its own order. */
function compare(a: Counted, b: Counted): number {
  if (typeof a !== typeof b) return typeof a < typeof b ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}
