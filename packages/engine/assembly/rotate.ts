// The rotation of binary, int2, and int4 codes. It spreads a vector over all components of its code, so that each has the same weight. It has two rounds.
// Each round changes the signs of pseudo-random components and applies a Walsh-Hadamard transform to the first power of two of components;
// if that is not all of them, another transform follows on the last power of two. It takes the place of the random rotation of RaBitQ
// (arXiv 2405.12497). Lengths and inner products do not change. It uses only additions, subtractions, and one multiplication per component,
// in a fixed order, so every machine computes the same bits. The signs are a hash of round and component, so nothing is stored.

import { variable } from './lanes'

/** Seed of the pseudo-random signs. Codes on disk depend on it, so it is part of the rules of the field. */
const SEED: i32 = 0x5bd1e995
const ROUNDS: i32 = 2

/** Rotates `length` floats in place. `length` is a multiple of 16, `vector` 16-byte aligned. */
export function rotate(vector: usize, length: i32): void {
  const window = windowOf(length)
  const last = vector + (<usize>(length - window) << 2)
  for (let round: i32 = 0; round < ROUNDS; ++round) {
    flip(vector, length, round)
    transform(vector, window)
    if (last != vector) transform(last, window)
  }
}

/** The inverse of `rotate`, except for rounding. */
export function rotateBack(vector: usize, length: i32): void {
  const window = windowOf(length)
  const last = vector + (<usize>(length - window) << 2)
  for (let round = ROUNDS - 1; round >= 0; --round) {
    if (last != vector) transform(last, window)
    transform(vector, window)
    flip(vector, length, round)
  }
}

/** The largest power of two that is at most `length`. */
@inline
function windowOf(length: i32): i32 {
  return 1 << (31 - clz(length))
}

/** Changes the sign of the components whose hash has its highest bit set. */
function flip(vector: usize, length: i32, round: i32): void {
  const first = i32x4.splat(variable(0x9e3779b1))
  const second = i32x4.splat(variable(0x85ebca6b))
  const third = i32x4.splat(variable(0xc2b2ae35))
  const highest = i32x4.splat(variable(0x80000000))
  const four = i32x4.splat(variable(4))
  let index = i32x4.add(i32x4.splat(SEED + (round << 16)), i32x4(0, 1, 2, 3))
  for (let p = vector; p < vector + (<usize>length << 2); p += 16) {
    let h = i32x4.mul(index, first)
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 16)), second)
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 13)), third)
    v128.store(p, v128.xor(v128.load(p), v128.and(h, highest)))
    index = i32x4.add(index, four)
  }
}

/**
 * Applies the orthonormal Walsh-Hadamard transform to `size` floats in place. `size` is a power of two of at least 16. Each float is loaded
 * once for every two rounds of sums and differences, and once for the first four. The sums are those of one round after the other.
 */
function transform(vector: usize, size: i32): void {
  const end = vector + (<usize>size << 2)
  const factor: f32 = 1 / sqrt<f32>(<f32>size)
  // Pairs at distances of 1, 2, 4, and 8.
  const isLast = size == 16
  transformBlocks(vector, end, isLast ? factor : 1)
  if (isLast) return
  let half: usize = 64
  const bytes = end - vector
  // An odd number of rounds is left if the size is an odd power of two.
  if ((ctz(size) & 1) != 0) {
    transformPairs(vector, end, half, half << 1 == bytes ? factor : 1)
    half <<= 1
  }
  for (; half < bytes; half <<= 2) transformFours(vector, end, half, half << 2 == bytes ? factor : 1)
}

/** Sums and differences within each SIMD vector, at distances of one and two: a - b is a + -b. */
@inline
function transformLanes(v: v128, odd: v128, high: v128): v128 {
  const one = f32x4.add(v128.shuffle<f32>(v, v, 0, 0, 2, 2), v128.xor(v128.shuffle<f32>(v, v, 1, 1, 3, 3), odd))
  const two = v128.xor(v128.shuffle<f32>(one, one, 2, 3, 2, 3), high)
  return f32x4.add(v128.shuffle<f32>(one, one, 0, 1, 0, 1), two)
}

/** The first four rounds, within each 16 floats. Multiplies the results by `factor`. */
function transformBlocks(vector: usize, end: usize, factor: f32): void {
  const scale = f32x4.splat(factor)
  const highest = i32x4.splat(variable(0x80000000))
  const odd = v128.and(highest, i32x4(0, -1, 0, -1))
  const high = v128.and(highest, i32x4(0, 0, -1, -1))
  for (let p = vector; p < end; p += 64) {
    const a = transformLanes(v128.load(p), odd, high)
    const b = transformLanes(v128.load(p, 16), odd, high)
    const c = transformLanes(v128.load(p, 32), odd, high)
    const d = transformLanes(v128.load(p, 48), odd, high)
    const ab = f32x4.add(a, b)
    const cd = f32x4.add(c, d)
    const aLessB = f32x4.sub(a, b)
    const cLessD = f32x4.sub(c, d)
    v128.store(p, f32x4.mul(f32x4.add(ab, cd), scale))
    v128.store(p, f32x4.mul(f32x4.add(aLessB, cLessD), scale), 16)
    v128.store(p, f32x4.mul(f32x4.sub(ab, cd), scale), 32)
    v128.store(p, f32x4.mul(f32x4.sub(aLessB, cLessD), scale), 48)
  }
}

/** One round, at a distance of `half` bytes. */
function transformPairs(vector: usize, end: usize, half: usize, factor: f32): void {
  const scale = f32x4.splat(factor)
  for (let from = vector; from < end; from += half << 1)
    for (let p = from; p < from + half; p += 16) {
      const a = v128.load(p)
      const b = v128.load(p + half)
      v128.store(p, f32x4.mul(f32x4.add(a, b), scale))
      v128.store(p + half, f32x4.mul(f32x4.sub(a, b), scale))
    }
}

/** Two rounds, at distances of `half` and two `half` bytes. */
function transformFours(vector: usize, end: usize, half: usize, factor: f32): void {
  const scale = f32x4.splat(factor)
  for (let from = vector; from < end; from += half << 2)
    for (let p = from; p < from + half; p += 16) {
      const second = p + half
      const third = second + half
      const fourth = third + half
      const a = v128.load(p)
      const b = v128.load(second)
      const c = v128.load(third)
      const d = v128.load(fourth)
      const ab = f32x4.add(a, b)
      const cd = f32x4.add(c, d)
      const aLessB = f32x4.sub(a, b)
      const cLessD = f32x4.sub(c, d)
      v128.store(p, f32x4.mul(f32x4.add(ab, cd), scale))
      v128.store(second, f32x4.mul(f32x4.add(aLessB, cLessD), scale))
      v128.store(third, f32x4.mul(f32x4.sub(ab, cd), scale))
      v128.store(fourth, f32x4.mul(f32x4.sub(aLessB, cLessD), scale))
    }
}
