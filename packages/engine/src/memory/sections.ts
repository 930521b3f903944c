// The single serialized form of memory: a sequence of sections, each with its name and length. The snapshot handles
// checksums, files and order; this file handles only names, lengths and bytes.
//
//    0        4        8                16
//   +--------+--------+----------------+--------------------------+--------------------------+
//   | "SECT" | u32    | u64            | name, UTF-8,             | body,                    |
//   |        | bytes  | bytes of body  | zero padded to 8         | zero padded to 8         |
//   |        | of name|                |                          |                          |
//   +--------+--------+----------------+--------------------------+--------------------------+
//
// Little endian. Specified in docs/formats/sections.md.
import { freeBuffer } from '@annal/wal'
import { assert, EngineError } from '../errors.ts'
import type { BlockRuns } from './changed-blocks.ts'

const magic = 0x54434553
const headBytes = 16
const nameBytesMax = 256
const pieceBytes = 1 << 20

/** Part of memory at the moment of its dump, unaffected by later writes to that memory. */
export interface Section {
  readonly name: string
  readonly length: number
  /** Pieces of the body, `length` bytes in total. They may be live memory: copy a piece immediately to keep it. */
  readonly parts: Iterable<Uint8Array>
  /** What changed since the count of changes was started; only if the dump requested it and the memory counted. */
  readonly changes?: SectionChanges
  /** Releases what is retained for `parts` and `changes`. Idempotent; `writeSections` calls it. */
  release(): void
}

/** A section as a head and the changed blocks of the bytes after it. Of `parts` and `pieces`, only one may be read. */
export interface SectionChanges {
  readonly head: Uint8Array
  /** Bytes after the head now, and when the count was started. */
  readonly length: number
  readonly before: number
  readonly runs: BlockRuns
  readonly pieces: Iterable<Uint8Array>
}

/** What a dump says about changes: nothing; what changed so far; the same, and the count starts again from here. */
export interface DumpOptions {
  readonly changes?: 'read' | 'restart'
}

/** The byte source of a load. */
export interface ByteSource {
  /**
   * Fills every target completely, in order; targets may be shared memory. Throws EngineError snapshot_damaged when the
   * bytes end early or differ from what was written. Several targets in one call are read in parallel.
   */
  fill(...targets: readonly Uint8Array[]): Promise<void>
  /** Returns the next available bytes, or undefined at the end. The caller owns them. */
  piece(): Promise<Uint8Array | undefined>
  /** Throws snapshot_damaged unless every byte was read. */
  end(): Promise<void>
}

export function sectionOf(name: string, ...parts: readonly Uint8Array[]): Section {
  return { name, length: sum(parts), parts, release: releaseNothing }
}

/**
 * Yields the bytes of all sections in order; copy each piece immediately. A caller that stops early must end the
 * iterator, as `for` does, so that memory is released.
 */
export function* writeSections(sections: readonly Section[]): Generator<Uint8Array, void, undefined> {
  try {
    for (const section of sections) {
      yield head(section)
      let length = 0
      for (const part of section.parts) {
        length += part.length
        yield part
      }
      assert(length === section.length, `section ${section.name} has ${section.length} bytes and gave ${length}`)
      if (length % 8 !== 0) yield new Uint8Array(8 - (length % 8))
      section.release()
    }
  } finally {
    for (const section of sections) section.release()
  }
}

/** Reads sections in the order of their writing. `part` names the whole in errors. */
export class SectionReader {
  readonly #source: ByteSource
  readonly #part: string
  #open: SectionBody | undefined
  #next: SectionHead | undefined

  constructor(source: ByteSource, part: string) {
    this.#source = source
    this.#part = part
  }

