// Copies of many short values, in few buffers: a buffer of its own costs each more than its bytes, and leaves the allocator's memory in pieces
// when it is freed. A copy keeps the buffer of all that were made around it.

const firstBytes = 512
const mostBytes = 16_384

export class Copies {
  #buffer = new Uint8Array(0)
  #filled = 0

  copyOf(bytes: Uint8Array): Uint8Array {
    const { length } = bytes
    if (length > mostBytes / 4) return new Uint8Array(bytes)
    if (this.#filled + length > this.#buffer.length) {
      this.#buffer = new Uint8Array(Math.min(mostBytes, Math.max(firstBytes, 2 * this.#buffer.length, length)))
      this.#filled = 0
    }
    const copy = this.#buffer.subarray(this.#filled, this.#filled + length)
    copy.set(bytes)
    this.#filled += length
    return copy
  }
}
