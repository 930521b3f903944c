// The matches of recent filters in a reader's thread. The owner evaluates a filter once for each version, and shares the bitmap.
import type { Filter } from '../model/filter.ts'
import { filterKey, filterKeyLengthMax } from '../replica/filter-key.ts'
import type { SharedMatches } from '../sharing/messages.ts'

/** Number of cached filters of one collection, as the owner has. */
const filtersMax = 16

export class SharedFilters {
  readonly #evaluate: (filter: Filter) => Promise<SharedMatches | undefined>
  /** By key, the least recently fetched first. */
  #cached = new Map<string, SharedMatches>()
  readonly #fetching = new Map<string, Promise<SharedMatches | undefined>>()

  /** `evaluate` calls the owner. */
  constructor(evaluate: (filter: Filter) => Promise<SharedMatches | undefined>) {
    this.#evaluate = evaluate
  }

  /** Undefined: the filter has to be fetched. The matches may be of an earlier version. */
  find(filter: Filter): SharedMatches | undefined {
    return this.#cached.get(filterKey(filter))
  }

  /** Searches that need the same filter wait for one evaluation. */
  fetch(filter: Filter): Promise<SharedMatches | undefined> {
    const key = filterKey(filter)
    const running = this.#fetching.get(key)
    if (running !== undefined) return running
    const fetching = this.#evaluate(filter)
      .then((matches) => {
        if (matches !== undefined && key.length <= filterKeyLengthMax) this.#remember(key, matches)
        return matches
      })
      .finally(() => this.#fetching.delete(key))
    this.#fetching.set(key, fetching)
    return fetching
  }

  #remember(key: string, matches: SharedMatches): void {
    this.#cached.delete(key)
    // Bitmaps of earlier versions are of no use.
    for (const [other, { version }] of this.#cached) if (version < matches.version) this.#cached.delete(other)
    const [oldest] = this.#cached.keys()
    if (this.#cached.size >= filtersMax && oldest !== undefined) this.#cached.delete(oldest)
    this.#cached.set(key, matches)
  }
}