  /** The name of the next section. The previous section must have been ended. */
  async nextName(): Promise<string> {
    return (await this.#head()).name
  }

  /** Opens the next section, which must have this name. The previous section must have been ended. */
  async open(name: string): Promise<SectionBody> {
    const { name: found, length } = await this.#head()
    const part = `${this.#part}/${name}`
    if (found !== name) throw damaged(part, `section "${found}" is in its place`)
    this.#next = undefined
    this.#open = new SectionBody(this.#source, part, length)
    return this.#open
  }

  async #head(): Promise<SectionHead> {
    assert(this.#open === undefined || this.#open.ended, `section ${this.#open?.part} was not ended`)
    this.#next ??= await this.#readHead()
    return this.#next
  }

  async #readHead(): Promise<SectionHead> {
    const start = new Uint8Array(headBytes)
    await this.#source.fill(start)
    const view = new DataView(start.buffer)
    if (view.getUint32(0, true) !== magic) throw damaged(this.#part, 'a section does not start with its mark')
    const nameBytes = view.getUint32(4, true)
    const length = view.getBigUint64(8, true)
    if (nameBytes > nameBytesMax) throw damaged(this.#part, `the name of a section is ${nameBytes} bytes long`)
    const found = new Uint8Array(padToEight(nameBytes))
    await this.#source.fill(found)
    const name = new TextDecoder().decode(found.subarray(0, nameBytes))
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(`${this.#part}/${name}`, `it claims ${length} bytes`)
    return { name, length: Number(length) }
  }
}

interface SectionHead {
  readonly name: string
  readonly length: number
}

export class SectionBody {
  readonly part: string
  readonly length: number
  readonly #source: Pick<ByteSource, 'fill'>
  #remaining: number
  ended = false

  constructor(source: Pick<ByteSource, 'fill'>, part: string, length: number) {
    this.#source = source
    this.part = part
    this.length = length
    this.#remaining = length
  }

  get remaining(): number {
    return this.#remaining
  }

  async fill(...targets: readonly Uint8Array[]): Promise<void> {
    const wanted = sum(targets)
    if (wanted > this.#remaining) throw this.damaged(`${wanted} bytes wanted, ${this.#remaining} left`)
    this.#remaining -= wanted
    await this.#source.fill(...targets)
  }

  /**
   * Returns the next bytes in a new array. Memory is allocated as bytes arrive, so that a false length costs nothing.
   */
  async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (length > this.#remaining) throw this.damaged(`${length} bytes wanted, ${this.#remaining} left`)
    const pieces: Uint8Array<ArrayBuffer>[] = []
    for (let left = length; left > 0; left -= pieceBytes) {
      const piece = new Uint8Array(Math.min(left, pieceBytes))
      await this.fill(piece)
      pieces.push(piece)
    }
    const [only] = pieces
    if (only && pieces.length === 1) return only
    const taken = joined(pieces)
    for (const { buffer } of pieces) freeBuffer(buffer)
    return taken
  }

  async takeNumbers(count: number): Promise<number[]> {
    const bytes = await this.take(count * 8)
    return [...new Float64Array(bytes.buffer, 0, count)]
  }

  /** Reads and discards the rest. */
  async skip(): Promise<void> {
    while (this.#remaining > 0) await this.fill(new Uint8Array(Math.min(this.#remaining, pieceBytes)))
  }

  /** Throws unless everything was read. */
  async end(): Promise<void> {
    if (this.#remaining !== 0) throw this.damaged(`${this.#remaining} bytes more than expected`)
    await this.#source.fill(new Uint8Array(padToEight(this.length) - this.length))
    this.ended = true
  }

  damaged(why: string): EngineError {
    return damaged(this.part, why)
  }
}

export function damaged(part: string, why: string): EngineError {
  return new EngineError('snapshot_damaged', `Part ${part} of a snapshot is damaged: ${why}.`, { part, reason: why })
}

/** A byte source over pieces of any size. `name` is used in errors. */
export function sourceOf(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, name = 'bytes'): ByteSource {
  const iterator = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]()
  let piece: Uint8Array = new Uint8Array(0)
  const more = async (): Promise<boolean> => {
    while (piece.length === 0) {
      const next = await iterator.next()
      if (next.done) return false
      piece = next.value
    }
    return true
  }
  return {
    async fill(...targets) {
      for (const into of targets) {
        for (let offset = 0; offset < into.length; ) {
          if (!(await more())) throw damaged(name, `they end ${into.length - offset} bytes early`)
          const taken = Math.min(piece.length, into.length - offset)
          into.set(piece.subarray(0, taken), offset)
          piece = piece.subarray(taken)
          offset += taken
        }
      }
    },
    async piece() {
      if (!(await more())) return undefined
      const taken = piece.slice()
      piece = new Uint8Array(0)
      return taken
    },
    async end() {
      if (await more()) throw damaged(name, 'they go on')
    },
  }
}

export function numbersPart(numbers: readonly number[]): Uint8Array {
  return new Uint8Array(Float64Array.from(numbers).buffer)
}

/** Yields a head and then the rest, as the parts of one section. */
export function* chain(head: Uint8Array, rest: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  yield head
  yield* rest
}

function head(section: Section): Uint8Array {
  const name = new TextEncoder().encode(section.name)
  assert(name.length <= nameBytesMax, `section name ${section.name} is too long`)
  const bytes = new Uint8Array(headBytes + padToEight(name.length))
  const view = new DataView(bytes.buffer)
  view.setUint32(0, magic, true)
  view.setUint32(4, name.length, true)
  view.setBigUint64(8, BigInt(section.length), true)
  bytes.set(name, headBytes)
  return bytes
}

function padToEight(length: number): number {
  return Math.ceil(length / 8) * 8
}

/** The pieces in one array. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sum(pieces))
  let offset = 0
  for (const piece of pieces) {
    bytes.set(piece, offset)
    offset += piece.length
  }
  return bytes
}

function sum(parts: readonly Uint8Array[]): number {
  return parts.reduce((total, part) => total + part.length, 0)
}

function releaseNothing(): void {
  // The parts belong to no one else and need no release.
}
