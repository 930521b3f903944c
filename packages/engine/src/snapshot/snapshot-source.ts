// Reading one file of a snapshot: whole chunks go from the disk to where they belong, several at a time, and each is checked
// against its checksum before anybody is told that it is there. Where a chunk is wanted in parts, it is checked first.
import { readFully, type Vfs, type VfsFile } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { accessing } from '../file-damage.ts'
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

/** Chunks under way at one time: reading, and touching memory for the first time, are what takes long. */
const chunksAtOnce = 4
const chunkStride = chunkHeadBytes + chunkBytesMax

export class SnapshotSource implements ByteSource {
  readonly #file: VfsFile
  readonly #path: string
  readonly #expected: SnapshotFileFacts
  readonly #chunks: number
  readonly #total: number
  /** The checksums of the chunks read so far. */
  readonly #sums: Uint8Array
  #next = 0
  /** What is left of a chunk that is wanted in parts. */
  #rest: Uint8Array = new Uint8Array(0)

  private constructor(file: VfsFile, path: string, expected: SnapshotFileFacts) {
    this.#file = file
    this.#path = path
    this.#expected = expected
    this.#chunks = Math.ceil((expected.bytes - headerBytes - footerBytes) / chunkStride)
    this.#total = expected.bytes - headerBytes - footerBytes - this.#chunks * chunkHeadBytes
    this.#sums = new Uint8Array(Math.max(0, this.#chunks) * 8)
  }

  /** Must be closed. Throws EngineError snapshot_damaged or format_too_new. */
  static async open(
    vfs: Pick<Vfs, 'open'>,
    path: string,
    expected: SnapshotHead & SnapshotFileFacts,
  ): Promise<SnapshotSource> {
    const file = await accessing(path, () => vfs.open(path, 'read'))
    try {
      const size = await file.size()
      if (size !== expected.bytes)
        throw damagedFile(path, 0, `it has ${size} bytes, its manifest says ${expected.bytes}`)
      const source = new SnapshotSource(file, path, expected)
      if (source.#chunks < 0 || source.#total < 0 || source.#total <= (source.#chunks - 1) * chunkBytesMax)
        throw damagedFile(path, 0, `its size of ${size} bytes is none that a snapshot file has`)
      checkHeader(await source.#readAt(0, new Uint8Array(headerBytes)), path, expected)
      return source
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Bytes not yet taken. */
  get left(): number {
    return this.#rest.length + this.#total - Math.min(this.#total, this.#next * chunkBytesMax)
  }

  async fill(...targets: readonly Uint8Array[]): Promise<void> {
    const wanted = new Targets(targets)
    if (wanted.left > this.left)
      throw this.#damaged(this.#next, `${wanted.left} bytes are wanted of ${this.left} that are left`)
    const underWay: Promise<void>[] = []
    try {
      while (wanted.left > 0) {
        this.#rest = this.#rest.subarray(wanted.put(this.#rest))
        if (wanted.left === 0) break
        const length = this.#lengthOf(this.#next)
        if (wanted.left >= length) {
          if (underWay.length >= chunksAtOnce) await underWay.shift()
          underWay.push(settledLater(this.#read(this.#next++, wanted.take(length))))
        } else {
          const chunk = new Uint8Array(length)
          await this.#read(this.#next++, [chunk])
          this.#rest = chunk
        }
      }
    } finally {
      // Nothing is written to a target any more when the caller goes on, not even where it goes on to an error.
      await Promise.allSettled(underWay)
    }
    await Promise.all(underWay)
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
      throw damagedFile(this.#path, position, 'its chunks are not those of its manifest')
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  #lengthOf(number: number): number {
    return Math.min(chunkBytesMax, this.#total - number * chunkBytesMax)
  }

  /** One whole chunk into pieces of memory that together are as long. */
  async #read(number: number, into: readonly Uint8Array[]): Promise<void> {
    const from = headerBytes + number * chunkStride
    const head = new Uint8Array(chunkHeadBytes)
    let at = from + chunkHeadBytes
    const reads = [this.#readAt(from, head)]
    for (const piece of into) {
      reads.push(this.#readAt(at, piece))
      at += piece.length
    }
    await everyOne(reads)
    const view = new DataView(head.buffer)
    if (view.getUint32(0, true) !== this.#lengthOf(number) || view.getUint32(4, true) !== number)
      throw this.#damaged(number, `chunk ${number} does not start here`)
    if (sumOf(into, BigInt(number)) !== view.getBigUint64(8, true))
      throw this.#damaged(number, `the checksum of chunk ${number} is wrong`)
    this.#sums.set(head.subarray(8), number * 8)
  }

  async #readAt(position: number, into: Uint8Array): Promise<Uint8Array> {
    const read = await accessing(this.#path, () => readFully(this.#file, into, position))
    if (read < into.length) throw damagedFile(this.#path, position + read, 'it ends too early')
    return into
  }

  #damaged(chunk: number, why: string): EngineError {
    return damagedFile(this.#path, headerBytes + chunk * chunkStride, why)
  }
}

/** The bytes of a file in pieces of at most a chunk, each checked before it is given out. */
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

/** Pieces of memory to be filled one after another, as if they were one. */
class Targets {
  readonly #targets: readonly Uint8Array[]
  #at = 0
  #done = 0
  left: number

  constructor(targets: readonly Uint8Array[]) {
    this.#targets = targets
    this.left = targets.reduce((sum, target) => sum + target.length, 0)
  }

  /** The next `length` bytes of memory. */
  take(length: number): Uint8Array[] {
    const taken: Uint8Array[] = []
    for (let missing = length; missing > 0; ) {
      const target = this.#targets[this.#at] as Uint8Array
      const piece = target.subarray(this.#done, this.#done + missing)
      missing -= piece.length
      this.#done += piece.length
      if (piece.length > 0) taken.push(piece)
      if (this.#done < target.length) continue
      this.#at++
      this.#done = 0
    }
    this.left -= length
    return taken
  }

  /** Copies as much as there is room for; gives how much that was. */
  put(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.left)
    let at = 0
    for (const piece of this.take(length)) {
      piece.set(bytes.subarray(at, at + piece.length))
      at += piece.length
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
      `${path} is of snapshot format ${view.getUint16(8, true)}, which needs a newer Annal`,
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

/** Like Promise.all, but a failure waits for the others to end. */
async function everyOne(promises: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(promises)
  await Promise.all(promises)
}

/** Somebody will wait for it; until then its failure must not count as unhandled. */
function settledLater(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined)
  return promise
}
