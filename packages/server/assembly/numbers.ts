// Reads the numbers of a JSON array directly into 32-bit floats: exactly those that Math.fround returns for the result of
// JSON.parse. It gives up if it cannot decide at once (more digits than fit, a value too close to the middle between two floats,
// anything that is not a number). The caller then parses the whole text with JSON.parse.

const powers = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
  1e22,
])
const powerMax: i32 = 22
const digitsMax: i32 = 19
const floats: usize = 393_216
/**
 * Upper bound of the error of a double after three roundings, with a wide margin, and the number of bits that a double has more
 * than a float.
 */
const doubt: u64 = 16
const finerBits: u64 = (1 << 29) - 1
const middle: u64 = 1 << 28
const exactMax: u64 = 1 << 53

let found: i32 = 0

export function count(): i32 {
  return found
}

/** `from` is the address after the opening bracket. Returns the address after the closing bracket, or 0 if it gives up. */
export function read(from: usize): usize {
  let at = blanks(from)
  let out = floats
  while (true) {
    let c: u32 = load<u8>(at)
    const negative = c == 0x2d
    if (negative) c = load<u8>(++at)
    let mantissa: u64 = 0
    let digits: i32 = 0
    let exponent: i32 = 0
    if (c == 0x30) c = load<u8>(++at)
    else {
      const first = at
      for (; c - 0x30 < 10; c = load<u8>(++at)) mantissa = mantissa * 10 + (c - 0x30)
      digits = <i32>(at - first)
      if (digits == 0) return 0
    }
    if (c == 0x2e) {
      const first = ++at
      if (mantissa == 0) while (load<u8>(at) == 0x30) at++
      const significant = at
      for (c = load<u8>(at); c - 0x30 < 10; c = load<u8>(++at)) mantissa = mantissa * 10 + (c - 0x30)
      if (at == first) return 0
      digits += <i32>(at - significant)
      exponent = <i32>(first - at)
    }
    if (digits > digitsMax) return 0
    if ((c | 0x20) == 0x65) {
      c = load<u8>(++at)
      const down = c == 0x2d
      if (down || c == 0x2b) c = load<u8>(++at)
      const first = at
      let given: i32 = 0
      for (; c - 0x30 < 10; c = load<u8>(++at)) given = given * 10 + <i32>(c - 0x30)
      if (at == first || at - first > 4) return 0
      exponent += down ? -given : given
    }
    let value = <f64>mantissa
    if (mantissa != 0 && exponent != 0) {
      if (exponent < -2 * powerMax || exponent > powerMax) return 0
      if (exponent > 0) value *= power(exponent)
      else if (exponent >= -powerMax) value /= power(-exponent)
      else value = value / 1e22 / power(-exponent - powerMax)
      if (mantissa > exactMax || exponent < -powerMax) {
        const off = (reinterpret<u64>(value) & finerBits) - (middle - doubt)
        if (off <= 2 * doubt || value < 1.1754943508222875e-38) return 0
      }
    }
    // From this value on, a 32-bit float is infinite.
    if (value >= 3.4028235677973366e38) return 0
    store<f32>(out, <f32>(negative ? -value : value))
    out += 4
    at = blanks(at)
    c = load<u8>(at++)
    if (c == 0x5d) {
      found = <i32>((out - floats) >> 2)
      return at
    }
    if (c != 0x2c) return 0
    at = blanks(at)
  }
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function power(exponent: i32): f64 {
  return load<f64>(powers + (<usize>exponent << 3))
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function blanks(from: usize): usize {
  let at = from
  while (true) {
    const c: u32 = load<u8>(at)
    if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return at
    at++
  }
}
