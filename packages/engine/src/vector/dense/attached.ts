// An arena as one thread sees it: an instance of the kernel over its memory, and the queries and pieces of jobs that run in it.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { AttachedMemory, GraphQuery, MemoryHandle, Progress, Query, ScanQuery } from '../pool.ts'
import { synchronized } from '../synchronized.ts'
import { header } from './header.ts'
import { instantiateKernel, type Kernel, work } from './kernel.ts'
import type { ScratchAddresses } from './scratch.ts'

/** What a thread needs to attach an arena. */
export interface ArenaHandle extends MemoryHandle {
  readonly kind: 'dense'
  readonly memory: WebAssembly.Memory
  /** Scratch of each thread: byte addresses that the host reads and writes. They never change. */
  readonly scratch: readonly ScratchAddresses[]
}

/** Ordinals that the kernel's list has space for. */
const scanChunk = 8192

export class AttachedArena implements AttachedMemory {
  readonly #kernel: Kernel
  readonly #thread: number
  readonly #scratch: ScratchAddresses
  readonly #memory: WebAssembly.Memory
  #u32: Uint32Array<SharedArrayBuffer>
  #f32: Float32Array<SharedArrayBuffer>

  /** `kernel` is an instance over the memory of the handle. Default: a new one. */
  constructor(handle: ArenaHandle, module: WebAssembly.Module, thread: number, kernel?: Kernel) {
    this.#kernel = kernel ?? instantiateKernel(module, handle.memory)
    this.#thread = thread
    this.#scratch = elementAt(handle.scratch, thread)
    this.#memory = handle.memory
    const { buffer } = synchronized(handle.memory)
    this.#u32 = new Uint32Array(buffer)
    this.#f32 = new Float32Array(buffer)
  }

  run(query: Query): number {
    this.#refresh()
    this.#f32.set(query.query, this.#scratch.query / 4)
    if (query.kind === 'search') return this.#search(query)
    assert(query.kind === 'scan', 'an arena has no inverted lists')
    return this.#scan(query)
  }

  /** A copy of a row at the precision of the field. The ordinal must have one. */
  row(ordinal: number, dimension: number): Float32Array<ArrayBuffer> {
    this.#refresh()
    this.#kernel.decodeRow(ordinal)
    const from = this.#scratch.query / 4
    return Float32Array.from(this.#f32.subarray(from, from + dimension))
  }

  /** Makes changes of the owner visible: memory that has grown, new blocks, larger scratch. */
  #refresh(): void {
    const { buffer } = this.#memory
    if (buffer.byteLength !== this.#u32.byteLength) {
      this.#u32 = new Uint32Array(buffer)
      this.#f32 = new Float32Array(buffer)
    }
    this.#kernel.attach(this.#thread)
  }

  #search({ k, ef, rerank, version, compared, bitmap, bits }: GraphQuery): number {
    if (compared > 0) return this.#kernel.compare(k, ef, version, bitmap, bits)
    return this.#kernel.search(k, ef, rerank, version, bitmap, bits)
  }

  #scan({ k, version, listed, from, to }: ScanQuery): number {
    const kernel = this.#kernel
    kernel.beginScan(k, version)
    if (listed === undefined) kernel.scanRange(from, to)
    else
      for (let i = 0; i < listed.length; i += scanChunk) {
        const chunk = listed.subarray(i, i + scanChunk)
        this.#u32.set(chunk, this.#scratch.ids / 4)
        kernel.scanIds(chunk.length)
      }
    return kernel.endScan(k)
  }

  copyHits(count: number, ordinals: Uint32Array, similarities: Float32Array): void {
    const from = this.#scratch.answers / 4
    const similaritiesFrom = this.#scratch.similarities / 4
    // Element by element: there are few hits, and a slice of shared memory costs more than all of them.
    for (let i = 0; i < count; i++) {
      ordinals[i] = elementAt(this.#u32, from + i)
      similarities[i] = elementAt(this.#f32, similaritiesFrom + i)
    }
  }

  /** A hit of the last query, which `copyHits` would copy. */
  ordinalAt(hit: number): number {
    return elementAt(this.#u32, this.#scratch.answers / 4 + hit)
  }

  similarityAt(hit: number): number {
    return elementAt(this.#f32, this.#scratch.similarities / 4 + hit)
  }

  /** Whether the rows in memory do not order the hits of the last query well. */
  get isUnresolved(): boolean {
    return this.#kernel.isLastUnresolved() === 1
  }

  takeVisited(): number {
    return this.#kernel.takeHops()
  }

  takeDistances(): number {
    return this.#kernel.takeDistances()
  }

  help(staging: SharedArrayBuffer): Progress {
    const kernel = this.#kernel
    const kind = kernel.claim()
    if (kind === work.idle || kind === work.wait) return 'nothing'
    this.#refresh()
    if (kind === work.encode) this.#encodeClaimed(staging)
    else kernel.work(kind)
    // Resets the counters for the next query.
    kernel.takeHops()
    kernel.takeDistances()
    const next = kernel.finish(kind)
    if (next === work.wait) return 'over'
    return next > 1 ? 'phase' : 'piece'
  }

  #encodeClaimed(staging: SharedArrayBuffer): void {
    const word = (index: number) => elementAt(this.#u32, header.address / 4 + index)
    const dimension = word(header.dimension)
    const claimed = this.#kernel.claimed()
    const vector = new Float32Array(staging, word(header.jobVectors) + claimed * dimension * 4, dimension)
    this.#f32.set(vector, this.#scratch.query / 4)
    const item = word(header.jobItems) / 4 + (word(header.jobFirst) + claimed) * 3
    this.#kernel.encodeRow(elementAt(this.#u32, item), elementAt(this.#u32, item + 1), elementAt(this.#f32, item + 2))
  }
}
