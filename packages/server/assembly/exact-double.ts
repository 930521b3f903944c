// The double of a decimal number with at most 19 digits, correctly rounded: the method of Daniel Lemire, "Number Parsing at a Gigabyte per
// Second" (2021). It multiplies the digits by the first 128 bits of a power of five. In this range of exponents that is always enough (Noble
// Mushtak and Daniel Lemire, "Fast Number Parsing Without Fallback", 2023). Results are normal doubles.

/** The powers of ten that `exactDouble` knows: the smallest normal float with 19 digits is 1...e-56, the largest float 3e38. */
export const exactExponentMin: i32 = -66
export const exactExponentMax: i32 = 38

/** 5^q for each exponent q, shifted so that the highest of 128 bits is set: rounded up below zero, down above. */
// biome-ignore format: one power in each line
const fives = memory.data<u64>([
  0xd7adf884aa879177, 0x5b0ed81dcc6abb0f,
  0x86ccbb52ea94baea, 0x98e947129fc2b4e9,
  0xa87fea27a539e9a5, 0x3f2398d747b36224,
  0xd29fe4b18e88640e, 0x8eec7f0d19a03aad,
  0x83a3eeeef9153e89, 0x1953cf68300424ac,
  0xa48ceaaab75a8e2b, 0x5fa8c3423c052dd7,
  0xcdb02555653131b6, 0x3792f412cb06794d,
  0x808e17555f3ebf11, 0xe2bbd88bbee40bd0,
  0xa0b19d2ab70e6ed6, 0x5b6aceaeae9d0ec4,
  0xc8de047564d20a8b, 0xf245825a5a445275,
  0xfb158592be068d2e, 0xeed6e2f0f0d56712,
  0x9ced737bb6c4183d, 0x55464dd69685606b,
  0xc428d05aa4751e4c, 0xaa97e14c3c26b886,
  0xf53304714d9265df, 0xd53dd99f4b3066a8,
  0x993fe2c6d07b7fab, 0xe546a8038efe4029,
  0xbf8fdb78849a5f96, 0xde98520472bdd033,
  0xef73d256a5c0f77c, 0x963e66858f6d4440,
  0x95a8637627989aad, 0xdde7001379a44aa8,
  0xbb127c53b17ec159, 0x5560c018580d5d52,
  0xe9d71b689dde71af, 0xaab8f01e6e10b4a6,
  0x9226712162ab070d, 0xcab3961304ca70e8,
  0xb6b00d69bb55c8d1, 0x3d607b97c5fd0d22,
  0xe45c10c42a2b3b05, 0x8cb89a7db77c506a,
  0x8eb98a7a9a5b04e3, 0x77f3608e92adb242,
  0xb267ed1940f1c61c, 0x55f038b237591ed3,
  0xdf01e85f912e37a3, 0x6b6c46dec52f6688,
  0x8b61313bbabce2c6, 0x2323ac4b3b3da015,
  0xae397d8aa96c1b77, 0xabec975e0a0d081a,
  0xd9c7dced53c72255, 0x96e7bd358c904a21,
  0x881cea14545c7575, 0x7e50d64177da2e54,
  0xaa242499697392d2, 0xdde50bd1d5d0b9e9,
  0xd4ad2dbfc3d07787, 0x955e4ec64b44e864,
  0x84ec3c97da624ab4, 0xbd5af13bef0b113e,
  0xa6274bbdd0fadd61, 0xecb1ad8aeacdd58e,
  0xcfb11ead453994ba, 0x67de18eda5814af2,
  0x81ceb32c4b43fcf4, 0x80eacf948770ced7,
  0xa2425ff75e14fc31, 0xa1258379a94d028d,
  0xcad2f7f5359a3b3e, 0x096ee45813a04330,
  0xfd87b5f28300ca0d, 0x8bca9d6e188853fc,
  0x9e74d1b791e07e48, 0x775ea264cf55347e,
  0xc612062576589dda, 0x95364afe032a819e,
  0xf79687aed3eec551, 0x3a83ddbd83f52205,
  0x9abe14cd44753b52, 0xc4926a9672793543,
  0xc16d9a0095928a27, 0x75b7053c0f178294,
  0xf1c90080baf72cb1, 0x5324c68b12dd6339,
  0x971da05074da7bee, 0xd3f6fc16ebca5e04,
  0xbce5086492111aea, 0x88f4bb1ca6bcf585,
  0xec1e4a7db69561a5, 0x2b31e9e3d06c32e6,
  0x9392ee8e921d5d07, 0x3aff322e62439fd0,
  0xb877aa3236a4b449, 0x09befeb9fad487c3,
  0xe69594bec44de15b, 0x4c2ebe687989a9b4,
  0x901d7cf73ab0acd9, 0x0f9d37014bf60a11,
  0xb424dc35095cd80f, 0x538484c19ef38c95,
  0xe12e13424bb40e13, 0x2865a5f206b06fba,
  0x8cbccc096f5088cb, 0xf93f87b7442e45d4,
  0xafebff0bcb24aafe, 0xf78f69a51539d749,
  0xdbe6fecebdedd5be, 0xb573440e5a884d1c,
  0x89705f4136b4a597, 0x31680a88f8953031,
  0xabcc77118461cefc, 0xfdc20d2b36ba7c3e,
  0xd6bf94d5e57a42bc, 0x3d32907604691b4d,
  0x8637bd05af6c69b5, 0xa63f9a49c2c1b110,
  0xa7c5ac471b478423, 0x0fcf80dc33721d54,
  0xd1b71758e219652b, 0xd3c36113404ea4a9,
  0x83126e978d4fdf3b, 0x645a1cac083126ea,
  0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4,
  0xcccccccccccccccc, 0xcccccccccccccccd,
  0x8000000000000000, 0x0000000000000000,
  0xa000000000000000, 0x0000000000000000,
  0xc800000000000000, 0x0000000000000000,
  0xfa00000000000000, 0x0000000000000000,
  0x9c40000000000000, 0x0000000000000000,
  0xc350000000000000, 0x0000000000000000,
  0xf424000000000000, 0x0000000000000000,
  0x9896800000000000, 0x0000000000000000,
  0xbebc200000000000, 0x0000000000000000,
  0xee6b280000000000, 0x0000000000000000,
  0x9502f90000000000, 0x0000000000000000,
  0xba43b74000000000, 0x0000000000000000,
  0xe8d4a51000000000, 0x0000000000000000,
  0x9184e72a00000000, 0x0000000000000000,
  0xb5e620f480000000, 0x0000000000000000,
  0xe35fa931a0000000, 0x0000000000000000,
  0x8e1bc9bf04000000, 0x0000000000000000,
  0xb1a2bc2ec5000000, 0x0000000000000000,
  0xde0b6b3a76400000, 0x0000000000000000,
  0x8ac7230489e80000, 0x0000000000000000,
  0xad78ebc5ac620000, 0x0000000000000000,
  0xd8d726b7177a8000, 0x0000000000000000,
  0x878678326eac9000, 0x0000000000000000,
  0xa968163f0a57b400, 0x0000000000000000,
  0xd3c21bcecceda100, 0x0000000000000000,
  0x84595161401484a0, 0x0000000000000000,
  0xa56fa5b99019a5c8, 0x0000000000000000,
  0xcecb8f27f4200f3a, 0x0000000000000000,
  0x813f3978f8940984, 0x4000000000000000,
  0xa18f07d736b90be5, 0x5000000000000000,
  0xc9f2c9cd04674ede, 0xa400000000000000,
  0xfc6f7c4045812296, 0x4d00000000000000,
  0x9dc5ada82b70b59d, 0xf020000000000000,
  0xc5371912364ce305, 0x6c28000000000000,
  0xf684df56c3e01bc6, 0xc732000000000000,
  0x9a130b963a6c115c, 0x3c7f400000000000,
  0xc097ce7bc90715b3, 0x4b9f100000000000,
  0xf0bdc21abb48db20, 0x1e86d40000000000,
  0x96769950b50d88f4, 0x1314448000000000,
])

