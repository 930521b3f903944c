// The original vectors of one field, on disk: get and search return them, a field with less than float32 in memory re-ranks with them, and
// a rebuild reads them. A float32 field with cosine only keeps those that are not unit vectors, because its rows in memory are the others.
// Rows are appended to chunk files under slots that increase and are never reused, so a file only grows at its end and checkpoints can link
// it. The log can reproduce the rows, so they need not be durable before a checkpoint lists them. The members of an object in a
// multi-vector field have consecutive slots. originals-file.ts has the format of a chunk file. Opening a file and reading a row verify who
// wrote it, and that its rows are those written one after another.
import { assert, type EngineError } from '../errors.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { Column } from '../memory/column.ts'
import type { DumpOptions, Section } from '../memory/sections.ts'
import { comparedVector, vectorForm } from '../model/vector-form.ts'
import { appendOriginals } from './append-originals.ts'
import type { ListedOriginals } from './check-originals.ts'
import { OriginalsChunks, type OriginalsFile } from './originals-chunks.ts'
import type { OriginalsOwner, OriginalsPlace } from './originals-owner.ts'
import type { OriginalsList, SharedOriginals } from './originals-rows.ts'
import { dumpOriginalsState, type OriginalsState, type SeveralState } from './originals-state.ts'
import { damagedRow, readRowLater, readRowNow, readRows, slotRuns } from './read-originals.ts'

/** A vector as appended. */
export interface GivenRow {
  readonly vector: Float32Array
  /** The `vectorForm` of the vector. */
  readonly form: number
}

/** Where the vectors of a released ordinal are. */
interface HeldVectors {
  readonly slot: number
  readonly count: number
  readonly form: number
}

export class Originals {
  readonly owner: OriginalsOwner
  readonly #files: OriginalsChunks
  readonly #dimension: number
  readonly #slots: Column
  #forms: Column | undefined
  readonly #several: SeveralState | undefined
  #end: number
  /** Vectors of released ordinals by a negative number, which leads to them like an ordinal. */
  readonly #held = new Map<number, HeldVectors>()
  #lastHeld = 0

  constructor(
    place: OriginalsPlace,
    owner: OriginalsOwner,
    state: OriginalsState = { end: 0, slots: new Column('u32') },
  ) {
    this.owner = owner
    this.#files = new OriginalsChunks(place, owner)
    this.#dimension = owner.dimension
    this.#slots = state.slots
    this.#forms = state.forms
    this.#several = owner.several ? (state.several ?? { counts: new Column('u32'), chain: 0n }) : undefined
    this.#end = state.end
  }

