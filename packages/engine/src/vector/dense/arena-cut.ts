// An arena as of one moment, while writers continue. Links change everywhere with every insert, so they are copied beforehand, a
// little in each turn, and at the moment of the cut only the lists that were written in the meantime are copied again: how long
// writers wait depends on how much they write, not on the size of the arena. The same applies to the places of lists above level 0:
// a row that followed another gets lists when it succeeds it, in a job for other ordinals. Everything else of a row is written once,
// and again only when the row is removed or its ordinal is reused, so it stays in place, and a writer that changes it copies it first.

import { elementAt } from '../element-at.ts'
import type { Rest } from '../field.ts'
import type { Arena } from './arena.ts'
import { type Part, partsOf, stateWords } from './arena-parts.ts'
import { CopySpace } from './copy-space.ts'
import { header, none } from './header.ts'
import { levelOf } from './level.ts'

/** Graph links of an arena, copied while they change. */
export class LinksAhead {
  readonly arena: Arena
  /** The links of each block, followed by the places of its lists above level 0, and every chunk of units up to its capacity. */
  readonly #blocks: Uint8Array[] = []
  readonly #chunks: Uint8Array[] = []
  readonly #unitChunkBytes: number
  readonly #linksBytes: number
  /** Bytes of a block from its links to the end of the places of lists above level 0. */
  readonly #blockBytes: number
  readonly #written: ReturnType<Arena['touched']['watch']>
  readonly #space = new CopySpace()
  #released = false

  /** No job may be running in the arena. */
  constructor(arena: Arena) {
    this.arena = arena
    const { unitBytes, unitShift, inBlock } = arena.shape
    this.#unitChunkBytes = unitBytes * 2 ** unitShift
    this.#linksBytes = inBlock.upper - inBlock.links
    this.#blockBytes = inBlock.norms - inBlock.links
    this.#written = arena.touched.watch(() => ({ u8: arena.u8, u32: arena.u32, end: arena.word(header.end) }))
  }

  /** Copies all links while writers continue. */
  async copy(rest: Rest): Promise<void> {
    while (!this.#released) {
      const copied = this.#copyNext()
      if (copied === 0) return
      await rest(copied)
    }
  }

  release(): void {
    this.#released = true
    this.#written.end()
  }

  /** Frees the copies. */
  free(): void {
    this.#space.free()
  }

