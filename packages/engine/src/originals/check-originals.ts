// Checks that a chunk file of original vectors is the one in a manifest: by its header and its last row, whose checksum depends on all
// earlier rows, or row by row.
import { readFully, type Vfs, type VfsFile } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { accessing } from '../file-damage.ts'
import { xxh64 } from '../memory/xxh64.ts'
import {
  chainSum,
  decodeHead,
  describeHead,
  headBytes,
  headSum,
  hex,
  type OriginalsHead,
  type OriginalsProof,
  sumAt,
  sumBytes,
} from './originals-file.ts'
import { chunkRowsOf, rowBytesOf } from './originals-rows.ts'

/** A file in a manifest. */
export interface ListedOriginals {
  readonly name: string
  readonly generation: number
  readonly field: number
  readonly chunk: number
  /** The number of valid bytes; undefined in the oldest manifests. */
  readonly bytes?: number | undefined
  /** Undefined in older manifests, which do not identify the file. */
  readonly proof?: OriginalsProof | undefined
}

/** Number of rows of a file of version 1 whose checksums are compared when it is opened. */
const marksMax = 16

/** A chunk file that was identified. */
export interface FoundChunk {
  readonly version: 1 | 2
  /** The header of a file of version 2 or later; undefined if nothing was written yet. */
  readonly head: OriginalsHead | undefined
  readonly headSum: bigint
  /** Checksum of the last valid row. */
  readonly last: bigint
}

/** Reads the header and the last of `rows` rows. Throws snapshot_damaged with a description of the file if it is known. */
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

/** The checksum of a row of version 2 or later; undefined if the file ends before. Row -1 is the header. */
async function sumOfRow(file: VfsFile, row: number, rowBytes: number): Promise<bigint | undefined> {
  const bytes = new Uint8Array(sumBytes)
  const sumOffset = headBytes + (row + 1) * rowBytes - sumBytes
  return (await readFully(file, bytes, sumOffset)) < sumBytes ? undefined : sumAt(bytes, 0)
}

/** Number of valid rows of a file, from its number of valid bytes. */
function rowsIn({ bytes = 0, proof }: ListedOriginals, dimension: number): number {
  const start = proof !== undefined && !('marks' in proof) ? headBytes : 0
  return Math.floor((bytes - start) / rowBytesOf(dimension))
}

/** Describes what is wrong with a file, or returns undefined if it is the expected one. With `everyRow`, every row is read. */
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
        (found.version === 2 ? chainSum(vector, before, found.headSum) : xxh64(vector, BigInt(firstSlot + row + i)))
      if (!isRight) return `the vector at byte ${start + (row + i) * rowBytes} of ${path} is damaged`
      before = sum
    }
  }
  return undefined
}

function another(path: string, what: string): EngineError {
  return new EngineError('snapshot_damaged', `${path} is not the expected file: ${what}`, { file: path })
}

/** A checksum of the checksums of up to 16 rows of a file of version 1, from its first to its last; undefined if the file is too short. */
export async function marksOf(file: VfsFile, rows: number, rowBytes: number): Promise<string | undefined> {
  const count = Math.min(marksMax, rows)
  const marks = new Uint8Array(count * sumBytes)
  for (let i = 0; i < count; i++) {
    const row = count === 1 ? 0 : Math.floor((i * (rows - 1)) / (count - 1))
    const into = marks.subarray(i * sumBytes, (i + 1) * sumBytes)
    if ((await readFully(file, into, row * rowBytes)) < sumBytes) return undefined
  }
  return hex(xxh64(marks))
}
