// Decides which candidates of a search are compared exactly, and keeps the best of them. Candidates are in the order of their estimated
// similarities, and estimates have errors of a common size. It reads nothing: the caller compares the candidate `next` and puts its similarity.
import type { RankOptions } from './rank-originals.ts'
import type { Best } from './ranking.ts'

/** The number of exact comparisons from which on their errors bound those of the others. */
const errorsMin = 10
/**
 * A candidate is compared if it would be among the best with an error of this many standard deviations. With 3, recall of ten results at 768
 * dimensions is .0004 below that of comparing all candidates, and 13 of 24 (int4) and 21 of 48 (int2) are compared.
 */
const deviations = 3
/** Candidates are in the order of errors if those that were compared differ by less than this many deviations. */
const blurredDeviations = 2

export class CandidateRanking {
  readonly #ordinals: Uint32Array
  readonly #estimates: Float32Array
  readonly #k: number
  readonly #threshold: number
  /** The best so far, best first; ties by ordinal. */
  readonly #bestOrdinals: number[] = []
  readonly #best: number[] = []
  #squares = 0
  #nearest = Number.NEGATIVE_INFINITY
  #farthest = Number.POSITIVE_INFINITY
  #next = 0

  constructor({ ordinals, similarities }: Best, { k, scoreThreshold }: Pick<RankOptions, 'k' | 'scoreThreshold'>) {
    this.#ordinals = ordinals
    this.#estimates = similarities
    this.#k = k
    this.#threshold = scoreThreshold ?? Number.NEGATIVE_INFINITY
  }

  /** Position of the candidate to compare, unless it is done. It is also the number of those that were compared. */
  get next(): number {
    return this.#next
  }

  /** Whether no other candidate can be among the best, or none is left. */
  get isDone(): boolean {
    return this.#next >= this.#ordinals.length || !this.#isNeeded(this.#next)
  }

  /**
   * Whether the candidates that were compared differ by less than two standard deviations of the errors of their estimates: then these ordered
   * them at random. Rows that are not among the candidates may be nearer, because a walk among such rows goes where errors lead it.
   */
  get isBlurred(): boolean {
    const spread = this.#nearest - this.#farthest
    // Equal rows have no order.
    return this.#next >= errorsMin && spread > 0 && spread < blurredDeviations * this.#deviation()
  }

  /** The end of the candidates that will be compared as far as is known now, at most `most`. */
  end(most: number): number {
    const limit = Math.min(this.#ordinals.length, this.#next + most)
    const first = Math.max(errorsMin, this.#k)
    if (this.#next < first) return Math.min(limit, first)
    let end = this.#next
    while (end < limit && this.#isNeeded(end)) end++
    return end
  }

  #isNeeded(position: number): boolean {
    if (this.#next < errorsMin) return true
    return (this.#estimates[position] as number) + deviations * this.#deviation() >= this.#least()
  }

  /** Standard deviation of the errors of estimates. */
  #deviation(): number {
    return Math.sqrt(this.#squares / this.#next)
  }

  /** The similarity that a result needs. */
  #least(): number {
    const last = this.#best.length < this.#k ? Number.NEGATIVE_INFINITY : (this.#best[this.#k - 1] as number)
    return Math.max(this.#threshold, last)
  }

  /** Puts the exact similarity of the candidate `next`. It is compared with others as it is returned, in single precision. */
  put(exact: number): void {
    const similarity = Math.fround(exact)
    const ordinal = this.#ordinals[this.#next] as number
    this.#squares += (similarity - (this.#estimates[this.#next] as number)) ** 2
    this.#next++
    this.#nearest = Math.max(this.#nearest, similarity)
    this.#farthest = Math.min(this.#farthest, similarity)
    if (similarity < this.#least()) return
    const [best, ordinals] = [this.#best, this.#bestOrdinals]
    let place = best.length < this.#k ? best.length : this.#k - 1
    if (best.length === this.#k && !isBefore(similarity, ordinal, best[place] as number, ordinals[place] as number))
      return
    for (; place > 0; place--) {
      const [above, ordinalAbove] = [best[place - 1] as number, ordinals[place - 1] as number]
      if (!isBefore(similarity, ordinal, above, ordinalAbove)) break
      best[place] = above
      ordinals[place] = ordinalAbove
    }
    best[place] = similarity
    ordinals[place] = ordinal
  }

  /** The best of those that were compared. */
  result(): Best & { readonly compared: number; readonly isBlurred: boolean } {
    return {
      ordinals: new Uint32Array(this.#bestOrdinals),
      similarities: new Float32Array(this.#best),
      compared: this.#next,
      isBlurred: this.isBlurred,
    }
  }
}

function isBefore(similarity: number, ordinal: number, other: number, otherOrdinal: number): boolean {
  return similarity > other || (similarity === other && ordinal < otherOrdinal)
}
