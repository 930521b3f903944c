// A cursor over a MessagePack body.
import { isAscii, isUtf8 } from 'node:buffer'
import type { Filter } from '@annal/engine'
import { decode } from '@msgpack/msgpack'
import { bodyElementsMax, bodyNodesMax, msgpackDepthMax } from '../limits.ts'
import { scanMsgpack } from '../wire/msgpack-scan.ts'
import { floatMax, floatRoom } from '../wire/numbers.ts'
import { copyFloats, firstNotFinite } from '../wire/vector-bytes.ts'
import { type BodyCursor, conditionsOf, filterTextMax, parseConditionText, termsMax } from './body-cursor.ts'

/** The conditions are inside of the body. */
const limits = { depthMax: msgpackDepthMax - 1, elementsMax: bodyElementsMax, nodesMax: bodyNodesMax / 2 }
/** Keys are not longer. */
const keyBytesMax = 128
/** No text that is read as a value is longer. */
const textBytesMax = 65_535

/** Reads a body from its beginning. Bytes after the first value are ignored, as published clients send some. */
export class MsgpackCursor implements BodyCursor {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  members(member: (key: string) => boolean): boolean {
    const head = this.#byte()
    const count = head >= 0x80 && head <= 0x8f ? head & 0x0f : head === 0xde ? this.#uint(2) : -1
    if (count < 0) return false
    for (let i = 0; i < count; i++) {
      const key = this.#key()
      if (key === undefined || !member(key)) return false
    }
    return true
  }

  single(entry: () => boolean): boolean {
    return this.#byte() === 0x91 && entry()
  }

  entries(entry: () => boolean): boolean {
    const count = this.#arrayLength(this.#byte())
    for (let i = 0; i < count; i++) if (!entry()) return false
    return count >= 0
  }

