// The result of paired measurements: a verdict only if the pairs agree well enough.
import { median } from './measure.ts'

/** The result of paired measurements. Ratios are those of the second measurement to the first. */
export interface PairedVerdict {
  /** Median of the ratios. */
  readonly ratio: number
  /** The middle half of the ratios lies between these. */
  readonly quarter: number
  readonly threeQuarters: number
  /** `noise` if fewer than three quarters of the pairs are on one side. */
  readonly verdict: 'better' | 'worse' | 'noise'
  readonly pairs: number
}

/** How ratios are judged. */
export interface PairedQuestion {
  /** What a larger ratio means. */
  readonly more: 'better' | 'worse'
  /** Smaller differences are ignored, however consistent they are. */
  readonly sameWithin: number
}

/** Fewer pairs give no verdict. */
const pairsMin = 4

/** `ratios` of the second to the first measurement, one per pair; undefined for a missing pair. */
export function pairedVerdict(ratios: readonly number[], question: PairedQuestion): PairedVerdict | undefined {
  const sorted = ratios.filter((ratio) => Number.isFinite(ratio) && ratio > 0).sort((x, y) => x - y)
  if (sorted.length === 0) return undefined
  const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number
  const ratio = median(sorted)
  return {
    ratio,
    quarter: quantile(0.25),
    threeQuarters: quantile(0.75),
    verdict: verdictOf(sorted, ratio, question),
    pairs: sorted.length,
  }
}

function verdictOf(
  ratios: readonly number[],
  ratio: number,
  { more, sameWithin }: PairedQuestion,
): PairedVerdict['verdict'] {
  const above = ratios.filter((value) => value > 1 + sameWithin).length
  const below = ratios.filter((value) => value < 1 - sameWithin).length
  const isClear = Math.max(above, below) >= 0.75 * ratios.length && ratios.length >= pairsMin
  if (!isClear) return 'noise'
  return ratio > 1 === (more === 'better') ? 'better' : 'worse'
}
