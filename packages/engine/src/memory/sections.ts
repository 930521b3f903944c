// The one form in which parts of memory are written down: sections, one after another, each with its name and length.
// Checksums, files and order are the snapshot's business; this knows only names, lengths and bytes.
//
//    0        4        8                16
//   +--------+--------+----------------+--------------------------+--------------------------+
//   | "SECT" | u32    | u64            | name, UTF-8,             | body,                    |
//   |        | bytes  | bytes of body  | zero padded to 8         | zero padded to 8         |
//   |        | of name|                |                          |                          |
//   +--------+--------+----------------+--------------------------+--------------------------+
//
// Little endian. Specified in docs/formats/sections.md.
import { assert, EngineError } from '../errors.ts'

const magic = 0x54434553
const headBytes = 16
const nameBytesMax = 256
const pieceBytes = 1 << 20

/** A part of memory as of the moment it was dumped, whatever is written to that memory afterwards. */
export interface Section {
  readonly name: string
  readonly length: number
  /** Pieces of the body, together `length` bytes. They may be memory that others write to: whoever wants to keep one copies it at once. */
  readonly parts: Iterable<Uint8Array>
  /** Lets go of what was kept for `parts`. Idempotent; `writeSections` calls it. */
  release(): void
}

/** Where loading reads from. */
export interface ByteSource {
  /**
   * Fills every target whole, in order (they may be shared memory), or throws EngineError snapshot_damaged where the bytes end or are
   * not what was written. Many targets in one call are read side by side.
   */
  fill(...targets: readonly Uint8Array[]): Promise<void>
  /** The next bytes, as many as are at hand, or undefined at their end. They are the caller's. */
  piece(): Promise<Uint8Array | undefined>
  /** Throws snapshot_damaged unless every byte was read. */
  end(): Promise<void>
}

export function sectionOf(name: string, ...parts: readonly Uint8Array[]): Section {
  return { name, length: sum(parts), parts, release: nothingToRelease }
}

/** The bytes of all sections in order, each piece to be copied at once. Whoever stops early ends the iterator, as `for` does, so that memory is let go. */
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

/** Reads sections in the order they were written. `part` names the whole in errors. */
export class SectionReader {
  readonly #source: ByteSource
  readonly #part: string
  #open: SectionBody | undefined

  constructor(source: ByteSource, part: string) {
    this.#source = source
    this.#part = part
  }

  /** The next section, which must bear this name. The one before must have been ended. */
  async open(name: string): Promise<SectionBody> {
    assert(this.#open === undefined || this.#open.ended, `section ${this.#open?.part} was not ended`)
    const part = `${this.#part}/${name}`
    const start = new Uint8Array(headBytes)
    await this.#source.fill(start)
    const view = new DataView(start.buffer)
    if (view.getUint32(0, true) !== magic) throw damaged(part, 'it does not start with a section')
    const nameBytes = view.getUint32(4, true)
    const length = view.getBigUint64(8, true)
    if (nameBytes > nameBytesMax) throw damaged(part, `its name is ${nameBytes} bytes long`)
    if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(part, `it claims ${length} bytes`)
    const found = new Uint8Array(padded(nameBytes))
    await this.#source.fill(found)
    const foundName = new TextDecoder().decode(found.subarray(0, nameBytes))
    if (foundName !== name) throw damaged(part, `section "${foundName}" stands in its place`)
    this.#open = new SectionBody(this.#source, part, Number(length))
    return this.#open
  }
}

export class SectionBody {
  readonly part: string
  readonly length: number
  readonly #source: ByteSource
  #remaining: number
  ended = false

  constructor(source: ByteSource, part: string, length: number) {
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

  /** The next bytes in memory of their own. Memory is taken as bytes arrive, so that a false length costs nothing. */
  async take(length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (length > this.#remaining) throw this.damaged(`${length} bytes wanted, ${this.#remaining} left`)
    const pieces: Uint8Array[] = []
    for (let left = length; left > 0; left -= pieceBytes) {
      const piece = new Uint8Array(Math.min(left, pieceBytes))
      await this.fill(piece)
      pieces.push(piece)
    }
    return joined(pieces)
  }

  async takeNumbers(count: number): Promise<number[]> {
    const bytes = await this.take(count * 8)
    return [...new Float64Array(bytes.buffer, 0, count)]
  }

  /** Everything must have been read by now. */
  async end(): Promise<void> {
    if (this.#remaining !== 0) throw this.damaged(`${this.#remaining} bytes more than expected`)
    await this.#source.fill(new Uint8Array(padded(this.length) - this.length))
    this.ended = true
  }

  damaged(why: string): EngineError {
    return damaged(this.part, why)
  }
}

export function damaged(part: string, why: string): EngineError {
  return new EngineError('snapshot_damaged', `Part ${part} of a snapshot is damaged: ${why}.`, { part, reason: why })
}

/** A source over pieces of any size. `name` is what errors call them. */
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
        for (let at = 0; at < into.length; ) {
          if (!(await more())) throw damaged(name, `they end ${into.length - at} bytes early`)
          const taken = Math.min(piece.length, into.length - at)
          into.set(piece.subarray(0, taken), at)
          piece = piece.subarray(taken)
          at += taken
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

/** A head and then the rest, as one section's parts. */
export function* chained(head: Uint8Array, rest: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  yield head
  yield* rest
}

function head(section: Section): Uint8Array {
  const name = new TextEncoder().encode(section.name)
  assert(name.length <= nameBytesMax, `section name ${section.name} is too long`)
  const bytes = new Uint8Array(headBytes + padded(name.length))
  const view = new DataView(bytes.buffer)
  view.setUint32(0, magic, true)
  view.setUint32(4, name.length, true)
  view.setBigUint64(8, BigInt(section.length), true)
  bytes.set(name, headBytes)
  return bytes
}

function padded(length: number): number {
  return Math.ceil(length / 8) * 8
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sum(pieces))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

function sum(parts: readonly Uint8Array[]): number {
  return parts.reduce((total, part) => total + part.length, 0)
}

function nothingToRelease(): void {
  // Parts that belong to nobody else need no letting go.
}
