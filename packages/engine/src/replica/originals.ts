// The original vectors of one field, on disk: get and search return them, a field with less than float32 in memory re-ranks with them, and
// a rebuild reads them. A float32 field with cosine only keeps those that are not unit vectors, because its rows in memory are the others.
// Rows are appended to chunk files under slots that increase and are never reused, so a file only grows at its end and checkpoints can link
// it. The log can reproduce the rows, so they need not be durable before a checkpoint lists them. The members of an object in a
// multi-vector field have consecutive slots. originals-file.ts has the format of a chunk file. Opening a file and reading a row verify who
// wrote it, and that its rows are those written one after another.
import { join } from 'node:path'
import { freeBuffer, isDiskFull, processFiles, readFully, type VfsFile, writeFully } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { accessing, isMissing } from '../file-damage.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { Column } from '../memory/column.ts'
import { type DumpOptions, numbersPart, type Section, type SectionReader, sectionOf } from '../memory/sections.ts'
import { xxh64 } from '../memory/xxh64.ts'
import { comparedVector, vectorForm } from '../model/vector-form.ts'
import { identify, type ListedOriginals, marksOf } from './check-originals.ts'
import {
  chainSum,
  encodeHead,
  headBytes,
  headSum,
  hex,
  type OriginalsHead,
  rowKind,
  sumAt,
  sumBytes,
} from './originals-file.ts'
import { type OriginalsOwner, type OriginalsPlace, prefixOf } from './originals-owner.ts'
import {
  bytesOfRows,
  chunkPath,
  chunkRowsOf,
  type OriginalsList,
  type RowsOrigin,
  rowBytesOf,
  rowsStart,
  type SharedOriginals,
  takeRows,
} from './originals-rows.ts'

/** A file grows by at least this much, written as zeros, so that a row with reserved space finds its blocks allocated. */
const growBytesMin = 64 * 1024
const zeros = new Uint8Array(1024 * 1024)
/** Rows are encoded and written in pieces of this size: hashing one takes a fraction of a millisecond. */
const writeBytesMax = 1024 * 1024
/** Consecutive rows are read in pieces of this size. */
const readBytesMax = 1024 * 1024

export interface OriginalsState {
  /** Number of assigned slots. */
  readonly end: number
  readonly slots: Column
  /** A `vectorForm` of each ordinal; absent while all are `unit`. */
  readonly forms?: Column | undefined
  readonly several?: SeveralState
}

/** A vector as appended. */
export interface GivenRow {
  readonly vector: Float32Array
  /** The `vectorForm` of the vector. */
  readonly form: number
}

interface SeveralState {
  /** Number of vectors of each ordinal. */
  readonly counts: Column
  /** Chained over the checksums of all rows ever appended; the digest includes it instead of their contents. */
  chain: bigint
}

/** A file as a checkpoint lists it. `listed` reads the proof of a file of version 1 from the disk. */
export type OriginalsFile = ListedOriginals & { readonly bytes: number }

/** One open file. */
interface Chunk {
  readonly file: VfsFile
  readonly version: 1 | 2
  /** Written with the first row; undefined before, and in files of version 1. */
  head: OriginalsHead | undefined
  headSum: bigint
  /** Checksum of the newest row, or of the header. */
  last: bigint
}

export class Originals {
  readonly #place: OriginalsPlace
  readonly owner: OriginalsOwner
  readonly #prefix: string
  readonly #dimension: number
  readonly #rowBytes: number
  readonly #chunkRows: number
  readonly #slots: Column
  #forms: Column | undefined
  readonly #several: SeveralState | undefined
  readonly #chunks: Chunk[] = []
  readonly #dirty = new Set<number>()
  /** The row that `readNow` read last, after the checksum before it. */
  #rowNow: Uint8Array<ArrayBuffer> | undefined
  #ready = 0
  #end: number
  #preparing: Promise<void> = Promise.resolve()

  constructor(
    place: OriginalsPlace,
    owner: OriginalsOwner,
    state: OriginalsState = { end: 0, slots: new Column('u32') },
  ) {
    // With many fields, more files are open than a process may have descriptors.
    this.#place = { ...place, vfs: processFiles.vfs(place.vfs) }
    this.owner = owner
    this.#prefix = `${prefixOf(owner)}field-${owner.field}`
    this.#dimension = owner.dimension
    this.#rowBytes = rowBytesOf(owner.dimension)
    this.#chunkRows = chunkRowsOf(owner.dimension)
    this.#slots = state.slots
    this.#forms = state.forms
    this.#several = owner.several ? (state.several ?? { counts: new Column('u32'), chain: 0n }) : undefined
    this.#end = state.end
  }

