// The rotation of binary codes: a vector is spread over all the bits of its code, so that each sign says as much as any other.
// Two rounds; in each the signs of pseudo-random places are flipped, then a Walsh-Hadamard transform mixes the first
// power of two of places, and where that is not all of them, another one the last. Lengths and inner products stay as they are.
// Only additions, subtractions and one product for each place, in a fixed order: every machine gets the same bits. The signs
// are a hash of round and place, so nothing is stored.

/** What the signs are drawn from. Codes on disk depend on it: it belongs to the rules of the field. */
const SEED: i32 = 0x5bd1e995
const ROUNDS: i32 = 2

/** Rotates `places` floats, a multiple of 128, in their place; 16-byte aligned. */
export function rotate(at: usize, places: i32): void {
  const window = windowOf(places)
  const last = at + (<usize>(places - window) << 2)
  for (let round: i32 = 0; round < ROUNDS; ++round) {
    flip(at, places, round)
    transform(at, window)
    if (last != at) transform(last, window)
  }
}

/** The inverse, to rounding. */
export function rotateBack(at: usize, places: i32): void {
  const window = windowOf(places)
  const last = at + (<usize>(places - window) << 2)
  for (let round = ROUNDS - 1; round >= 0; --round) {
    if (last != at) transform(last, window)
    transform(at, window)
    flip(at, places, round)
  }
}

/** The largest power of two that is not above. */
@inline
function windowOf(places: i32): i32 {
  return 1 << (31 - clz(places))
}

/** Changes the sign of the places whose hash has its highest bit set. */
function flip(at: usize, places: i32, round: i32): void {
  let place = i32x4.add(i32x4.splat(SEED + (round << 16)), i32x4(0, 1, 2, 3))
  for (let p = at; p < at + (<usize>places << 2); p += 16) {
    let h = i32x4.mul(place, i32x4.splat(0x9e3779b1))
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 16)), i32x4.splat(0x85ebca6b))
    h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 13)), i32x4.splat(0xc2b2ae35))
    v128.store(p, v128.xor(v128.load(p), v128.and(h, i32x4.splat(0x80000000))))
    place = i32x4.add(place, i32x4.splat(4))
  }
}

/** The orthonormal Walsh-Hadamard transform of `size` floats, a power of two from 8 on. */
function transform(at: usize, size: i32): void {
  const end = at + (<usize>size << 2)
  const scale = f32x4.splat(1 / sqrt<f32>(<f32>size))
  // Pairs one and two places apart lie within a vector: a - b is a + -b.
  const odd = i32x4(0, 0x80000000, 0, 0x80000000)
  const high = i32x4(0, 0, 0x80000000, 0x80000000)
  for (let p = at; p < end; p += 16) {
    const v = v128.load(p)
    const one = f32x4.add(v128.shuffle<f32>(v, v, 0, 0, 2, 2), v128.xor(v128.shuffle<f32>(v, v, 1, 1, 3, 3), odd))
    const two = v128.xor(v128.shuffle<f32>(one, one, 2, 3, 2, 3), high)
    v128.store(p, f32x4.add(v128.shuffle<f32>(one, one, 0, 1, 0, 1), two))
  }
  for (let half: usize = 16; half < end - at; half <<= 1) {
    for (let from = at; from < end; from += half << 1) {
      for (let p = from; p < from + half; p += 16) {
        const a = v128.load(p)
        const b = v128.load(p + half)
        v128.store(p, f32x4.add(a, b))
        v128.store(p + half, f32x4.sub(a, b))
      }
    }
  }
  for (let p = at; p < end; p += 16) v128.store(p, f32x4.mul(v128.load(p), scale))
}
