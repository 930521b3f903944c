// Decides which candidates of a search are compared exactly, and keeps the best of them. Candidates are in the order of their estimated
// similarities, and estimates have errors of a common size. It reads nothing: the caller compares the candidate `next` and puts its similarity.
// Copies have equal estimates: a few of them tell the similarity of the others.
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
const unresolvedDeviations = 2
/** Candidates with one estimate are copies if this many of them have one exact similarity. */
const copiesMin = 4
/** Copies take the places of others if there are this many times as many candidates as different ones. */
const crowdedShare = 1.25

/** The best k, and what `CandidateRanking` tells about all candidates. */
export interface RankedCandidates extends Best {
  /** How many candidates were compared. */
  readonly compared: number
  readonly isUnresolved: boolean
  readonly wantedForCopies: number
}

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
  #compared = 0
  /** Those whose errors are known: one of each group of copies, because all have the same error. */
  #errors = 0
  /** Different estimates of those that were compared, and where the last of these begins. */
  #estimatesSeen = 0
  #tiesFrom = 0
  /** Those that were compared with the last estimate, and whether all of them have one similarity. */
  #alike = 0
  #areAlike = true
  #last = Number.NaN

  constructor({ ordinals, similarities }: Best, { k, scoreThreshold }: Pick<RankOptions, 'k' | 'scoreThreshold'>) {
    this.#ordinals = ordinals
    this.#estimates = similarities
    this.#k = k
    this.#threshold = scoreThreshold ?? Number.NEGATIVE_INFINITY
  }

  /** Position of the candidate to compare, unless it is done. Copies that cannot change the result are left out. */
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
  get isUnresolved(): boolean {
    const spread = this.#nearest - this.#farthest
    // Equal rows have no order.
    return this.#errors >= errorsMin && spread > 0 && spread < unresolvedDeviations * this.#deviation()
  }

  /**
   * Number of candidates that probably have as many different ones as these would have without copies, if copies took their places; otherwise 0.
   * Infinite if the last ones are copies, because nothing tells how many follow.
   */
  get wantedForCopies(): number {
    const { length } = this.#estimates
    if (this.#next < length) return 0
    if (length - this.#tiesFrom > copiesMin) return Number.POSITIVE_INFINITY
    return this.#estimatesSeen * crowdedShare < length ? Math.ceil((length * length) / this.#estimatesSeen) : 0
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
    if (this.#errors < errorsMin) return true
    return (this.#estimates[position] as number) + deviations * this.#deviation() >= this.#least()
  }

  /** Standard deviation of the errors of estimates. */
  #deviation(): number {
    return Math.sqrt(this.#squares / this.#errors)
  }

  /** The similarity that a result needs. */
  #least(): number {
    const last = this.#best.length < this.#k ? Number.NEGATIVE_INFINITY : (this.#best[this.#k - 1] as number)
    return Math.max(this.#threshold, last)
  }

  /** Puts the exact similarity of the candidate `next`. It is compared with others as it is returned, in single precision. */
  put(exact: number): void {
    const similarity = Math.fround(exact)
    const position = this.#next++
    const estimate = this.#estimates[position] as number
    const isTie = position > 0 && this.#estimates[position - 1] === estimate
    if (!isTie || similarity !== this.#last) {
      this.#squares += (similarity - estimate) ** 2
      this.#errors++
    }
    this.#compared++
    this.#nearest = Math.max(this.#nearest, similarity)
    this.#farthest = Math.min(this.#farthest, similarity)
    this.#keep(this.#ordinals[position] as number, similarity)
    if (isTie) this.#skipCopies(estimate, similarity)
    else this.#beginTies(position)
    this.#last = similarity
  }

  #beginTies(position: number): void {
    this.#tiesFrom = position
    this.#estimatesSeen++
    this.#alike = 1
    this.#areAlike = true
  }

  /** Leaves out the rest of the candidates with this estimate if they are copies and none of them can be among the best. */
  #skipCopies(estimate: number, similarity: number): void {
    this.#areAlike &&= similarity === this.#last
    this.#alike++
    if (!this.#areAlike || this.#alike < copiesMin) return
    if (this.#alike < this.#k && similarity >= this.#least()) return
    while (this.#next < this.#estimates.length && this.#estimates[this.#next] === estimate) this.#next++
  }

  #keep(ordinal: number, similarity: number): void {
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
  result(): RankedCandidates {
    return {
      ordinals: new Uint32Array(this.#bestOrdinals),
      similarities: new Float32Array(this.#best),
      compared: this.#compared,
      isUnresolved: this.isUnresolved,
      wantedForCopies: this.wantedForCopies,
    }
  }
}

function isBefore(similarity: number, ordinal: number, other: number, otherOrdinal: number): boolean {
  return similarity > other || (similarity === other && ordinal < otherOrdinal)
}
