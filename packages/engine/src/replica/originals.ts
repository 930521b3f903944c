// The vectors of one dense field as they came (of unit length for cosine), on disk: what a field that keeps less than
// float32 in memory re-ranks from, and is rebuilt from. Rows are appended to chunk files under slots that count up and are
// never used again, so a file only grows at its end and checkpoints can link it. The log can make the rows again, so they
// need not be durable before a checkpoint says so.
//
//   chunk file: rows one after another, each | u64 xxh64 of the vector, seed = slot | f32 x dimension |
import { join } from 'node:path'
import { errnoOf, isDiskFull, readFully, type Vfs, type VfsFile, writeFully } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import { Column } from '../memory/column.ts'
import { numbersPart, type Section, type SectionReader, sectionOf } from '../memory/sections.ts'
import { xxh64 } from '../memory/xxh64.ts'

const sumBytes = 8
const chunkBytesAim = 16 * 1024 * 1024
/** A file grows by at least so much, written as zeros, so that a row that was promised room finds its blocks taken. */
const growBytesMin = 64 * 1024
const zeros = new Uint8Array(1024 * 1024)

export interface OriginalsPlace {
  readonly vfs: Vfs
  /** `<data>/originals` */
  readonly dir: string
}

/** Whose vectors they are: this names the files. */
export interface OriginalsOf {
  readonly collectionId: number
  /** How often the collection was rebuilt: the rows of each time are in files of their own. */
  readonly generation: number
  /** Position of the field. */
  readonly field: number
  readonly dimension: number
}

export class Originals {
  readonly #place: OriginalsPlace
  readonly #prefix: string
  readonly #dimension: number
  readonly #rowBytes: number
  readonly #chunkRows: number
  readonly #slots: Column
  readonly #files: VfsFile[] = []
  readonly #dirty = new Set<number>()
  #ready = 0
  #end: number
  #preparing: Promise<void> = Promise.resolve()

  constructor(
    place: OriginalsPlace,
    of: OriginalsOf,
    state: { readonly end: number; readonly slots: Column } = { end: 0, slots: new Column('u32') },
  ) {
    this.#place = place
    this.#prefix = `${prefixOf(of)}field-${of.field}`
    this.#dimension = of.dimension
    this.#rowBytes = sumBytes + of.dimension * 4
    this.#chunkRows = 2 ** Math.floor(Math.log2(chunkBytesAim / this.#rowBytes))
    this.#slots = state.slots
    this.#end = state.end
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

  /** Writes vectors (row-major) for ordinals. Room must have been made. They can be read when the promise resolves. */
  async append(ordinals: Uint32Array, vectors: Float32Array): Promise<void> {
    const first = this.#end
    assert(this.hasRoom(ordinals.length), 'room was made before rows are appended')
    this.#end += ordinals.length
    this.#slots.ensure(1 + ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0))
    const bytes = this.#encode(first, vectors)
    for (let done = 0; done < ordinals.length; ) {
      const { chunk, at, left } = this.#locate(first + done)
      const rows = Math.min(left, ordinals.length - done)
      const part = bytes.subarray(done * this.#rowBytes, (done + rows) * this.#rowBytes)
      await writeFully(this.#file(chunk), part, at)
      this.#dirty.add(chunk)
      done += rows
    }
    ordinals.forEach((ordinal, i) => {
      this.#slots.set(ordinal, first + i + 1)
    })
  }

  has(ordinal: number): boolean {
    return this.#slots.get(ordinal) !== 0
  }

  /** The vector of an ordinal that has one. Throws EngineError snapshot_damaged when the disk gives back something else. */
  async read(ordinal: number): Promise<Float32Array> {
    const slot = this.#slots.get(ordinal) - 1
    assert(slot >= 0, `ordinal ${ordinal} has an original`)
    const { chunk, at } = this.#locate(slot)
    const bytes = new Uint8Array(this.#rowBytes)
    const read = await readFully(this.#file(chunk), bytes, at)
    const sum = new DataView(bytes.buffer).getBigUint64(0, true)
    if (read < bytes.length || sum !== xxh64(bytes.subarray(sumBytes), BigInt(slot))) {
      const file = this.#path(chunk)
      throw new EngineError('snapshot_damaged', `the vector at byte ${at} of ${file} is damaged`, { file, offset: at })
    }
    return new Float32Array(bytes.buffer, sumBytes, this.#dimension)
  }

  /** Forgets an ordinal's vector; its place on disk is given back when the collection is rebuilt. */
  release(ordinal: number): void {
    this.#slots.set(ordinal, 0)
  }

  /** Makes everything appended so far durable. */
  async sync(): Promise<void> {
    const chunks = [...this.#dirty]
    this.#dirty.clear()
    for (const chunk of chunks) await this.#file(chunk).datasync()
  }

  /** Files that hold the rows appended so far, by name, in the directory of originals. */
  names(): string[] {
    return Array.from({ length: Math.ceil(this.#end / this.#chunkRows) }, (_, chunk) => this.#name(chunk))
  }

  /** Opens the files there are, up to what is known of; must be called before anything else when state was loaded. */
  async open(): Promise<void> {
    for (const name of this.names()) {
      this.#files.push(await this.#place.vfs.open(join(this.#place.dir, name), 'write'))
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
    return [sectionOf(name, numbersPart([this.#end])), this.#slots.dump(`${name}.slots`, ordinalEnd)]
  }

  static async loadState(
    reader: SectionReader,
    name: string,
    ordinalEnd: number,
  ): Promise<{ end: number; slots: Column }> {
    const body = await reader.open(name)
    const [end = 0] = await body.takeNumbers(1)
    await body.end()
    return { end, slots: await Column.load(reader, `${name}.slots`, 'u32', ordinalEnd) }
  }

  bytes(): number {
    return this.#slots.bytes()
  }

  async close(): Promise<void> {
    await this.#preparing.catch(() => undefined)
    for (const file of this.#files.splice(0)) await file.close()
  }

  /** Closes and removes the files. */
  async remove(): Promise<void> {
    const names = this.#files.map((_, chunk) => this.#name(chunk))
    await this.close()
    for (const name of names) await this.#place.vfs.remove(join(this.#place.dir, name))
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

  #name(chunk: number): string {
    return `${this.#prefix}-chunk-${chunk}.f32`
  }

  #path(chunk: number): string {
    return join(this.#place.dir, this.#name(chunk))
  }
}

function prefixOf({ collectionId, generation }: Pick<OriginalsOf, 'collectionId' | 'generation'>): string {
  return `collection-${collectionId}-generation-${generation}-`
}

/** Removes the files of collections that are no more, and those of before a rebuild. */
export async function sweepOriginals(
  { vfs, dir }: OriginalsPlace,
  kept: readonly Pick<OriginalsOf, 'collectionId' | 'generation'>[],
): Promise<void> {
  if (!(await vfs.exists(dir))) return
  const prefixes = kept.map(prefixOf)
  for (const name of await vfs.list(dir))
    if (!prefixes.some((prefix) => name.startsWith(prefix))) await vfs.remove(join(dir, name))
}

async function fill(file: VfsFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += zeros.length)
    await writeFully(file, zeros.subarray(0, Math.min(zeros.length, to - at)), at)
}
