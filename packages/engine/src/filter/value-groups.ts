// A run's values, ascending, cut into a few groups of about as many ordinals each, and beside every group the set of ordinals that
// have a value in it: a wide range takes whole sets, and looks at values one by one only at its ends. Says nothing that the run
// does not know; made of it when a range took long, and given up rather than grown.
import type { Bounds } from './condition.ts'

/** As much memory as two bytes for each ordinal of the collection. */
const groupsMax = 16

export class ValueGroups {
  /** Words of one set. */
  readonly #words: number
  readonly #sets: Int32Array
  /** The lowest value of each group; the first begins before all. */
  readonly #starts: number[] = []
  /** Ordinals of a group, but for those of the value that fills it. */
  readonly #full: number
  #filled = 0
  #last = Number.NaN
  /** Ordinals that may be added until groups of even size would be others. */
  #additions: number

  /** For `count` ordinals, all below `words` times 32. */
  constructor(words: number, count: number) {
    this.#words = words
    this.#sets = new Int32Array(words * groupsMax)
    this.#full = Math.ceil(count / groupsMax)
    this.#additions = count >>> 1
  }

  /** While it is made, from the lowest value to the highest: the set where the bits of the value's next `count` ordinals belong. */
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

  /** False where it is out of date and has to be given up. */
  add(value: number, ordinal: number): boolean {
    this.#additions--
    if (this.#additions < 0 || ordinal >>> 5 >= this.#words) return false
    const at = this.#groupOf(value) * this.#words + (ordinal >>> 5)
    this.#sets[at]! |= 1 << (ordinal & 31)
    return true
  }

  /** To be called for all values of an ordinal, and then it has none: its bit stands for each of those in one group. */
  remove(value: number, ordinal: number): void {
    const at = this.#groupOf(value) * this.#words + (ordinal >>> 5)
    this.#sets[at]! &= ~(1 << (ordinal & 31))
  }

  /** Sets the bits of all groups that lie within the bounds; gives what is left of the bounds on either side. */
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

/** `into` may be longer, where ordinals were given since. */
function unite(set: Int32Array, into: Int32Array): void {
  for (let at = 0; at < set.length; at++) into[at]! |= set[at]!
}
