// Counts how often the values of a filter key occur among the matching objects.

import { facetValuesDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { facetValuesMax } from '../limits.ts'
import { checkObject, printed } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { FacetRequest, Facets } from '../model/query.ts'
import type { ReadableReplica } from '../replica/readable.ts'

/** A checked request for facets. */
export interface FacetInput {
  readonly key: string
  readonly filter: Filter | undefined
  readonly limit: number
}

/** Number of values beyond the limit that are kept until the least frequent are dropped. */
const sortedExtra = 1_000

/** Values counted in one turn of the event loop, which takes a few milliseconds. */
const turnValues = 4_096

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseFacets(request: FacetRequest): FacetInput {
  checkObject(request, 'request')
  const { key, filter, limit = facetValuesDefault } = request
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
 * Counts the values and yields after every few thousand, because a key may have millions. The filters must not change between the steps.
 */
export function* countFacets(
  { filters, lsnApplied: lsn }: Pick<ReadableReplica, 'filters' | 'lsnApplied'>,
  { key, filter, limit }: FacetInput,
): Generator<void, Facets> {
  const within = filter && filters.evaluate(filter).bitmap
  let values: Facets['values'][number][] = []
  let distinct = 0
  for (const value of filters.valuesOf(key, within)) {
    values.push(value)
    distinct += 1
    if (values.length > 2 * limit + sortedExtra) values = mostFrequent(values, limit)
    if (distinct % turnValues === 0) yield
  }
  return { values: mostFrequent(values, limit), distinct, lsn }
}

function mostFrequent(values: Facets['values'][number][], limit: number): Facets['values'][number][] {
  return values.sort((a, b) => b.count - a.count || compare(a.value as Counted, b.value as Counted)).slice(0, limit)
}

type Counted = string | number | boolean

/** Order of values: booleans, numbers, strings, each in their own order. */
function compare(a: Counted, b: Counted): number {
  if (typeof a !== typeof b) return typeof a < typeof b ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}
