// The chunk files of original vectors in a reader's thread. A row never changes once a version has it, so it can be read after the pin
// ended: an open file keeps its rows even if it was removed. Reads do not wait in the thread, except for those of a turn, which ends when
// its time is used up. For a file or a row that is not as expected, the result is undefined, and the owner reports what is wrong.
import type { VfsFile } from '@annal/wal'
import { decodeHead, headBytes, headSum } from '../originals/originals-file.ts'
import {
  bytesOfRows,
  chunkPath,
  chunkRowsOf,
  type RowsOrigin,
  type SharedOriginals,
  takeRows,
} from '../originals/originals-rows.ts'

/** Loaded with the first vector on disk, because most threads only search. */
const disk = () => import('@annal/wal')

/** Open files of one reader: at least and at most. */
const filesMin = 16
const filesMax = 1_024
/** The readers of a process together may have this share of its descriptors. */
const descriptorsShare = 1 / 4

/** Bytes that one turn may read. */
const turnBytesMax = 2 ** 21
/**
 * A read that takes longer waits for a disk, or for the core. The second one of a turn shows that it is the disk (rank-candidates.ts). Nothing
 * but the time shows whether the system has the bytes in memory. The decision does not change a result: the owner reads the same rows.
 */
const slowReadMs = 0.1
const slowReadsMax = 2
/** Turns without reads after a slow one. */
const turnsLeft = 16

interface OpenFile {
  readonly file: VfsFile
  readonly origin: RowsOrigin
  reads: number
  /** Closed when no read is running. */
  isDropped: boolean
}

/** Reads of one turn in the calling thread. */
export interface ReadTurn {
  slowReads: number
  bytesLeft: number
}

/** The vectors of one object: slots that follow each other. */
export interface Slots {
  readonly slot: number
  readonly count: number
}

export class OriginalFiles {
  readonly #readers: number
  readonly #nowMs: () => number
  /** By path, the one that was used longest ago first. */
  readonly #files = new Map<string, Promise<OpenFile>>()
  /** Those of them that are open. */
  readonly #opened = new Map<string, OpenFile>()
  /** Turns that do not read of a field whose disk was slow, by the path of its files. */
  readonly #slow = new Map<string, number>()
  #max = filesMin
  #bytes = new Uint8Array(0)

  /** `readers` is the number of readers of the engine, and `nowMs` a monotonic clock. */
  constructor(readers: number, nowMs = () => performance.now()) {
    this.#readers = readers
    this.#nowMs = nowMs
  }

  /** Begins the reads of one turn in the calling thread. Undefined: the disk was slow a moment ago. */
  beginTurn({ path }: SharedOriginals): ReadTurn | undefined {
    const left = this.#slow.get(path) ?? 0
    if (left > 1) this.#slow.set(path, left - 1)
    else if (left > 0) this.#slow.delete(path)
    return left > 0 ? undefined : { slowReads: 0, bytesLeft: turnBytesMax }
  }

