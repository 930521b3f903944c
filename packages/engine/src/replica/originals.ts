// The vectors of one field as they came (those of dense fields of unit length for cosine), on disk: what a field that keeps
// less than float32 in memory re-ranks from, and is rebuilt from. Rows are appended to chunk files under slots that count up
// and are never used again, so a file only grows at its end and checkpoints can link it. The log can make the rows again, so
// they need not be durable before a checkpoint says so. The members of an object in a multi-vector field have slots that
// follow each other.
//
//   chunk file: rows one after another, each | u64 xxh64 of the vector, seed = slot | f32 x dimension |
import { join } from 'node:path'
import { errnoOf, isDiskFull, processFiles, readFully, type VfsFile, writeFully } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { Column } from '../memory/column.ts'
import { numbersPart, type Section, type SectionReader, sectionOf } from '../memory/sections.ts'
import { xxh64 } from '../memory/xxh64.ts'
import { accessing, isMissing } from '../unreadable.ts'
import { type OriginalsOf, type OriginalsPlace, prefixOf } from './originals-of.ts'

const sumBytes = 8
const chunkBytesAim = 16 * 1024 * 1024
/** A file grows by at least so much, written as zeros, so that a row that was promised room finds its blocks taken. */
const growBytesMin = 64 * 1024
const zeros = new Uint8Array(1024 * 1024)

export interface OriginalsState {
  /** Slots given out. */
  readonly end: number
  readonly slots: Column
  readonly several?: SeveralState
}

interface SeveralState {
  /** Vectors of each ordinal. */
  readonly counts: Column
  /** Chained over the checksums of all rows ever appended: what the digest knows of their contents. */
  chain: bigint
}

export interface OriginalsFile {
  readonly name: string
  readonly bytes: number
}

export class Originals {
  readonly #place: OriginalsPlace
  readonly #prefix: string
  readonly #dimension: number
  readonly #rowBytes: number
  readonly #chunkRows: number
  readonly #slots: Column
  readonly #several: SeveralState | undefined
  readonly #files: VfsFile[] = []
  readonly #dirty = new Set<number>()
  #ready = 0
  #end: number
  #preparing: Promise<void> = Promise.resolve()

  constructor(place: OriginalsPlace, of: OriginalsOf, state: OriginalsState = { end: 0, slots: new Column('u32') }) {
    // Of many fields more files are open than a process may have descriptors.
    this.#place = { ...place, vfs: processFiles.vfs(place.vfs) }
    this.#prefix = `${prefixOf(of)}field-${of.field}`
    this.#dimension = of.dimension
    this.#rowBytes = sumBytes + of.dimension * 4
    this.#chunkRows = 2 ** Math.floor(Math.log2(chunkBytesAim / this.#rowBytes))
    this.#slots = state.slots
    this.#several = of.several ? (state.several ?? { counts: new Column('u32'), chain: 0n }) : undefined
    this.#end = state.end
  }

  /** Whether an object may have several vectors in it. */
  get several(): boolean {
    return this.#several !== undefined
  }

  /** Whether `rows` more can be appended without asking the disk for room. */
  hasRoom(rows: number): boolean {
    return this.#end + rows <= this.#ready
  }

