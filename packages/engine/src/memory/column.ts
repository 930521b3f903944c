// One number for each ordinal, in chunks of 65,536 that never move. An entry that was never set is 0.
import { assert } from '../errors.ts'
import { Chunks, type SharedBytes, updateViews } from './chunks.ts'
import { type DumpOptions, damaged, type Section, type SectionReader } from './sections.ts'

export type ColumnKind = 'u8' | 'u32' | 'f32' | 'f64'
type Entries = Uint8Array | Uint32Array | Float32Array | Float64Array

const chunkShift = 16
const chunkMask = 0xffff
const firstEntries = 64
const entryBytes = { u8: 1, u32: 4, f32: 4, f64: 8 } as const
/** Numbers on disk: never renumbered, zero is invalid. */
const kindNumber = { u8: 1, u32: 2, f32: 3, f64: 4 } as const

export class Column {
  readonly kind: ColumnKind
  readonly #chunks: Chunks
  readonly #entries: Entries[] = []
  #capacity = 0

  constructor(kind: ColumnKind) {
    this.kind = kind
    this.#chunks = chunksOf(kind)
  }

  get(index: number): number {
    const entries = this.#entries[index >>> chunkShift]
    return entries === undefined ? 0 : (entries[index & chunkMask] ?? 0)
  }

  /** Grows the column when needed; after `ensure` it cannot fail. */
  set(index: number, value: number): void {
    if (index >= this.#capacity) this.ensure(index + 1)
    const chunk = index >>> chunkShift
    const size = entryBytes[this.kind]
    this.#chunks.beforeWrite(chunk, (index & chunkMask) * size, size)
    const entries = this.#entries[chunk]
    assert(entries !== undefined, 'the column has capacity')
    entries[index & chunkMask] = value
  }

  /** Ensures capacity for entries below `length`. Throws EngineError memory_exhausted. */
  ensure(length: number): void {
    if (length <= this.#capacity) return
    try {
      this.#chunks.ensure(length * entryBytes[this.kind])
    } finally {
      this.#updateViews()
    }
  }

  bytes(): number {
    return this.#chunks.bytes
  }

  /** The memory of the entries, 65,536 of them in a chunk. Readers in other threads have the same memory. */
  get chunks(): readonly SharedBytes[] {
    return this.#chunks.list
  }

  /** The current entries below `length`. */
  dump(name: string, length: number, options: DumpOptions = {}): Section {
    this.ensure(length)
    return this.#chunks.section(name, [kindNumber[this.kind], length], length * entryBytes[this.kind], options)
  }

  /** Loads a column that must have `length` entries. */
  static async load(reader: SectionReader, name: string, kind: ColumnKind, length: number): Promise<Column> {
    const loaded = await Column.loadAny(reader, name, kind)
    if (loaded.length === length) return loaded.column
    throw damaged(name, `it has ${loaded.length} entries, not ${length}`)
  }

  /** Loads a column of any length. */
  static async loadAny(
    reader: SectionReader,
    name: string,
    kind: ColumnKind,
  ): Promise<{ readonly column: Column; readonly length: number }> {
    const body = await reader.open(name)
    const [number, count] = await body.takeNumbers(2)
    if (number !== kindNumber[kind]) throw body.damaged(`it holds kind ${number}, not ${kind}`)
    if (count === undefined || body.remaining !== count * entryBytes[kind]) {
      throw body.damaged(`${count} entries of ${kind} do not make ${body.remaining} bytes`)
    }
    const column = new Column(kind)
    await column.#chunks.load(body, body.remaining)
    await body.end()
    column.#updateViews()
    return { column, length: count }
  }

  #updateViews(): void {
    updateViews(this.#entries, this.#chunks.list, (chunk) => entriesOf(this.kind, chunk))
    this.#capacity = this.#chunks.bytes / entryBytes[this.kind]
  }
}

function chunksOf(kind: ColumnKind): Chunks {
  const size = entryBytes[kind]
  return new Chunks({ chunkBytes: size << chunkShift, firstBytes: size * firstEntries })
}

function entriesOf(kind: ColumnKind, chunk: SharedBytes): Entries {
  switch (kind) {
    case 'u8':
      return chunk
    case 'u32':
      return new Uint32Array(chunk.buffer)
    case 'f32':
      return new Float32Array(chunk.buffer)
    case 'f64':
      return new Float64Array(chunk.buffer)
  }
}
