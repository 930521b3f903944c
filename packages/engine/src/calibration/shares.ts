// Calibrations measure filters that allow some shares of the rows. A search with another share takes an ef between those of its neighbors.
import { Bitmap } from '../memory/bitmap.ts'
import { type ChosenEf, type CurvePoint, chooseEf } from './recall-curve.ts'

/**
 * 1 means no filter. Filters that allow half of the rows or fewer are walked in another way, so the second share is safely below a half. The
 * planner compares all matches of filters that allow less than the last, unless the field is huge.
 */
export const measuredShares = [1, 0.48, 0.1, 0.01] as const

/** What was measured for one share. */
export interface ShareCurve {
  readonly share: number
  readonly points: readonly CurvePoint[]
}

/** Chooses ef for a share. `curves` are in descending order of their shares, which begin with 1. */
export function chooseForShare(curves: readonly ShareCurve[], share: number, target: number): ChosenEf {
  const wider = curves.findLast((curve) => curve.share >= share) ?? (curves[0] as ShareCurve)
  const narrower = curves.find((curve) => curve.share <= share) ?? (curves.at(-1) as ShareCurve)
  const above = chooseEf(wider.points, target)
  if (wider === narrower) return above
  const below = chooseEf(narrower.points, target)
  // Between them are shares of both kinds of walks.
  if (wider.share === 1) {
    const [lower, higher] = above.expected <= below.expected ? [above, below] : [below, above]
    return lower.ef >= higher.ef ? lower : { ...higher, expected: Math.min(higher.expected, lower.expected) }
  }
  const part = Math.log(share / wider.share) / Math.log(narrower.share / wider.share)
  return {
    // Equal values of ef stay what they are, in spite of rounding.
    ef: Math.ceil(Math.exp(Math.log(above.ef) * (1 - part) + Math.log(below.ef) * part) - 1e-6),
    expected: Math.min(above.expected, below.expected),
    reached: above.reached && below.reached,
  }
}

/** A set that allows about this share of the ordinals, independent of their vectors. */
export function randomMatches(ordinals: Uint32Array, share: number): Bitmap {
  const bitmap = new Bitmap((ordinals.at(-1) ?? 0) + 1)
  for (const ordinal of ordinals) if (spread(ordinal) < share) bitmap.set(ordinal)
  return bitmap
}

/** A number from 0 to 1 for an ordinal. Neighboring ordinals have unrelated numbers. */
function spread(ordinal: number): number {
  let mixed = Math.imul(ordinal ^ (ordinal >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}
