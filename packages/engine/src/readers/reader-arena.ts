// One arena in a reader's thread: searches it, with a bitmap of the reader's own, and reads the norms of rows.
import { type ArenaHandle, AttachedArena } from '../vector/dense/attached.ts'
import { graphQuery } from '../vector/dense/graph-query.ts'
import { header, none } from '../vector/dense/header.ts'
import { elementAt } from '../vector/element-at.ts'
import type { DenseSearch, FieldSegment } from '../vector/field.ts'
import { answerIn, type Found, type GraphQuery } from '../vector/pool.ts'
import { synchronized } from '../vector/synchronized.ts'

type SegmentSearch = Omit<DenseSearch, 'allowed'> & { readonly isCutOff: boolean }

export class ReaderArena {
  readonly handle: ArenaHandle
  readonly #thread: number
  readonly #attached: AttachedArena
  #u32: Uint32Array<SharedArrayBuffer>
  #f32: Float32Array<SharedArrayBuffer>
  /** The bitmap that is in the memory of this thread, and where. */
  #lent: { readonly words: Uint32Array; readonly address: number; readonly bits: number } | undefined

  constructor(handle: ArenaHandle, module: WebAssembly.Module, thread: number) {
    this.handle = handle
    this.#thread = thread
    this.#attached = new AttachedArena(handle, module, thread)
    this.#u32 = new Uint32Array(handle.memory.buffer)
    this.#f32 = new Float32Array(handle.memory.buffer)
  }

  /** Makes growth of the memory visible in this thread. */
  refresh(): void {
    const { buffer } = synchronized(this.handle.memory)
    if (buffer.byteLength === this.#u32.byteLength) return
    this.#u32 = new Uint32Array(buffer)
    this.#f32 = new Float32Array(buffer)
  }

  /** `allowed` are the words of the bitmap that belong to this segment. */
  search(query: Float32Array, options: SegmentSearch, allowed: Uint32Array | undefined): Found {
    const run = this.#graphQuery(query, options, allowed)
    return this.#run(() => answerIn(this.#attached, run))
  }

  /** Like `search`, but leaves the hits in the arena, where `ordinalAt` and `similarityAt` find them. Returns their number. */
  find(query: Float32Array, options: SegmentSearch, allowed: Uint32Array | undefined): number {
    const run = this.#graphQuery(query, options, allowed)
    const count = this.#run(() => this.#attached.run(run))
    // Both count until they are taken.
    this.#attached.takeVisited()
    this.#attached.takeDistances()
    return count
  }

  /** Whether the rows in memory do not order the hits of `find` well. */
  get isUnresolved(): boolean {
    return this.#attached.isUnresolved
  }

  /** A hit that `find` found. */
  ordinalAt(hit: number): number {
    return this.#attached.ordinalAt(hit)
  }

  similarityAt(hit: number): number {
    return this.#attached.similarityAt(hit)
  }

  #graphQuery(query: Float32Array, options: SegmentSearch, allowed: Uint32Array | undefined): GraphQuery {
    const segment = { memory: this.handle.id, rows: this.#word(header.rows), isCutOff: options.isCutOff }
    return graphQuery(segment, query, options, allowed && this.#lend(allowed))
  }

  /** Compares the listed rows, or all of them, at the precision of the field. */
  scan(query: Float32Array, options: { readonly k: number; readonly version: number }, listed?: Uint32Array): Found {
    const { k, version } = options
    const memory = this.handle.id
    const [from, to] = [0, listed === undefined ? this.#word(header.end) : 0]
    return this.#run(() => answerIn(this.#attached, { kind: 'scan', memory, query, k, version, listed, from, to }))
  }

  /** Whether a search as of `version` sees a row with the ordinal. */
  has(ordinal: number, version: number): boolean {
    if (ordinal >= this.#word(header.end)) return false
    const shift = this.#word(header.blockShift)
    const block = elementAt(this.#u32, this.#word(header.blockTable) / 4 + (ordinal >>> shift))
    const row = block + (ordinal & ((1 << shift) - 1)) * this.#word(header.codeStride)
    const tail = (row + this.#word(header.codeBytes)) / 4
    const birth = elementAt(this.#u32, tail + 2)
    return birth !== none && birth <= version && Atomics.load(this.#u32, tail + 3) > version
  }

  /** A copy of the row, at the precision of the field. */
  row(ordinal: number): Float32Array<ArrayBuffer> {
    return this.#run(() => this.#attached.row(ordinal, this.#word(header.dimension)))
  }

  norm(ordinal: number): number {
    const shift = this.#word(header.blockShift)
    const block = elementAt(this.#u32, this.#word(header.blockTable) / 4 + (ordinal >>> shift))
    return elementAt(this.#f32, (block + this.#word(header.inBlockNorms)) / 4 + (ordinal & ((1 << shift) - 1)))
  }

  /**
   * Marks can move into memory that was added a moment ago, when V8 has not reported the new size to this thread yet: then clearing
   * them traps, before anything is read or written. With the new size the same query runs.
   */
  #run<T>(answer: () => T): T {
    try {
      return answer()
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error
      this.refresh()
      return answer()
    }
  }

  /** Copies the bitmap behind the marks of this thread, unless it is there already. */
  #lend(words: Uint32Array): { readonly address: number; readonly bits: number } {
    // The end first: marks that are loaded afterwards have space for it.
    const end = this.#word(header.end)
    const { descriptor } = elementAt(this.handle.scratch, this.#thread)
    const marks = Atomics.load(this.#u32, descriptor / 4)
    if (marks / 4 >= this.#u32.length) {
      this.refresh()
      return this.#lend(words)
    }
    const room = Atomics.load(this.#u32, marks / 4 - 3)
    const address = marks + room
    const bits = Math.min(end, words.length * 32, room)
    const before = this.#lent
    if (before !== undefined && before.words === words && before.address === address && before.bits >= bits)
      return { address, bits }
    this.#u32.set(words.subarray(0, Math.ceil(bits / 32)), address / 4)
    this.#lent = { words, address, bits }
    return this.#lent
  }

  #word(word: number): number {
    return Atomics.load(this.#u32, header.address / 4 + word)
  }
}

/** The arenas of a field, those of `before` where they are the same. */
export function attachSegments(
  segments: readonly FieldSegment[],
  before: readonly ReaderSegment[],
  attach: (handle: ArenaHandle) => ReaderArena,
): ReaderSegment[] {
  return segments.map(({ arena, isCutOff }) => {
    const known = before.find((segment) => segment.arena.handle.id === arena.id)
    return { arena: known?.arena ?? attach(arena), isCutOff }
  })
}

export interface ReaderSegment {
  readonly arena: ReaderArena
  readonly isCutOff: boolean
}
