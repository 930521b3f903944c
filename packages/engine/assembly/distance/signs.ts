// Rows of signs, compared with each other: codes of rotated vectors (rotate.ts). Two vectors at an angle of t have different signs
// in t / pi of the places, so the cosine of the angle is the sine of pi / 2 times the share of equal signs less that of different
// ones. What comes out stands in the units of <code, code>: times the factors of both rows it is the inner product.
import { sumi } from '../lanes'

/** How many bits differ. */
@inline
export function differences(a: usize, b: usize, bytes: usize): i32 {
  let sum = i32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 16) {
    const ones = i8x16.popcnt(v128.xor(v128.load(a + i), v128.load(b + i)))
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(ones)))
  }
  return sumi(sum)
}

// Sine of pi / 2 times m, to 0.0002: enough beside the noise of signs, and the same on every machine.
const C1: f32 = 1.5706268
const C3: f32 = -0.6432292
const C5: f32 = 0.0727102
/** A row's factor is its length times sqrt(pi / 2 / bits), about. */
const UNIT: f32 = 0.63661977

/** Four products of codes of so many bits, from how many of their bits differ. */
@inline
export function products4(different: v128, bits: i32): v128 {
  const m = f32x4.sub(f32x4.splat(1), f32x4.mul(f32x4.convert_i32x4_s(different), f32x4.splat(2 / <f32>bits)))
  const square = f32x4.mul(m, m)
  const inner = f32x4.add(f32x4.splat(C3), f32x4.mul(square, f32x4.splat(C5)))
  const sine = f32x4.mul(m, f32x4.add(f32x4.splat(C1), f32x4.mul(square, inner)))
  return f32x4.mul(sine, f32x4.splat(UNIT * <f32>bits))
}

/** The same of one: the same steps, so the same bits. */
export function product(different: i32, bits: i32): f32 {
  const m: f32 = 1 - <f32>different * (2 / <f32>bits)
  const square = m * m
  return m * (C1 + square * (C3 + square * C5)) * (UNIT * <f32>bits)
}
