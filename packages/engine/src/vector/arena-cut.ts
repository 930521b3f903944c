// An arena as of one moment, while writers go on. Links change everywhere with every insert, so they are copied at once;
// rows are written once and then only when they die or their ordinal is given out again, so they stay where they are, and
// whoever is about to change one sets it aside first.
import { setImmediate } from 'node:timers/promises'
import { type Arena, header } from './arena.ts'
import { type Part, partsOf, stateWords } from './arena-parts.ts'

/** Copied between two turns of the event loop. */
const bytesPerTurn = 8 * 1024 * 1024

export class ArenaCut {
  readonly settled: boolean
  readonly state: readonly number[]
  readonly centre: Uint8Array
  readonly #arena: Arena
  readonly #end: number
  readonly #parts: readonly Part[]
  readonly #copies = new Map<Part, Uint8Array>()
  /** Rows as they were, by ordinal: what each kind of part holds of them. */
  readonly #rows = new Map<number, ReadonlyMap<Part['kind'], Uint8Array>>()

  private constructor(arena: Arena, settled: boolean) {
    this.settled = settled
    this.#arena = arena
    this.#end = arena.word(header.end)
    this.#parts = [...partsOf(arena)]
    this.state = stateWords.map((word) => arena.word(word))
    this.centre = copyOf(arena, arena.centreAddress, arena.shape.lanes * 4)
  }

  /** No apply may run until the promise resolves; after that, `beforeRowsChange` must hear of every row that is written. */
  static async of(arena: Arena, settled: boolean): Promise<ArenaCut> {
    const cut = new ArenaCut(arena, settled)
    let copied = 0
    for (const part of cut.#parts) {
      if (part.rows) continue
      cut.#copies.set(part, copyOf(arena, part.address, part.bytes))
      copied += part.bytes
      if (copied < bytesPerTurn) continue
      copied = 0
      await setImmediate()
    }
    return cut
  }

  isOf(arena: Arena): boolean {
    return this.#arena === arena
  }

  beforeRowsChange(ordinals: Uint32Array): void {
    for (const ordinal of ordinals) if (ordinal < this.#end && !this.#rows.has(ordinal)) this.#keep(ordinal)
  }

  /** The parts' bytes in the order of the format. */
  *pieces(): Generator<Uint8Array> {
    for (const part of this.#parts) {
      const copy = this.#copies.get(part)
      this.#copies.delete(part)
      yield copy ?? this.#rowsAsTheyWere(part)
    }
  }

  #keep(ordinal: number): void {
    const kept = new Map<Part['kind'], Uint8Array>()
    for (const part of this.#partsOf(ordinal)) {
      const { stride, first } = part.rows as NonNullable<Part['rows']>
      kept.set(part.kind, copyOf(this.#arena, part.address + (ordinal - first) * stride, stride))
    }
    this.#rows.set(ordinal, kept)
  }

  #partsOf(ordinal: number): Part[] {
    // Every block has the same number of parts, so the block's place among them is known.
    const perBlock = this.#parts.findIndex(({ block }) => block !== 0)
    const count = perBlock < 0 ? this.#parts.length : perBlock
    const block = ordinal >>> this.#arena.shape.blockShift
    return this.#parts.slice(block * count, (block + 1) * count).filter(({ rows }) => rows !== undefined)
  }

  #rowsAsTheyWere(part: Part): Uint8Array {
    const bytes = copyOf(this.#arena, part.address, part.bytes)
    if (!part.rows || this.#rows.size === 0) return bytes
    const { first, count, stride } = part.rows
    for (let ordinal = first; ordinal < first + count; ordinal++) {
      const kept = this.#rows.get(ordinal)?.get(part.kind)
      if (kept) bytes.set(kept, (ordinal - first) * stride)
    }
    return bytes
  }
}

/** A copy, because shared memory is not something every consumer takes. */
function copyOf(arena: Arena, address: number, bytes: number): Uint8Array {
  return new Uint8Array(arena.u8.subarray(address, address + bytes))
}
