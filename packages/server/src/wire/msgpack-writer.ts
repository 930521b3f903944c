// Writes MessagePack replies of known structure into one growing buffer, which can be read piece by piece. Floats have 32 bits,
// as the published clients expect, and a vector is copied once.

import { replyPieceBytes } from '../limits.ts'

const noBytes = Buffer.alloc(0)
/** Less than half of Buffer.poolSize, so that a short reply needs no allocation. */
const sizeFirst = 1_024

/** Writes values in the order of the calls. */
export class MsgpackWriter {
  #bytes = Buffer.allocUnsafe(sizeFirst)
  #at = 0

  array(length: number): this {
    if (length < 16) return this.#byte(0x90 | length)
    return length < 0x10000 ? this.#head16(0xdc, length) : this.#head32(0xdd, length)
  }

  map(length: number): this {
    if (length < 16) return this.#byte(0x80 | length)
    return length < 0x10000 ? this.#head16(0xde, length) : this.#head32(0xdf, length)
  }

  string(text: string): this {
    const length = Buffer.byteLength(text)
    if (length < 32) this.#byte(0xa0 | length)
    else if (length < 0x100) this.#head8(0xd9, length)
    else if (length < 0x10000) this.#head16(0xda, length)
    else this.#head32(0xdb, length)
    this.#reserve(length)
    this.#at += this.#bytes.write(text, this.#at, length, 'utf8')
    return this
  }

  binary(bytes: Uint8Array): this {
    if (bytes.length < 0x100) this.#head8(0xc4, bytes.length)
    else if (bytes.length < 0x10000) this.#head16(0xc5, bytes.length)
    else this.#head32(0xc6, bytes.length)
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  float(value: number): this {
    this.#reserve(5)
    this.#bytes[this.#at] = 0xca
    this.#bytes.writeFloatBE(value, this.#at + 1)
    this.#at += 5
    return this
  }

  nil(): this {
    return this.#byte(0xc0)
  }

  /** A number has 64 bits. */
  scalar(value: string | number | boolean): this {
    if (typeof value === 'string') return this.string(value)
    if (typeof value === 'boolean') return this.#byte(value ? 0xc3 : 0xc2)
    this.#reserve(9)
    this.#bytes[this.#at] = 0xcb
    this.#bytes.writeDoubleBE(value, this.#at + 1)
    this.#at += 9
    return this
  }

  uint(value: number): this {
    if (value < 0x80) return this.#byte(value)
    if (value < 0x100) return this.#head8(0xcc, value)
    return value < 0x10000 ? this.#head16(0xcd, value) : this.#head32(0xce, value)
  }

  floats(values: ArrayLike<number>): this {
    this.array(values.length)
    this.#reserve(values.length * 5)
    const bytes = this.#bytes
    let offset = this.#at
    for (let i = 0; i < values.length; i++) {
      bytes[offset] = 0xca
      bytes.writeFloatBE(values[i]!, offset + 1)
      offset += 5
    }
    this.#at = offset
    return this
  }

  uints(values: ArrayLike<number>): this {
    this.array(values.length)
    for (let i = 0; i < values.length; i++) this.uint(values[i]!)
    return this
  }

  /** The bytes since the last piece, if there are enough for a piece of a reply. */
  *piece(): Generator<Buffer> {
    if (this.#at >= replyPieceBytes) yield this.finish()
  }

  /** The bytes since the last piece. */
  finish(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#at)
    this.#bytes = noBytes
    this.#at = 0
    return bytes
  }

  #byte(value: number): this {
    this.#reserve(1)
    this.#bytes[this.#at++] = value
    return this
  }

  #head8(head: number, value: number): this {
    this.#reserve(2)
    this.#bytes[this.#at] = head
    this.#bytes[this.#at + 1] = value
    this.#at += 2
    return this
  }

  #head16(head: number, value: number): this {
    this.#reserve(3)
    this.#bytes[this.#at] = head
    this.#bytes.writeUInt16BE(value, this.#at + 1)
    this.#at += 3
    return this
  }

  #head32(head: number, value: number): this {
    this.#reserve(5)
    this.#bytes[this.#at] = head
    this.#bytes.writeUInt32BE(value, this.#at + 1)
    this.#at += 5
    return this
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(sizeFirst, this.#bytes.length * 2, this.#at + length))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}
