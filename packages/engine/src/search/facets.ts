// Counts how often the values of a filter key occur among the matching objects.

import { facetValuesDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { facetValuesMax } from '../limits.ts'
import type { Bitmap } from '../memory/bitmap.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { FacetRequest, Facets } from '../model/reads.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { type Conditions, parseConditions, withMatches } from './match-texts.ts'

/** A checked request for facets. */
export interface FacetInput extends Conditions {
  readonly key: string
  readonly limit: number
}

/** Number of values beyond the limit that are kept until the least frequent are dropped. */
const sortedExtra = 1_000

/** Values counted in one turn of the event loop, which takes a few milliseconds. */
const turnValues = 4_096

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseFacets(request: FacetRequest, definition: CollectionSchema): FacetInput {
  checkObject(request, 'request')
  const { key, limit = facetValuesDefault } = request
  if (typeof key !== 'string') {
    throw new EngineError('invalid_argument', `key must be a filter key, got ${printed(key)}`, {
      field: 'key',
      value: shownValue(key),
    })
  }
  return {
    key,
    ...parseConditions(request, definition),
    limit: wholeNumber(limit, 'limit', 1, facetValuesMax),
  }
}

/**
 * Counts the values and yields after every few thousand, because a key may have millions. The filters must not change between the steps.
 * `matching` are the objects that match, if there are conditions on texts.
 */
export function* countFacets(
  { filters, lsnApplied: lsn }: Pick<ReadableReplica, 'filters' | 'lsnApplied'>,
  { key, filter, limit }: FacetInput,
  matching?: Bitmap,
): Generator<void, Facets> {
  const within = matching ?? (filter.length > 0 ? filters.evaluate(filter).bitmap : undefined)
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

/** The same if it takes one turn, and the version is the one of which texts were matched; otherwise undefined. */
export async function countFacetsAtOnce(replica: ReadableReplica, input: FacetInput): Promise<Facets | undefined> {
  const count = (matching?: Bitmap) => {
    const first = countFacets(replica, input, matching).next()
    return first.done ? first.value : undefined
  }
  if (input.texts.length === 0) return count()
  return withMatches(replica, input, async ({ bitmap, version }) => {
    replica.publish()
    return version === replica.version ? count(bitmap) : undefined
  })
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
