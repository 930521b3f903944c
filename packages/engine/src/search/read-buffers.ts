// Buffers of reads that are handed over, used again by the next search. A buffer of its own for each read would be garbage outside of the
// heap, which V8 collects when tens of megabytes have added up.

/** Bytes that unused buffers may have together. */
const unusedBytesMax = 2 ** 20

export class ReadBuffers {
  readonly #unused: Uint8Array[] = []
  #unusedBytes = 0

  /** A buffer of at least `bytes` bytes for one caller, who returns it when no read can write to it any more. */
  take(bytes: number): Uint8Array {
    const buffer = this.#unused.pop()
    if (buffer === undefined) return new Uint8Array(bytes)
    this.#unusedBytes -= buffer.length
    return buffer.length < bytes ? new Uint8Array(bytes) : buffer
  }

  /** Keeps a buffer for the next caller, unless there are many. */
  putBack(buffer: Uint8Array): void {
    if (this.#unusedBytes + buffer.length > unusedBytesMax) return
    this.#unusedBytes += buffer.length
    this.#unused.push(buffer)
  }
}
