// Products of two rows of signs, which are codes of rotated vectors (rotate.ts). Two vectors at an angle t differ in t / pi of their signs
// (Charikar 2002), so the cosine of the angle is sin(pi / 2 m), where m is the share of equal signs minus the share of different signs.
// Results have the scale of <code, code>: multiplied by the factors of both rows they are the inner product.
import { sumi } from '../lanes'

/** Number of different bits. */
@inline
export function countDifferences(a: usize, b: usize, bytes: usize): i32 {
  let sum = i32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 16) {
    const ones = i8x16.popcnt(v128.xor(v128.load(a + i), v128.load(b + i)))
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(ones)))
  }
  return sumi(sum)
}

// Polynomial for sin(pi / 2 m) with an error of 0.0002, which is small compared with the noise of signs, and equal on every machine.
const C1: f32 = 1.5706268
const C3: f32 = -0.6432292
const C5: f32 = 0.0727102
/** The factor of a row is about its length times sqrt(pi / (2 bits)). */
const UNIT: f32 = 0.63661977

/** Products of four pairs of codes of `bits` bits, from the number of their different bits. */
@inline
export function products4(count: v128, bits: i32): v128 {
  const m = f32x4.sub(f32x4.splat(1), f32x4.mul(f32x4.convert_i32x4_s(count), f32x4.splat(2 / <f32>bits)))
  const square = f32x4.mul(m, m)
  const inner = f32x4.add(f32x4.splat(C3), f32x4.mul(square, f32x4.splat(C5)))
  const sine = f32x4.mul(m, f32x4.add(f32x4.splat(C1), f32x4.mul(square, inner)))
  return f32x4.mul(sine, f32x4.splat(UNIT * <f32>bits))
}

/** The same for one pair, with the same operations, so the result has the same bits. */
export function productOf(count: i32, bits: i32): f32 {
  const m: f32 = 1 - <f32>count * (2 / <f32>bits)
  const square = m * m
  return m * (C1 + square * (C3 + square * C5)) * (UNIT * <f32>bits)
}
