// Converts the digits of a number to a double. numbers.ts and scan.ts share it. They read digits separately: numbers.ts reads a
// whole body and stops at the first number that it cannot decide, and scan.ts reads pieces, limits lengths, and reports faults.

const powers = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
  1e22,
])
const powerMax: i32 = 22
/**
 * Upper bound of the error of a double after three roundings and without the digits after the 19th, with a wide margin, and the number of bits that a double has more
 * than a float.
 */
const doubt: u64 = 16
const finerBits: u64 = (1 << 29) - 1
const middle: u64 = 1 << 28
const exactMax: u64 = 1 << 53
const floatNormalMin: f64 = 1.1754943508222875e-38

/** More digits may not fit into 64 bits. */
export const digitsMax: i32 = 19
/** From this value on, a 32-bit float is infinite. */
export const floatMax: f64 = 3.4028235677973366e38

/** Whether `scale` accepts the exponent. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function isScalable(exponent: i32): bool {
  return exponent >= -2 * powerMax && exponent <= powerMax
}

/** Multiplies by a power of ten, with one rounding down to 10^-22 and with two below. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function scale(value: f64, exponent: i32): f64 {
  if (exponent > 0) return value * power(exponent)
  if (exponent >= -powerMax) return value / power(-exponent)
  return value / 1e22 / power(-exponent - powerMax)
}

/** Whether the scaled double may round to another 32-bit float than the double of JSON.parse: too many roundings, too near a middle. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function isDoubtful(value: f64, mantissa: u64, exponent: i32): bool {
  if (mantissa <= exactMax && exponent >= -powerMax) return false
  const off = (reinterpret<u64>(value) & finerBits) - (middle - doubt)
  return off <= 2 * doubt || value < floatNormalMin
}

/** Whether eight bytes are all digits. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function areDigits(eight: u64): bool {
  return (((eight + 0x4646464646464646) | (eight - 0x3030303030303030)) & 0x8080808080808080) == 0
}

/** The number of eight digits, the first of which is in the lowest byte: pairs, then fours, then all are combined. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function eightDigits(eight: u64): u64 {
  const pairs = ((eight & 0x0f0f0f0f0f0f0f0f) * 2_561) >> 8
  const fours = ((pairs & 0x00ff00ff00ff00ff) * 6_553_601) >> 16
  return ((fours & 0x0000ffff0000ffff) * 42_949_672_960_001) >> 32
}

/** Returns the address after blanks. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function blanks(from: usize): usize {
  let at = from
  while (true) {
    const c: u32 = load<u8>(at)
    if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return at
    at++
  }
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function power(exponent: i32): f64 {
  return load<f64>(powers + (<usize>exponent << 3))
}
