// Reads rows of original vectors by slot, and verifies their checksums. originals-rows.ts has where the bytes of a row are.
import type { VfsFile } from '@annal/wal'
import type { EngineError } from '../errors.ts'
import type { OriginalsChunks } from './originals-chunks.ts'
import { headBytes, sumBytes } from './originals-file.ts'
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
 * Reads one row in the calling thread into `bytes`: the checksum before it, the vector, and its checksum, which the caller verifies. Returns
 * the checksum of the header of its file; undefined if only `readRows` can read it, which then reports why.
 */
export function readRowNow(chunks: OriginalsChunks, slot: number, bytes: Uint8Array): bigint | undefined {
  const { chunk, row } = chunks.locate(slot)
  const { file, version, headSum } = chunks.at(chunk)
  if (version === 1) return undefined
  return isReadNow(file, bytes, rowWithSum(chunks, row)) ? headSum : undefined
}

/** Like `readRowNow`, without waiting in the calling thread. Nothing else may use the bytes until the promise is settled. */
export async function readRowLater(
  chunks: OriginalsChunks,
  slot: number,
  bytes: Uint8Array,
): Promise<bigint | undefined> {
  const { chunk, row } = chunks.locate(slot)
  const { version, headSum } = chunks.at(chunk)
  if (version === 1) return undefined
  const read = await chunks.readAt(chunk, rowWithSum(chunks, row), bytes)
  return read === bytes.length ? headSum : undefined
}

/** Where a row begins in a file of version 2, with the checksum before it. */
function rowWithSum(chunks: OriginalsChunks, row: number): number {
  return headBytes + row * chunks.rowBytes - sumBytes
}

/** The error of a row that does not match its checksum. */
export function damagedRow(chunks: OriginalsChunks, slot: number): EngineError {
  const { chunk, row } = chunks.locate(slot)
  return chunks.damaged(chunk, rowsStart(chunks.at(chunk).version) + row * chunks.rowBytes)
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
