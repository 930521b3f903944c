// Shared memory that grows in chunks. A full-sized chunk never moves. Only the first chunk, while it is smaller, is
// replaced by one of twice its size, so that a small collection costs little. A cut is a snapshot of the bytes at one
// moment: a writer that changes bytes a cut has not yielded yet copies the old bytes first, so writers never wait for a
// dump.
import { assert, EngineError } from '../errors.ts'
import { type BlockRuns, ChangedBlocks, changedBlockBytes } from './changed-blocks.ts'
import { chain, type DumpOptions, joined, numbersPart, type Section, type SectionBody } from './sections.ts'

/** Block size of a cut: this many bytes are copied before a write, instead of a whole chunk. */
const blockBytesMost = 64 * 1024

/** While loading, memory is allocated in steps of this size, before the rest of the data is known to exist. */
const loadBytesAtOnce = 16 * 1024 * 1024

export type SharedBytes = Uint8Array<SharedArrayBuffer>

export class Chunks {
  readonly chunkBytes: number
  readonly list: SharedBytes[] = []
  readonly #firstBytes: number
  readonly #cuts: Cut[] = []
  /** What changed since the memory was loaded or the count was started again. */
  #changed: ChangedBlocks | undefined

  /** Both sizes are powers of two. */
  constructor(options: { readonly chunkBytes: number; readonly firstBytes: number }) {
    this.chunkBytes = options.chunkBytes
    this.#firstBytes = Math.min(options.firstBytes, options.chunkBytes)
  }

  /** Bytes taken from the process. */
  get bytes(): number {
    const first = this.list[0]
    return first === undefined ? 0 : first.length + (this.list.length - 1) * this.chunkBytes
  }

  /**
   * Ensures capacity for `bytes` bytes in total; new memory is zero. May replace list[0]. Throws EngineError
   * memory_exhausted; existing content stays intact.
   */
  ensure(bytes: number): void {
    if (bytes <= this.bytes) return
    this.#ensureFirst(Math.min(bytes, this.chunkBytes))
    while (this.bytes < bytes) this.list.push(sharedBytes(this.chunkBytes))
  }

  /** Must be called before `bytes` bytes of a chunk change, from offset `from` on. */
  beforeWrite(chunk: number, from: number, bytes: number): void {
    for (const cut of this.#cuts) cut.keep(chunk * this.chunkBytes + from, bytes)
    this.#changed?.add(chunk * this.chunkBytes + from, bytes)
  }

  /** A cut of the first `length` bytes as they are now. The caller must release it. */
  cut(length: number, { changes }: DumpOptions = {}): Cut {
    assert(length <= this.bytes, `a cut of ${length} bytes from ${this.bytes}`)
    const since = changes && this.#changed && { before: this.#changed.length, runs: this.#changed.runs(length) }
    const cut = new Cut(this, length, since, (ended) => this.#cuts.splice(this.#cuts.indexOf(ended), 1))
    this.#cuts.push(cut)
    if (changes === 'restart') this.#changed = new ChangedBlocks(length)
    return cut
  }

  /** The first `length` bytes as a section, after a head that is not in this memory. */
  section(name: string, head: readonly number[], length: number, options: DumpOptions): Section {
    const [first, cut] = [numbersPart(head), this.cut(length, options)]
    return {
      name,
      length: first.length + length,
      parts: chain(first, cut),
      ...(cut.since && { changes: { head: first, length, ...cut.since, pieces: cut.changedPieces() } }),
      release: () => cut.release(),
    }
  }

  /**
   * Fills empty memory with the next `length` bytes of a section, a few chunks at a time, so that a false length fails
   * early.
   */
  async load(body: SectionBody, length: number): Promise<void> {
    assert(this.list.length === 0, 'loading into memory that is not empty')
    const step = Math.max(loadBytesAtOnce, this.chunkBytes)
    for (let from = 0; from < length; from += step) {
      const to = Math.min(length, from + step)
      this.ensure(to)
      const chunks = this.list.slice(from / this.chunkBytes)
      await body.fill(...chunks.map((chunk, i) => chunk.subarray(0, to - from - i * this.chunkBytes)))
    }
    this.#changed = new ChangedBlocks(length)
  }

  #ensureFirst(bytes: number): void {
    const first = this.list[0]
    let size = first?.length ?? this.#firstBytes
    if (first !== undefined && size >= bytes) return
    while (size < bytes) size *= 2
    const grown = sharedBytes(size)
    if (first !== undefined) {
      grown.set(first)
    }
    this.list[0] = grown
  }
}

/** Updates a list with one view for each chunk: the first chunk may have been replaced, later chunks are only added. */
export function updateViews<T>(views: T[], list: readonly SharedBytes[], view: (chunk: SharedBytes) => T): void {
  const known = Math.max(views.length, 1)
  for (let chunk = 0; chunk < list.length; chunk = Math.max(chunk + 1, known)) views[chunk] = view(list[chunk]!)
}

/**
 * The bytes at the moment of the cut, in pieces of at most one block. A piece may be live memory, so the consumer must
 * use it in the same turn.
 */
class Cut implements Iterable<Uint8Array> {
  readonly length: number
  /** The blocks that changed since the count of changes was started, when the memory had `before` bytes; undefined if nothing counted. */
  readonly since: { readonly before: number; readonly runs: BlockRuns } | undefined
  readonly #chunks: Chunks
  readonly #end: (cut: Cut) => void
  readonly #blockBytes: number
  /** Saved blocks, keyed by their offset. */
  readonly #kept = new Map<number, Uint8Array>()
  #given = 0
  #ended = false