  /** What readers of other threads need to read the files. */
  get shared(): SharedOriginals {
    return { path: this.#files.pathPrefix, dimension: this.#dimension, isSeveral: this.several }
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
    return this.#end + rows <= this.#files.ready
  }

  /** Allocates disk space for `rows` more. Throws EngineError read_only if the disk is full; nothing is lost. */
  prepare(rows: number): Promise<void> {
    return this.#files.prepare(() => this.#end + rows)
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
    await appendOriginals({ chunks: this.#files, several: this.#several }, first, vectors)
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
    return this.#slotOf(ordinal) >= 0
  }

  /** Keeps the vectors of an ordinal readable after its release. Returns the number to read them with; undefined if it has none. */
  hold(ordinal: number): number | undefined {
    if (!this.has(ordinal)) return undefined
    this.#lastHeld -= 1
    const held = { slot: this.#slotOf(ordinal), count: this.count(ordinal), form: this.#formOf(ordinal) }
    this.#held.set(this.#lastHeld, held)
    return this.#lastHeld
  }

  /** Number of vectors of an ordinal. */
  count(ordinal: number): number {
    if (ordinal < 0) return this.#held.get(ordinal)?.count ?? 0
    return this.has(ordinal) ? (this.#several?.counts.get(ordinal) ?? 1) : 0
  }

  /** Whether the vectors that an ordinal has are rows of the files. Loaded state may name others. */
  isPlaced(ordinal: number): boolean {
    const count = this.count(ordinal)
    return count > 0 && this.#slotOf(ordinal) + count <= this.#end
  }

  /**
   * The vector of an ordinal as it is compared (of unit length for cosine), or its members one after another as given. The ordinal must
   * have one. Throws EngineError snapshot_damaged if the row on disk is wrong.
   */
  async read(ordinal: number): Promise<Float32Array> {
    const form = this.#formOf(ordinal)
    const first = this.#slotOf(ordinal)
    assert(first >= 0, `ordinal ${ordinal} has an original`)
    return comparedVector(await readRows(this.#files, first, this.count(ordinal)), form)
  }

  /**
   * The vectors of ordinals with one each, as given, in the same order; undefined for those without. Consecutive rows in a file are read at
   * once. Throws like `read`.
   */
  async readGiven(ordinals: readonly number[]): Promise<(GivenRow | undefined)[]> {
    // As of now, because an ordinal may be released while others are read.
    const wanted = ordinals
      .map((ordinal, i) => ({ i, slot: this.#slotOf(ordinal), form: this.#formOf(ordinal) }))
      .filter(({ slot }) => slot >= 0)
      .sort((a, b) => a.slot - b.slot)
    const found: (GivenRow | undefined)[] = ordinals.map(() => undefined)
    const slots = wanted.map(({ slot }) => slot)
    await Promise.all(
      Array.from(slotRuns(this.#files, slots), async ({ slot, from, to }) => {
        const vectors = await readRows(this.#files, slot, to - from)
        for (const [row, { i, form }] of wanted.slice(from, to).entries())
          found[i] = { vector: vectors.subarray(row * this.#dimension, (row + 1) * this.#dimension), form }
      }),
    )
    return found
  }

  /**
   * Reads the row of an ordinal with one vector in the calling thread into `bytes`: the checksum before it, the vector as given, and its
   * checksum, which the caller verifies. Returns the checksum of the header of its file; undefined if only `readGiven` can read it, which
   * then reports why.
   */
  readNow(ordinal: number, bytes: Uint8Array): bigint | undefined {
    const slot = this.#slotOf(ordinal)
    return slot < 0 ? undefined : readRowNow(this.#files, slot, bytes)
  }

  /** Like `readNow`, without waiting in the calling thread. Nothing else may use the bytes until the promise is settled. */
  readLater(ordinal: number, bytes: Uint8Array): Promise<bigint | undefined> {
    const slot = this.#slotOf(ordinal)
    return slot < 0 ? Promise.resolve(undefined) : readRowLater(this.#files, slot, bytes)
  }

  /** The error of the row of an ordinal that does not match its checksum. */
  damaged(ordinal: number): EngineError {
    return damagedRow(this.#files, this.#slotOf(ordinal))
  }

  #slotOf(ordinal: number): number {
    return ordinal < 0 ? (this.#held.get(ordinal)?.slot ?? -1) : this.#slots.get(ordinal) - 1
  }

  #formOf(ordinal: number): number {
    if (ordinal < 0) return this.#held.get(ordinal)?.form ?? vectorForm.unit
    return this.#forms?.get(ordinal) ?? vectorForm.unit
  }

  /** Forgets the vector of an ordinal; a rebuild frees its disk space. */
  release(ordinal: number): void {
    if (ordinal < 0) {
      this.#held.delete(ordinal)
      return
    }
    this.#slots.set(ordinal, 0)
    this.#several?.counts.set(ordinal, 0)
    this.#forms?.set(ordinal, vectorForm.unit)
  }

  /** Makes everything appended so far durable. */
  sync(): Promise<void> {
    return this.#files.sync()
  }

  /** The files with the rows appended so far, by name, in the directory of originals. */
  names(): string[] {
    return this.#files.names(this.#end)
  }

  /** The same files with the number of bytes of the rows appended so far. */
  files(): OriginalsFile[] {
    return this.#files.files(this.#end)
  }

  /** A file as a manifest lists it. For a file of version 1 the checksums of some rows are read. */
  listed(file: OriginalsFile): Promise<OriginalsFile> {
    return this.#files.listed(file)
  }

  /**
   * Opens the existing files up to their known lengths. Must be called first if state was loaded. Throws snapshot_damaged if one is not the
   * listed file.
   */
  open(listed?: readonly ListedOriginals[]): Promise<void> {
    return this.#files.open(this.#end, listed)
  }

  dump(name: string, ordinalEnd: number, options: DumpOptions = {}): Section[] {
    // Absent, as in older snapshots, until there is a form other than `unit`.
    if (this.owner.isPartial && this.#end === 0) return []
    const state = { end: this.#end, slots: this.#slots, forms: this.#forms, several: this.#several }
    return dumpOriginalsState(state, name, ordinalEnd, options)
  }

  bytes(): number {
    return this.#slots.bytes() + (this.#forms?.bytes() ?? 0) + (this.#several?.counts.bytes() ?? 0)
  }

  close(): Promise<void> {
    return this.#files.close()
  }

  /** Closes and removes the files. */
  remove(): Promise<void> {
    return this.#files.remove()
  }
}
