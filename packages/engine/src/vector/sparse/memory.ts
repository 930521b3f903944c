// The shared memory of one sparse field, created for the first row: allocated and freed pieces, and the versions of its rows. Pieces in use
// never move, so readers need no lock. A piece that a running search may read is not reused before that search has ended, nor before every
// reader thread reads the version that does without it.
import { assert, EngineError } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import { roundUp } from '../round-up.ts'
import { createMemory, memoryBytesMax, pageBytes } from '../shared-memory.ts'

/** assembly/sparse/layout.ts has the same numbers. */
const versionsAddress = 65_536
const chunkShift = 14
const chunkRows = 2 ** chunkShift
const chunkBytes = chunkRows * 8
const heapAddress = versionsAddress + 65_536
export const sparseOrdinalsMax = (65_536 / 4) * chunkRows

const growthMin = 2 ** 20
export const alive = 0xffffffff
const nothing = new SharedArrayBuffer(0)

interface Retired {
  readonly address: number
  readonly bytes: number
  /** Searches with this number or a lower one may read the piece. */
  readonly search: number
  /** Readers of earlier versions may read the piece. */
  readonly version: number
}

/** The versions that other threads read. */
export interface OtherReads {
  /** No reader reads an earlier version, now or later. */
  readonly oldestRead: number
}

/** Space in the memory for the searches of reader threads: an area and a bitmap of ordinals for each, one reader after another. */
export interface ReaderAreas {
  readonly searches: number
  readonly bitmaps: number
  /** Ordinals that a bitmap has space for. */
  readonly bits: number
}

/** Bytes of the area of a reader, without its bitmap. */
export const searchAreaBytes = 65_536

export class SparseMemory {
  #memory: WebAssembly.Memory | undefined
  readonly #free = new Map<number, number[]>()
  #retired: Retired[] = []
  #u32 = new Uint32Array(nothing)
  #f32 = new Float32Array(nothing)
  #f64 = new Float64Array(nothing)
  #top = heapAddress
  #freeBytes = 0
  #chunks = 0
  #search = 0
  readonly #searches = new Set<number>()
  readonly #readers: number
  readonly #bytesMax: number
  #areas: ReaderAreas | undefined
  /** The version of the event being applied, or of the newest one. */
  version = 0
  /** The reads of reader threads. */
  others: OtherReads | undefined

  /** `readers` is the number of reader threads. */
  constructor(readers = 0, bytesMax = memoryBytesMax) {
    this.#readers = readers
    this.#bytesMax = bytesMax
  }

  /** The memory of the kernel; undefined before anything was reserved, because a memory takes limited address space. */
  get memory(): WebAssembly.Memory | undefined {
    return this.#memory
  }
  get u32(): Uint32Array<SharedArrayBuffer> {
    return this.#u32
  }
  get f32(): Float32Array<SharedArrayBuffer> {
    return this.#f32
  }
  get f64(): Float64Array<SharedArrayBuffer> {
    return this.#f64
  }
  /** Bytes that are allocated, or waiting to be reused. */
  get used(): number {
    return this.#top - heapAddress
  }
  /** Bytes taken from the process. */
  get bytes(): number {
    return this.#u32.byteLength
  }