  /** What readers of other threads need to read the files. */
  get shared(): SharedOriginals {
    const { dimension } = this.owner
    return { path: join(this.#place.dir, this.#prefix), dimension, isSeveral: this.several }
  }

  /** By ordinal, for readers of other threads: the slot, the form, and the number of the vectors. */
  get chunks(): { readonly [L in OriginalsList]: readonly SharedBytes[] } {
    return {
      slots: this.#slots.chunks,
      forms: this.#forms?.chunks ?? [],
      counts: this.#several?.counts.chunks ?? [],
    }
  }

  /** Whether an object can have several vectors in the field. */
  get several(): boolean {
    return this.#several !== undefined
  }

  /** Whether `rows` more can be appended without allocating disk space. */
  hasRoom(rows: number): boolean {
    return this.#end + rows <= this.#ready
  }

  /** Allocates disk space for `rows` more. Throws EngineError read_only if the disk is full; nothing is lost. */
  async prepare(rows: number): Promise<void> {
    const before = this.#preparing
    const mine = before.catch(() => undefined).then(() => this.#grow(this.#end + rows))
    this.#preparing = mine
    await mine
  }

  /**
   * Writes vectors (row-major) for ordinals: one each, or as many as `counts` says. `forms` are their forms, all `unit` if absent. Space
   * must have been reserved. They can be read when the promise resolves.
   */
  async append(
    ordinals: Uint32Array,
    vectors: Float32Array,
    { counts, forms }: { readonly counts?: Uint32Array; readonly forms?: Uint8Array } = {},
  ): Promise<void> {
    const first = this.#end
    const rows = vectors.length / this.#dimension
    assert(this.hasRoom(rows), 'room was made before rows are appended')
    this.#end += rows
    const end = 1 + ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0)
    this.#slots.ensure(end)
    this.#several?.counts.ensure(end)
    if (forms !== undefined) this.#forms ??= new Column('u8')
    this.#forms?.ensure(end)
    // In order, one piece after another, because the checksum of each row depends on the previous row.
    for (const { chunk, offset, bytes } of this.#encode(first, vectors)) {
      await writeFully(this.#chunk(chunk).file, bytes, offset)
      freeBuffer(bytes.buffer)
      this.#dirty.add(chunk)
    }
    let slot = first
    ordinals.forEach((ordinal, i) => {
      const count = counts?.[i] ?? 1
      this.#slots.set(ordinal, slot + 1)
      this.#several?.counts.set(ordinal, count)
      this.#forms?.set(ordinal, forms?.[i] ?? vectorForm.unit)
      slot += count
    })
  }

  has(ordinal: number): boolean {
    return this.#slots.get(ordinal) !== 0
  }

  /** Number of vectors of an ordinal. */
  count(ordinal: number): number {
    return this.has(ordinal) ? (this.#several?.counts.get(ordinal) ?? 1) : 0
  }

  /**
   * The vector of an ordinal as it is compared (of unit length for cosine), or its members one after another as given. The ordinal must
   * have one. Throws EngineError snapshot_damaged if the row on disk is wrong.
   */
  async read(ordinal: number): Promise<Float32Array> {
    const form = this.#formOf(ordinal)
    return comparedVector(await this.#read(ordinal), form)
  }

  /**
   * The vectors of ordinals with one each, as given, in the same order; undefined for those without. Consecutive rows in a file are read at
   * once. Throws like `read`.
   */
  async readGiven(ordinals: readonly number[]): Promise<(GivenRow | undefined)[]> {
    // As of now, because an ordinal may be released while others are read.
    const wanted = ordinals
      .map((ordinal, i) => ({ i, slot: this.#slots.get(ordinal) - 1, form: this.#formOf(ordinal) }))
      .filter(({ slot }) => slot >= 0)
      .sort((a, b) => a.slot - b.slot)
    const found: (GivenRow | undefined)[] = ordinals.map(() => undefined)
    const rowsMax = Math.max(1, Math.floor(readBytesMax / this.#rowBytes))
    const runs: Promise<void>[] = []
    for (let from = 0; from < wanted.length; ) {
      const first = (wanted[from] as (typeof wanted)[number]).slot
      const most = Math.min(rowsMax, this.#locate(first).left)
      let to = from + 1
      while (to < wanted.length && to - from < most && wanted[to]?.slot === first + to - from) to++
      const run = wanted.slice(from, to)
      runs.push(
        this.#readRows(first, run.length).then((vectors) => {
          for (const [row, { i, form }] of run.entries())
            found[i] = { vector: vectors.subarray(row * this.#dimension, (row + 1) * this.#dimension), form }
        }),
      )
      from = to
    }
    await Promise.all(runs)
    return found
  }

  /**
   * The vector of an ordinal with one, as given, read in the calling thread: a view that the next call overwrites. Undefined if only
   * `readGiven` can read it, which then reports why. Throws snapshot_damaged if the row on disk is wrong.
   */
  readNow(ordinal: number): Float32Array | undefined {
    const slot = this.#slots.get(ordinal) - 1
    if (slot < 0) return undefined
    const { chunk, row } = this.#locate(slot)
    const { file, version, headSum: head } = this.#chunk(chunk)
    if (version === 1) return undefined
    this.#rowNow ??= new Uint8Array(sumBytes + this.#rowBytes)
    const bytes = this.#rowNow
    const offset = headBytes + row * this.#rowBytes
    if (!isReadNow(file, bytes, offset - sumBytes)) return undefined
    if (!isChained(bytes, head)) throw this.#damaged(chunk, offset)
    return new Float32Array(bytes.buffer, sumBytes, this.#dimension)
  }

  #formOf(ordinal: number): number {
    return this.#forms?.get(ordinal) ?? vectorForm.unit
  }

  #read(ordinal: number): Promise<Float32Array> {
    const first = this.#slots.get(ordinal) - 1
    assert(first >= 0, `ordinal ${ordinal} has an original`)
    return this.#readRows(first, this.count(ordinal))
  }

  async #readRows(first: number, rows: number): Promise<Float32Array> {
    const vectors = new Float32Array(rows * this.#dimension)
    for (let done = 0; done < rows; ) {
      const { chunk, row, left } = this.#locate(first + done)
      const taken = Math.min(left, rows - done)
      const into = vectors.subarray(done * this.#dimension, (done + taken) * this.#dimension)
      await this.#readRun(chunk, row, into)
      done += taken
    }
    return vectors
  }

  /** Forgets the vector of an ordinal; a rebuild frees its disk space. */
  release(ordinal: number): void {
    this.#slots.set(ordinal, 0)
    this.#several?.counts.set(ordinal, 0)
    this.#forms?.set(ordinal, vectorForm.unit)
  }

  /** Makes everything appended so far durable. */
  async sync(): Promise<void> {
    const chunks = [...this.#dirty]
    this.#dirty.clear()
    for (const chunk of chunks) await this.#chunk(chunk).file.datasync()
  }

  /** The files with the rows appended so far, by name, in the directory of originals. */
  names(): string[] {
    return Array.from({ length: Math.ceil(this.#end / this.#chunkRows) }, (_, chunk) => this.#name(chunk))
  }

  /** The same files with the number of bytes of the rows appended so far. */
  files(): OriginalsFile[] {
    const { generation, field } = this.owner
    return Array.from({ length: Math.ceil(this.#end / this.#chunkRows) }, (_, chunk) => {
      const { version, head, last } = this.#chunk(chunk)
      const bytes = rowsStart(version) + this.#rowsOf(chunk) * this.#rowBytes
      const proof = head && { directory: head.directory, collectionId: head.collectionId, chain: hex(last) }
      return { name: this.#name(chunk), generation, field, chunk, bytes, ...(proof && { proof }) }
    })
  }

  /** A file as a manifest lists it. For a file of version 1 the checksums of some rows are read. */
  async listed(file: OriginalsFile): Promise<OriginalsFile> {
    const { file: handle, version } = this.#chunk(file.chunk)
    if (version === 2) return file
    const marks = await marksOf(handle, Math.floor(file.bytes / this.#rowBytes), this.#rowBytes)
    return marks === undefined ? file : { ...file, proof: { marks } }
  }

  /**
   * Opens the existing files up to their known lengths. Must be called first if state was loaded. Throws snapshot_damaged if one is not the
   * listed file.
   */
  async open(listed?: readonly ListedOriginals[]): Promise<void> {
    for (const [chunk, name] of this.names().entries()) {
      const path = join(this.#place.dir, name)
      const file = await accessing(path, () => this.#place.vfs.open(path, 'write'))
      // Closed with the others if it is rejected.
      this.#chunks.push({ file, version: 1, head: undefined, headSum: 0n, last: 0n })
      const meant = listed?.find((one) => one.field === this.owner.field && one.chunk === chunk)
      if (listed !== undefined && meant === undefined)
        throw new EngineError('snapshot_damaged', `the manifest does not list ${path}`, { file: path })
      const rows = this.#rowsOf(chunk)
      const found = await identify(file, path, { rows, dimension: this.#dimension, listed: meant })
      this.#chunks[chunk] = { file, ...found }
      const before = this.#chunks[chunk - 1]
      if (found.head !== undefined && before?.version === 2 && found.head.before !== before.last)
        throw new EngineError('snapshot_damaged', `${path} does not continue the previous file`, { file: path })
      const held = Math.floor(((await file.size()) - rowsStart(found.version)) / this.#rowBytes)
      this.#ready = chunk * this.#chunkRows + Math.min(this.#chunkRows, held)
      if (held < rows) {
        const what = `${path} holds ${held} vectors, but ${rows} are needed`
        throw new EngineError('snapshot_damaged', what, { file: path, value: held, limit: rows })
      }
    }
  }

  dump(name: string, ordinalEnd: number, options: DumpOptions = {}): Section[] {
    // Absent, as in older snapshots, until there is a form other than `unit`.
    if (this.owner.isPartial && this.#end === 0) return []
    const slots = this.#slots.dump(`${name}.slots`, ordinalEnd, options)
    if (!this.#several) {
      if (!this.#forms) return [sectionOf(name, numbersPart([this.#end])), slots]
      const head = sectionOf(name, numbersPart([this.#end, 1]))
      return [head, slots, this.#forms.dump(`${name}.forms`, ordinalEnd, options)]
    }
    const { counts, chain } = this.#several
    const numbers = [this.#end, Number(chain & 0xffffffffn), Number(chain >> 32n)]
    return [sectionOf(name, numbersPart(numbers)), slots, counts.dump(`${name}.counts`, ordinalEnd, options)]
  }

  static async loadState(
    reader: SectionReader,
    name: string,
    { ordinalEnd, several }: { readonly ordinalEnd: number; readonly several: boolean },
  ): Promise<OriginalsState> {
    const body = await reader.open(name)
    const hasForms = !several && body.length > 8
    const [end = 0, low = 0, high = 0] = await body.takeNumbers(several ? 3 : hasForms ? 2 : 1)
    await body.end()
    const slots = await Column.load(reader, `${name}.slots`, 'u32', ordinalEnd)
    if (!several)
      return { end, slots, forms: hasForms ? await Column.load(reader, `${name}.forms`, 'u8', ordinalEnd) : undefined }
    const counts = await Column.load(reader, `${name}.counts`, 'u32', ordinalEnd)
    return { end, slots, several: { counts, chain: (BigInt(high) << 32n) | BigInt(low) } }
  }

  bytes(): number {
    return this.#slots.bytes() + (this.#forms?.bytes() ?? 0) + (this.#several?.counts.bytes() ?? 0)
  }

  async close(): Promise<void> {
    await this.#preparing.catch(() => undefined)
    for (const { file } of this.#chunks.splice(0)) await file.close()
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
      const held = (this.#ready - chunk * this.#chunkRows) * this.#rowBytes
      const chunkBytes = this.#chunkRows * this.#rowBytes
      const wanted = Math.min(
        chunkBytes,
        Math.max(growBytesMin, held * 2, (end - chunk * this.#chunkRows) * this.#rowBytes),
      )
      try {
        this.#chunks[chunk] ??= await this.#create(chunk)
        const { file, version } = this.#chunk(chunk)
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
      this.#ready = chunk * this.#chunkRows + Math.floor(wanted / this.#rowBytes)
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

  /** The bytes to write, by file, in pieces. Each is encoded while the previous one is written. */
  *#encode(
    first: number,
    vectors: Float32Array,
  ): Generator<{ readonly chunk: number; readonly offset: number; readonly bytes: Uint8Array }, void> {
    const source = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength)
    const vectorBytes = this.#dimension * 4
    const rows = vectors.length / this.#dimension
    const rowsMax = Math.max(1, Math.floor(writeBytesMax / this.#rowBytes))
    for (let done = 0; done < rows; ) {
      const { chunk, row, left } = this.#locate(first + done)
      const taken = Math.min(left, rows - done, rowsMax)
      const to = this.#chunk(chunk)
      const head = row === 0 && to.version === 2 ? this.#begin(chunk) : undefined
      const from = head?.length ?? 0
      const bytes = new Uint8Array(from + taken * this.#rowBytes)
      if (head) bytes.set(head)
      for (let i = 0; i < taken; i++) {
        const vector = source.subarray((done + i) * vectorBytes, (done + i + 1) * vectorBytes)
        this.#encodeRow(to, vector, first + done + i, bytes.subarray(from + i * this.#rowBytes))
      }
      yield { chunk, offset: rowsStart(to.version) - from + row * this.#rowBytes, bytes }
      done += taken
    }
  }

  #encodeRow(to: Chunk, vector: Uint8Array, slot: number, into: Uint8Array): void {
    const view = new DataView(into.buffer, into.byteOffset)
    // The digest of a multi-vector field uses these checksums for any version of the file.
    const own = to.version === 1 || this.#several ? xxh64(vector, BigInt(slot)) : 0n
    if (to.version === 1) {
      view.setBigUint64(0, own, true)
      into.set(vector, sumBytes)
    } else {
      to.last = chainSum(vector, to.last, to.headSum)
      into.set(vector)
      view.setBigUint64(vector.length, to.last, true)
    }
    if (!this.#several) return
    const link = new Uint8Array(sumBytes)
    new DataView(link.buffer).setBigUint64(0, own, true)
    this.#several.chain = xxh64(link, this.#several.chain)
  }

  /** The header of a file that gets its first row. */
  #begin(chunk: number): Uint8Array {
    const { collectionId, generation, field, dimension, several, scales } = this.owner
    const to = this.#chunk(chunk)
    const before = this.#chunks[chunk - 1]?.last ?? 0n
    const kind = several ? rowKind.members : scales ? rowKind.given : rowKind.vectors
    to.head = { kind, directory: this.#place.directory(), collectionId, generation, field, chunk, dimension, before }
    const bytes = encodeHead(to.head)
    to.headSum = headSum(bytes)
    to.last = to.headSum
    return bytes
  }

  async #readRun(chunk: number, row: number, into: Float32Array): Promise<void> {
    const run = { row, count: into.length / this.#dimension }
    const origin = this.#originOf(chunk)
    const { offset, length } = bytesOfRows(origin, run)
    const bytes = new Uint8Array(length)
    const read = await this.#readAt(chunk, offset, bytes)
    const damaged = takeRows(origin, run, bytes, read, into)
    if (damaged >= 0) throw this.#damaged(chunk, rowsStart(origin.version) + damaged * this.#rowBytes)
  }

  #originOf(chunk: number): RowsOrigin {
    const { version, headSum } = this.#chunk(chunk)
    return { version, headSum, firstSlot: chunk * this.#chunkRows, dimension: this.#dimension }
  }

  #readAt(chunk: number, offset: number, into: Uint8Array): Promise<number> {
    return accessing(this.#path(chunk), () => readFully(this.#chunk(chunk).file, into, offset))
  }

  /** Number of rows of a file that were appended so far. */
  #rowsOf(chunk: number): number {
    return Math.min(this.#chunkRows, this.#end - chunk * this.#chunkRows)
  }

  #locate(slot: number): { readonly chunk: number; readonly row: number; readonly left: number } {
    const chunk = Math.floor(slot / this.#chunkRows)
    const row = slot - chunk * this.#chunkRows
    return { chunk, row, left: this.#chunkRows - row }
  }

  #chunk(chunk: number): Chunk {
    const found = this.#chunks[chunk]
    assert(found, `chunk ${chunk} of ${this.#prefix} is open`)
    return found
  }

  #damaged(chunk: number, offset: number): EngineError {
    const file = this.#path(chunk)
    return new EngineError('snapshot_damaged', `the vector at byte ${offset} of ${file} is damaged`, { file, offset })
  }

  #name(chunk: number): string {
    return chunkPath(this.#prefix, chunk)
  }

  #path(chunk: number): string {
    return join(this.#place.dir, this.#name(chunk))
  }
}

/** Whether the calling thread has read all bytes. */
function isReadNow(file: VfsFile, bytes: Uint8Array, position: number): boolean {
  try {
    return file.readNow?.(bytes, position) === bytes.length
  } catch {
    // The caller reads again in another way, which fails in the same way if the disk does.
    return false
  }
}

/** Whether the checksum at the end of a row follows from the one before it. */
function isChained(bytes: Uint8Array, head: bigint): boolean {
  const end = bytes.length - sumBytes
  return sumAt(bytes, end) === chainSum(bytes.subarray(sumBytes, end), sumAt(bytes, 0), head)
}

async function fill(file: VfsFile, from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += zeros.length)
    await writeFully(file, zeros.subarray(0, Math.min(zeros.length, to - index)), index)
}
