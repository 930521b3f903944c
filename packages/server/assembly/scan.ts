// Reads a JSON body piece by piece while it arrives. It follows brackets and strings, copies everything except vectors as text
// with runs of blanks reduced to one space, and reads arrays of numbers under chosen keys directly into doubles. It stops at
// events, which src/wire/json-items.ts handles. JSON.parse checks the remaining text, so only brackets and numbers are checked
// here.
//
// A returned double is the one that JSON.parse returns, or one that rounds to the same 32-bit float; a whole number below 2^53 is
// exact. If neither is certain, the number is returned as text.
//
//   256 state of the body | 1,024 powers of ten | 65,536 input, ended by a zero byte | 196,608 text | 393,216 numbers | 12 pages

import { blanks, digitsMax, floatMax, isDoubtful, isScalable, scale } from './decimal'

const textFrom: usize = 196_608
const numbersFrom: usize = 393_216

/** The state of a body. json-items.ts copies it in and out, so that bodies can be read alternately. */
const kindsAt: usize = 256
const depthAt: usize = 264
const modeAt: usize = 268
const listAt: usize = 272
const listDepth: usize = 276
const keyDepth: usize = 280
const extracting: usize = 284
const keyNext: usize = 288
const spaced: usize = 292
const bareLength: usize = 296
const afterBracket: usize = 300
const countAt: usize = 304
const wrongAt: usize = 308
const depthMaxAt: usize = 312
const numberBytesMaxAt: usize = 316
const numbersMaxAt: usize = 320

const inText: i32 = 0
const inString: i32 = 1
const inEscape: i32 = 2
const beforeNumber: i32 = 3
const behindNumber: i32 = 4

export const more: i32 = 0
export const key: i32 = 1
export const separator: i32 = 2
export const listStart: i32 = 3
export const listEnd: i32 = 4
export const numbersEnd: i32 = 5
export const hardNumber: i32 = 6
export const broken: i32 = 16
export const tooDeep: i32 = 17
export const numberTooLong: i32 = 18
export const notANumber: i32 = 19
export const tooManyNumbers: i32 = 20

let position: usize = 0
let textEnd: usize = 0
let numbersTo: usize = 0
let tokenEnd: usize = 0

/** Address up to which the input was read. */
export function readTo(): usize {
  return position
}
/** Address where the text of the last call ends. */
export function textTo(): usize {
  return textEnd
}
/** Address where the numbers of the last call end. */
export function numbersUpTo(): usize {
  return numbersTo
}
/** Address where the number that begins at `readTo` and is returned as text ends. */
export function tokenTo(): usize {
  return tokenEnd
}

/** Continues at `from`; a zero byte must be at `end`. Returns an event. */
export function scan(from: usize, end: usize): i32 {
  textEnd = textFrom
  numbersTo = numbersFrom
  position = from
  while (position < end) {
    const mode = load<i32>(modeAt)
    const event = mode == inText ? scanText(end) : mode <= inEscape ? scanString(end, mode) : scanNumbers(end, mode)
    if (event >= 0) return event
  }
  return more
}

const goOn: i32 = -1

function scanString(end: usize, mode: i32): i32 {
  let at = position
  let out = textEnd
  if (mode == inEscape) store<u8>(out++, load<u8>(at++))
  store<i32>(modeAt, inString)
  while (at < end) {
    const c: u32 = load<u8>(at++)
    store<u8>(out++, c)
    if (c == 0x22) {
      position = at
      textEnd = out
      store<i32>(modeAt, inText)
      const isKey = load<i32>(keyNext) != 0 && load<i32>(depthAt) == load<i32>(keyDepth)
      return isKey ? key : goOn
    }
    if (c == 0x5c) {
      if (at == end) {
        store<i32>(modeAt, inEscape)
        break
      }
      store<u8>(out++, load<u8>(at++))
    }
  }
  position = at
  textEnd = out
  return goOn
}

