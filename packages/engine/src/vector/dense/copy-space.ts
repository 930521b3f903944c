// Memory for copies that live as long as one checkpoint. The copies of a large arena are hundreds of megabytes in thousands of pieces. From
// the allocator, they would lie between memory that stays, and the space between is not given back to the system. So they are placed in a
// few large pieces of their own pages, which are given back at once when they are freed.
import { freeBuffer } from '@annal/wal'

/** Pages are taken in pieces of this size, or of what is left. Pages that nothing was copied to take no memory. */
const pieceBytes = 16 * 2 ** 20

export class CopySpace {
  readonly #pieces: ArrayBuffer[] = []
  /** Bytes in use of the newest piece. */
  #used = 0

  /** A copy of the bytes. `left` is how many bytes the caller will copy from here on, these included. */
  copy(bytes: Uint8Array, left: number): Uint8Array {
    const newest = this.#pieces.at(-1)
    const fits = newest !== undefined && this.#used + bytes.length <= newest.byteLength
    const piece = fits ? newest : this.#addPiece(Math.max(bytes.length, Math.min(pieceBytes, left)))
    const copy = new Uint8Array(piece, this.#used, bytes.length)
    copy.set(bytes)
    this.#used += bytes.length
    return copy
  }

  /** Gives the memory back. The copies must not be used any more. */
  free(): void {
    for (const piece of this.#pieces.splice(0)) freeBuffer(piece)
    this.#used = 0
  }

  #addPiece(bytes: number): ArrayBuffer {
    // A buffer that could be resized has pages of its own, whatever its size.
    const piece = new ArrayBuffer(bytes, { maxByteLength: bytes })
    this.#pieces.push(piece)
    this.#used = 0
    return piece
  }
}
