// Reads one file of a snapshot. Whole chunks are read from the disk directly into their destination, several at a time,
// and each is verified before the caller sees it. A chunk that is read in parts is verified first.
import { freeBuffer, readFully, type Vfs, type VfsFile } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { accessing as wrapReadErrors } from '../file-damage.ts'
import type { ByteSource } from '../memory/sections.ts'
import { xxh64, xxh64Stream } from '../memory/xxh64.ts'
import {
  chunkBytesMax,
  chunkHeadBytes,
  damagedFile,
  footerBytes,
  footerOf,
  formatVersion,
  headerBytes,
  headerOf,
  isHeader,
  type SnapshotFileFacts,
  type SnapshotHead,
} from './snapshot-format.ts'

/** Parallel chunk reads: disk reads and the first use of memory pages are the slow parts. */
const chunksAtOnce = 4
const chunkStride = chunkHeadBytes + chunkBytesMax
const noBytes = new Uint8Array(0)

export class SnapshotSource implements ByteSource {
  readonly #file: VfsFile
  readonly #path: string
  readonly #expected: SnapshotFileFacts
  readonly #chunks: number
  readonly #total: number
  /** Checksums of the chunks read so far. */
  readonly #sums: Uint8Array
  #next = 0
  /** The rest of a chunk that is read in parts. */
  #rest: Uint8Array = noBytes

  private constructor(file: VfsFile, path: string, expected: SnapshotFileFacts) {
    this.#file = file
    this.#path = path
    this.#expected = expected
    this.#chunks = Math.ceil((expected.bytes - headerBytes - footerBytes) / chunkStride)
    this.#total = expected.bytes - headerBytes - footerBytes - this.#chunks * chunkHeadBytes
    this.#sums = new Uint8Array(Math.max(0, this.#chunks) * 8)
  }

