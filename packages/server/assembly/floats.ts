// Reads runs of 32-bit floats of MessagePack: a head byte and four bytes in big-endian order for each number, which is how clients write
// vectors. A run ends at the first number with another head; the caller reads it.
//
//   65,536 input, 16,384 numbers of 5 bytes | 196,608 floats | 4 pages

const input: usize = 65_536
const floats: usize = 196_608

const head: i32 = 0xca
const numberBytes: usize = 5
/** Four numbers are read at once. */
const stepBytes: usize = 20
const headsOfStep: i32 = (1 << 0) | (1 << 5) | (1 << 10) | (1 << 15)
const exponent: u32 = 0x7f80_0000

/** Number of 32-bit floats at the beginning of the input, at most `count`. */
export function run(count: i32): i32 {
  const heads = i8x16.splat(<i8>head)
  let found: i32 = 0
  let at = input
  for (; found + 4 <= count; found += 4, at += stepBytes) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(at), heads))
    if ((bits & headsOfStep) != headsOfStep) break
  }
  for (; found < count && load<u8>(at) == <u8>head; found++) at += numberBytes
  return found
}

/** Writes the floats at the beginning of the input, at most `count`, and stops before one that is not finite. Returns how many. */
export function read(count: i32): i32 {
  const heads = i8x16.splat(<i8>head)
  const exponents = i32x4.splat(exponent)
  let found: i32 = 0
  let at = input
  let out = floats
  for (; found + 4 <= count; found += 4, at += stepBytes, out += 16) {
    const first = v128.load(at)
    const bits = i8x16.bitmask(i8x16.eq(first, heads))
    if ((bits & headsOfStep) != headsOfStep) break
    // Bytes 16 to 31 of the shuffle are bytes 4 to 19 of the step.
    const four = i8x16.shuffle(first, v128.load(at, 4), 4, 3, 2, 1, 9, 8, 7, 6, 14, 13, 12, 11, 31, 30, 29, 28)
    if (v128.any_true(i32x4.eq(v128.and(four, exponents), exponents))) break
    v128.store(out, four)
  }
  for (; found < count && load<u8>(at) == <u8>head; found++, at += numberBytes, out += 4) {
    const bits = bswap(load<u32>(at, 1))
    if ((bits & exponent) == exponent) break
    store<u32>(out, bits)
  }
  return found
}
