// Caches the matches of recent filters as of one version. Most searches use the same few filters, and over a million objects a range takes
// longer than the walk that follows. Any event empties the cache, and so does the next expiry.
import type { Filter } from '../filter/condition.ts'
import type { FilterIndex, FilterMatches } from '../filter/filter-index.ts'
import { type Expired, withoutExpired } from './expiry.ts'
import { filterKey, filterKeyLengthMax } from './filter-key.ts'

/** Number of cached filters. Each takes one bit for each ordinal. */
const filtersMax = 16

interface Remembered {
  readonly matches: FilterMatches
  /** Value of the use counter at the last use. */
  uses: number
}

/** The cache of one collection. */
export class RecentMatches {
  readonly #index: Pick<FilterIndex, 'evaluate'>
  #version = -1
  #expired: Expired | undefined
  #matches = new Map<string, Remembered>()
  #turn = 0

  constructor(index: Pick<FilterIndex, 'evaluate'>) {
    this.#index = index
  }

  /**
   * The objects that match the filter and have not expired, as of the version, which is the newest. The bitmap is shared and must not be
   * changed.
   */
  matchesOf(filter: Filter, version: number, expired?: Expired | undefined): FilterMatches {
    // Replaced instead of cleared: a cleared map keeps its old table alive, see InFlight.
    if (version !== this.#version || expired !== this.#expired) this.#matches = new Map()
    this.#version = version
    this.#expired = expired
    this.#turn += 1
    const key = filterKey(filter)
    const cached = this.#matches.get(key)
    if (cached !== undefined) {
      cached.uses = this.#turn
      return cached.matches
    }
    const matches = withoutExpired(this.#index.evaluate(filter), expired)
    if (key.length > filterKeyLengthMax) return matches
    if (this.#matches.size === filtersMax) this.#forgetOldest()
    this.#matches.set(key, { matches, uses: this.#turn })
    return matches
  }

  /** The same for a filter that is not used again. The bitmap is owned by the caller. */
  evaluate(filter: Filter, expired: Expired | undefined): FilterMatches {
    return withoutExpired(this.#index.evaluate(filter), expired)
  }

  /** Removes the filter that was not used for the longest time. */
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
