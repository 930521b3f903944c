// Keeps what reads as of recent versions need and later events remove: facts of each version, the ordinals that were born and died since, and
// copies of objects whose ordinals are reused. It is derived, in memory only, and not part of the state: the fold neither reads it nor waits for it,
// except for a moment for reads that began before ordinals are released. It is bounded by time, by numbers, and by memory; what is
// outside is forgotten, and reads of it load a state instead.
import type { CollectionSchema } from '../model/schema.ts'
import type { Originals } from '../originals/originals.ts'
import type { DenseField, HeldRows } from '../vector/field.ts'
import type { EarlierRecords, Replaced } from './earlier-records.ts'
import type { SparseTermsOfField } from './object-record.ts'
import type { ObjectStore } from './object-store.ts'
import type { Pins } from './pins.ts'

/** Removed objects of a window: later searches compare each that their version has. */
const removedMax = 8_192
/** Objects whose filter or meta was replaced. */
const replacedMax = 8_192
const versionsMax = 262_144

/** Estimated bytes of what is kept, besides contents. */
const versionBytes = 48
const removedBytes = 96
const bornBytes = 64
const heldBytes = 320
const replacedBytes = 160

/** The facts of a version. */
export interface VersionPlace {
  readonly version: number
  readonly lsn: number
  readonly count: number
  /** Rows of each field. */
  readonly rows: readonly number[]
  /** All ordinals that were assigned are below. */
  readonly end: number
  readonly definition: CollectionSchema
}

/** A copy of a row, and where it is. */
export interface HeldRow {
  readonly rows: HeldRows
  readonly handle: number
}

/** The content of an object whose ordinal was released. */
export interface HeldObject {
  readonly id: string
  readonly lsn: number
  readonly meta: Uint8Array
  readonly filter: string
  readonly sparse: readonly SparseTermsOfField[]
  readonly textBytes: number
  readonly recordBytes: number
  /** For each field: the copy of its row. */
  readonly rows: readonly (HeldRow | undefined)[]
  /** For each field: the number that leads to its original vectors. */
  readonly originals: readonly (number | undefined)[]
}

/** An object that was removed or replaced. Searches as of versions from its birth to before its death see it. */
export interface Removed {
  readonly ordinal: number
  readonly birth: number
  readonly death: number
  /** Undefined until the ordinal is released. */
  held: HeldObject | undefined
}

/** A reused ordinal, and the version that reused it. */
interface Born {
  readonly ordinal: number
  readonly version: number
}

/** The parts of a replica that a window copies. */
export interface WindowedParts {
  readonly objects: ObjectStore
  readonly dense: readonly (DenseField | undefined)[]
  readonly originals: readonly (Originals | undefined)[]
  readonly earlierRecords: EarlierRecords
  readonly pins: Pins
}

export interface WindowOptions {
  /** Milliseconds that the window reaches back. */
  readonly ageMsMax: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Called when more memory is used than at the last call. */
  readonly onGrown: () => void
}

/** Growth after which `onGrown` is called. */
const grownBytes = 65_536

