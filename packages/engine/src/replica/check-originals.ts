// Whether a chunk file of vectors is the one that a manifest means: by its header and its last row, which depends on all others,
// or row by row.
import { readFully, type Vfs, type VfsFile } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { accessing } from '../file-damage.ts'
import { xxh64 } from '../memory/xxh64.ts'
import {
  chained,
  decodeHead,
  describeHead,
  headBytes,
  headSum,
  hex,
  marksOf,
  type OriginalsHead,
  type OriginalsProof,
  sumAt,
  sumBytes,
} from './originals-file.ts'

/** A file as a manifest lists it. */
export interface ListedOriginals {
  readonly name: string
  readonly generation: number
  readonly field: number
  readonly chunk: number
  /** How much of it counts; undefined in the oldest manifests. */
  readonly bytes?: number | undefined
  /** Undefined in manifests of before: nothing says whose file it is. */
  readonly proof?: OriginalsProof | undefined
}

export interface Shape {
  readonly dimension: number
  /** Rows of a chunk. */
  readonly chunkRows: number
}

const chunkBytesAim = 16 * 1024 * 1024

export function rowBytesOf(dimension: number): number {
  return sumBytes + dimension * 4
}

/** Rows of a chunk: the largest power of two of which 16 MiB hold so many. */
export function chunkRowsOf(dimension: number): number {
  return 2 ** Math.floor(Math.log2(chunkBytesAim / rowBytesOf(dimension)))
}

export interface FoundChunk {
  readonly version: 1 | 2
  /** Of version 2, unless nothing was written to it yet. */
  readonly head: OriginalsHead | undefined
  readonly headSum: bigint
  /** Sum of the last row that counts. */
  readonly last: bigint
}

/** Looks at the header and the last of `rows` rows. Throws snapshot_damaged, saying what the file is where that is known. */
export async function identify(
  file: VfsFile,
  path: string,
  expected: { readonly rows: number; readonly dimension: number; readonly listed: ListedOriginals | undefined },
): Promise<FoundChunk> {
  const { rows, dimension, listed } = expected
  const rowBytes = rowBytesOf(dimension)
  const bytes = new Uint8Array(headBytes)
  const got = await accessing(path, () => readFully(file, bytes, 0))
  const head = decodeHead(bytes.subarray(0, got), path)
  const proof = listed?.proof
  if (proof === undefined || 'marks' in proof) {
    if (listed !== undefined && head !== undefined)
      throw another(path, `it is ${describeHead(head)}, but a file without a header is expected`)
    if (head === undefined) {
      const marks = proof && (await marksOf(file, rows, rowBytes))
      if (marks !== proof?.marks) throw another(path, 'the checksums of its rows are not those of the expected file')
      return { version: 1, head: undefined, headSum: 0n, last: 0n }
    }
  } else {
    if (head === undefined) throw another(path, 'it has no valid header')
    const { directory, collectionId } = proof
    const isMeant =
      head.directory === directory &&
      head.collectionId === collectionId &&
      head.generation === listed?.generation &&
      head.field === listed.field &&
      head.chunk === listed.chunk &&
      head.dimension === dimension
    if (!isMeant) throw another(path, `it is ${describeHead(head)}`)
  }
  const last = await sumOfRow(file, rows - 1, rowBytes)
  if (last === undefined) throw another(path, `it ends before its row ${rows - 1}`)
  if (proof !== undefined && !('marks' in proof) && hex(last) !== proof.chain)
    throw another(path, 'its last row is not the expected one: it is an older copy, or has the rows of another history')
  return { version: 2, head, headSum: headSum(bytes), last }
}

/** Of version 2; undefined when the file ends before. Row -1 is the header. */
async function sumOfRow(file: VfsFile, row: number, rowBytes: number): Promise<bigint | undefined> {
  const bytes = new Uint8Array(sumBytes)
  const sumOffset = headBytes + (row + 1) * rowBytes - sumBytes
  return (await readFully(file, bytes, sumOffset)) < sumBytes ? undefined : sumAt(bytes, 0)
}

/** How many rows of a file count, by how many bytes of it do. */
export function rowsIn({ bytes = 0, proof }: ListedOriginals, dimension: number): number {
  const start = proof !== undefined && !('marks' in proof) ? headBytes : 0
  return Math.floor((bytes - start) / rowBytesOf(dimension))
}

/** What is wrong with a file; undefined when it is the one that is meant. Every row is read when that is asked for. */
export async function originalsFault(
  vfs: Vfs,
  path: string,
  listed: ListedOriginals,
  { dimension, isDeep }: { readonly dimension: number; readonly isDeep: boolean },
): Promise<string | undefined> {
  const rows = rowsIn(listed, dimension)
  try {
    const file = await accessing(path, () => vfs.open(path, 'read'))
    try {
      const size = await file.size()
      if (size < (listed.bytes ?? 0)) return `${path} has ${size} bytes, but its manifest says ${listed.bytes}`
      const found = await identify(file, path, { rows, dimension, listed })
      return isDeep ? await rowFault(file, path, { rows, dimension, found, chunk: listed.chunk }) : undefined
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof EngineError) return error.message
    throw error
  }
}

async function rowFault(
  file: VfsFile,
  path: string,
  part: { readonly rows: number; readonly dimension: number; readonly found: FoundChunk; readonly chunk: number },
): Promise<string | undefined> {
  const { rows, dimension, found, chunk } = part
  const rowBytes = rowBytesOf(dimension)
  const start = found.version === 2 ? headBytes : 0
  const firstSlot = chunk * chunkRowsOf(dimension)
  const atOnce = Math.max(1, Math.floor(1_048_576 / rowBytes))
  let before = found.headSum
  for (let row = 0; row < rows; row += atOnce) {
    const count = Math.min(atOnce, rows - row)
    const bytes = new Uint8Array(count * rowBytes)
    await accessing(path, () => readFully(file, bytes, start + row * rowBytes))
    for (let i = 0; i < count; i++) {
      const one = bytes.subarray(i * rowBytes, (i + 1) * rowBytes)
      const [vector, sum] =
        found.version === 2
          ? [one.subarray(0, -sumBytes), sumAt(one, rowBytes - sumBytes)]
          : [one.subarray(sumBytes), sumAt(one, 0)]
      const isRight =
        sum ===
        (found.version === 2 ? chained(vector, before, found.headSum) : xxh64(vector, BigInt(firstSlot + row + i)))
      if (!isRight) return `the vector at byte ${start + (row + i) * rowBytes} of ${path} is damaged`
      before = sum
    }
  }
  return undefined
}

function another(path: string, what: string): EngineError {
  return new EngineError('snapshot_damaged', `${path} is not the expected file: ${what}`, { file: path })
}
