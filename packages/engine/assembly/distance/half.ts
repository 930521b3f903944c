// float16 rows: two bytes per dimension, divided by the largest component so that nothing overflows.
import { sumf } from '../lanes'

/** The nearest float16 of a float whose absolute value is at most 1; ties to even. */
export function toHalf(value: f32): u32 {
  const bits = reinterpret<u32>(value)
  const sign = (bits >> 16) & 0x8000
  // For subnormal results: adding 0.5 makes the float unit round to the ten bits that are kept.
  const size = bits & 0x7fffffff
  if (size < 0x38800000) return sign | (reinterpret<u32>(reinterpret<f32>(size) + 0.5) - 0x3f000000)
  return sign | ((size - 0x38000000 + 0xfff + ((size >> 13) & 1)) >> 13)
}

@inline
function toFloats(halves: v128): v128 {
  const size = i32x4.shl(v128.and(halves, i32x4.splat(0x7fff)), 13)
  const sign = i32x4.shl(v128.and(halves, i32x4.splat(0x8000)), 16)
  return v128.or(f32x4.mul(size, f32x4.splat(reinterpret<f32>(0x77800000))), sign)
}

/** Inner product of a padded float32 vector with a float16 row. */
export function halfProduct(vector: usize, row: usize, lanes: usize): f32 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  for (let i: usize = 0; i < lanes; i += 8) {
    const h = v128.load(row + (i << 1))
    const v = vector + (i << 2)
    s0 = f32x4.add(s0, f32x4.mul(v128.load(v), toFloats(i32x4.extend_low_i16x8_u(h))))
    s1 = f32x4.add(s1, f32x4.mul(v128.load(v, 16), toFloats(i32x4.extend_high_i16x8_u(h))))
  }
  return sumf(f32x4.add(s0, s1))
}

/** Squared distance of a padded float32 vector from a float16 row times `scale`. */
export function halfDistance(vector: usize, row: usize, scale: f32, lanes: usize): f32 {
  const scales = f32x4.splat(scale)
  let s0 = f32x4.splat(0)
  let s1 = s0
  for (let i: usize = 0; i < lanes; i += 8) {
    const h = v128.load(row + (i << 1))
    const v = vector + (i << 2)
    const low = f32x4.sub(v128.load(v), f32x4.mul(toFloats(i32x4.extend_low_i16x8_u(h)), scales))
    const high = f32x4.sub(v128.load(v, 16), f32x4.mul(toFloats(i32x4.extend_high_i16x8_u(h)), scales))
    s0 = f32x4.add(s0, f32x4.mul(low, low))
    s1 = f32x4.add(s1, f32x4.mul(high, high))
  }
  return sumf(f32x4.add(s0, s1))
}

/** The float of a float16. */
export function fromHalf(half: u32): f32 {
  return f32x4.extract_lane(toFloats(i32x4.splat(half)), 0)
}
