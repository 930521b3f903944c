// A cursor over a JSON body. Keys and options are compared as bytes; the numbers of a vector are read by WebAssembly.
import { isAscii, isUtf8 } from 'node:buffer'
import type { Filter } from '@annal/engine'
import { scanArray } from '../wire/number-scan.ts'
import { bytesOfBase64, copyFloats, firstNotFinite } from '../wire/vector-bytes.ts'
import { type BodyCursor, filterTextMax, parseConditions, parseConditionText, termsMax } from './body-cursor.ts'

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openingBracket, closingBracket, openingBrace, closingBrace] = [0x5b, 0x5d, 0x7b, 0x7d]
const integerDigitsMax = 9
const indexDigitsMax = 10
const indexMax = 2 ** 32 - 1
const numberLengthMax = 32
/** No key of a body, and no name of a field, is longer. */
const keyBytesMax = 128
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Reads bytes from `from` to `end`. */
export class JsonCursor implements BodyCursor {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, from: number, end: number) {
    this.#bytes = bytes
    this.#at = from
    this.#end = end
  }

  members(member: (key: string) => boolean): boolean {
    if (!this.#skip(openingBrace)) return false
    if (this.#skip(closingBrace)) return true
    do {
      const key = this.#plainText()
      if (key === undefined || !this.#skip(colon) || !member(key)) return false
    } while (this.#skip(comma))
    return this.#skip(closingBrace)
  }

  single(entry: () => boolean): boolean {
    return this.#skip(openingBracket) && entry() && this.#skip(closingBracket)
  }

  entries(entry: () => boolean): boolean {
    if (!this.#skip(openingBracket)) return false
    if (this.#skip(closingBracket)) return true
    do if (!entry()) return false
    while (this.#skip(comma))
    return this.#skip(closingBracket)
  }

  next(): 'array' | 'object' | 'text' | 'other' {
    const byte = this.#peek()
    if (byte === quote) return 'text'
    return byte === openingBracket ? 'array' : byte === openingBrace ? 'object' : 'other'
  }

  nests(): boolean {
    if (this.#peek() !== openingBracket) return false
    const at = this.#at++
    const first = this.#peek()
    this.#at = at
    return first === openingBracket || first === quote
  }

  text(): string | undefined {
    if (!this.#skip(quote)) return undefined
    const from = this.#at
    for (let byte = this.#byte(from); byte !== quote; byte = this.#byte(++this.#at))
      if (byte < 0x20 || byte === backslash) return undefined
    const part = this.#bytes.subarray(from, this.#at++)
    if (isAscii(part)) return part.toString('latin1')
    return isUtf8(part) ? part.toString('utf8') : undefined
  }

  integer(): number | undefined {
    return this.#wholeNumber(integerDigitsMax)
  }

  #wholeNumber(digitsMax: number): number | undefined {
    let byte = this.#peek()
    const first = this.#at
    let value = 0
    while (byte >= 0x30 && byte <= 0x39) {
      value = value * 10 + byte - 0x30
      byte = this.#byte(++this.#at)
    }
    const digits = this.#at - first
    if (digits === 0 || digits > digitsMax || (digits > 1 && this.#bytes[first] === 0x30)) return undefined
    // 10.0 and 1e1 are whole numbers, too, in an unusual form.
    return byte === 0x2e || (byte | 0x20) === 0x65 ? undefined : value
  }

  number(): number | undefined {
    this.#peek()
    const first = this.#at
    while (isNumberByte(this.#byte(this.#at))) this.#at++
    if (this.#at - first > numberLengthMax) return undefined
    const text = this.#bytes.toString('latin1', first, this.#at)
    const value = Number(text)
    return number.test(text) && Number.isFinite(value) ? value : undefined
  }

  boolean(): boolean | undefined {
    const byte = this.#peek()
    const text = byte === 0x74 ? 'true' : 'false'
    const to = this.#at + text.length
    if (to > this.#end || this.#bytes.toString('latin1', this.#at, to) !== text) return undefined
    this.#at = to
    return byte === 0x74
  }

  vector(dimension: number): Float32Array | undefined {
    if (this.#peek() === quote) return this.#base64(dimension)
    const floats = this.floats()
    return floats?.length === dimension ? floats : undefined
  }

  floats(): Float32Array | undefined {
    if (this.#peek() !== openingBracket) return undefined
    const from = this.#at++
    if (this.#skip(closingBracket)) return new Float32Array(0)
    this.#at = from
    const scanned = scanArray(this.#bytes.subarray(0, this.#end), this.#at)
    if (scanned === undefined) return undefined
    this.#at = scanned.end
    return scanned.floats
  }

  indices(): Uint32Array | undefined {
    const found: number[] = []
    const isRead = this.entries(() => {
      const index = found.length < termsMax ? this.#wholeNumber(indexDigitsMax) : undefined
      if (index === undefined || index > indexMax) return false
      found.push(index)
      return true
    })
    return isRead ? Uint32Array.from(found) : undefined
  }

  #base64(dimension: number): Float32Array | undefined {
    const from = this.#at + 1
    const to = from + 4 * Math.ceil((4 * dimension) / 3)
    if (this.#byte(to) !== quote) return undefined
    const bytes = bytesOfBase64(this.#bytes.toString('latin1', from, to))
    if (bytes?.length !== 4 * dimension) return undefined
    this.#at = to + 1
    const floats = copyFloats(bytes)
    return firstNotFinite(floats) < 0 ? floats : undefined
  }

  conditions(asText: boolean): Filter | undefined {
    const byte = this.#peek()
    const isText = byte === quote
    if (isText !== asText && byte !== openingBracket) return undefined
    const to = isText ? this.#textEnd() : this.#arrayEnd()
    if (to === undefined) return undefined
    const part = this.#bytes.subarray(this.#at, to)
    this.#at = to
    const ascii = isAscii(part)
    if (!ascii && !isUtf8(part)) return undefined
    const json = ascii ? part.toString('latin1') : part.toString('utf8')
    if (!isText) return parseConditions(json)
    const text = parseText(json)
    return text === undefined ? undefined : parseConditionText(text)
  }

  ends(): boolean {
    this.#peek()
    return this.#at === this.#end
  }

  /** The byte at an offset; -1 at the end. */
  #byte(at: number): number {
    return at < this.#end ? this.#bytes[at]! : -1
  }

  /** Goes to the next byte that is not blank. */
  #peek(): number {
    for (;;) {
      const byte = this.#byte(this.#at)
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
      this.#at++
    }
  }

  #skip(wanted: number): boolean {
    if (this.#peek() !== wanted) return false
    this.#at++
    return true
  }

  /** A string of printable ASCII without escapes. */
  #plainText(): string | undefined {
    if (!this.#skip(quote)) return undefined
    const to = this.#bytes.indexOf(quote, this.#at)
    if (to < 0 || to >= this.#end || to - this.#at > keyBytesMax) return undefined
    const text = this.#bytes.toString('latin1', this.#at, to)
    this.#at = to + 1
    return plain.test(text) ? text : undefined
  }

  /** The offset after the string that begins here, if it is not too long. */
  #textEnd(): number | undefined {
    const end = Math.min(this.#end, this.#at + filterTextMax)
    for (let at = this.#at + 1; at < end; at++) {
      const byte = this.#bytes[at]
      if (byte === backslash) at++
      else if (byte === quote) return at + 1
    }
    return undefined
  }

  /** The offset after the bracket that closes the array that begins here, if it is not too long. Its content may be invalid. */
  #arrayEnd(): number | undefined {
    const end = Math.min(this.#end, this.#at + filterTextMax)
    let depth = 0
    for (let at = this.#at; at < end; at++) {
      const byte = this.#bytes[at]!
      if (byte === quote) {
        for (at++; at < end && this.#bytes[at] !== quote; at++) if (this.#bytes[at] === backslash) at++
      } else if (byte === openingBracket || byte === openingBrace) depth++
      else if (byte === closingBracket || byte === closingBrace) {
        if (--depth === 0) return at + 1
      }
    }
    return undefined
  }
}

/** Without the backslash. The characters of base64 are among these. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

function isNumberByte(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2e || byte === 0x2d || byte === 0x2b || (byte | 0x20) === 0x65
}

function parseText(json: string): string | undefined {
  if (json.includes('\\u00')) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
