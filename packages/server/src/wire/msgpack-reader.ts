// Reads MessagePack of known structure, value by value. The caller says what must come next, so nothing nests deeper than the
// code that reads it. Counts are checked against the remaining bytes, and vectors are read directly into a Float32Array.
import { isUtf8 } from 'node:buffer'
import { invalidArgument, ServerError } from '../errors.ts'
import { float32Bytes, readFloat32s } from './float-run.ts'
import { floatMax, floatRoom, notFinite } from './numbers.ts'
import { floatsOfBytes } from './vector-bytes.ts'

/** Reads values in the order in which the caller expects them. Throws invalid_msgpack. */
export class MsgpackReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #room: (length: number) => Float32Array
  #at = 0

  /** `room` returns space for the numbers of a vector. */
  constructor(bytes: Uint8Array, room: (length: number) => Float32Array = floatRoom) {
    this.#room = room
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Reads the head of an array and returns the number of values that follow. Nil counts as an empty array. */
  array(field: string): number {
    const head = this.#head(field)
    if (head >= 0x90 && head <= 0x9f) return this.#fits(head & 0x0f, 1, field)
    if (head === 0xdc) return this.#fits(this.#uint16(field), 1, field)
    if (head === 0xdd) return this.#fits(this.#uint32(field), 1, field)
    if (head === 0xc0) return 0
    throw this.#wrong('an array', head, field)
  }

  /** Reads the head of a map and returns the number of pairs that follow. Nil counts as an empty map. */
  map(field: string): number {
    const head = this.#head(field)
    if (head >= 0x80 && head <= 0x8f) return this.#fits(head & 0x0f, 2, field)
    if (head === 0xde) return this.#fits(this.#uint16(field), 2, field)
    if (head === 0xdf) return this.#fits(this.#uint32(field), 2, field)
    if (head === 0xc0) return 0
    throw this.#wrong('a map', head, field)
  }

  string(field: string): string {
    const head = this.#head(field)
    const bytes = this.#take(this.#textLength(head, field), field)
    if (!isUtf8(bytes)) throw invalidArgument(`${field} is not valid UTF-8`, { field })
    return bytes.toString('utf8')
  }

  /** Binary data, or the bytes of a text. Nil is empty. The result is a copy. */
  binary(field: string): Uint8Array {
    return new Uint8Array(this.#binaryView(field))
  }

  /** Text or nil. */
  text(field: string): string {
    if (this.#bytes[this.#at] === 0xc0) {
      this.#at += 1
      return ''
    }
    return this.string(field)
  }

  /** A number or nil. */
  optionalNumber(field: string): number | undefined {
    if (this.#bytes[this.#at] !== 0xc0) return this.number(field)
    this.#at += 1
    return undefined
  }

  /** Any integer or float. */
  number(field: string): number {
    const head = this.#head(field)
    if (head < 0x80) return head
    if (head >= 0xe0) return head - 256
    const width = numberWidths[head]
    if (width === undefined) throw this.#wrong('a number', head, field)
    this.#need(width, field)
    const offset = this.#at
    this.#at += width
    return numberAt(this.#view, head, offset)
  }

  /** An array of numbers as float32; each must be finite as float32. Nil is empty. */
  floats(field: string): Float32Array {
    const length = this.array(field)
    const values = this.#room(length)
    const bytes = this.#bytes
    const view = this.#view
    const end = bytes.length
    const run = readFloat32s(bytes, this.#at, values)
    let offset = this.#at + run * float32Bytes
    for (let i = run; i < length; i++) {
      const head = offset < end ? bytes[offset]! : 0xc1
      let value: number
      // Almost all numbers have one of these four forms.
      if (head === 0xca && offset + 5 <= end) {
        value = view.getFloat32(offset + 1)
        offset += 5
      } else if (head < 0x80) {
        value = head
        offset += 1
      } else if (head === 0xcc && offset + 2 <= end) {
        value = bytes[offset + 1]!
        offset += 2
      } else if (head === 0xcb && offset + 9 <= end) {
        value = view.getFloat64(offset + 1)
        offset += 9
      } else {
        this.#at = offset
        value = this.number(`${field}[${i}]`)
        offset = this.#at
      }
      if (!(Math.abs(value) < floatMax)) throw notFinite(`${field}[${i}]`, value)
      values[i] = value
    }
    this.#at = offset
    return values
  }

  /** A vector: an array of numbers, or binary data of 32-bit floats. */
  vector(field: string): Float32Array {
    const head = this.#bytes[this.#at]
    const isBinary = head !== undefined && head >= 0xc4 && head <= 0xc6
    return isBinary ? floatsOfBytes(this.#binaryView(field), field, this.#room) : this.floats(field)
  }

  /** An array of whole numbers from 0 to 2^32 - 1. Nil is empty. */
  indices(field: string): Uint32Array {
    const length = this.array(field)
    const values = new Uint32Array(length)
    for (let i = 0; i < length; i++) {
      const value = this.number(`${field}[${i}]`)
      if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
        throw invalidArgument(`${field}[${i}] must be a whole number from 0 to 4294967295`, {
          field: `${field}[${i}]`,
          value,
        })
      }
      values[i] = value
    }
    return values
  }

  #binaryView(field: string): Buffer {
    const head = this.#head(field)
    if (head === 0xc0) return this.#take(0, field)
    const length =
      head === 0xc4
        ? this.#uint8(field)
        : head === 0xc5
          ? this.#uint16(field)
          : head === 0xc6
            ? this.#uint32(field)
            : this.#textLength(head, field)
    return this.#take(length, field)
  }

  #textLength(head: number, field: string): number {
    if (head >= 0xa0 && head <= 0xbf) return head & 0x1f
    if (head === 0xd9) return this.#uint8(field)
    if (head === 0xda) return this.#uint16(field)
    if (head === 0xdb) return this.#uint32(field)
    throw this.#wrong('a string', head, field)
  }

  #head(field: string): number {
    this.#need(1, field)
    return this.#bytes[this.#at++]!
  }

  #take(length: number, field: string): Buffer {
    this.#need(length, field)
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }

  #uint8(field: string): number {
    return this.#take(1, field)[0]!
  }

  #uint16(field: string): number {
    return this.#take(2, field).readUInt16BE()
  }

  #uint32(field: string): number {
    return this.#take(4, field).readUInt32BE()
  }

  #need(length: number, field: string): void {
    if (this.#at + length <= this.#view.byteLength) return
    throw new ServerError('invalid_msgpack', `the MessagePack body ends inside ${field}`, { field })
  }

  #fits(count: number, each: number, field: string): number {
    if (count * each <= this.#view.byteLength - this.#at) return count
    throw new ServerError(
      'invalid_msgpack',
      `${field} announces ${count} entries, more than the remaining bytes can hold`,
      { field },
    )
  }

  #wrong(expected: string, head: number, field: string): ServerError {
    if (head === 0xc1) return new ServerError('invalid_msgpack', `${field} begins with an unused code`, { field })
    return invalidArgument(`${field} must be ${expected}`, { field, value: `MessagePack type 0x${head.toString(16)}` })
  }
}

const numberWidths: { readonly [head: number]: number } = {
  202: 4,
  203: 8,
  204: 1,
  205: 2,
  206: 4,
  207: 8,
  208: 1,
  209: 2,
  210: 4,
  211: 8,
}

function numberAt(view: DataView, head: number, offset: number): number {
  switch (head) {
    case 0xca:
      return view.getFloat32(offset)
    case 0xcb:
      return view.getFloat64(offset)
    case 0xcc:
      return view.getUint8(offset)
    case 0xcd:
      return view.getUint16(offset)
    case 0xce:
      return view.getUint32(offset)
    case 0xcf:
      return Number(view.getBigUint64(offset))
    case 0xd0:
      return view.getInt8(offset)
    case 0xd1:
      return view.getInt16(offset)
    case 0xd2:
      return view.getInt32(offset)
    default:
      return Number(view.getBigInt64(offset))
  }
}
