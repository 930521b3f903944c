// Dot products of a query, one value of -127 to 127 for each component, with codes of one bit for each component of a rotated vector, which
// stands for +1 or -1. Component 8 j + b is bit b of byte j of a code. In a query, the components of one bit of 16 bytes follow each other:
// those of bit 0 of the first 16 bytes, those of bit 1, and so on, each in the form of code.ts. The sums are integers, so both builds compute
// the same.
import { sumi, variable } from '../lanes'
import { RELAXED, addDotAt, queryStep } from './code'

const BITS: usize = 8

/**
 * Twice the sum of the query components whose bit in the row is set. Minus the sum of all components this is the dot product. `bytes` is a
 * multiple of 16.
 */
export function dotSigns(query: usize, row: usize, bytes: usize): i32 {
  const bit0 = i8x16.splat(<i8>variable(1))
  const bit1 = i8x16.shl(bit0, 1)
  const bit2 = i8x16.shl(bit0, 2)
  const bit3 = i8x16.shl(bit0, 3)
  const bit4 = i8x16.shl(bit0, 4)
  const bit5 = i8x16.shl(bit0, 5)
  const bit6 = i8x16.shl(bit0, 6)
  // A product with bit b is 2^b times as large. Values have up to 7 bits, so the highest bit is moved to the place of the one below.
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let q = query
  const end = row + bytes
  for (let p = row; p < end; p += 16) {
    const bits = v128.load(p)
    s0 = addDotAt(q, 0, v128.and(bits, bit0), s0)
    s1 = addDotAt(q, 1, v128.and(bits, bit1), s1)
    s2 = addDotAt(q, 2, v128.and(bits, bit2), s2)
    s3 = addDotAt(q, 3, v128.and(bits, bit3), s3)
    s4 = addDotAt(q, 4, v128.and(bits, bit4), s4)
    s5 = addDotAt(q, 5, v128.and(bits, bit5), s5)
    s6 = addDotAt(q, 6, v128.and(bits, bit6), s6)
    s6 = addDotAt(q, 7, v128.and(i16x8.shr_u(bits, 1), bit6), s6)
    q += BITS * queryStep()
  }
  const low = i32x4.add(s0, i32x4.shr_s(s1, 1))
  const middle = i32x4.add(i32x4.shr_s(s2, 2), i32x4.shr_s(s3, 3))
  const high = i32x4.add(i32x4.add(i32x4.shr_s(s4, 4), i32x4.shr_s(s5, 5)), i32x4.shr_s(s6, 6))
  return 2 * sumi(i32x4.add(i32x4.add(low, middle), high))
}

/** Writes components `i` to `i + 15` of a query. `i` is a multiple of 16. */
@inline
export function storeSignValues(out: usize, i: usize, values: v128): void {
  // Pairs of components of the same bit, which belong to two bytes that follow each other.
  const pairs = i8x16.shuffle(values, values, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)
  const step = queryStep()
  const width: usize = RELAXED ? 1 : 2
  const p = out + (i >> 7) * (BITS * step) + ((i & 127) >> 3) * width
  if (RELAXED) {
    v128.store16_lane(p, pairs, 0)
    v128.store16_lane(p, pairs, 1, 16)
    v128.store16_lane(p, pairs, 2, 32)
    v128.store16_lane(p, pairs, 3, 48)
    v128.store16_lane(p, pairs, 4, 64)
    v128.store16_lane(p, pairs, 5, 80)
    v128.store16_lane(p, pairs, 6, 96)
    v128.store16_lane(p, pairs, 7, 112)
  } else {
    const low = i16x8.extend_low_i8x16_s(pairs)
    const high = i16x8.extend_high_i8x16_s(pairs)
    v128.store32_lane(p, low, 0)
    v128.store32_lane(p, low, 1, 32)
    v128.store32_lane(p, low, 2, 64)
    v128.store32_lane(p, low, 3, 96)
    v128.store32_lane(p, high, 0, 128)
    v128.store32_lane(p, high, 1, 160)
    v128.store32_lane(p, high, 2, 192)
    v128.store32_lane(p, high, 3, 224)
  }
}
