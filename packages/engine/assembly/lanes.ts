// SIMD arithmetic that the distance functions share.

/** Returns a vector of the four horizontal sums of a, b, c, and d. */
@inline
export function sums4f(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(v128.shuffle<f32>(a, b, 0, 4, 1, 5), v128.shuffle<f32>(a, b, 2, 6, 3, 7))
  const cd = f32x4.add(v128.shuffle<f32>(c, d, 0, 4, 1, 5), v128.shuffle<f32>(c, d, 2, 6, 3, 7))
  return f32x4.add(v128.shuffle<f32>(ab, cd, 0, 1, 4, 5), v128.shuffle<f32>(ab, cd, 2, 3, 6, 7))
}
/** Like `sums4f` for integers. */
@inline
export function sums4i(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7))
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7))
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 1, 4, 5), v128.shuffle<i32>(ab, cd, 2, 3, 6, 7))
}
/** Sum of the four floats: (0 + 1) + (2 + 3). */
@inline
export function sumf(a: v128): f32 {
  return (
    f32x4.extract_lane(a, 0) + f32x4.extract_lane(a, 1) + (f32x4.extract_lane(a, 2) + f32x4.extract_lane(a, 3))
  )
}
/** Largest of the four floats. */
@inline
export function maxf(a: v128): f32 {
  return max(
    max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)),
    max(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)),
  )
}
/** Sum of the four integers. */
@inline
export function sumi(a: v128): i32 {
  return i32x4.extract_lane(a, 0) + i32x4.extract_lane(a, 1) + i32x4.extract_lane(a, 2) + i32x4.extract_lane(a, 3)
}

let nothing: u32 = 1
/** Makes `variable` return its argument. Called when a thread attaches the arena, before anything else. */
export function initVariables(): void {
  nothing = 0
}
/**
 * The same value, which compilers do not know. For vectors of constants in loops: engines create a constant vector again for each use, with
 * up to three instructions, while a computed vector stays in its register.
 */
@inline
export function variable(value: u32): u32 {
  return value ^ nothing
}

/** Maps a float to an unsigned integer so that both have the same order. `floatOf` is the inverse. */
@inline
export function orderOf(f: f32): u32 {
  const b = reinterpret<i32>(f)
  return <u32>(b ^ ((b >> 31) | <i32>0x80000000))
}
/** The float of an unsigned integer that `orderOf` returned. */
@inline
export function floatOf(order: u32): f32 {
  const b = <i32>order
  return reinterpret<f32>(b ^ ((~b >> 31) | <i32>0x80000000))
}
