// What the float32 of a posting means, and what bounds those of a block or a list.
import { boundCounts } from './packed-counts.ts'

/** `weights`: summands of a dot product. `counts`: packed counts of terms in texts (packed-counts.ts). */
export type PostingForm = 'weights' | 'counts'

/** Both bounds are computed from the bound so far, and new weights. */
export interface PostingBounds {
  /** The bound of a block without postings. */
  readonly none: number
  ofBlock(weights: Float32Array, bound: number): number
  /** The bound of a list without postings is 0. */
  ofList(weights: Float32Array, bound: number): number
}

export const boundsOf: { readonly [form in PostingForm]: PostingBounds } = {
  weights: { none: Number.NEGATIVE_INFINITY, ofBlock: largest, ofList: largestMagnitude },
  counts: { none: 0, ofBlock: boundCounts, ofList: boundCounts },
}

function largest(weights: Float32Array, bound: number): number {
  let most = bound
  for (const weight of weights) if (weight > most) most = weight
  return most
}

function largestMagnitude(weights: Float32Array, bound: number): number {
  let most = bound
  for (const weight of weights) most = Math.max(most, Math.abs(weight))
  return most
}
