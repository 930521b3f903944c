// Encodes queued records as the bytes of one write. Small records are copied into an arena; large payloads are written
// from their own buffers. The arena is reused, so a batch must be written before the next one is encoded.
import { frameBytes, frameHeaderBytes, paddingOf, sealFrame, sealFrameInPieces, writeFrameHeader } from './frame.ts'
import { directWriteBytesMin } from './limits.ts'

/** A record in the form that the encoder needs. */
export interface BatchRecord {
  readonly type: number
  readonly version: number
  readonly pieces: readonly Uint8Array[]
  readonly length: number
}

/** Where a batch begins: its first LSN, the stamp, the checksum of the frame before it, and the seed of the segment. */
export interface BatchStart {
  readonly lsnFirst: number
  readonly durableLsn: number
  readonly chain: bigint
  readonly seed: number
}

/** The encoded bytes of a batch. */
export interface Batch {
  /** Buffers to write, in order. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  readonly lsnLast: number
  readonly chain: bigint
}

const arenaBytesMin = 16 * 1024
const zeros = new Uint8Array(8)

/** Encodes batches. The result of one call is valid until the next. */
export class BatchEncoder {
  #arena: Buffer = Buffer.alloc(0)

  encode(records: readonly BatchRecord[], start: BatchStart): Batch {
    const arena = this.#arenaFor(records)
    const chunks: Uint8Array[] = []
    let chain = start.chain
    let lsn = start.lsnFirst - 1
    let bytes = 0
    let offset = 0
    let chunkStart = 0
    for (const record of records) {
      lsn++
      bytes += frameBytes(record.length)
      const header = { ...start, ...record, flags: 0, lsn, prevSum: chain }
      writeFrameHeader(arena, offset, header, start.seed)
      const padding = paddingOf(record.length)
      if (isDirect(record)) {
        chain = sealFrameInPieces(arena, offset, [...record.pieces, zeros.subarray(0, padding)])
        chunks.push(arena.subarray(chunkStart, offset + frameHeaderBytes), ...record.pieces)
        chunkStart = offset + frameHeaderBytes
        offset = chunkStart
      } else {
        let to = offset + frameHeaderBytes
        for (const piece of record.pieces) {
          arena.set(piece, to)
          to += piece.length
        }
        arena.fill(0, to, to + padding)
        chain = sealFrame(arena, offset, record.length)
        offset = to
      }
      if (isDirect(record)) arena.fill(0, offset, offset + padding)
      offset += padding
    }
    if (offset > chunkStart) chunks.push(arena.subarray(chunkStart, offset))
    return { chunks, bytes, lsnLast: lsn, chain }
  }

  #arenaFor(records: readonly BatchRecord[]): Buffer {
    let needed = 0
    for (const record of records) needed += isDirect(record) ? frameHeaderBytes + 8 : frameBytes(record.length)
    if (this.#arena.length < needed) this.#arena = Buffer.allocUnsafeSlow(Math.max(arenaBytesMin, needed))
    return this.#arena
  }
}

/** A large payload gets its own write. Many small pieces do not. */
function isDirect(record: BatchRecord): boolean {
  return record.length >= directWriteBytesMin && record.length >= record.pieces.length * directWriteBytesMin
}