  /**
   * Reserves space for rows below `end` and probably for `bytes` more, and checks that even `bytesWorst` more would fit the field's address
   * space. Throws EngineError memory_exhausted.
   */
  reserve(end: number, bytes: number, bytesWorst: number): void {
    const forRows = Math.max(0, Math.ceil(end / chunkRows) - this.#chunks) * chunkBytes
    const top = this.#top + forRows + this.#bytesForAreas(end)
    if (end > sparseOrdinalsMax || top + bytesWorst > this.#bytesMax) {
      const message = `the lists of a field can use at most ${this.#bytesMax} bytes, and this write might need more`
      throw new EngineError('memory_exhausted', message, { value: top, limit: this.#bytesMax })
    }
    this.#grow(top + Math.max(0, bytes - this.#freeBytes))
    this.#makeRows(end)
  }

  /** The areas of the readers; undefined if there are no readers, or no rows yet. */
  get areas(): ReaderAreas | undefined {
    return this.#areas
  }

  /** Makes the areas large enough for ordinals below `end`. Readers use them from the version being applied on. */
  makeAreas(end: number): void {
    const bits = this.#bitsFor(end)
    if (bits === undefined) return
    const before = this.#areas
    const searches = before?.searches ?? this.allocate(searchAreaBytes * this.#readers)
    this.#areas = { searches, bitmaps: this.allocate((bits / 8) * this.#readers), bits }
    if (before !== undefined) this.retire(before.bitmaps, (before.bits / 8) * this.#readers)
  }

  /** What `makeAreas` allocates at most. */
  #bytesForAreas(end: number): number {
    const bits = this.#bitsFor(end)
    return bits === undefined ? 0 : ((this.#areas === undefined ? searchAreaBytes : 0) + bits / 8) * this.#readers
  }

  /** Undefined: the bitmaps are large enough. */
  #bitsFor(end: number): number | undefined {
    if (this.#readers === 0 || end <= (this.#areas?.bits ?? 0)) return undefined
    return Math.max(chunkRows, 2 ** Math.ceil(Math.log2(end)))
  }

  /** Allocates `bytes`, a multiple of 16, with undefined content. */
  allocate(bytes: number): number {
    const waiting = this.#free.get(bytes)?.pop()
    if (waiting !== undefined) {
      this.#freeBytes -= bytes
      return waiting
    }
    const address = this.#top
    this.#grow(address + bytes)
    this.#top += bytes
    return address
  }

  /** Frees a piece that no search can read. */
  free(address: number, bytes: number): void {
    const waiting = this.#free.get(bytes)
    if (waiting === undefined) this.#free.set(bytes, [address])
    else waiting.push(address)
    this.#freeBytes += bytes
  }

  /** Frees a piece that running searches may read, once they have ended. */
  retire(address: number, bytes: number): void {
    this.#retired.push({ address, bytes, search: this.#search, version: this.version })
  }

  /** Frees retired pieces as far as running searches permit. Writers must call it first. */
  reclaim(): void {
    let oldest = Number.POSITIVE_INFINITY
    for (const search of this.#searches) oldest = Math.min(oldest, search)
    const oldestRead = this.others?.oldestRead ?? Number.POSITIVE_INFINITY
    const kept = this.#retired.findIndex(({ search, version }) => search >= oldest || version > oldestRead)
    const ready = this.#retired.splice(0, kept < 0 ? this.#retired.length : kept)
    for (const { address, bytes } of ready) this.free(address, bytes)
  }

  /** Starts a search: pieces that it can reach stay until the returned function is called. */
  enter(): () => void {
    const search = ++this.#search
    this.#searches.add(search)
    return () => void this.#searches.delete(search)
  }

  #grow(bytes: number): void {
    this.#memory ??= createMemory(heapAddress / pageBytes)
    if (this.bytes === 0) this.#look(this.#memory)
    if (bytes <= this.bytes) return
    const most = memoryBytesMax - this.bytes
    const wanted = Math.min(most, roundUp(Math.max(bytes - this.bytes, growthMin, this.bytes / 8), pageBytes))
    try {
      if (this.bytes + wanted < bytes) throw new RangeError('beyond the address space')
      this.#memory.grow(wanted / pageBytes)
    } catch (cause) {
      const message = `no memory for ${wanted} more bytes of the lists of a field`
      throw new EngineError('memory_exhausted', message, { value: bytes, limit: memoryBytesMax }, { cause })
    }
    this.#look(this.#memory)
  }

  #look({ buffer }: WebAssembly.Memory): void {
    this.#u32 = new Uint32Array(buffer)
    this.#f32 = new Float32Array(buffer)
    this.#f64 = new Float64Array(buffer)
  }

  #makeRows(end: number): void {
    while (this.#chunks * chunkRows < end) {
      const address = this.allocate(chunkBytes)
      // Birth and death 0: a row that is never visible.
      this.#u32.fill(0, address / 4, (address + chunkBytes) / 4)
      Atomics.store(this.#u32, versionsAddress / 4 + this.#chunks, address)
      this.#chunks++
    }
  }

  #rowAt(ordinal: number): number {
    assert(ordinal < this.#chunks * chunkRows, `ordinal ${ordinal} has room`)
    return elementAt(this.#u32, versionsAddress / 4 + (ordinal >>> chunkShift)) / 4 + (ordinal & (chunkRows - 1)) * 2
  }

  hasRow(ordinal: number): boolean {
    return ordinal < this.#chunks * chunkRows && this.death(ordinal) === alive
  }
  birth(ordinal: number): number {
    return elementAt(this.#u32, this.#rowAt(ordinal))
  }
  death(ordinal: number): number {
    return elementAt(this.#u32, this.#rowAt(ordinal) + 1)
  }
  /** Sets the bits of the rows, ascending, that a search as of `version` sees. Rows that the bitmap has no space for are left out. */
  markVisible(ordinals: Uint32Array, version: number, bitmap: Uint32Array): void {
    const u32 = this.#u32
    let chunk = -1
    let first = 0
    // Plain indices, which are inside: this runs for every row of a list.
    for (let i = 0; i < ordinals.length; i++) {
      const ordinal = ordinals[i] as number
      const word = ordinal >>> 5
      if (word >= bitmap.length) return
      if (ordinal >>> chunkShift !== chunk) {
        chunk = ordinal >>> chunkShift
        first = elementAt(u32, versionsAddress / 4 + chunk) / 4
      }
      const at = first + (ordinal & (chunkRows - 1)) * 2
      const isVisible = (u32[at + 1] as number) > version && (u32[at] as number) <= version
      if (isVisible) bitmap[word] = (bitmap[word] as number) | (1 << (ordinal & 31))
    }
  }
  /** The birth is written first: a reader that finds the row alive then finds this birth, which is newer than its version. */
  setBirth(ordinal: number, version: number): void {
    Atomics.store(this.#u32, this.#rowAt(ordinal), version)
    Atomics.store(this.#u32, this.#rowAt(ordinal) + 1, alive)
  }
  bury(ordinal: number, version: number): void {
    Atomics.store(this.#u32, this.#rowAt(ordinal) + 1, version)
  }
  /** Restores the versions of a loaded row. */
  putVersions(ordinal: number, birth: number, death: number): void {
    this.#u32[this.#rowAt(ordinal)] = birth
    this.#u32[this.#rowAt(ordinal) + 1] = death
  }
}

/** Whether a search as of `version` sees the row of an ordinal, in any thread. See `hiddenAt` in assembly/sparse/layout.ts. */
export function isRowVisible(u32: Uint32Array<SharedArrayBuffer>, ordinal: number, version: number): boolean {
  const chunk = Atomics.load(u32, versionsAddress / 4 + (ordinal >>> chunkShift))
  const at = chunk / 4 + (ordinal & (chunkRows - 1)) * 2
  return Atomics.load(u32, at + 1) > version && Atomics.load(u32, at) <= version
}
