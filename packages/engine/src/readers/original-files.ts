// The chunk files of original vectors in a reader's thread. A row never changes once a version has it, so it can be read after the pin
// ended: an open file keeps its rows even if it was removed. Reads do not wait in the thread. For a file or a row that is not as expected,
// the result is undefined, and the owner reports what is wrong.
import type { VfsFile } from '@annal/wal'
import { decodeHead, headBytes, headSum } from '../replica/originals-file.ts'
import {
  bytesOfRows,
  chunkPath,
  chunkRowsOf,
  type RowsOrigin,
  type SharedOriginals,
  takeRows,
} from '../replica/originals-rows.ts'

/** Loaded with the first vector on disk, because most threads only search. */
const disk = () => import('@annal/wal')

/** Open files of one reader. */
const filesMax = 16

interface OpenFile {
  readonly file: VfsFile
  readonly origin: RowsOrigin
  reads: number
  /** Closed when no read is running. */
  isDropped: boolean
}

/** The vectors of one object: slots that follow each other. */
export interface Slots {
  readonly slot: number
  readonly count: number
}

export class OriginalFiles {
  /** By path, the one that was used longest ago first. */
  readonly #files = new Map<string, Promise<OpenFile>>()

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
      opened.catch(() => {
        if (this.#files.get(path) === opened) this.#files.delete(path)
      })
      const [oldest] = this.#files.keys()
      if (this.#files.size > filesMax && oldest !== undefined) this.#drop(oldest)
    }
    return opened
  }

  /** The files of a field are of no use any more. */
  drop({ path }: SharedOriginals): void {
    for (const known of [...this.#files.keys()]) if (known.startsWith(`${path}-chunk-`)) this.#drop(known)
  }

  /** No file is used any more. */
  close(): void {
    for (const path of [...this.#files.keys()]) this.#drop(path)
  }

  #drop(path: string): void {
    const opened = this.#files.get(path)
    this.#files.delete(path)
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
