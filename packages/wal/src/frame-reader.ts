// Reads frames from a segment file in order and in bounded memory: one block, or one frame when the frame is larger. It
// verifies each frame alone; the caller decides whether the frame belongs at its place.
import { type FrameHeader, frameBytes, frameHeaderBytes, readFrameHeader, seedOf, verifyFrame } from './frame.ts'
import { readBlockBytes } from './limits.ts'
import type { VfsFile } from './vfs.ts'
import { readFully } from './whole-file.ts'

/** A frame that verified. */
export interface ReadFrame {
  readonly header: FrameHeader
  readonly offset: number
  /** Bytes on disk: header, payload and padding. */
  readonly bytes: number
  readonly sum: bigint
  readonly payload: Buffer
}

/** The range to read, and the epoch of the segment. */
export interface FrameReaderOptions {
  readonly epoch: bigint
  readonly position: number
  /** The end of the range this reader may read. */
  readonly end: number
  /** `lend`: payloads are valid until the next call. `give`: their memory is never overwritten. */
  readonly payloads: 'lend' | 'give'
}

/** Reads frames of one segment file from a position on. */
export class FrameReader {
  readonly #file: VfsFile
  readonly #seed: number
  readonly #end: number
  readonly #lend: boolean
  #block: Buffer = Buffer.alloc(0)
  /** File offset of the block's first byte, and the number of filled bytes. */
  #blockStart: number
  #filled = 0
  #position: number

  constructor(file: VfsFile, options: FrameReaderOptions) {
    this.#file = file
    this.#seed = seedOf(options.epoch)
    this.#end = options.end
    this.#lend = options.payloads === 'lend'
    this.#position = options.position
    this.#blockStart = options.position
  }

  get position(): number {
    return this.#position
  }

  /**
   * Returns the frame at the position and moves past it. Returns undefined, without moving, when no frame verifies
   * there.
   */
  async next(): Promise<ReadFrame | undefined> {
    if (!this.#holds(frameHeaderBytes) && !(await this.#fill(frameHeaderBytes))) return undefined
    const header = readFrameHeader(this.#block, this.#position - this.#blockStart, this.#seed)
    if (header === undefined) return undefined
    const bytes = frameBytes(header.length)
    if (!this.#holds(bytes) && !(await this.#fill(bytes))) return undefined
    const start = this.#position - this.#blockStart
    const sum = verifyFrame(this.#block, start, header.length)
    if (sum === undefined) return undefined
    const payload = this.#block.subarray(start + frameHeaderBytes, start + frameHeaderBytes + header.length)
    const frame = { header, offset: this.#position, bytes, sum, payload }
    this.#position += bytes
    return frame
  }

  /**
   * Finds the next frame at or after the position that verifies alone. Frames are aligned to 8 bytes, so it checks
   * every eighth byte.
   */
  async find(): Promise<ReadFrame | undefined> {
    for (;;) {
      const frame = await this.next()
      if (frame !== undefined) return frame
      if (this.#position + 8 + frameHeaderBytes > this.#end) return undefined
      this.#position += 8
    }
  }

  /** True when everything from the position to the end is zero. */
  async onlyZerosLeft(): Promise<boolean> {
    const block = Buffer.alloc(Math.min(readBlockBytes, Math.max(0, this.#end - this.#position)))
    for (let offset = this.#position; offset < this.#end; offset += block.length) {
      const got = await readFully(this.#file, block.subarray(0, Math.min(block.length, this.#end - offset)), offset)
      for (let i = 0; i < got; i++) if (block[i] !== 0) return false
    }
    return true
  }

  #holds(bytes: number): boolean {
    return this.#position - this.#blockStart + bytes <= this.#filled
  }

  /** Loads `bytes` bytes from the position on. Returns false when the file ends earlier. */
  async #fill(bytes: number): Promise<boolean> {
    if (this.#position + bytes > this.#end) return false
    const left = this.#end - this.#position
    // Loads one more header than the frame, so that the size of the next frame is known when its block is allocated.
    const wanted = Math.min(left, Math.max(Math.min(readBlockBytes, left), bytes + frameHeaderBytes))
    const kept = this.#block.subarray(Math.min(this.#position - this.#blockStart, this.#filled), this.#filled)
    const fresh = this.#lend && this.#block.length >= wanted ? this.#block : Buffer.allocUnsafeSlow(wanted)
    kept.copy(fresh, 0)
    const got = await readFully(this.#file, fresh.subarray(kept.length, wanted), this.#position + kept.length)
    this.#block = fresh
    this.#blockStart = this.#position
    this.#filled = kept.length + got
    return this.#filled >= bytes
  }
}
