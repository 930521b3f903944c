// XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) of bytes in memory, the checksum of rows of original vectors.

const PRIME1: u64 = 0x9e3779b185ebca87
const PRIME2: u64 = 0xc2b2ae3d27d4eb4f
const PRIME3: u64 = 0x165667b19e3779f9
const PRIME4: u64 = 0x85ebca77c2b2ae63
const PRIME5: u64 = 0x27d4eb2f165667c5

@inline
function round(sum: u64, word: u64): u64 {
  return rotl(sum + word * PRIME2, 31) * PRIME1
}

@inline
function merge(sum: u64, lane: u64): u64 {
  return (sum ^ round(0, lane)) * PRIME1 + PRIME4
}

/** The hash of `bytes` bytes, a multiple of four, from the address `from`. */
export function xxh64(from: usize, bytes: usize, seed: u64): u64 {
  let p = from
  const end = from + bytes
  let sum = seed + PRIME5
  if (bytes >= 32) {
    let a = seed + PRIME1 + PRIME2
    let b = seed + PRIME2
    let c = seed
    let d = seed - PRIME1
    for (; p + 32 <= end; p += 32) {
      a = round(a, load<u64>(p))
      b = round(b, load<u64>(p, 8))
      c = round(c, load<u64>(p, 16))
      d = round(d, load<u64>(p, 24))
    }
    sum = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18)
    sum = merge(merge(merge(merge(sum, a), b), c), d)
  }
  sum += <u64>bytes
  for (; p + 8 <= end; p += 8) sum = rotl(sum ^ round(0, load<u64>(p)), 27) * PRIME1 + PRIME4
  if (p < end) sum = rotl(sum ^ (<u64>load<u32>(p) * PRIME1), 23) * PRIME2 + PRIME3
  sum = (sum ^ (sum >> 33)) * PRIME2
  sum = (sum ^ (sum >> 29)) * PRIME3
  return sum ^ (sum >> 32)
}