  /** The caller must close it. Throws EngineError snapshot_damaged or format_too_new. */
  static async open(
    vfs: Pick<Vfs, 'open'>,
    path: string,
    expected: SnapshotHead & SnapshotFileFacts,
  ): Promise<SnapshotSource> {
    const file = await wrapReadErrors(path, () => vfs.open(path, 'read'))
    try {
      const size = await file.size()
      if (size !== expected.bytes)
        throw damagedFile(path, 0, `it has ${size} bytes, but its manifest says ${expected.bytes}`)
      const source = new SnapshotSource(file, path, expected)
      if (source.#chunks < 0 || source.#total < 0 || source.#total <= (source.#chunks - 1) * chunkBytesMax)
        throw damagedFile(path, 0, `${size} bytes is not a valid size of a snapshot file`)
      checkHeader(await source.#readAt(0, new Uint8Array(headerBytes)), path, expected)
      return source
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Bytes not read yet. */
  get left(): number {
    return this.#rest.length + this.#total - Math.min(this.#total, this.#next * chunkBytesMax)
  }

  async fill(...targets: readonly Uint8Array[]): Promise<void> {
    const wanted = new Targets(targets)
    if (wanted.left > this.left)
      throw this.#damaged(this.#next, `${wanted.left} bytes are expected and ${this.left} are left`)
    const pending: Promise<void>[] = []
    try {
      while (wanted.left > 0) {
        this.#takeRest(wanted)
        if (wanted.left === 0) break
        const length = this.#lengthOf(this.#next)
        if (wanted.left >= length) {
          if (pending.length >= chunksAtOnce) await pending.shift()
          pending.push(deferRejection(this.#read(this.#next++, wanted.take(length))))
        } else {
          const chunk = new Uint8Array(length)
          await this.#read(this.#next++, [chunk])
          this.#rest = chunk
        }
      }
    } finally {
      // When the caller continues, even with an error, nothing is written to a target any more.
      await Promise.allSettled(pending)
    }
    await Promise.all(pending)
  }

  #takeRest(wanted: Targets): void {
    if (this.#rest.length === 0) return
    const { buffer } = this.#rest
    this.#rest = this.#rest.subarray(wanted.put(this.#rest))
    if (this.#rest.length > 0) return
    this.#rest = noBytes
    freeBuffer(buffer)
  }

  async piece(): Promise<Uint8Array | undefined> {
    if (this.left === 0) return undefined
    const piece = new Uint8Array(this.#rest.length > 0 ? this.#rest.length : this.#lengthOf(this.#next))
    await this.fill(piece)
    return piece
  }

  async end(): Promise<void> {
    if (this.left > 0) throw this.#damaged(this.#next, `${this.left} bytes more than expected`)
    const sums = xxh64Stream()
    sums.update(this.#sums)
    const sum = sums.digest()
    const position = headerBytes + this.#total + this.#chunks * chunkHeadBytes
    const footer = await this.#readAt(position, new Uint8Array(footerBytes))
    const wanted = footerOf({ chunks: this.#chunks, total: this.#total, sum })
    if (sum !== BigInt(`0x${this.#expected.sum}`) || footer.some((byte, i) => byte !== wanted[i]))
      throw damagedFile(this.#path, position, 'its chunks do not match its manifest')
  }

  /** Never rejects: a failed close says nothing about bytes that were read. */
  close(): Promise<void> {
    return this.#file.close().catch(() => undefined)
  }

  #lengthOf(number: number): number {
    return Math.min(chunkBytesMax, this.#total - number * chunkBytesMax)
  }

  /** Reads one whole chunk into pieces of memory of the same total length. */
  async #read(number: number, into: readonly Uint8Array[]): Promise<void> {
    const from = headerBytes + number * chunkStride
    const head = new Uint8Array(chunkHeadBytes)
    let position = from + chunkHeadBytes
    const reads = [this.#readAt(from, head)]
    for (const piece of into) {
      reads.push(this.#readAt(position, piece))
      position += piece.length
    }
    await allSettledOrThrow(reads)
    const view = new DataView(head.buffer)
    if (view.getUint32(0, true) !== this.#lengthOf(number) || view.getUint32(4, true) !== number)
      throw this.#damaged(number, `chunk ${number} does not start here`)
    if (sumOf(into, BigInt(number)) !== view.getBigUint64(8, true))
      throw this.#damaged(number, `the checksum of chunk ${number} is wrong`)
    this.#sums.set(head.subarray(8), number * 8)
  }

  async #readAt(position: number, into: Uint8Array): Promise<Uint8Array> {
    const read = await wrapReadErrors(this.#path, () => readFully(this.#file, into, position))
    if (read < into.length) throw damagedFile(this.#path, position + read, 'it ends too early')
    return into
  }

  #damaged(chunk: number, why: string): EngineError {
    return damagedFile(this.#path, headerBytes + chunk * chunkStride, why)
  }
}

/** Yields the bytes of a file in pieces of at most a chunk, each verified before it is yielded. */
export async function* readSnapshotFile(
  vfs: Pick<Vfs, 'open'>,
  path: string,
  expected: SnapshotHead & SnapshotFileFacts,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = await SnapshotSource.open(vfs, path, expected)
  try {
    for (let piece = await source.piece(); piece; piece = await source.piece()) yield piece
    await source.end()
  } finally {
    await source.close()
  }
}

/** Pieces of memory that are filled in order, as if they were contiguous. */
class Targets {
  readonly #targets: readonly Uint8Array[]
  #at = 0
  #done = 0
  left: number

  constructor(targets: readonly Uint8Array[]) {
    this.#targets = targets
    this.left = targets.reduce((sum, target) => sum + target.length, 0)
  }

  /** Returns the next `length` bytes of memory. */
  take(length: number): Uint8Array[] {
    const pieces: Uint8Array[] = []
    for (let missing = length; missing > 0; ) {
      const target = this.#targets[this.#at] as Uint8Array
      const piece = target.subarray(this.#done, this.#done + missing)
      missing -= piece.length
      this.#done += piece.length
      if (piece.length > 0) pieces.push(piece)
      if (this.#done < target.length) continue
      this.#at++
      this.#done = 0
    }
    this.left -= length
    return pieces
  }

  /** Copies as many bytes as fit; returns that number. */
  put(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.left)
    let offset = 0
    for (const piece of this.take(length)) {
      piece.set(bytes.subarray(offset, offset + piece.length))
      offset += piece.length
    }
    return length
  }
}

function checkHeader(bytes: Uint8Array, path: string, expected: SnapshotHead): void {
  if (!isHeader(bytes)) throw damagedFile(path, 0, 'its header is wrong')
  const view = new DataView(bytes.buffer)
  if (view.getUint16(10, true) > formatVersion) {
    throw new EngineError(
      'format_too_new',
      `${path} has snapshot format ${view.getUint16(8, true)}, which needs a newer version of Annal`,
      { file: path },
    )
  }
  const wanted = headerOf(expected)
  if (bytes.some((byte, i) => byte !== wanted[i]))
    throw damagedFile(path, 0, 'it belongs to another collection, part or LSN')
}

function sumOf(pieces: readonly Uint8Array[], seed: bigint): bigint {
  const [only] = pieces
  if (only && pieces.length === 1) return xxh64(only, seed)
  const sum = xxh64Stream(seed)
  for (const piece of pieces) sum.update(piece)
  return sum.digest()
}

/** Like Promise.all, but on a failure it waits for the other promises to settle. */
async function allSettledOrThrow(promises: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(promises)
  await Promise.all(promises)
}

/** The promise is awaited later; until then its failure must not count as unhandled. */
function deferRejection(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined)
  return promise
}
