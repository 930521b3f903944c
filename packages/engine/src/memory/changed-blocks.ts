// Which blocks of memory changed since one moment. Bytes after the length that the memory had then all count as changed, so only blocks
// below it take memory: one bit for 64 bytes.
import { assert } from '../errors.ts'

/** A table of hashes changes a few bytes here and there, so larger blocks would write it completely after a few thousand ids. */
export const changedBlockBytes = 64

/** Blocks that follow one another, as pairs of numbers: the first block and the count. Ascending; no two runs touch. */
export type BlockRuns = Uint32Array

export class ChangedBlocks {
  /** Bytes of the memory at that moment. */
  readonly length: number
  readonly #bits: Uint32Array

  constructor(length: number) {
    this.length = length
    this.#bits = new Uint32Array(Math.ceil(length / changedBlockBytes / 32))
  }

  /** These bytes change. */
  add(from: number, bytes: number): void {
    const last = Math.floor((Math.min(from + bytes, this.length) - 1) / changedBlockBytes)
    for (let block = Math.floor(from / changedBlockBytes); block <= last; ) {
      const shift = block & 31
      const count = Math.min(32 - shift, last - block + 1)
      this.#bits[block >>> 5]! |= (0xffffffff >>> (32 - count)) << shift
      block += count
    }
  }

  /** What changed in memory that has `end` bytes now. */
  runs(end: number): BlockRuns {
    assert(end >= this.length, `memory of ${this.length} bytes does not become ${end}`)
    const runs: number[] = []
    let [first, next] = [-1, -1]
    const add = (block: number, count: number) => {
      if (block === next) next += count
      else {
        if (first >= 0) runs.push(first, next - first)
        ;[first, next] = [block, block + count]
      }
    }
    for (let index = 0; index < this.#bits.length; index++) {
      const word = this.#bits[index]!
      if (word === 0xffffffff) add(index * 32, 32)
      else for (let rest = word; rest !== 0; rest &= rest - 1) add(index * 32 + 31 - Math.clz32(rest & -rest), 1)
    }
    if (end > this.length) {
      // The block in which the memory ended may have changed as well.
      const boundary = Math.floor(this.length / changedBlockBytes)
      const blocks = Math.ceil(end / changedBlockBytes)
      if (next > boundary) next = blocks
      else add(boundary, blocks - boundary)
    }
    if (first >= 0) runs.push(first, next - first)
    return Uint32Array.from(runs)
  }
}

/** Bytes of the blocks in memory that has `end` bytes. */
export function runBytes(runs: BlockRuns, end: number): number {
  let bytes = 0
  for (let i = 0; i < runs.length; i += 2)
    bytes += Math.min((runs[i]! + runs[i + 1]!) * changedBlockBytes, end) - runs[i]! * changedBlockBytes
  return bytes
}