  /** Takes room on the disk for `rows` more. Throws EngineError read_only when the disk is full, and nothing is lost. */
  async prepare(rows: number): Promise<void> {
    const before = this.#preparing
    const mine = before.catch(() => undefined).then(() => this.#grow(this.#end + rows))
    this.#preparing = mine
    await mine
  }

  /**
   * Writes vectors (row-major) for ordinals: one each, or as many as `counts` says. Room must have been made. They can be read
   * when the promise resolves.
   */
  async append(ordinals: Uint32Array, vectors: Float32Array, counts?: Uint32Array): Promise<void> {
    const first = this.#end
    const rows = vectors.length / this.#dimension
    assert(this.hasRoom(rows), 'room was made before rows are appended')
    this.#end += rows
    const end = 1 + ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0)
    this.#slots.ensure(end)
    this.#several?.counts.ensure(end)
    const bytes = this.#encode(first, vectors)
    for (let done = 0; done < rows; ) {
      const { chunk, at, left } = this.#locate(first + done)
      const taken = Math.min(left, rows - done)
      const part = bytes.subarray(done * this.#rowBytes, (done + taken) * this.#rowBytes)
      await writeFully(this.#file(chunk), part, at)
      this.#dirty.add(chunk)
      done += taken
    }
    let slot = first
    ordinals.forEach((ordinal, i) => {
      const count = counts?.[i] ?? 1
      this.#slots.set(ordinal, slot + 1)
      this.#several?.counts.set(ordinal, count)
      slot += count
    })
  }

  has(ordinal: number): boolean {
    return this.#slots.get(ordinal) !== 0
  }

  /** Vectors of an ordinal. */
  count(ordinal: number): number {
    return this.has(ordinal) ? (this.#several?.counts.get(ordinal) ?? 1) : 0
  }

  /**
   * The vector of an ordinal that has one, or its vectors one after another. Throws EngineError snapshot_damaged when the disk
   * gives back something else.
   */
  async read(ordinal: number): Promise<Float32Array> {
    const first = this.#slots.get(ordinal) - 1
    assert(first >= 0, `ordinal ${ordinal} has an original`)
    const rows = this.count(ordinal)
    const vectors = new Float32Array(rows * this.#dimension)
    for (let done = 0; done < rows; ) {
      const { chunk, at, left } = this.#locate(first + done)
      const taken = Math.min(left, rows - done)
      const bytes = new Uint8Array(taken * this.#rowBytes)
      const read = await accessing(this.#path(chunk), () => readFully(this.#file(chunk), bytes, at))
      for (let i = 0; i < taken; i++) {
        const row = bytes.subarray(i * this.#rowBytes, (i + 1) * this.#rowBytes)
        const slot = first + done + i
        if (read < (i + 1) * this.#rowBytes || sumOf(row) !== xxh64(row.subarray(sumBytes), BigInt(slot)))
          throw this.#damaged(chunk, at + i * this.#rowBytes)
        new Uint8Array(vectors.buffer, (done + i) * this.#dimension * 4).set(row.subarray(sumBytes))
      }
      done += taken
    }
    return vectors
  }

  /** Forgets an ordinal's vector; its place on disk is given back when the collection is rebuilt. */
  release(ordinal: number): void {
    this.#slots.set(ordinal, 0)
    this.#several?.counts.set(ordinal, 0)
  }

  /** Makes everything appended so far durable. */
  async sync(): Promise<void> {
    const chunks = [...this.#dirty]
    this.#dirty.clear()
    for (const chunk of chunks) await this.#file(chunk).datasync()
  }

  /** Files that hold the rows appended so far, by name, in the directory of originals. */
  names(): string[] {
    return this.files().map(({ name }) => name)
  }

  /** The same files, with how much of each the rows appended so far take. */
  files(): OriginalsFile[] {
    return Array.from({ length: Math.ceil(this.#end / this.#chunkRows) }, (_, chunk) => ({
      name: this.#name(chunk),
      bytes: Math.min(this.#chunkRows, this.#end - chunk * this.#chunkRows) * this.#rowBytes,
    }))
  }

  /** Opens the files there are, up to what is known of; must be called before anything else when state was loaded. */
  async open(): Promise<void> {
    for (const name of this.names()) {
      const path = join(this.#place.dir, name)
      this.#files.push(await accessing(path, () => this.#place.vfs.open(path, 'write')))
      this.#ready += this.#chunkRows
    }
    const last = this.#files.at(-1)
    if (last)
      this.#ready -= this.#chunkRows - Math.min(this.#chunkRows, Math.floor((await last.size()) / this.#rowBytes))
    if (this.#ready < this.#end) {
      throw new EngineError('snapshot_damaged', `the vectors of ${this.#prefix} are not all there`, {
        value: this.#ready,
        limit: this.#end,
      })
    }
  }

  dump(name: string, ordinalEnd: number): Section[] {
    const slots = this.#slots.dump(`${name}.slots`, ordinalEnd)
    if (!this.#several) return [sectionOf(name, numbersPart([this.#end])), slots]
    const { counts, chain } = this.#several
    const numbers = [this.#end, Number(chain & 0xffffffffn), Number(chain >> 32n)]
    return [sectionOf(name, numbersPart(numbers)), slots, counts.dump(`${name}.counts`, ordinalEnd)]
  }

  static async loadState(
    reader: SectionReader,
    name: string,
    { ordinalEnd, several }: { readonly ordinalEnd: number; readonly several: boolean },
  ): Promise<OriginalsState> {
    const body = await reader.open(name)
    const [end = 0, low = 0, high = 0] = await body.takeNumbers(several ? 3 : 1)
    await body.end()
    const slots = await Column.load(reader, `${name}.slots`, 'u32', ordinalEnd)
    if (!several) return { end, slots }
    const counts = await Column.load(reader, `${name}.counts`, 'u32', ordinalEnd)
    return { end, slots, several: { counts, chain: (BigInt(high) << 32n) | BigInt(low) } }
  }

  bytes(): number {
    return this.#slots.bytes() + (this.#several?.counts.bytes() ?? 0)
  }

  async close(): Promise<void> {
    await this.#preparing.catch(() => undefined)
    for (const file of this.#files.splice(0)) await file.close()
  }

  /** Closes and removes the files. */
  async remove(): Promise<void> {
    const names = this.#files.map((_, chunk) => this.#name(chunk))
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
      const held = (this.#ready - chunk * this.#chunkRows) * this.#rowBytes
      const chunkBytes = this.#chunkRows * this.#rowBytes
      const wanted = Math.min(
        chunkBytes,
        Math.max(growBytesMin, held * 2, (end - chunk * this.#chunkRows) * this.#rowBytes),
      )
      try {
        this.#files[chunk] ??= await this.#create(chunk)
        await fill(this.#file(chunk), held, wanted)
      } catch (error) {
        if (!isDiskFull(error)) throw error
        throw new EngineError(
          'read_only',
          'the disk has no room for more vectors',
          { field: this.#prefix },
          { cause: error },
        )
      }
      this.#ready = chunk * this.#chunkRows + Math.floor(wanted / this.#rowBytes)
    }
  }

  async #create(chunk: number): Promise<VfsFile> {
    const { vfs, dir } = this.#place
    await vfs.makeDirectory(dir)
    try {
      return await vfs.open(this.#path(chunk), 'create')
    } catch (error) {
      // Left by a run that a crash ended after its last checkpoint; replay writes the same rows again.
      if (errnoOf(error) !== 'EEXIST') throw error
      return vfs.open(this.#path(chunk), 'write')
    }
  }

  #encode(first: number, vectors: Float32Array): Uint8Array {
    const rows = vectors.length / this.#dimension
    const bytes = new Uint8Array(rows * this.#rowBytes)
    const source = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength)
    const view = new DataView(bytes.buffer)
    const vectorBytes = this.#dimension * 4
    for (let i = 0; i < rows; i++) {
      const vector = source.subarray(i * vectorBytes, (i + 1) * vectorBytes)
      view.setBigUint64(i * this.#rowBytes, xxh64(vector, BigInt(first + i)), true)
      bytes.set(vector, i * this.#rowBytes + sumBytes)
      if (this.#several)
        this.#several.chain = xxh64(
          bytes.subarray(i * this.#rowBytes, i * this.#rowBytes + sumBytes),
          this.#several.chain,
        )
    }
    return bytes
  }

  #locate(slot: number): { readonly chunk: number; readonly at: number; readonly left: number } {
    const chunk = Math.floor(slot / this.#chunkRows)
    const row = slot - chunk * this.#chunkRows
    return { chunk, at: row * this.#rowBytes, left: this.#chunkRows - row }
  }

  #file(chunk: number): VfsFile {
    const file = this.#files[chunk]
    assert(file, `chunk ${chunk} of ${this.#prefix} is open`)
    return file
  }

  #damaged(chunk: number, offset: number): EngineError {
    const file = this.#path(chunk)
    return new EngineError('snapshot_damaged', `the vector at byte ${offset} of ${file} is damaged`, { file, offset })
  }

  #name(chunk: number): string {
    return `${this.#prefix}-chunk-${chunk}.f32`
  }

  #path(chunk: number): string {
    return join(this.#place.dir, this.#name(chunk))
  }
}

function sumOf(row: Uint8Array): bigint {
  return new DataView(row.buffer, row.byteOffset, sumBytes).getBigUint64(0, true)
}

async function fill(file: VfsFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += zeros.length)
    await writeFully(file, zeros.subarray(0, Math.min(zeros.length, to - at)), at)
}
