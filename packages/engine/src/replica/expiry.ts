// Which objects of a replica have expired. Reads hide them from their expiry on, by the clock of the engine that serves the replica. The fold has no
// clock: without one nothing is hidden, and no part of the state depends on it.
import type { Filter } from '../filter/condition.ts'
import type { FilterIndex, FilterMatches } from '../filter/filter-index.ts'

/** The objects that are hidden. The bitmap is shared and must not be changed. */
export interface Expired extends FilterMatches {
  /** They are the expired objects from this time on, and before the other one. */
  readonly fromMs: number
  readonly untilMs: number
}

const noClock = () => Number.NEGATIVE_INFINITY

export class Expiry {
  /** The time of reads, in milliseconds since 1970. */
  clock: () => number = noClock
  readonly #index: FilterIndex
  #first: number
  #found: Expired | undefined
  #wasUsed: boolean

  constructor(index: FilterIndex) {
    this.#index = index
    this.#first = index.expiryFirst
    this.#wasUsed = this.#first < Number.POSITIVE_INFINITY
  }

  /** Whether an object has an expiry, or had one since the replica was loaded. */
  get wasUsed(): boolean {
    return this.#wasUsed
  }

  /** The earliest expiry as of the newest version; Infinity if no object expires. */
  get first(): number {
    return this.#first
  }

  /** Whether an object has expired. Without expiries it reads no clock. */
  get isDue(): boolean {
    return this.#first < Number.POSITIVE_INFINITY && this.#first <= this.clock()
  }

  /** The index is that of another version from now on. */
  changed(): void {
    this.#first = this.#index.expiryFirst
    this.#wasUsed ||= this.#first < Number.POSITIVE_INFINITY
    this.#found = undefined
  }

  /** The expired objects, as of the newest version; undefined if there are none. No publication may be running. */
  find(): Expired | undefined {
    const now = this.clock()
    if (this.#first > now) return undefined
    const known = this.#found
    if (known !== undefined && known.fromMs <= now && now < known.untilMs) return known
    const { bitmap, count, nextMs } = this.#index.expiredBy(now)
    this.#found = { bitmap, count, fromMs: now, untilMs: nextMs }
    return this.#found
  }
}

/** The filters of a replica without the objects that have expired. */
export class VisibleFilters {
  readonly #index: FilterIndex
  readonly #expired: () => Expired | undefined

  constructor(index: FilterIndex, expired: () => Expired | undefined) {
    this.#index = index
    this.#expired = expired
  }

  evaluate(filter: Filter): FilterMatches {
    const expired = this.#expired()
    return withoutExpired(this.#index.evaluate(filter), expired)
  }

  valuesOf(key: string, within: FilterMatches['bitmap'] | undefined): ReturnType<FilterIndex['valuesOf']> {
    const visible = within ?? (this.#expired() && this.evaluate([]).bitmap)
    return this.#index.valuesOf(key, visible)
  }
}

/** The matches that have not expired. Changes the bitmap. */
export function withoutExpired(matches: FilterMatches, expired: Expired | undefined): FilterMatches {
  if (expired === undefined) return matches
  const bitmap = matches.bitmap.andNot(expired.bitmap)
  return { bitmap, count: bitmap.count }
}