function scanText(end: usize): i32 {
  let at = position
  let out = textEnd
  let event: i32 = goOn
  while (at < end) {
    const c: u32 = load<u8>(at)
    if (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09) {
      at++
      if (load<i32>(spaced) == 0) {
        store<u8>(out++, 0x20)
        store<i32>(spaced, 1)
      }
      store<i32>(bareLength, 0)
      continue
    }
    const behindBracket = load<i32>(afterBracket)
    store<i32>(afterBracket, 0)
    store<i32>(spaced, 0)
    if (c == 0x22) {
      store<u8>(out++, c)
      at++
      store<i32>(bareLength, 0)
      store<i32>(modeAt, inString)
      break
    }
    const depth = load<i32>(depthAt)
    if (c == 0x5b || c == 0x7b) {
      if (depth >= load<i32>(depthMaxAt)) {
        event = tooDeep
        break
      }
      at++
      store<i32>(bareLength, 0)
      store<i32>(depthAt, depth + 1)
      const bit: u64 = (<u64>1) << (<u64>(depth + 1))
      const kinds = load<u64>(kindsAt)
      if (c == 0x7b) {
        store<u64>(kindsAt, kinds | bit)
        store<i32>(keyNext, 1)
        if (depth == 0) store<i32>(listAt, -1)
        store<u8>(out++, c)
        continue
      }
      store<u64>(kindsAt, kinds & ~bit)
      store<i32>(keyNext, 0)
      if (depth == load<i32>(listAt)) {
        event = listStart
        break
      }
      if (load<i32>(extracting) != 0) store<i32>(afterBracket, 1)
      store<u8>(out++, c)
      continue
    }
    if (c == 0x5d || c == 0x7d) {
      const isObject = (load<u64>(kindsAt) >> (<u64>depth)) & 1
      if (depth == 0 || isObject != (c == 0x7d ? 1 : 0)) {
        event = broken
        break
      }
      at++
      store<i32>(bareLength, 0)
      store<i32>(keyNext, 0)
      store<i32>(depthAt, depth - 1)
      if (depth == load<i32>(keyDepth)) endMember()
      if (depth == load<i32>(listDepth)) {
        event = listEnd
        break
      }
      store<u8>(out++, c)
      continue
    }
    if (c == 0x2c) {
      at++
      store<i32>(bareLength, 0)
      if (depth == load<i32>(listDepth)) {
        event = separator
        break
      }
      if (depth == load<i32>(keyDepth)) endMember()
      store<i32>(keyNext, <i32>((load<u64>(kindsAt) >> (<u64>depth)) & 1))
      store<u8>(out++, c)
      continue
    }
    if (behindBracket != 0 && (c == 0x2d || c - 0x30 < 10)) {
      store<i32>(modeAt, beforeNumber)
      store<i32>(countAt, 0)
      store<i32>(wrongAt, -1)
      break
    }
    if (c == 0x3a) {
      store<i32>(keyNext, 0)
      store<i32>(bareLength, 0)
    } else {
      const length = load<i32>(bareLength) + 1
      store<i32>(bareLength, length)
      if (length > load<i32>(numberBytesMaxAt)) {
        event = numberTooLong
        break
      }
    }
    store<u8>(out++, c)
    at++
  }
  position = at
  textEnd = out
  return event
}

/** The choice for a key applies to its value only. */
function endMember(): void {
  store<i32>(extracting, 0)
  store<i32>(listAt, -1)
}

function scanNumbers(end: usize, given: i32): i32 {
  let at = position
  let out = numbersTo
  let mode = given
  let count = load<i32>(countAt)
  let event: i32 = goOn
  const countMax = load<i32>(numbersMaxAt)
  while (true) {
    at = blanks(at)
    if (at >= end) break
    let c: u32 = load<u8>(at)
    if (mode == behindNumber) {
      if (c == 0x2c) {
        at++
        mode = beforeNumber
        continue
      }
      if (c == 0x5d) {
        at++
        store<i32>(depthAt, load<i32>(depthAt) - 1)
        mode = inText
        event = numbersEnd
      } else event = broken
      break
    }
    const token = at
    if (count >= countMax) {
      event = tooManyNumbers
      break
    }
    const negative = c == 0x2d
    if (negative) c = load<u8>(++at)
    if (c - 0x30 >= 10) {
      if (at >= end) {
        at = token
        event = <usize>load<i32>(numberBytesMaxAt) < end - token ? numberTooLong : more
        break
      }
      event = negative ? broken : notANumber
      break
    }
    let mantissa: u64 = 0
    let digits: i32 = 0
    let exponent: i32 = 0
    let hard = false
    if (c == 0x30) {
      c = load<u8>(++at)
      if (c - 0x30 < 10) {
        event = broken
        break
      }
    } else {
      const first = at
      for (; c - 0x30 < 10; c = load<u8>(++at)) mantissa = mantissa * 10 + (c - 0x30)
      digits = <i32>(at - first)
    }
    if (c == 0x2e) {
      const first = ++at
      if (mantissa == 0 && digits == 0) while (load<u8>(at) == 0x30) at++
      const significant = at
      for (c = load<u8>(at); c - 0x30 < 10; c = load<u8>(++at)) mantissa = mantissa * 10 + (c - 0x30)
      if (at == first && at < end) {
        event = broken
        break
      }
      digits += <i32>(at - significant)
      exponent = <i32>(first - at)
    }
    if (digits > digitsMax) hard = true
    if ((c | 0x20) == 0x65) {
      c = load<u8>(++at)
      const down = c == 0x2d
      if (down || c == 0x2b) c = load<u8>(++at)
      const first = at
      let given: i32 = 0
      for (; c - 0x30 < 10; c = load<u8>(++at)) if (given < 100_000) given = given * 10 + <i32>(c - 0x30)
      if (at == first && at < end) {
        event = broken
        break
      }
      exponent += down ? -given : given
    }
    if (at - token > <usize>load<i32>(numberBytesMaxAt)) {
      event = numberTooLong
      break
    }
    // The rest of the number may arrive with the next piece.
    if (at >= end) {
      at = token
      event = more
      break
    }
    let value = <f64>mantissa
    if (!hard && mantissa != 0 && exponent != 0) {
      if (isScalable(exponent)) value = scale(value, exponent)
      else hard = true
      if (!hard) hard = isDoubtful(value, mantissa, exponent)
    }
    if (hard) {
      tokenEnd = at
      at = token
      mode = behindNumber
      event = hardNumber
      break
    }
    if (value >= floatMax && load<i32>(wrongAt) < 0) store<i32>(wrongAt, count)
    store<f64>(out, negative ? -value : value)
    out += 8
    count++
    mode = behindNumber
  }
  store<i32>(countAt, count)
  store<i32>(modeAt, mode)
  position = at
  numbersTo = out
  // The number is incomplete. The caller passes it again together with the following bytes.
  return event == goOn && at >= end ? more : event
}
