// Encodes rows of original vectors and writes them to the chunk files of their slots. A row is never written twice. originals-file.ts has the
// format.
import { freeBuffer } from '@annal/wal'
import { xxh64 } from '../memory/xxh64.ts'
import type { Chunk, OriginalsChunks } from './originals-chunks.ts'
import { chainSum, encodeHead, headSum, rowKind, sumBytes } from './originals-file.ts'
import { rowsStart } from './originals-rows.ts'
import type { SeveralState } from './originals-state.ts'

/** Rows are encoded and written in pieces of this size: hashing one takes a fraction of a millisecond. */
const writeBytesMax = 1024 * 1024

/** Where rows are appended. */
interface Target {
  readonly chunks: OriginalsChunks
  /** Gets the checksums of the rows of a multi-vector field. */
  readonly several: SeveralState | undefined
}

/** Writes vectors (row-major) to the slots from `first` on, for which disk space was allocated. */
export async function appendOriginals(target: Target, first: number, vectors: Float32Array): Promise<void> {
  // In order, one piece after another, because the checksum of each row depends on the previous row.
  for (const { chunk, offset, bytes } of encode(target, first, vectors)) {
    await target.chunks.writeAt(chunk, offset, bytes)
    freeBuffer(bytes.buffer)
  }
}

/** The bytes to write, by file, in pieces. Each is encoded while the previous one is written. */
function* encode(
  target: Target,
  first: number,
  vectors: Float32Array,
): Generator<{ readonly chunk: number; readonly offset: number; readonly bytes: Uint8Array }, void> {
  const { chunks } = target
  const { dimension } = chunks.owner
  const source = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength)
  const vectorBytes = dimension * 4
  const rows = vectors.length / dimension
  const rowsMax = Math.max(1, Math.floor(writeBytesMax / chunks.rowBytes))
  for (let done = 0; done < rows; ) {
    const { chunk, row, left } = chunks.locate(first + done)
    const taken = Math.min(left, rows - done, rowsMax)
    const to = chunks.at(chunk)
    const head = row === 0 && to.version === 2 ? begin(chunks, chunk) : undefined
    const from = head?.length ?? 0
    const bytes = new Uint8Array(from + taken * chunks.rowBytes)
    if (head) bytes.set(head)
    for (let i = 0; i < taken; i++) {
      const vector = source.subarray((done + i) * vectorBytes, (done + i + 1) * vectorBytes)
      encodeRow(to, target.several, vector, first + done + i, bytes.subarray(from + i * chunks.rowBytes))
    }
    yield { chunk, offset: rowsStart(to.version) - from + row * chunks.rowBytes, bytes }
    done += taken
  }
}

function encodeRow(
  to: Chunk,
  several: SeveralState | undefined,
  vector: Uint8Array,
  slot: number,
  into: Uint8Array,
): void {
  const view = new DataView(into.buffer, into.byteOffset)
  // The digest of a multi-vector field uses these checksums for any version of the file.
  const own = to.version === 1 || several ? xxh64(vector, BigInt(slot)) : 0n
  if (to.version === 1) {
    view.setBigUint64(0, own, true)
    into.set(vector, sumBytes)
  } else {
    to.last = chainSum(vector, to.last, to.headSum)
    into.set(vector)
    view.setBigUint64(vector.length, to.last, true)
  }
  if (!several) return
  const link = new Uint8Array(sumBytes)
  new DataView(link.buffer).setBigUint64(0, own, true)
  several.chain = xxh64(link, several.chain)
}

/** The header of a file that gets its first row. */
function begin(chunks: OriginalsChunks, chunk: number): Uint8Array {
  const { collectionId, generation, field, dimension, several, scales } = chunks.owner
  const to = chunks.at(chunk)
  const before = chunks.lastSum(chunk - 1)
  const kind = several ? rowKind.members : scales ? rowKind.given : rowKind.vectors
  to.head = { kind, directory: chunks.directory, collectionId, generation, field, chunk, dimension, before }
  const bytes = encodeHead(to.head)
  to.headSum = headSum(bytes)
  to.last = to.headSum
  return bytes
}
