// The open chunk files of the originals of one field: where a slot is in them, and how they are created, grown, synced, and closed. It does
// not know which ordinal has which slot. originals-file.ts has the format.
import { join } from 'node:path'
import { isDiskFull, processFiles, readFully, runEach, type VfsFile, writeFully } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { accessing, isMissing } from '../file-damage.ts'
import { identify, type ListedOriginals, marksOf } from './check-originals.ts'
import { hex, type OriginalsHead } from './originals-file.ts'
import { type OriginalsOwner, type OriginalsPlace, prefixOf } from './originals-owner.ts'
import { chunkPath, chunkRowsOf, rowBytesOf, rowsStart } from './originals-rows.ts'

/** A file grows by at least this much, written as zeros, so that a row with reserved space finds its blocks allocated. */
const growBytesMin = 64 * 1024
const zeros = new Uint8Array(1024 * 1024)

/** A file as a checkpoint lists it. `listed` reads the proof of a file of version 1 from the disk. */
export type OriginalsFile = ListedOriginals & { readonly bytes: number }

/** One open file. */
export interface Chunk {
  readonly file: VfsFile
  readonly version: 1 | 2
  /** Written with the first row; undefined before, and in files of version 1. */
  head: OriginalsHead | undefined
  headSum: bigint
  /** Checksum of the newest row, or of the header. */
  last: bigint
}

/** Where a slot is. */
export interface SlotPlace {
  readonly chunk: number
  readonly row: number
  /** Number of rows from there to the end of the full file. */
  readonly left: number
}

export class OriginalsChunks {
  readonly owner: OriginalsOwner
  /** Bytes of a row. */
  readonly rowBytes: number
  readonly #place: OriginalsPlace
  readonly #prefix: string
  readonly #chunkRows: number
  readonly #chunks: Chunk[] = []
  readonly #dirty = new Set<number>()
  #ready = 0
  #preparing: Promise<void> = Promise.resolve()

  constructor(place: OriginalsPlace, owner: OriginalsOwner) {
    // With many fields, more files are open than a process may have descriptors.
    this.#place = { ...place, vfs: processFiles.vfs(place.vfs) }
    this.owner = owner
    this.#prefix = `${prefixOf(owner)}field-${owner.field}`
    this.rowBytes = rowBytesOf(owner.dimension)
    this.#chunkRows = chunkRowsOf(owner.dimension)
  }

