// Writes MessagePack to one growing buffer. It exists because the MessagePack library writes a Float32Array only as opaque bytes, or
// number by number through a JavaScript array.

const utf8 = new TextEncoder()

export class MessageWriter {
  #bytes: Uint8Array<ArrayBuffer>
  #view: DataView
  #length = 0

  constructor(bytesExpected: number) {
    this.#bytes = new Uint8Array(bytesExpected)
    this.#view = new DataView(this.#bytes.buffer)
  }

  /** The written bytes. They share memory with the writer, which must not be used afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  arrayHeader(count: number): void {
    if (count < 16) this.#byte(0x90 | count)
    else this.#header(0xdc, 0xdd, count)
  }

  mapHeader(count: number): void {
    if (count < 16) this.#byte(0x80 | count)
    else this.#header(0xde, 0xdf, count)
  }

  /** The string must be well-formed; an unpaired surrogate would silently become a replacement character. */
  text(text: string): void {
    const bytes = utf8.encode(text)
    if (bytes.length < 32) this.#byte(0xa0 | bytes.length)
    else if (bytes.length < 256) this.#byteAndSize8(0xd9, bytes.length)
    else this.#header(0xda, 0xdb, bytes.length)
    this.#append(bytes)
  }

  binary(bytes: Uint8Array): void {
    if (bytes.length < 256) this.#byteAndSize8(0xc4, bytes.length)
    else this.#header(0xc5, 0xc6, bytes.length)
    this.#append(bytes)
  }

  nil(): void {
    this.#byte(0xc0)
  }

  /** An array of float32. */
  float32Array(values: ArrayLike<number>): void {
    this.arrayHeader(values.length)
    let offset = this.#reserve(values.length * 5)
    for (let i = 0; i < values.length; i += 1, offset += 5) {
      this.#bytes[offset] = 0xca
      this.#view.setFloat32(offset + 1, values[i] as number)
    }
  }

  uint32Array(values: ArrayLike<number>): void {
    this.arrayHeader(values.length)
    let offset = this.#reserve(values.length * 5)
    for (let i = 0; i < values.length; i += 1, offset += 5) {
      this.#bytes[offset] = 0xce
      this.#view.setUint32(offset + 1, values[i] as number)
    }
  }

  #byte(value: number): void {
    const offset = this.#reserve(1)
    this.#bytes[offset] = value
  }

  #byteAndSize8(type: number, size: number): void {
    const offset = this.#reserve(2)
    this.#bytes[offset] = type
    this.#bytes[offset + 1] = size
  }

  /** A type byte followed by a size of two bytes, or its sibling followed by four. */
  #header(type16: number, type32: number, size: number): void {
    if (size < 0x10000) {
      const offset = this.#reserve(3)
      this.#bytes[offset] = type16
      this.#view.setUint16(offset + 1, size)
    } else {
      const offset = this.#reserve(5)
      this.#bytes[offset] = type32
      this.#view.setUint32(offset + 1, size)
    }
  }

  #append(bytes: Uint8Array): void {
    // Reserving may replace the buffer, so it comes first.
    const offset = this.#reserve(bytes.length)
    this.#bytes.set(bytes, offset)
  }

  /** Reserves space and returns its offset. */
  #reserve(size: number): number {
    const offset = this.#length
    this.#length += size
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2))
      larger.set(this.#bytes.subarray(0, offset))
      this.#bytes = larger
      this.#view = new DataView(larger.buffer)
    }
    return offset
  }
}
