// Shared memory that grows by chunks. A full-sized chunk never moves; only the first one, while it is smaller, is
// replaced by one of twice its size, so that a small collection costs little. A cut is the bytes as of one moment: who
// writes to a chunk that a cut has not given out yet sets the old bytes aside first, so writers never wait for a dump.
import { assert, EngineError } from '../errors.ts'
import type { SectionBody } from './sections.ts'

/** What a cut sets aside at once: so much is copied before a byte is written, not a whole chunk. */
const blockBytesMost = 64 * 1024

/** Memory is taken for so much of what is to be loaded before it is known to be there. */
const loadBytesAtOnce = 16 * 1024 * 1024

export type SharedBytes = Uint8Array<SharedArrayBuffer>

export class Chunks {
  readonly chunkBytes: number
  readonly list: SharedBytes[] = []
  readonly #firstBytes: number
  readonly #cuts: Cut[] = []

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

  /** Makes room for `bytes` in all; new room is zero. May replace list[0]. Throws EngineError memory_exhausted, and what was there is still there. */
  ensure(bytes: number): void {
    if (bytes <= this.bytes) return
    this.#ensureFirst(Math.min(bytes, this.chunkBytes))
    while (this.bytes < bytes) this.list.push(sharedBytes(this.chunkBytes))
  }

  /** To be called before `bytes` bytes of a chunk are changed, from `from` on. */
  beforeWrite(chunk: number, from: number, bytes: number): void {
    for (const cut of this.#cuts) cut.keep(chunk * this.chunkBytes + from, bytes)
  }

  /** The first `length` bytes as they are now. Must be released. */
  cut(length: number): Cut {
    assert(length <= this.bytes, `a cut of ${length} bytes from ${this.bytes}`)
    const cut = new Cut(this, length, (ended) => this.#cuts.splice(this.#cuts.indexOf(ended), 1))
    this.#cuts.push(cut)
    return cut
  }

  /** Fills empty memory with the next `length` bytes of a section, a few chunks at a time, so that a false length fails before it is believed. */
  async load(body: SectionBody, length: number): Promise<void> {
    assert(this.list.length === 0, 'loading into memory that is not empty')
    const step = Math.max(loadBytesAtOnce, this.chunkBytes)
    for (let from = 0; from < length; from += step) {
      const to = Math.min(length, from + step)
      this.ensure(to)
      const chunks = this.list.slice(from / this.chunkBytes)
      await body.fill(...chunks.map((chunk, i) => chunk.subarray(0, to - from - i * this.chunkBytes)))
    }
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

/** Brings what is kept beside each chunk up to date: the first may have been replaced, later ones only come. */
export function lookAgain<T>(beside: T[], list: readonly SharedBytes[], look: (chunk: SharedBytes) => T): void {
  const known = Math.max(beside.length, 1)
  for (let chunk = 0; chunk < list.length; chunk = Math.max(chunk + 1, known)) beside[chunk] = look(list[chunk]!)
}

/** Bytes as of the moment of the cut, in pieces of at most a block. A piece may be the live memory: it is taken in the turn in which it is given. */
export class Cut implements Iterable<Uint8Array> {
  readonly length: number
  readonly #chunks: Chunks
  readonly #end: (cut: Cut) => void
  readonly #blockBytes: number
  /** Blocks as they were, by where they begin. */
  readonly #kept = new Map<number, Uint8Array>()
  #given = 0
  #ended = false

  constructor(chunks: Chunks, length: number, end: (cut: Cut) => void) {
    this.#chunks = chunks
    this.length = length
    this.#end = end
    this.#blockBytes = Math.min(blockBytesMost, chunks.chunkBytes)
  }

  /** The bytes are about to change. */
  keep(from: number, bytes: number): void {
    const end = Math.min(from + bytes, this.length)
    for (let at = from - (from % this.#blockBytes); at < end; at += this.#blockBytes)
      if (at >= this.#given && !this.#kept.has(at)) this.#kept.set(at, this.#live(at).slice())
  }

  *[Symbol.iterator](): Generator<Uint8Array, void, undefined> {
    for (let at = 0; at < this.length; at += this.#blockBytes) {
      assert(!this.#ended, 'a cut is read before it is released')
      const piece = this.#kept.get(at) ?? this.#live(at)
      this.#kept.delete(at)
      this.#given = at + this.#blockBytes
      yield piece
    }
  }

  release(): void {
    if (this.#ended) return
    this.#ended = true
    this.#kept.clear()
    this.#end(this)
  }

  /** The block that begins there, as it is now. */
  #live(at: number): SharedBytes {
    const { list, chunkBytes } = this.#chunks
    const live = list[Math.floor(at / chunkBytes)]
    assert(live !== undefined, 'chunks are never taken away')
    const from = at % chunkBytes
    return live.subarray(from, from + Math.min(this.#blockBytes, this.length - at))
  }
}

export function sharedBytes(size: number): SharedBytes {
  try {
    return new Uint8Array(new SharedArrayBuffer(size))
  } catch (cause) {
    throw new EngineError('memory_exhausted', `No memory for ${size} more bytes.`, { value: size }, { cause })
  }
}