  /**
   * The vectors one after another, read in the calling thread. Undefined: the owner has to read them. A file that is not open is opened
   * meanwhile, so that a later turn reads it here.
   */
  readNow(turn: ReadTurn, originals: SharedOriginals, { slot, count }: Slots): Float32Array | undefined {
    const { dimension } = originals
    const chunkRows = chunkRowsOf(dimension)
    const vectors = new Float32Array(count * dimension)
    for (let done = 0; done < count; ) {
      const [chunk, row] = [Math.floor((slot + done) / chunkRows), (slot + done) % chunkRows]
      const run = { row, count: Math.min(chunkRows - row, count - done) }
      const into = vectors.subarray(done * dimension, (done + run.count) * dimension)
      const file = this.#fileNow(originals, chunk)
      if (file === undefined) return undefined
      const { offset, length } = bytesOfRows(file.origin, run)
      if (this.#bytes.length < length) this.#bytes = new Uint8Array(length)
      const bytes = this.#bytes.subarray(0, length)
      if (!this.#readBytesNow(turn, originals, file, offset, bytes)) return undefined
      if (takeRows(file.origin, run, bytes, length, into) >= 0) return undefined
      done += run.count
    }
    return vectors
  }

  /**
   * Reads one vector into `bytes`, with the checksums before and after it, which the caller verifies. Returns the checksum of the header of
   * its file; undefined as `readNow`.
   */
  readRowNow(turn: ReadTurn, originals: SharedOriginals, slot: number, bytes: Uint8Array): bigint | undefined {
    const chunkRows = chunkRowsOf(originals.dimension)
    const file = this.#fileNow(originals, Math.floor(slot / chunkRows))
    if (file?.origin.version !== 2) return undefined
    const { offset } = bytesOfRows(file.origin, { row: slot % chunkRows, count: 1 })
    return this.#readBytesNow(turn, originals, file, offset, bytes) ? file.origin.headSum : undefined
  }

  #fileNow(originals: SharedOriginals, chunk: number): OpenFile | undefined {
    // Of a field with more files than can be open, most reads would open one.
    if (chunk >= this.#max) return undefined
    const file = this.#opened.get(chunkPath(originals.path, chunk))
    if (file === undefined) this.#open(originals, chunk).catch(() => undefined)
    return file
  }

  #readBytesNow(
    turn: ReadTurn,
    { path }: SharedOriginals,
    { file }: OpenFile,
    offset: number,
    bytes: Uint8Array,
  ): boolean {
    turn.bytesLeft -= bytes.length
    if (turn.bytesLeft < 0 || turn.slowReads >= slowReadsMax) return false
    const beganMs = this.#nowMs()
    try {
      if (file.readNow?.(bytes, offset) !== bytes.length) return false
    } catch {
      return false
    }
    if (this.#nowMs() - beganMs > slowReadMs && ++turn.slowReads === slowReadsMax) this.#slow.set(path, turnsLeft)
    return true
  }

  /** The vectors one after another. */
  async read(originals: SharedOriginals, { slot, count }: Slots): Promise<Float32Array | undefined> {
    const { dimension } = originals
    const chunkRows = chunkRowsOf(dimension)
    const vectors = new Float32Array(count * dimension)
    try {
      for (let done = 0; done < count; ) {
        const [chunk, row] = [Math.floor((slot + done) / chunkRows), (slot + done) % chunkRows]
        const run = { row, count: Math.min(chunkRows - row, count - done) }
        const into = vectors.subarray(done * dimension, (done + run.count) * dimension)
        if (!(await this.#readRun(originals, chunk, run, into))) return undefined
        done += run.count
      }
      return vectors
    } catch {
      return undefined
    }
  }

  async #readRun(
    originals: SharedOriginals,
    chunk: number,
    run: { readonly row: number; readonly count: number },
    into: Float32Array,
  ): Promise<boolean> {
    const file = await this.#open(originals, chunk)
    file.reads++
    try {
      const { offset, length } = bytesOfRows(file.origin, run)
      const bytes = new Uint8Array(length)
      const { readFully } = await disk()
      const held = await readFully(file.file, bytes, offset)
      return takeRows(file.origin, run, bytes, held, into) < 0
    } finally {
      file.reads--
      closeIfUnused(file)
    }
  }

  #open(originals: SharedOriginals, chunk: number): Promise<OpenFile> {
    const path = chunkPath(originals.path, chunk)
    const known = this.#files.get(path)
    this.#files.delete(path)
    const opened = known ?? openChunk(path, { ...originals, chunk })
    this.#files.set(path, opened)
    if (known === undefined) {
      opened.then(
        (file) => {
          if (this.#files.get(path) === opened) this.#opened.set(path, file)
        },
        () => {
          if (this.#files.get(path) === opened) this.#files.delete(path)
        },
      )
      void this.#limitFiles()
    }
    return opened
  }

  async #limitFiles(): Promise<void> {
    if (this.#max === filesMin) {
      const { openFilesLimit } = await disk()
      const share = Math.floor(((openFilesLimit() ?? 0) * descriptorsShare) / this.#readers)
      this.#max = Math.max(filesMin, Math.min(filesMax, share))
    }
    const [oldest] = this.#files.keys()
    if (this.#files.size > this.#max && oldest !== undefined) this.#drop(oldest)
  }

  /** The files of a field are of no use any more. */
  drop({ path }: SharedOriginals): void {
    this.#slow.delete(path)
    for (const known of [...this.#files.keys()]) if (known.startsWith(`${path}-chunk-`)) this.#drop(known)
  }

  /** No file is used any more. */
  close(): void {
    for (const path of [...this.#files.keys()]) this.#drop(path)
  }

  #drop(path: string): void {
    const opened = this.#files.get(path)
    this.#files.delete(path)
    this.#opened.delete(path)
    opened?.then(
      (file) => {
        file.isDropped = true
        closeIfUnused(file)
      },
      () => undefined,
    )
  }
}

function closeIfUnused(file: OpenFile): void {
  if (!file.isDropped || file.reads > 0) return
  // It is closed once.
  file.isDropped = false
  file.file.close().catch(() => undefined)
}

/** Throws if the file is missing, or another than expected. */
async function openChunk(
  path: string,
  { chunk, dimension }: { readonly chunk: number; readonly dimension: number },
): Promise<OpenFile> {
  const { nodeVfs, readFully } = await disk()
  const file = await nodeVfs().open(path, 'read')
  try {
    const bytes = new Uint8Array(headBytes)
    const held = await readFully(file, bytes, 0)
    const head = decodeHead(bytes.subarray(0, held), path)
    if (head !== undefined && (head.chunk !== chunk || head.dimension !== dimension))
      throw new Error(`${path} has another header`)
    const origin: RowsOrigin = {
      version: head === undefined ? 1 : 2,
      headSum: head === undefined ? 0n : headSum(bytes),
      firstSlot: chunk * chunkRowsOf(dimension),
      dimension,
    }
    return { file, origin, reads: 0, isDropped: false }
  } catch (error) {
    file.close().catch(() => undefined)
    throw error
  }
}
