// Turns queued records into the bytes of one write. Small records are copied together; big payloads go to the disk from
// where they are. The arena is reused, so a batch must be written before the next one is made.
import { frameBytes, frameHeaderBytes, paddingOf, sealFrame, sealFrameInPieces, writeFrameHeader } from './frame.ts'
import { directWriteBytesMin } from './limits.ts'

export interface BatchRecord {
  readonly type: number
  readonly version: number
  readonly pieces: readonly Uint8Array[]
  readonly length: number
}

export interface BatchStart {
  readonly lsnFirst: number
  readonly durableLsn: number
  readonly chain: bigint
  readonly seed: number
}

export interface Batch {
  /** What to write, in order. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  readonly lsnLast: number
  readonly chain: bigint
}

const arenaBytesMin = 16 * 1024
const zeros = new Uint8Array(8)

export class BatchEncoder {
  #arena: Buffer = Buffer.alloc(0)

  encode(records: readonly BatchRecord[], start: BatchStart): Batch {
    const arena = this.#arenaFor(records)
    const chunks: Uint8Array[] = []
    let chain = start.chain
    let lsn = start.lsnFirst - 1
    let bytes = 0
    let at = 0
    let chunkStart = 0
    for (const record of records) {
      lsn++
      bytes += frameBytes(record.length)
      const header = { ...start, ...record, flags: 0, lsn, prevSum: chain }
      writeFrameHeader(arena, at, header, start.seed)
      const padding = paddingOf(record.length)
      if (isDirect(record)) {
        chain = sealFrameInPieces(arena, at, [...record.pieces, zeros.subarray(0, padding)])
        chunks.push(arena.subarray(chunkStart, at + frameHeaderBytes), ...record.pieces)
        chunkStart = at + frameHeaderBytes
        at = chunkStart
      } else {
        let to = at + frameHeaderBytes
        for (const piece of record.pieces) {
          arena.set(piece, to)
          to += piece.length
        }
        arena.fill(0, to, to + padding)
        chain = sealFrame(arena, at, record.length)
        at = to
      }
      if (isDirect(record)) arena.fill(0, at, at + padding)
      at += padding
    }
    if (at > chunkStart) chunks.push(arena.subarray(chunkStart, at))
    return { chunks, bytes, lsnLast: lsn, chain }
  }

  #arenaFor(records: readonly BatchRecord[]): Buffer {
    let needed = 0
    for (const record of records) needed += isDirect(record) ? frameHeaderBytes + 8 : frameBytes(record.length)
    if (this.#arena.length < needed) this.#arena = Buffer.allocUnsafeSlow(Math.max(arenaBytesMin, needed))
    return this.#arena
  }
}

/** One big payload is worth a write of its own; a thousand small pieces are not. */
function isDirect(record: BatchRecord): boolean {
  return record.length >= directWriteBytesMin && record.length >= record.pieces.length * directWriteBytesMin
}
