// Divides a run's values, ascending, into a few groups of about equal size, and keeps for each group the set of
// ordinals with a value in it. A wide range unites whole sets and checks single values only at its ends. The groups are
// derived from the run: built after a range query was slow, and dropped when they are out of date.
import type { Bounds } from './condition.ts'

/** Uses about two bytes of memory for each ordinal of the collection. */
const groupsMax = 16

export class ValueGroups {
  /** Words of one set. */
  readonly #words: number
  readonly #sets: Int32Array
  /** The lowest value of each group; the first group has no lower bound. */
  readonly #starts: number[] = []
  /** Target size of a group, not counting the ordinals of the value that fills it. */
  readonly #full: number
  #filled = 0
  #last = Number.NaN
  /** Ordinals that may still be added before groups of equal size would differ. */
  #additions: number

  /** For `count` ordinals, all below `words` * 32. */
  constructor(words: number, count: number) {
    this.#words = words
    this.#sets = new Int32Array(words * groupsMax)
    this.#full = Math.ceil(count / groupsMax)
    this.#additions = count >>> 1
  }

  /**
   * Used while building, with values in ascending order: returns the set that receives the bits of the value's next
   * `count` ordinals.
   */
  next(value: number, count: number): Int32Array {
    if (this.#starts.length === 0) this.#starts.push(Number.NEGATIVE_INFINITY)
    else if (this.#filled >= this.#full && value !== this.#last) {
      this.#starts.push(value)
      this.#filled = 0
    }
    this.#filled += count
    this.#last = value
    return this.#setAt(this.#starts.length - 1)
  }

  /** Returns false when the groups are out of date and must be dropped. */
  add(value: number, ordinal: number): boolean {
    this.#additions--
    if (this.#additions < 0 || ordinal >>> 5 >= this.#words) return false
    const index = this.#groupOf(value) * this.#words + (ordinal >>> 5)
    this.#sets[index]! |= 1 << (ordinal & 31)
    return true
  }

  /** Must be called for all values of an ordinal, which then has none: one bit stands for all its values in a group. */
  remove(value: number, ordinal: number): void {
    const index = this.#groupOf(value) * this.#words + (ordinal >>> 5)
    this.#sets[index]! &= ~(1 << (ordinal & 31))
  }

  /** Sets the bits of all groups within the bounds; returns the remaining bounds on either side. */
  collect(bounds: Bounds, into: Int32Array): readonly Bounds[] {
    const starts = this.#starts
    const first = starts.findIndex((start) => (bounds.lowOpen ? start > bounds.low : start >= bounds.low))
    const beyond = starts.findIndex((start) => start > bounds.high)
    const end = bounds.high === Number.POSITIVE_INFINITY ? starts.length : (beyond < 0 ? starts.length : beyond) - 1
    if (first < 0 || first >= end) return [bounds]
    for (let group = first; group < end; group++) unite(this.#setAt(group), into)
    const rest: Bounds[] = []
    if (first > 0) rest.push({ ...bounds, high: starts[first]!, highOpen: true })
    if (end < starts.length) rest.push({ ...bounds, low: starts[end]!, lowOpen: false })
    return rest
  }

  bytes(): number {
    return this.#sets.byteLength
  }

  #setAt(group: number): Int32Array {
    return this.#sets.subarray(group * this.#words, (group + 1) * this.#words)
  }

  #groupOf(value: number): number {
    const after = this.#starts.findIndex((start) => start > value)
    return (after < 0 ? this.#starts.length : after) - 1
  }
}

/** `into` may be longer than the set, when ordinals were added since. */
function unite(set: Int32Array, into: Int32Array): void {
  for (let index = 0; index < set.length; index++) into[index]! |= set[index]!
}
