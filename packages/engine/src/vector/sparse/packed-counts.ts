// The weight of a posting in a text field: how often the text has the term, and how many tokens the text has. Both are in the bits of a float32,
// which is positive and never NaN, so that lists store it as they store weights.
//
//   | 0 u1 | count u11 | length u20 |
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'

const lengthBits = 20
/** A larger length is refused. */
export const lengthMax = 2 ** lengthBits - 1
/** A larger count is stored as this one: with one more bit, the float would be infinite or NaN. */
export const countMax = 2_039

const float = new Float32Array(1)
const bits = new Uint32Array(float.buffer)

/** The weight of a posting: `count` is at least 1, and `length` from 1 to `lengthMax`. */
export function packCount(count: number, length: number): number {
  assert(count >= 1 && length >= 1 && length <= lengthMax, `${count} of ${length} tokens are within their limits`)
  bits[0] = packBits(count, length)
  return elementAt(float, 0)
}

/** The number of times that the text has the term. */
export function countOf(weight: number): number {
  return bitsOf(weight) >>> lengthBits
}

/** The number of tokens of the text. */
export function lengthOf(weight: number): number {
  return bitsOf(weight) & lengthMax
}

/** Whether a weight is one that `packCount` returns. */
export function isPackedCount(weight: number): boolean {
  return weight > 0 && Number.isFinite(weight) && countOf(weight) >= 1 && lengthOf(weight) >= 1
}

/**
 * The weight that bounds those of `weights` and `bound`: the largest count with the smallest length. No text adds more to a score. `bound` 0 is that
 * of no weights.
 */
export function boundCounts(weights: Float32Array, bound: number): number {
  let [count, length] = bound === 0 ? [0, lengthMax] : [countOf(bound), lengthOf(bound)]
  for (const weight of weights) {
    const packed = bitsOf(weight)
    count = Math.max(count, packed >>> lengthBits)
    length = Math.min(length, packed & lengthMax)
  }
  if (count === 0) return 0
  bits[0] = packBits(count, length)
  return elementAt(float, 0)
}

function packBits(count: number, length: number): number {
  return (Math.min(count, countMax) << lengthBits) | length
}

function bitsOf(weight: number): number {
  float[0] = weight
  return elementAt(bits, 0)
}
