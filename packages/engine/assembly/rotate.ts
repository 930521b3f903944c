// The rotation of binary, int2, and int4 codes. It spreads a vector over all components of its code, so that each has the same weight. It has two rounds.
// Each round changes the signs of pseudo-random components and applies a Walsh-Hadamard transform to the first power of two of components;
// if that is not all of them, another transform follows on the last power of two. It takes the place of the random rotation of RaBitQ
// (arXiv 2405.12497). Lengths and inner products do not change. It uses only additions, subtractions, and one multiplication per component,
// in a fixed order, so every machine computes the same bits. The signs are a hash of round and component, so nothing is stored.

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
  let index = i32x4.add(i32x4.splat(SEED + (round << 16)), i32x4(0, 1, 2, 3))
  for (let p = vector; p < vector + (<usize>length << 2); p += 16) {
    let h = i32x4.mul(index, i32x4.splat(0x9e3779b1))
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 16)), i32x4.splat(0x85ebca6b))
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 13)), i32x4.splat(0xc2b2ae35))
    v128.store(p, v128.xor(v128.load(p), v128.and(h, i32x4.splat(0x80000000))))
    index = i32x4.add(index, i32x4.splat(4))
  }
}

/** Applies the orthonormal Walsh-Hadamard transform to `size` floats in place. `size` is a power of two of at least 8. */
function transform(vector: usize, size: i32): void {
  const end = vector + (<usize>size << 2)
  const scale = f32x4.splat(1 / sqrt<f32>(<f32>size))
  // Pairs at distances one and two are within one SIMD vector: a - b is a + -b.
  const odd = i32x4(0, 0x80000000, 0, 0x80000000)
  const high = i32x4(0, 0, 0x80000000, 0x80000000)
  for (let p = vector; p < end; p += 16) {
    const v = v128.load(p)
    const one = f32x4.add(v128.shuffle<f32>(v, v, 0, 0, 2, 2), v128.xor(v128.shuffle<f32>(v, v, 1, 1, 3, 3), odd))
    const two = v128.xor(v128.shuffle<f32>(one, one, 2, 3, 2, 3), high)
    v128.store(p, f32x4.add(v128.shuffle<f32>(one, one, 0, 1, 0, 1), two))
  }
  for (let half: usize = 16; half < end - vector; half <<= 1) {
    for (let from = vector; from < end; from += half << 1) {
      for (let p = from; p < from + half; p += 16) {
        const a = v128.load(p)
        const b = v128.load(p + half)
        v128.store(p, f32x4.add(a, b))
        v128.store(p + half, f32x4.sub(a, b))
      }
    }
  }
  for (let p = vector; p < end; p += 16) v128.store(p, f32x4.mul(v128.load(p), scale))
}
