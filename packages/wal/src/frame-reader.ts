// Reads frames from a segment file one after the other, in bounded memory: a block, or one frame when that is bigger.
// It says whether a frame verifies alone; whether it belongs where it lies is for the caller to judge.
import { type FrameHeader, frameBytes, frameHeaderBytes, readFrameHeader, seedOf, verifyFrame } from './frame.ts'
import { readBlockBytes } from './limits.ts'
import type { VfsFile } from './vfs.ts'
import { readFully } from './whole-file.ts'

export interface ReadFrame {
  readonly header: FrameHeader
  readonly offset: number
  /** Bytes on disk: header, payload and padding. */
  readonly bytes: number
  readonly sum: bigint
  readonly payload: Buffer
}

export interface FrameReaderOptions {
  readonly epoch: bigint
  readonly position: number
  /** Where the file ends, as far as this reader is concerned. */
  readonly end: number
  /** `lend`: payloads are valid until the next call. `give`: their memory is never written again. */
  readonly payloads: 'lend' | 'give'
}

export class FrameReader {
  readonly #file: VfsFile
  readonly #seed: number
  readonly #end: number
  readonly #lend: boolean
  #block: Buffer = Buffer.alloc(0)
  /** Position in the file of the block's first byte, and how many of its bytes are filled. */
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

  /** The frame at the position, which moves past it; undefined, without moving, when no frame verifies there. */
  async next(): Promise<ReadFrame | undefined> {
    if (!this.#holds(frameHeaderBytes) && !(await this.#fill(frameHeaderBytes))) return undefined
    const header = readFrameHeader(this.#block, this.#position - this.#blockStart, this.#seed)
    if (header === undefined) return undefined
    const bytes = frameBytes(header.length)
    if (!this.#holds(bytes) && !(await this.#fill(bytes))) return undefined
    const at = this.#position - this.#blockStart
    const sum = verifyFrame(this.#block, at, header.length)
    if (sum === undefined) return undefined
    const payload = this.#block.subarray(at + frameHeaderBytes, at + frameHeaderBytes + header.length)
    const frame = { header, offset: this.#position, bytes, sum, payload }
    this.#position += bytes
    return frame
  }

  /** The next frame at or after the position that verifies alone; looks at every eighth byte. */
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
    for (let at = this.#position; at < this.#end; at += block.length) {
      const got = await readFully(this.#file, block.subarray(0, Math.min(block.length, this.#end - at)), at)
      for (let i = 0; i < got; i++) if (block[i] !== 0) return false
    }
    return true
  }

  #holds(bytes: number): boolean {
    return this.#position - this.#blockStart + bytes <= this.#filled
  }

  /** Makes the block hold `bytes` from the position on; false when the file ends before. */
  async #fill(bytes: number): Promise<boolean> {
    if (this.#position + bytes > this.#end) return false
    const left = this.#end - this.#position
    // One header more than the frame, so that the next frame's size is known when its block is made.
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
