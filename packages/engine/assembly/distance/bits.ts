// Dot products of a query with four bits per dimension and a row with one bit per dimension, which stands for +1 or -1. The query is stored
// as four bit planes of value + 8, so a dot product is a sum of population counts.
import { sumi } from '../lanes'

/** Largest absolute value of a query component. */
export const BITS_HALF: i32 = 7
const BIAS: i32 = 8

@inline
function countBits(bits: v128): v128 {
  return i16x8.extadd_pairwise_i8x16_u(i8x16.popcnt(bits))
}

/**
 * Twice the sum of the query components whose bit in the row is set. Minus the sum of all components this is the dot product. `bytes` is a
 * multiple of 16. The 16-bit lanes cannot overflow up to 10,000 dimensions.
 */
export function dotBits(planes: usize, row: usize, bytes: usize): i32 {
  let ones = i32x4.splat(0)
  let sum = ones
  for (let i: usize = 0; i < bytes; i += 16) {
    const bits = v128.load(row + i)
    const plane = planes + (i << 2)
    ones = i32x4.add(ones, i32x4.extadd_pairwise_i16x8_u(countBits(bits)))
    const low = i16x8.add(
      countBits(v128.and(bits, v128.load(plane))),
      i16x8.shl(countBits(v128.and(bits, v128.load(plane, 16))), 1),
    )
    const high = i16x8.add(
      i16x8.shl(countBits(v128.and(bits, v128.load(plane, 32))), 2),
      i16x8.shl(countBits(v128.and(bits, v128.load(plane, 48))), 3),
    )
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_u(i16x8.add(low, high)))
  }
  return 2 * (sumi(sum) - BIAS * sumi(ones))
}

/** Writes component `i` of a query, -7 to 7, to its planes, which must be zero before. */
@inline
export function storePlanes(planes: usize, i: i32, value: i32): void {
  const biased = value + BIAS
  const address = planes + (<usize>(i >> 7) << 6) + <usize>((i & 127) >> 3)
  for (let plane: i32 = 0; plane < 4; ++plane) {
    const p = address + (<usize>plane << 4)
    store<u8>(p, load<u8>(p) | <u8>(((biased >> plane) & 1) << (i & 7)))
  }
}

/** Writes a row as the planes of a query of +1 and -1. Returns the sum of its components. */
export function rowToPlanes(row: usize, out: usize, bytes: usize, dimension: i32): i32 {
  let ones = i32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 16) {
    const bits = v128.load(row + i)
    const plane = out + (i << 2)
    ones = i32x4.add(ones, i32x4.extadd_pairwise_i16x8_u(countBits(bits)))
    // +1 + 8 is 1001 in binary, -1 + 8 is 0111.
    v128.store(plane, v128.not(i8x16.splat(0)))
    v128.store(plane, v128.not(bits), 16)
    v128.store(plane, v128.not(bits), 32)
    v128.store(plane, bits, 48)
  }
  return 2 * sumi(ones) - dimension
}