  constructor(chunks: Chunks, length: number, since: Cut['since'], end: (cut: Cut) => void) {
    this.#chunks = chunks
    this.length = length
    this.since = since
    this.#end = end
    this.#blockBytes = Math.min(blockBytesMost, chunks.chunkBytes)
  }

  /** Saves the blocks of bytes that are about to change. */
  keep(from: number, bytes: number): void {
    const end = Math.min(from + bytes, this.length)
    for (let offset = from - (from % this.#blockBytes); offset < end; offset += this.#blockBytes)
      if (offset >= this.#given && !this.#kept.has(offset)) this.#kept.set(offset, this.#live(offset).slice())
  }

  *[Symbol.iterator](): Generator<Uint8Array, void, undefined> {
    for (let offset = 0; offset < this.length; offset += this.#blockBytes) {
      const piece = this.#blockAt(offset)
      this.#kept.delete(offset)
      this.#given = offset + this.#blockBytes
      yield piece
    }
  }

  /** Copies of the changed blocks alone, in order. */
  *changedPieces(): Generator<Uint8Array, void, undefined> {
    const pieces: Uint8Array[] = []
    let offset = -1
    const take = (): Uint8Array => {
      this.#given = offset + this.#blockBytes
      this.#kept.delete(offset)
      return joined(pieces.splice(0))
    }
    for (const { from, to } of this.#changedWithinBlocks()) {
      const block = from - (from % this.#blockBytes)
      // All changes of a block are copied in one turn.
      if (block !== offset && pieces.length > 0) yield take()
      offset = block
      pieces.push(this.#blockAt(block).slice(from - block, to - block))
    }
    if (pieces.length > 0) yield take()
  }

  /** Ranges of changed bytes, none of them in two blocks of the cut. */
  *#changedWithinBlocks(): Generator<{ readonly from: number; readonly to: number }, void, undefined> {
    const runs = this.since?.runs ?? []
    for (let i = 0; i < runs.length; i += 2) {
      const end = Math.min((runs[i]! + runs[i + 1]!) * changedBlockBytes, this.length)
      for (let from = runs[i]! * changedBlockBytes; from < end; ) {
        const to = Math.min(end, from - (from % this.#blockBytes) + this.#blockBytes)
        yield { from, to }
        from = to
      }
    }
  }

  /** The block at this offset as of the cut. */
  #blockAt(offset: number): Uint8Array {
    assert(!this.#ended, 'a cut is read before it is released')
    return this.#kept.get(offset) ?? this.#live(offset)
  }

  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#kept.clear()
    this.#end(this)
  }

  /** Returns the live block at this offset. */
  #live(offset: number): SharedBytes {
    const { list, chunkBytes } = this.#chunks
    const live = list[Math.floor(offset / chunkBytes)]
    assert(live !== undefined, 'chunks are never removed')
    const from = offset % chunkBytes
    return live.subarray(from, from + Math.min(this.#blockBytes, this.length - offset))
  }
}

export function sharedBytes(size: number): SharedBytes {
  try {
    return new Uint8Array(new SharedArrayBuffer(size))
  } catch (cause) {
    throw new EngineError(
      'memory_exhausted',
      `Cannot allocate ${size} more bytes of memory.`,
      { value: size },
      { cause },
    )
  }
}
