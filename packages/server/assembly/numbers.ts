// Reads the numbers of a JSON array directly into 32-bit floats: exactly those that Math.fround returns for the result of
// JSON.parse. Where a double that was scaled with several roundings could round to another float, exact-double.ts computes the right one. It gives
// up if the digits after the 19th could decide, and for anything that is not a number. The caller then parses the whole text with JSON.parse.

import { areDigits, blanks, digitsMax, eightDigits, floatMax, isDoubtful, isScalable, scale } from './decimal'
import { exactDouble, exactExponentMax, exactExponentMin } from './exact-double'

const floats: usize = 393_216

let found: i32 = 0

/** Number of floats of the last `read`. */
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
    const number = at
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
      for (let eight = load<u64>(at); areDigits(eight); eight = load<u64>(at)) {
        mantissa = mantissa * 100_000_000 + eightDigits(eight)
        at += 8
      }
      for (c = load<u8>(at); c - 0x30 < 10; c = load<u8>(++at)) mantissa = mantissa * 10 + (c - 0x30)
      if (at == first) return 0
      digits += <i32>(at - significant)
      exponent = <i32>(first - at)
    }
    const isCut = digits > digitsMax
    if (isCut) {
      mantissa = firstDigits(number)
      exponent = firstExponent
    }
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
      const scalable = isScalable(exponent)
      if (scalable) value = scale(value, exponent)
      if (!scalable || isDoubtful(value, mantissa, exponent)) {
        if (exponent < exactExponentMin || exponent > exactExponentMax) return 0
        value = exactDouble(mantissa, exponent)
        if (isCut && value != exactDouble(mantissa + 1, exponent)) return 0
      }
    }
    if (value >= floatMax) return 0
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

/** The power of ten of the last `firstDigits`. */
let firstExponent: i32 = 0

/** The first 19 significant digits of a number that has more. */
function firstDigits(number: usize): u64 {
  let mantissa: u64 = 0
  let taken: i32 = 0
  let exponent: i32 = 0
  let inFraction = false
  for (let at = number; ; at++) {
    const c: u32 = load<u8>(at)
    if (c == 0x2e) inFraction = true
    else if (c - 0x30 >= 10) break
    else if (taken == digitsMax) exponent += inFraction ? 0 : 1
    else {
      if (mantissa != 0 || c != 0x30) taken++
      mantissa = mantissa * 10 + (c - 0x30)
      if (inFraction) exponent--
    }
  }
  firstExponent = exponent
  return mantissa
}
