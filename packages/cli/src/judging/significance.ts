// The paired randomization test: how often the mean difference of two settings is as large if for each query it is random which of them
// was which. The same differences and seed give the same result on every platform.
import { mean } from './metrics.ts'

/** Up to so many differences that are not 0, every assignment of signs is tried. */
const exactMost = 16
/** Differences this close count as equal: sums in another order differ in their last digits. */
const slack = 1e-12

export interface Significance {
  /** Probability of a mean at least as far from 0 if both settings were equally good. */
  readonly p: number
  /** Number of assignments of signs that were compared. */
  readonly rounds: number
  /** Whether those were all. */
  readonly isExact: boolean
}

/** Tests whether the mean of the differences is 0, in both directions. */
export function randomizationTest(
  differences: readonly number[],
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Significance {
  // A difference of 0 is the same with both signs.
  const moved = differences.filter((difference) => difference !== 0)
  if (moved.length === 0) return { p: 1, rounds: 1, isExact: true }
  const observed = Math.abs(mean(moved)) - slack
  if (moved.length <= exactMost) {
    const all = 2 ** moved.length
    let extreme = 0
    for (let signs = 0; signs < all; signs++)
      if (Math.abs(signedMean(moved, (i) => ((signs >>> i) & 1) === 1)) >= observed) extreme++
    return { p: extreme / all, rounds: all, isExact: true }
  }
  const next = randomBits(seed)
  let extreme = 0
  for (let round = 0; round < rounds; round++) if (Math.abs(signedMean(moved, () => next())) >= observed) extreme++
  // The observed assignment is one of them, so p is never 0.
  return { p: (extreme + 1) / (rounds + 1), rounds, isExact: false }
}

function signedMean(values: readonly number[], isNegative: (index: number) => boolean): number {
  let sum = 0
  for (const [i, value] of values.entries()) sum += isNegative(i) ? -value : value
  return sum / values.length
}

/** Random bits of mulberry32. */
function randomBits(seed: number): () => boolean {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) & 0x8000_0000) !== 0
  }
}