  /** The number of values after the head of an array; -1 if it is another head. */
  #arrayLength(head: number): number {
    if (head >= 0x90 && head <= 0x9f) return head & 0x0f
    return head === 0xdc ? this.#uint(2) : head === 0xdd ? this.#uint(4) : -1
  }

  text(): string | undefined {
    return this.#text(textBytesMax)
  }

  next(): 'array' | 'object' | 'text' | 'other' {
    const head = this.#at < this.#bytes.length ? this.#bytes[this.#at]! : 0xc1
    if ((head >= 0x90 && head <= 0x9f) || head === 0xdc || head === 0xdd) return 'array'
    if ((head >= 0x80 && head <= 0x8f) || head === 0xde || head === 0xdf) return 'object'
    return (head >= 0xa0 && head <= 0xbf) || head === 0xd9 || head === 0xda ? 'text' : 'other'
  }

  nests(): boolean {
    if (this.next() !== 'array') return false
    const head = this.#bytes[this.#at]!
    const first = this.#bytes[this.#at + (head === 0xdc ? 3 : head === 0xdd ? 5 : 1)] ?? 0
    return (first >= 0x90 && first <= 0x9f) || first === 0xdc || first === 0xdd || (first >= 0xc4 && first <= 0xc6)
  }

  integer(): number | undefined {
    const value = this.#wholeNumber()
    return value >= 0 && value <= 999_999_999 ? value : undefined
  }

  /** A number of up to 32 bits without a sign; -1 if it is another one. */
  #wholeNumber(): number {
    const head = this.#byte()
    if (head < 0x80) return head
    return head >= 0xcc && head <= 0xce ? this.#uint(1 << (head - 0xcc)) : -1
  }

  number(): number | undefined {
    const head = this.#bytes[this.#at]
    if (head !== 0xca && head !== 0xcb) return this.integer()
    this.#at += head === 0xca ? 5 : 9
    if (this.#at > this.#bytes.length) return undefined
    const value = head === 0xca ? this.#view.getFloat32(this.#at - 4) : this.#view.getFloat64(this.#at - 8)
    return Number.isFinite(value) ? value : undefined
  }

  boolean(): boolean | undefined {
    const head = this.#byte()
    return head === 0xc3 ? true : head === 0xc2 ? false : undefined
  }

  vector(dimension: number): Float32Array | undefined {
    const head = this.#byte()
    if (head >= 0xc4 && head <= 0xc6) return this.#floatsOfBytes(this.#uint(1 << (head - 0xc4)), dimension)
    return this.#arrayLength(head) === dimension ? this.#floats(dimension) : undefined
  }

  floats(): Float32Array | undefined {
    const count = this.#arrayLength(this.#byte())
    return count < 0 || count > this.#bytes.length - this.#at ? undefined : this.#floats(count)
  }

  indices(): Uint32Array | undefined {
    const count = this.#arrayLength(this.#byte())
    if (count < 0 || count > termsMax) return undefined
    const indices = new Uint32Array(count)
    for (let i = 0; i < count; i++) {
      const index = this.#wholeNumber()
      if (index < 0) return undefined
      indices[i] = index
    }
    return indices
  }

  #floatsOfBytes(length: number, dimension: number): Float32Array | undefined {
    const from = this.#at
    this.#at += length
    if (length !== 4 * dimension || this.#at > this.#bytes.length) return undefined
    const floats = copyFloats(this.#bytes.subarray(from, this.#at))
    return firstNotFinite(floats) < 0 ? floats : undefined
  }

  #floats(count: number): Float32Array | undefined {
    const bytes = this.#bytes
    const view = this.#view
    const end = bytes.length
    const floats = floatRoom(count)
    let at = this.#at
    for (let i = 0; i < count; i++) {
      const head = at < end ? bytes[at]! : 0xc1
      let value: number
      if (head === 0xca && at + 5 <= end) {
        value = view.getFloat32(at + 1)
        at += 5
      } else if (head === 0xcb && at + 9 <= end) {
        value = view.getFloat64(at + 1)
        at += 9
      } else if (head < 0x80) {
        value = head
        at += 1
      } else if (head === 0xcc && at + 2 <= end) {
        value = bytes[at + 1]!
        at += 2
      } else if (head >= 0xe0) {
        value = head - 256
        at += 1
      } else return undefined
      if (!(Math.abs(value) < floatMax)) return undefined
      floats[i] = value
    }
    this.#at = at
    return floats
  }

  conditions(asText: boolean): Filter | undefined {
    if (this.next() !== 'array') {
      const text = asText ? this.#text(filterTextMax) : undefined
      return text === undefined ? undefined : parseConditionText(text)
    }
    const part = this.#bytes.subarray(this.#at, this.#at + filterTextMax)
    try {
      const { end } = scanMsgpack(part, limits)
      this.#at += end
      return conditionsOf(decode(part.subarray(0, end)))
    } catch {
      // Neither function changes anything. The main thread decodes the same bytes and reports the error.
      return undefined
    }
  }

  ends(): boolean {
    return true
  }

  /** A short text, which is always ASCII. */
  #key(): string | undefined {
    const bytes = this.#bytes
    const from = this.#at + 1
    const head = this.#byte()
    const to = from + (head & 0x1f)
    if (head < 0xa0 || head > 0xbf) {
      this.#at = from - 1
      return this.#text(keyBytesMax)
    }
    if (to > bytes.length) return undefined
    for (let at = from; at < to; at++) if (bytes[at]! >= 0x80) return undefined
    this.#at = to
    return bytes.toString('latin1', from, to)
  }

  /** The next byte; at the end, one that begins no value. */
  #byte(): number {
    return this.#at < this.#bytes.length ? this.#bytes[this.#at++]! : 0xc1
  }

  /** A big-endian number; -1 if the bytes end before it. */
  #uint(width: number): number {
    const from = this.#at
    this.#at += width
    return this.#at > this.#bytes.length ? -1 : this.#bytes.readUIntBE(from, width)
  }

  #text(bytesMax: number): string | undefined {
    const head = this.#byte()
    const length =
      head >= 0xa0 && head <= 0xbf ? head & 0x1f : head === 0xd9 ? this.#uint(1) : head === 0xda ? this.#uint(2) : -1
    const from = this.#at
    this.#at += length
    if (length < 0 || length > bytesMax || this.#at > this.#bytes.length) return undefined
    const part = this.#bytes.subarray(from, this.#at)
    if (isAscii(part)) return part.toString('latin1')
    // Decoders differ in what they do with a byte order mark.
    return isUtf8(part) && part[0] !== 0xef ? part.toString('utf8') : undefined
  }
}