export class VersionWindow {
  readonly #parts: WindowedParts
  #options: WindowOptions | undefined
  /** Of each version from `#first.version` on: its facts, and when it was reached. */
  #versions: (VersionPlace & { readonly atMs: number })[] = []
  /** Entries before this index are forgotten. */
  #from = 0
  /** Births of reused ordinals, by ordinal and in their order. */
  readonly #births = new Map<number, number>()
  #born: Born[] = []
  #texts: { readonly version: number; readonly count: number; readonly bytes: number }[] = []
  /** In the order of their deaths. */
  #removed: Removed[] = []
  /** Those whose ordinals are not released. */
  readonly #resting = new Map<number, Removed>()
  #rows: (HeldRows | undefined)[] | undefined
  #arenas: readonly (readonly number[])[] = []
  #contentBytes = 0
  #replaced = 0
  #reported = 0
  readonly #reads = new Set<Promise<void>>()
  /** Searches of rows that an event may overwrite when their ordinals are released. */
  readonly #searches = new Set<Promise<unknown>>()
  /** Number of releases: objects that rested may be held since. */
  releases = 0
  /** When a read last used it, by the clock of the options. */
  usedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: WindowedParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#options !== undefined
  }

  /** Keeps what later versions take away, from the given one on. */
  open(place: VersionPlace, options: WindowOptions): void {
    this.#options = options
    this.#begin(place)
  }

  /** Forgets everything; later versions are not kept. */
  close(): void {
    const last = this.#versions.at(-1)
    if (!this.#options || !last) return
    this.#options = undefined
    this.#versions = []
    this.#from = 0
    this.#dropUntil(last.version, true)
  }

  /** Forgets everything before the newest version. */
  end(): void {
    const last = this.#versions.at(-1)
    if (this.#options && last) this.#begin(last)
  }

  #begin(place: VersionPlace): void {
    this.#versions = [{ ...place, atMs: this.#now() }]
    this.#from = 0
    this.#arenas = this.#arenasNow()
    this.#dropUntil(place.version)
  }

  /** Events assigned these ordinals; those below `endBefore` had been assigned before. */
  took(ordinals: Uint32Array, endBefore: number, version: number): void {
    if (!this.#options) return
    for (const ordinal of ordinals) {
      if (ordinal >= endBefore) continue
      this.#births.set(ordinal, version)
      this.#born.push({ ordinal, version })
    }
  }

  /** The object of the ordinal died. */
  died(ordinal: number, death: number): void {
    if (!this.#options) return
    const removed: Removed = { ordinal, birth: this.#births.get(ordinal) ?? 0, death, held: undefined }
    this.#removed.push(removed)
    this.#resting.set(ordinal, removed)
  }

  /** Filters or metas were replaced. `bytes` are those of what they were. */
  replaced(version: number, count: number, bytes: number): void {
    if (!this.#options || count === 0) return
    this.#texts.push({ version, count, bytes: bytes + count * replacedBytes })
    this.#replaced += count
    this.#contentBytes += bytes + count * replacedBytes
  }

  /**
   * Copies what ordinals have before they are released. Resolves when the searches that began before have ended; other parts of reads use
   * the copies from now on, so that a long read holds nothing up. Never rejects: a copy that fails ends the window.
   */
  async release(ordinals: readonly number[]): Promise<void> {
    if (!this.#options) return
    this.releases += 1
    try {
      for (const ordinal of ordinals) {
        const removed = this.#resting.get(ordinal)
        if (removed === undefined) continue
        this.#resting.delete(ordinal)
        removed.held = this.#hold(ordinal)
      }
    } catch {
      this.end()
    }
    if (this.#searches.size > 0) await Promise.allSettled(this.#searches)
  }

  #hold(ordinal: number): HeldObject {
    const { objects, dense, originals } = this.#parts
    this.#rows ??= dense.map((field) => field?.holdRows())
    const meta = objects.metaCopy(ordinal)
    const filter = objects.filterText(ordinal)
    const held: HeldObject = {
      id: objects.idAt(ordinal),
      lsn: objects.lsnAt(ordinal),
      meta,
      filter,
      sparse: objects.sparse(ordinal),
      textBytes: objects.textBytesAt(ordinal),
      recordBytes: objects.recordBytesAt(ordinal),
      rows: this.#rows.map((rows) => rowIn(rows, ordinal)),
      originals: originals.map((files) => files?.hold(ordinal)),
    }
    this.#contentBytes += bytesOf(held)
    return held
  }

  /** A version was published. */
  note(place: VersionPlace): void {
    if (!this.#options) return
    this.#versions.push({ ...place, atMs: this.#now() })
    // A field that settled compares other codes than it did.
    if (!isSame(this.#arenas, this.#arenasNow())) this.end()
    this.prune()
    const { bytes } = this
    if (bytes <= this.#reported + grownBytes) return
    this.#reported = bytes
    this.#options?.onGrown()
  }

  /** Forgets what is out of bounds. */
  prune(): void {
    const options = this.#options
    if (!options) return
    const before = this.#now() - options.ageMsMax
    let from = this.#from
    const last = this.#versions.length - 1
    while (from < last && (this.#at(from + 1).atMs < before || last - from >= versionsMax)) from++
    // In one step, so that a large event does not forget all others that remain.
    const removed = this.#removed.length - removedMax
    if (removed > 0) from = Math.max(from, this.#indexOf(this.#removed[removed - 1]?.death ?? 0))
    if (this.#replaced > replacedMax) from = last
    if (from === this.#from) return
    this.#from = from
    if (from > 1_024 && from * 2 > this.#versions.length) {
      this.#versions = this.#versions.slice(from)
      this.#from = 0
    }
    this.#dropUntil(this.#at(this.#from).version)
  }

  /** Forgets what only versions before this one need, when the reads that run now have ended. */
  #dropUntil(version: number, isLast = false): void {
    const forget = () => this.#forget(version, isLast)
    if (this.#reads.size === 0) forget()
    else void Promise.all(this.#reads).then(forget)
  }

  #forget(version: number, isLast: boolean): void {
    const { earlierRecords, pins } = this.#parts
    earlierRecords.keepFrom(version, pins, { isLast })
    const removed = this.#removed.splice(0, this.#removedSince(version))
    for (const one of removed) this.#forgetRemoved(one)
    if (this.#removed.length === 0) {
      for (const rows of this.#rows ?? []) rows?.close()
      this.#rows = undefined
    }
    for (const one of this.#born.splice(0, this.#bornUntil(version)))
      if (this.#births.get(one.ordinal) === one.version) this.#births.delete(one.ordinal)
    const texts = this.#texts.findIndex((one) => one.version > version)
    for (const { count, bytes } of this.#texts.splice(0, texts < 0 ? this.#texts.length : texts)) {
      this.#replaced -= count
      this.#contentBytes -= bytes
    }
    this.#reported = Math.min(this.#reported, this.bytes)
  }

  #forgetRemoved(removed: Removed): void {
    const { ordinal, held } = removed
    if (this.#resting.get(ordinal) === removed) this.#resting.delete(ordinal)
    if (held === undefined) return
    this.#contentBytes -= bytesOf(held)
    for (const row of held.rows) row?.rows.free(row.handle)
    for (const [field, number] of held.originals.entries())
      if (number !== undefined) this.#parts.originals[field]?.release(number)
  }

  /** The newest version whose record is not after `lsn`; undefined if the window does not reach it. */
  placeAt(lsn: number): VersionPlace | undefined {
    if (!this.#options) return undefined
    const next = firstAfter(this.#versions, (place) => place.lsn, lsn, this.#from)
    return next > this.#from ? this.#at(next - 1) : undefined
  }

  /** Registers a read. What the window has in this turn stays until the returned function is called. */
  enter(nowMs = this.#now()): () => void {
    this.usedAtMs = nowMs
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#reads.add(promise)
    return () => {
      this.#reads.delete(promise)
      resolve()
    }
  }

  /** Resolves when no read uses the window. */
  async idle(): Promise<void> {
    while (this.#reads.size > 0) await Promise.all(this.#reads)
  }

  /** Registers a search of rows of live ordinals. */
  async track<T>(search: Promise<T>): Promise<T> {
    this.#searches.add(search)
    try {
      return await search
    } finally {
      this.#searches.delete(search)
    }
  }

  /** The objects that died after a version and that it has. */
  removedAt({ version, end }: Pick<VersionPlace, 'version' | 'end'>): Removed[] {
    const found: Removed[] = []
    for (let i = this.#removedSince(version); i < this.#removed.length; i++) {
      const removed = this.#removed[i] as Removed
      if (removed.birth <= version && removed.ordinal < end) found.push(removed)
    }
    return found
  }

  /** Filters and metas that were replaced after a version. */
  replacedSince(version: number): readonly Replaced[] {
    return this.#parts.earlierRecords.since(version)
  }

  /** Reused ordinals whose objects were born after a version. */
  bornSince(version: number): readonly Born[] {
    return this.#born.slice(this.#bornUntil(version))
  }

  /** Whether the object of an ordinal was there at a version, if it is there now. */
  wasThere(ordinal: number, { version, end }: Pick<VersionPlace, 'version' | 'end'>): boolean {
    return ordinal < end && (this.#births.get(ordinal) ?? 0) <= version
  }

  get bytes(): number {
    const rows = this.#rows?.reduce((sum, one) => sum + (one?.bytes() ?? 0), 0) ?? 0
    const versions = Math.max(0, this.#versions.length - 1) * versionBytes
    const changes = this.#removed.length * removedBytes + this.#born.length * bornBytes
    return rows + versions + changes + this.#contentBytes
  }

  #removedSince(version: number): number {
    return firstAfter(this.#removed, (one) => one.death, version)
  }

  #bornUntil(version: number): number {
    return firstAfter(this.#born, (one) => one.version, version)
  }

  /** Versions follow one another without a gap. */
  #indexOf(version: number): number {
    return Math.min(this.#versions.length - 1, this.#from + Math.max(0, version - this.#at(this.#from).version))
  }

  #at(index: number): VersionPlace & { readonly atMs: number } {
    return this.#versions[index] as VersionPlace & { readonly atMs: number }
  }

  #arenasNow(): readonly (readonly number[])[] {
    return this.#parts.dense.map((field) => field?.segments.map(({ arena }) => arena.id) ?? [])
  }

  #now(): number {
    return this.#options?.now() ?? 0
  }
}

/** Whether every arena of before is still there. */
function isSame(before: readonly (readonly number[])[], now: readonly (readonly number[])[]): boolean {
  return before.every((arenas, field) => arenas.every((id, i) => now[field]?.[i] === id))
}

function rowIn(rows: HeldRows | undefined, ordinal: number): HeldRow | undefined {
  const handle = rows?.take(ordinal)
  return rows === undefined || handle === undefined ? undefined : { rows, handle }
}

function bytesOf({ meta, filter }: HeldObject): number {
  return heldBytes + meta.length + filter.length * 2
}

/** The index of the first entry whose number is above `limit`; entries are in the order of their numbers. */
function firstAfter<T>(list: readonly T[], numberOf: (entry: T) => number, limit: number, from = 0): number {
  let [low, high] = [from, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numberOf(list[middle] as T) <= limit) low = middle + 1
    else high = middle
  }
  return low
}
