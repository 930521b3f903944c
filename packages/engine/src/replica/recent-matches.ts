// What the filters asked of late match, as of the version they were asked at: the same few filters come with most searches, and
// over a million objects a range takes longer than the walk that follows. Holds nothing that the filter index does not know:
// the next event empties it.
import type { Filter } from '../filter/condition.ts'
import type { FilterIndex, FilterMatches } from '../filter/filter-index.ts'

/** Filters remembered; each takes a bit for each ordinal. */
const filtersMax = 16
/** Longer ones, as lists of thousands of operands make, are not worth a comparison. */
const keyLengthMax = 4_096

export class RecentMatches {
  readonly #index: FilterIndex
  #version = -1
  readonly #matches = new Map<string, FilterMatches>()

  constructor(index: FilterIndex) {
    this.#index = index
  }

  /** The objects that the filter holds for as of the version, which is the newest. Shared: nobody may change the bitmap. */
  of(filter: Filter, version: number): FilterMatches {
    if (version !== this.#version) this.#matches.clear()
    this.#version = version
    const key = JSON.stringify(filter, distinct)
    const known = this.#matches.get(key)
    const matches = known ?? this.#index.evaluate(filter)
    if (key.length > keyLengthMax) return matches
    // Taken out and put in again, so that the first is the one that was not asked for the longest.
    this.#matches.delete(key)
    this.#matches.set(key, matches)
    const [oldest] = this.#matches.keys()
    if (this.#matches.size > filtersMax && oldest !== undefined) this.#matches.delete(oldest)
    return matches
  }

  bytes(): number {
    let sum = 0
    for (const { bitmap } of this.#matches.values()) sum += bitmap.bytes()
    return sum
  }
}

/** JSON has one zero and no infinity. */
function distinct(_: string, value: unknown): unknown {
  if (Object.is(value, -0)) return { number: '-0' }
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? { number: `${value}` } : value
}
