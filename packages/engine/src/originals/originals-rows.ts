// Reads rows of a chunk file of original vectors: where their bytes are, and whether their checksums match. The owner of the files and the
// readers of other threads read with it. originals-file.ts has the format.
import { xxh64 } from '../memory/xxh64.ts'
import { chainSum, headBytes, sumAt, sumBytes } from './originals-file.ts'

/** What is known of a chunk file. */
export interface RowsOrigin {
  readonly version: 1 | 2
  /** Sum of the header; 0 in version 1. */
  readonly headSum: bigint
  /** Slot of the first row. */
  readonly firstSlot: number
  readonly dimension: number
}

/** Where the original vectors of a field are. */
export interface SharedOriginals {
  /** The names of the chunk files begin like this; see `chunkPath`. */
  readonly path: string
  readonly dimension: number
  /** Whether an object can have several vectors. */
  readonly isSeveral: boolean
}

/** What stands by ordinal for readers of other threads: the slot, the form, and the number of the vectors. */
export const originalsLists = ['slots', 'forms', 'counts'] as const
export type OriginalsList = (typeof originalsLists)[number]

/** Rows of one file that follow each other. */
export interface RowsRun {
  readonly row: number
  readonly count: number
}

/** Bytes of a row of a chunk file: the vector as f32 and its checksum. */
export function rowBytesOf(dimension: number): number {
  return sumBytes + dimension * 4
}

const chunkBytesAim = 16 * 1024 * 1024

/** Number of rows of a full chunk: the largest power of two whose rows fit in 16 MiB. */
export function chunkRowsOf(dimension: number): number {
  return 2 ** Math.floor(Math.log2(chunkBytesAim / rowBytesOf(dimension)))
}

/** The path or name of a chunk file, from how it begins. */
export function chunkPath(prefix: string, chunk: number): string {
  return `${prefix}-chunk-${chunk}.f32`
}

/** Offset of the rows of a file. */
export function rowsStart(version: 1 | 2): number {
  return version === 2 ? headBytes : 0
}

/** The bytes to read: those of the rows, and in version 2 the checksum before the first row. */
export function bytesOfRows(
  { version, dimension }: RowsOrigin,
  { row, count }: RowsRun,
): { readonly offset: number; readonly length: number } {
  const rowBytes = rowBytesOf(dimension)
  const before = version === 2 ? sumBytes : 0
  return { offset: rowsStart(version) - before + row * rowBytes, length: before + count * rowBytes }
}

/** Copies the vectors out of the first `length` bytes that were read. Returns the number of the first damaged row, or -1. */
export function takeRows(
  origin: RowsOrigin,
  { row, count }: RowsRun,
  bytes: Uint8Array,
  length: number,
  into: Float32Array,
): number {
  const { version, dimension, firstSlot, headSum } = origin
  const rowBytes = rowBytesOf(dimension)
  const target = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
  for (let i = 0; i < count; i++) {
    const from = (version === 2 ? sumBytes : 0) + i * rowBytes
    if (length < from + rowBytes) return row + i
    const vectorAt = version === 2 ? from : from + sumBytes
    const vector = bytes.subarray(vectorAt, vectorAt + dimension * 4)
    const isSound =
      version === 2
        ? sumAt(bytes, from + vector.length) === chainSum(vector, sumAt(bytes, from - sumBytes), headSum)
        : sumAt(bytes, from) === xxh64(vector, BigInt(firstSlot + row + i))
    if (!isSound) return row + i
    target.set(vector, i * dimension * 4)
  }
  return -1
}
