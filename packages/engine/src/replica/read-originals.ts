// Reads rows of original vectors by slot, and verifies their checksums. originals-rows.ts has where the bytes of a row are.
import type { VfsFile } from '@annal/wal'
import type { OriginalsChunks } from './originals-chunks.ts'
import { chainSum, headBytes, sumAt, sumBytes } from './originals-file.ts'
import { bytesOfRows, rowsStart, takeRows } from './originals-rows.ts'

/** Consecutive rows are read in pieces of this size. */
const readBytesMax = 1024 * 1024

/** Reads `rows` vectors from a slot on. Throws EngineError snapshot_damaged if a row on disk is wrong. */
export async function readRows(chunks: OriginalsChunks, first: number, rows: number): Promise<Float32Array> {
  const { dimension } = chunks.owner
  const vectors = new Float32Array(rows * dimension)
  for (let done = 0; done < rows; ) {
    const { chunk, row, left } = chunks.locate(first + done)
    const taken = Math.min(left, rows - done)
    const into = vectors.subarray(done * dimension, (done + taken) * dimension)
    await readRun(chunks, chunk, row, into)
    done += taken
  }
  return vectors
}

/** Slots that follow each other in one file, as positions in a list. */
export interface SlotRun {
  readonly slot: number
  readonly from: number
  readonly to: number
}

/** Divides ascending slots into runs that are read at once. */
export function* slotRuns(chunks: OriginalsChunks, slots: readonly number[]): Generator<SlotRun, void> {
  const rowsMax = Math.max(1, Math.floor(readBytesMax / chunks.rowBytes))
  for (let from = 0; from < slots.length; ) {
    const slot = slots[from] as number
    const most = Math.min(rowsMax, chunks.locate(slot).left)
    let to = from + 1
    while (to < slots.length && to - from < most && slots[to] === slot + to - from) to++
    yield { slot, from, to }
    from = to
  }
}

/**
 * Reads one vector in the calling thread into `bytes`, which has space for a row and the checksum before it: the vector begins after that
 * checksum. False if only `readRows` can read it, which then reports why. Throws snapshot_damaged if the row on disk is wrong.
 */
export function readRowNow(chunks: OriginalsChunks, slot: number, bytes: Uint8Array): boolean {
  const { chunk, row } = chunks.locate(slot)
  const { file, version, headSum } = chunks.at(chunk)
  if (version === 1) return false
  const offset = headBytes + row * chunks.rowBytes
  if (!isReadNow(file, bytes, offset - sumBytes)) return false
  if (!isChained(bytes, headSum)) throw chunks.damaged(chunk, offset)
  return true
}

async function readRun(chunks: OriginalsChunks, chunk: number, row: number, into: Float32Array): Promise<void> {
  const { dimension } = chunks.owner
  const run = { row, count: into.length / dimension }
  const { version, headSum } = chunks.at(chunk)
  const origin = { version, headSum, firstSlot: chunks.firstSlot(chunk), dimension }
  const { offset, length } = bytesOfRows(origin, run)
  const bytes = new Uint8Array(length)
  const read = await chunks.readAt(chunk, offset, bytes)
  const damaged = takeRows(origin, run, bytes, read, into)
  if (damaged >= 0) throw chunks.damaged(chunk, rowsStart(version) + damaged * chunks.rowBytes)
}

/** Whether the calling thread has read all bytes. */
function isReadNow(file: VfsFile, bytes: Uint8Array, position: number): boolean {
  try {
    return file.readNow?.(bytes, position) === bytes.length
  } catch {
    // The caller reads again in another way, which fails in the same way if the disk does.
    return false
  }
}

/** Whether the checksum at the end of a row follows from the one before it. */
function isChained(bytes: Uint8Array, head: bigint): boolean {
  const end = bytes.length - sumBytes
  return sumAt(bytes, end) === chainSum(bytes.subarray(sumBytes, end), sumAt(bytes, 0), head)
}
