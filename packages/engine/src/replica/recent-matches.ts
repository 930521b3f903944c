// What the filters asked of late match, as of the version they were asked at: the same few filters come with most searches, and
// over a million objects a range takes longer than the walk that follows. Holds nothing that the filter index does not know:
// the next event empties it.
import type { Filter } from '../filter/condition.ts'
import type { FilterIndex, FilterMatches } from '../filter/filter-index.ts'

/** Filters remembered; each takes a bit for each ordinal. */
const filtersMax = 16
/** Longer ones, as lists of thousands of operands make, are not worth a comparison. */
const keyLengthMax = 4_096

interface Remembered {
  readonly matches: FilterMatches
  /** Rises from one question to the next. */
  uses: number
}

export class RecentMatches {
  readonly #index: FilterIndex
  #version = -1
  #matches = new Map<string, Remembered>()
  #turn = 0

  constructor(index: FilterIndex) {
    this.#index = index
  }

  /** The objects that the filter holds for as of the version, which is the newest. Shared: nobody may change the bitmap. */
  matchesOf(filter: Filter, version: number): FilterMatches {
    // A new map: one that is cleared leads from its old table to the next, see InFlight.
    if (version !== this.#version) this.#matches = new Map()
    this.#version = version
    this.#turn += 1
    const key = JSON.stringify(filter, distinct)
    const known = this.#matches.get(key)
    if (known !== undefined) {
      known.uses = this.#turn
      return known.matches
    }
    const matches = this.#index.evaluate(filter)
    if (key.length > keyLengthMax) return matches
    if (this.#matches.size === filtersMax) this.#forgetOldest()
    this.#matches.set(key, { matches, uses: this.#turn })
    return matches
  }

  /** The one that was not asked for the longest. */
  #forgetOldest(): void {
    const [oldest] = [...this.#matches].sort(([, a], [, b]) => a.uses - b.uses)
    if (oldest !== undefined) this.#matches.delete(oldest[0])
  }

  bytes(): number {
    let sum = 0
    for (const { matches } of this.#matches.values()) sum += matches.bitmap.bytes()
    return sum
  }
}

/** JSON has one zero and no infinity. */
function distinct(_: string, value: unknown): unknown {
  if (Object.is(value, -0)) return { number: '-0' }
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? { number: `${value}` } : value
}