  /** How the paths of the files begin. */
  get pathPrefix(): string {
    return join(this.#place.dir, this.#prefix)
  }

  /** The uuid of the data directory. */
  get directory(): string {
    return this.#place.directory()
  }

  /** Number of slots with allocated disk space. */
  get ready(): number {
    return this.#ready
  }

  /** Allocates disk space for the slots below `end`, taken when its turn comes. Throws EngineError read_only if the disk is full. */
  async prepare(end: () => number): Promise<void> {
    const before = this.#preparing
    const mine = before.catch(() => undefined).then(() => this.#grow(end()))
    this.#preparing = mine
    await mine
  }

  /** The open file of a number. */
  at(chunk: number): Chunk {
    const found = this.#chunks[chunk]
    assert(found, `chunk ${chunk} of ${this.#prefix} is open`)
    return found
  }

  /** The checksum of the last row of a file; 0 if it is not open. */
  lastSum(chunk: number): bigint {
    return this.#chunks[chunk]?.last ?? 0n
  }

  locate(slot: number): SlotPlace {
    const chunk = Math.floor(slot / this.#chunkRows)
    const row = slot - chunk * this.#chunkRows
    return { chunk, row, left: this.#chunkRows - row }
  }

  /** Slot of the first row of a file. */
  firstSlot(chunk: number): number {
    return chunk * this.#chunkRows
  }

  readAt(chunk: number, offset: number, into: Uint8Array): Promise<number> {
    return accessing(this.#path(chunk), () => readFully(this.at(chunk).file, into, offset))
  }

  async writeAt(chunk: number, offset: number, bytes: Uint8Array): Promise<void> {
    await writeFully(this.at(chunk).file, bytes, offset)
    this.#dirty.add(chunk)
  }

  /** The error of a damaged row. */
  damaged(chunk: number, offset: number): EngineError {
    const file = this.#path(chunk)
    const message = `the vector at byte ${offset} of ${file} is damaged`
    this.#place.onDamaged?.(file, message)
    return new EngineError('snapshot_damaged', message, { file, offset })
  }

  /** Makes everything written so far durable. A file whose sync failed is never reported as durable while it is open. */
  async sync(): Promise<void> {
    for (const chunk of [...this.#dirty]) {
      // Rows that are written during the sync need another one.
      this.#dirty.delete(chunk)
      try {
        await this.at(chunk).file.datasync()
      } catch (error) {
        this.#dirty.add(chunk)
        throw error
      }
    }
  }

  /** The files with the slots below `end`, by name, in the directory of originals. */
  names(end: number): string[] {
    return Array.from({ length: Math.ceil(end / this.#chunkRows) }, (_, chunk) => this.#name(chunk))
  }

  /** The same files with the number of bytes of these slots. */
  files(end: number): OriginalsFile[] {
    const { generation, field } = this.owner
    return this.names(end).map((name, chunk) => {
      const { version, head, last } = this.at(chunk)
      const bytes = rowsStart(version) + this.#rowsOf(chunk, end) * this.rowBytes
      const proof = head && { directory: head.directory, collectionId: head.collectionId, chain: hex(last) }
      return { name, generation, field, chunk, bytes, ...(proof && { proof }) }
    })
  }

  /** A file as a manifest lists it. For a file of version 1 the checksums of some rows are read. */
  async listed(file: OriginalsFile): Promise<OriginalsFile> {
    const { file: handle, version } = this.at(file.chunk)
    if (version === 2) return file
    const marks = await marksOf(handle, Math.floor(file.bytes / this.rowBytes), this.rowBytes)
    return marks === undefined ? file : { ...file, proof: { marks } }
  }

  /**
   * Opens the existing files up to their known lengths, with `end` slots. Must be called first if state was loaded. Throws snapshot_damaged
   * if one is not the listed file.
   */
  async open(end: number, listed?: readonly ListedOriginals[]): Promise<void> {
    for (const [chunk, name] of this.names(end).entries()) {
      const path = join(this.#place.dir, name)
      const file = await accessing(path, () => this.#place.vfs.open(path, 'write'))
      // Closed with the others if it is rejected.
      this.#chunks.push({ file, version: 1, head: undefined, headSum: 0n, last: 0n })
      const meant = listed?.find((one) => one.field === this.owner.field && one.chunk === chunk)
      if (listed !== undefined && meant === undefined)
        throw new EngineError('snapshot_damaged', `the manifest does not list ${path}`, { file: path })
      const rows = this.#rowsOf(chunk, end)
      const found = await identify(file, path, { rows, dimension: this.owner.dimension, listed: meant })
      this.#chunks[chunk] = { file, ...found }
      const before = this.#chunks[chunk - 1]
      if (found.head !== undefined && before?.version === 2 && found.head.before !== before.last)
        throw new EngineError('snapshot_damaged', `${path} does not continue the previous file`, { file: path })
      const held = Math.floor(((await file.size()) - rowsStart(found.version)) / this.rowBytes)
      this.#ready = chunk * this.#chunkRows + Math.min(this.#chunkRows, held)
      if (held < rows) {
        const what = `${path} holds ${held} vectors, but ${rows} are needed`
        throw new EngineError('snapshot_damaged', what, { file: path, value: held, limit: rows })
      }
    }
  }

  async close(): Promise<void> {
    await this.#preparing.catch(() => undefined)
    await runEach(
      ...this.#chunks.splice(0).map(
        ({ file }) =>
          () =>
            file.close(),
      ),
    )
  }

  /** Closes and removes the files. */
  async remove(): Promise<void> {
    const names = this.#chunks.map((_, chunk) => this.#name(chunk))
    await this.close()
    for (const name of names) {
      await this.#place.vfs.remove(join(this.#place.dir, name)).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
    }
  }

  async #grow(end: number): Promise<void> {
    while (this.#ready < end) {
      const chunk = Math.floor(this.#ready / this.#chunkRows)
      const held = (this.#ready - chunk * this.#chunkRows) * this.rowBytes
      const chunkBytes = this.#chunkRows * this.rowBytes
      const wanted = Math.min(
        chunkBytes,
        Math.max(growBytesMin, held * 2, (end - chunk * this.#chunkRows) * this.rowBytes),
      )
      try {
        this.#chunks[chunk] ??= await this.#create(chunk)
        const { file, version } = this.at(chunk)
        // Includes space for the header, which is written with the first row.
        await fill(file, held === 0 ? 0 : rowsStart(version) + held, rowsStart(version) + wanted)
      } catch (error) {
        if (!isDiskFull(error)) throw error
        throw new EngineError(
          'read_only',
          'the disk has no space for more vectors',
          { field: this.#prefix },
          { cause: error },
        )
      }
      this.#ready = chunk * this.#chunkRows + Math.floor(wanted / this.rowBytes)
    }
  }

  async #create(chunk: number): Promise<Chunk> {
    const { vfs, dir } = this.#place
    await vfs.makeDirectory(dir)
    // Remains of a run that crashed after its last checkpoint; a replay writes the same rows again. The file is not overwritten, because a
    // newer checkpoint that turned out to be damaged, or an image, may have linked it.
    if (await vfs.exists(this.#path(chunk))) await vfs.remove(this.#path(chunk))
    const file = await vfs.open(this.#path(chunk), 'create')
    return { file, version: 2, head: undefined, headSum: 0n, last: 0n }
  }

  /** Number of rows of a file with slots below `end`. */
  #rowsOf(chunk: number, end: number): number {
    return Math.min(this.#chunkRows, end - chunk * this.#chunkRows)
  }

  #name(chunk: number): string {
    return chunkPath(this.#prefix, chunk)
  }

  #path(chunk: number): string {
    return join(this.#place.dir, this.#name(chunk))
  }
}

async function fill(file: VfsFile, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += zeros.length)
    await writeFully(file, zeros.subarray(0, Math.min(zeros.length, to - index)), index)
}
