// The paired randomization test: how often the mean difference of two settings is as large if for each query it is random which of them
// was which. The same differences and seed give the same result on every platform. Student's interval says where the mean difference is.
import { mean } from './metrics.ts'

/** Up to so many differences that are not 0, every assignment of signs is tried. */
const exactMost = 16
/** Differences this close count as equal: sums in another order differ in their last digits. */
const slack = 1e-12

/** The result of a randomization test. */
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

/** A range of values, both ends included. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** Where the mean is with a confidence of 95 %, by Student's t; undefined for fewer than two values. */
export function meanInterval(values: readonly number[]): Interval | undefined {
  const count = values.length
  if (count < 2) return undefined
  const center = mean(values)
  const variance = values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (count - 1)
  const reach = studentQuantile(count - 1) * Math.sqrt(variance / count)
  return { low: center - reach, high: center + reach }
}

/** The 97.5 % quantile of the normal distribution. */
const normalQuantile = 1.959963984540054

/** The 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, otherwise Fisher's expansion (error below 0.2 %). */
function studentQuantile(freedom: number): number {
  if (freedom === 1) return Math.tan(0.475 * Math.PI)
  if (freedom === 2) return 0.95 * Math.sqrt(2 / (1 - 0.95 ** 2))
  const x = normalQuantile
  const [x3, x5, x7, x9] = [x ** 3, x ** 5, x ** 7, x ** 9]
  return (
    x +
    (x3 + x) / (4 * freedom) +
    (5 * x5 + 16 * x3 + 3 * x) / (96 * freedom ** 2) +
    (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / (384 * freedom ** 3) +
    (79 * x9 + 776 * x7 + 1_482 * x5 - 1_920 * x3 - 945 * x) / (92_160 * freedom ** 4)
  )
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
