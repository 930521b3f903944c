// The shared memory of one sparse field, made when the first row needs it: pieces that are given out and taken back, and the versions of its rows. What is in
// use never moves, so readers need no lock; a piece that some search under way may still read is not given out again
// before that search is over.
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
  /** Searches numbered so or lower may read it. */
  readonly search: number
}

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

  /** What the kernel works in; undefined before anything was reserved: a memory takes address space, of which there is an end. */
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
  /** Given out, and waiting to be given out again. */
  get used(): number {
    return this.#top - heapAddress
  }
  /** Taken from the process. */
  get bytes(): number {
    return this.#u32.byteLength
  }

  /**
   * Room for rows below `end` and for `bytes` more, in all likelihood; and a check that even `bytesWorst` more would fit the
   * field's address space. Throws EngineError memory_exhausted.
   */
  reserve(end: number, bytes: number, bytesWorst: number): void {
    const forRows = Math.max(0, Math.ceil(end / chunkRows) - this.#chunks) * chunkBytes
    if (end > sparseOrdinalsMax || this.#top + forRows + bytesWorst > memoryBytesMax) {
      const message = `a sparse field can use at most ${memoryBytesMax} bytes, and this write might need more`
      throw new EngineError('memory_exhausted', message, { value: this.#top + forRows, limit: memoryBytesMax })
    }
    this.#grow(this.#top + forRows + Math.max(0, bytes - this.#freeBytes))
    this.#makeRows(end)
  }

  /** A piece of `bytes`, a multiple of 16, with anything in it. */
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

  /** Takes back a piece that nobody can be reading. */
  free(address: number, bytes: number): void {
    const waiting = this.#free.get(bytes)
    if (waiting === undefined) this.#free.set(bytes, [address])
    else waiting.push(address)
    this.#freeBytes += bytes
  }

  /** Takes back a piece that searches under way may be reading. */
  retire(address: number, bytes: number): void {
    this.#retired.push({ address, bytes, search: this.#search })
  }

  /** Makes what was retired free again as far as searches allow. Writers call it first. */
  reclaim(): void {
    let oldest = Number.POSITIVE_INFINITY
    for (const search of this.#searches) oldest = Math.min(oldest, search)
    const kept = this.#retired.findIndex(({ search }) => search >= oldest)
    const ready = this.#retired.splice(0, kept < 0 ? this.#retired.length : kept)
    for (const { address, bytes } of ready) this.free(address, bytes)
  }

  /** A search begins: what it can reach now stays until the function returned is called. */
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
      const message = `no memory for ${wanted} more bytes of a sparse field`
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
      // A row that was never born died at once.
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
  /** Birth first: a reader that finds the row alive then finds this birth, which is newer than what it may see. */
  bear(ordinal: number, version: number): void {
    Atomics.store(this.#u32, this.#rowAt(ordinal), version)
    Atomics.store(this.#u32, this.#rowAt(ordinal) + 1, alive)
  }
  bury(ordinal: number, version: number): void {
    Atomics.store(this.#u32, this.#rowAt(ordinal) + 1, version)
  }
  /** As a loaded row was. */
  putVersions(ordinal: number, birth: number, death: number): void {
    this.#u32[this.#rowAt(ordinal)] = birth
    this.#u32[this.#rowAt(ordinal) + 1] = death
  }
}
