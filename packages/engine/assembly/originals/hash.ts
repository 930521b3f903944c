// XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) of a whole number of floats, the checksum of rows of original
// vectors. The caller runs the loop over stripes of 32 bytes, next to the arithmetic that reads the same bytes.

export const PRIME1: u64 = 0x9e3779b185ebca87
export const PRIME2: u64 = 0xc2b2ae3d27d4eb4f
const PRIME3: u64 = 0x165667b19e3779f9
const PRIME4: u64 = 0x85ebca77c2b2ae63
const PRIME5: u64 = 0x27d4eb2f165667c5

/** The state of a lane after a word of eight bytes. The four lanes begin with seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1. */
@inline
export function round(lane: u64, word: u64): u64 {
  return rotl(lane + word * PRIME2, 31) * PRIME1
}

@inline
function merge(sum: u64, lane: u64): u64 {
  return (sum ^ round(0, lane)) * PRIME1 + PRIME4
}

/** The sum of the four lanes after at least one stripe. */
@inline
export function sumOfLanes(a: u64, b: u64, c: u64, d: u64): u64 {
  const sum = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18)
  return merge(merge(merge(merge(sum, a), b), c), d)
}

/** The sum where there is no stripe. */
@inline
export function sumOfNone(seed: u64): u64 {
  return seed + PRIME5
}

/** The hash of `bytes` bytes, from the sum of their stripes and the less than 32 bytes from `from` on that are not in a stripe. */
export function finish(sum: u64, bytes: usize, from: usize): u64 {
  const end = from + (bytes & 31)
  let p = from
  let hash = sum + <u64>bytes
  for (; p + 8 <= end; p += 8) hash = rotl(hash ^ round(0, load<u64>(p)), 27) * PRIME1 + PRIME4
  if (p < end) hash = rotl(hash ^ (<u64>load<u32>(p) * PRIME1), 23) * PRIME2 + PRIME3
  hash = (hash ^ (hash >> 33)) * PRIME2
  hash = (hash ^ (hash >> 29)) * PRIME3
  return hash ^ (hash >> 32)
}