  /** Updates the copy to this moment. No job may be running. */
  finish(): void {
    while (this.#copyNext() > 0) {
      // Links added since: as much as was written meanwhile.
    }
    this.#written.ordinals().forEach((ordinal) => {
      this.#copyLists(ordinal)
    })
    this.#written.end()
  }

  links(block: number, bytes: number): Uint8Array {
    return elementAt(this.#blocks, block).subarray(0, bytes)
  }
  upper(block: number, bytes: number): Uint8Array {
    return elementAt(this.#blocks, block).subarray(this.#linksBytes, this.#linksBytes + bytes)
  }
  units(chunk: number, bytes: number): Uint8Array {
    return elementAt(this.#chunks, chunk).subarray(0, bytes)
  }

  /** Copies the next block or chunk of units, if there is one. Returns its number of bytes. */
  #copyNext(): number {
    const { arena } = this
    const { blockRows, inBlock, unitShift } = arena.shape
    if (this.#blocks.length * blockRows < arena.word(header.end)) {
      const from = arena.blockAddress(this.#blocks.length) + inBlock.links
      this.#blocks.push(this.#space.copy(arena.u8.subarray(from, from + this.#blockBytes), this.#left))
      return this.#blockBytes
    }
    if (this.#chunks.length * 2 ** unitShift < arena.word(header.units)) {
      const from = arena.unitChunkAddress(this.#chunks.length)
      this.#chunks.push(this.#space.copy(arena.u8.subarray(from, from + this.#unitChunkBytes), this.#left))
      return this.#unitChunkBytes
    }
    return 0
  }

  /** Bytes that are not copied yet. */
  get #left(): number {
    const { arena } = this
    const { blockRows, unitShift } = arena.shape
    const blocks = Math.ceil(arena.word(header.end) / blockRows) - this.#blocks.length
    const chunks = Math.ceil(arena.word(header.units) / 2 ** unitShift) - this.#chunks.length
    return Math.max(0, blocks) * this.#blockBytes + Math.max(0, chunks) * this.#unitChunkBytes
  }

  #copyLists(ordinal: number): void {
    const { arena } = this
    const { blockShift, blockRows, inBlock, linksAtBase, unitShift, unitBytes, params } = arena.shape
    const [block, row] = [ordinal >>> blockShift, ordinal & (blockRows - 1)]
    const listBytes = linksAtBase * 4
    const copy = elementAt(this.#blocks, block)
    const list = arena.blockAddress(block) + inBlock.links + row * listBytes
    copy.set(arena.u8.subarray(list, list + listBytes), row * listBytes)
    const levels = levelOf(ordinal, params.M)
    if (levels === 0) return
    const upper = arena.blockAddress(block) + inBlock.upper + row * 4
    copy.set(arena.u8.subarray(upper, upper + 4), this.#linksBytes + row * 4)
    const unit = elementAt(arena.u32, upper / 4)
    // A row that follows another has no lists above level 0, unless it had them before.
    if (unit === none) return
    // Units of one node are never in two chunks.
    const [chunk, within] = [unit >>> unitShift, (unit & (2 ** unitShift - 1)) * unitBytes]
    const from = arena.unitChunkAddress(chunk) + within
    elementAt(this.#chunks, chunk).set(arena.u8.subarray(from, from + levels * unitBytes), within)
  }
}

export class ArenaCut {
  readonly settled: boolean
  readonly state: readonly number[]
  readonly center: Uint8Array
  /** Undefined: rows have no heads. */
  readonly projection: Uint8Array | undefined
  readonly #arena: Arena
  readonly #end: number
  readonly #parts: readonly Part[]
  readonly #links: LinksAhead
  /** Saved rows, by ordinal: the bytes of each kind of part. */
  readonly #rows = new Map<number, ReadonlyMap<Part['kind'], Uint8Array>>()
  /** The padding of each part after its last row, where the next row will be written. */
  readonly #paddings: ReadonlyMap<Part, Uint8Array>

  /** No job may be running. From now on, `beforeRowsChange` must be called before every write of a row. */
  constructor(links: LinksAhead, settled: boolean) {
    const { arena } = links
    links.finish()
    this.settled = settled
    this.#links = links
    this.#arena = arena
    this.#end = arena.word(header.end)
    this.#parts = [...partsOf(arena)]
    this.#paddings = new Map(
      this.#parts.flatMap((part) => {
        const used = usedOf(part)
        return part.kind !== 'upper' && used < part.bytes
          ? [[part, copyOf(arena, part.address + used, part.bytes - used)]]
          : []
      }),
    )
    this.state = stateWords.map((word) => arena.word(word))
    this.center = copyOf(arena, arena.centerAddress, arena.shape.lanes * 4)
    const { address, bytes } = arena.projection
    this.projection = arena.hasHeads ? copyOf(arena, address, bytes) : undefined
  }

  belongsTo(arena: Arena): boolean {
    return this.#arena === arena
  }

  /** Frees the copies of links; nothing may be read afterwards. */
  release(): void {
    this.#links.free()
  }

  beforeRowsChange(ordinals: Uint32Array): void {
    for (const ordinal of ordinals) if (ordinal < this.#end && !this.#rows.has(ordinal)) this.#keep(ordinal)
  }

  /** Yields the bytes of the parts in the order of the format. Each must be copied in the same turn. */
  *pieces(): Generator<Uint8Array> {
    let chunk = 0
    for (const part of this.#parts) {
      if (part.kind === 'links') yield this.#links.links(part.block, part.bytes)
      else if (part.kind === 'upper') yield this.#links.upper(part.block, part.bytes)
      else if (part.kind === 'units') yield this.#links.units(chunk++, part.bytes)
      else yield this.#savedRows(part)
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
    // Every block has the same number of parts, so the position of the block among them is known.
    const perBlock = this.#parts.findIndex(({ block }) => block !== 0)
    const count = perBlock < 0 ? this.#parts.length : perBlock
    const block = ordinal >>> this.#arena.shape.blockShift
    return this.#parts
      .slice(block * count, (block + 1) * count)
      .filter(({ rows, kind }) => rows !== undefined && kind !== 'upper')
  }

  #savedRows(part: Part): Uint8Array {
    const live = this.#arena.u8.subarray(part.address, part.address + part.bytes)
    const padding = this.#paddings.get(part)
    if (!part.rows || (this.#rows.size === 0 && !padding)) return live
    const { first, count, stride } = part.rows
    let bytes = padding && live.slice()
    if (padding) bytes?.set(padding, usedOf(part))
    for (let ordinal = first; ordinal < first + count; ordinal++) {
      const kept = this.#rows.get(ordinal)?.get(part.kind)
      if (!kept) continue
      bytes ??= live.slice()
      bytes.set(kept, (ordinal - first) * stride)
    }
    return bytes ?? live
  }
}

/** Bytes without padding. Padding only changes in parts that are written once for each row. */
function usedOf({ rows, bytes }: Part): number {
  return rows ? rows.count * rows.stride : bytes
}

/** Copied, because the memory is about to change. */
function copyOf(arena: Arena, address: number, bytes: number): Uint8Array {
  return new Uint8Array(arena.u8.subarray(address, address + bytes))
}