/** Bits of a product below those that decide about rounding. */
const undecided: u64 = 0x1ff

/** `mantissa` is not 0 and below 10^19 + 1; `exponent` is in the range above. */
export function exactDouble(mantissa: u64, exponent: i32): f64 {
  const shift = clz(mantissa)
  const digits = mantissa << shift
  const at = fives + (<usize>(exponent - exactExponentMin) << 4)
  const five = load<u64>(at)
  let low = digits * five
  let high = multiplyHigh(digits, five)
  if ((high & undecided) == undecided) {
    const more = multiplyHigh(digits, load<u64>(at + 8))
    low += more
    if (low < more) high++
  }
  const upper = high >> 63
  const dropped = upper + 9
  let bits = high >> dropped
  // (log2(10) * 2^16) * exponent, and the bias of a double.
  let power: u64 = <u64>(((217_706 * exponent) >> 16) + 63 + 1_023) + upper - shift
  // Exactly in the middle of two doubles: rounds to the even one.
  if (low <= 1 && exponent >= -4 && exponent <= 23 && (bits & 3) == 1 && bits << dropped == high) bits &= ~1
  bits = (bits + (bits & 1)) >> 1
  if (bits >= 1 << 53) {
    bits = 1 << 52
    power++
  }
  return reinterpret<f64>((bits & ((1 << 52) - 1)) | (power << 52))
}

/** The upper 64 bits of a product. */
function multiplyHigh(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff
  const aHigh = a >> 32
  const bLow = b & 0xffffffff
  const bHigh = b >> 32
  const middle = aHigh * bLow + ((aLow * bLow) >> 32)
  const other = aLow * bHigh + (middle & 0xffffffff)
  return aHigh * bHigh + (middle >> 32) + (other >> 32)
}
