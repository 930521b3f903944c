// Maps ids to ordinals and ordinals to ids. An ordinal keeps its id until it is released, also after the id was removed
// or moved to another ordinal, so that a search in progress can still name its hits. The same calls produce the same
// bytes.
import { assert } from '../errors.ts'
import { idBytesMax } from '../limits.ts'
import { ByteHeap } from './byte-heap.ts'
import type { SharedBytes } from './chunks.ts'
import { Column } from './column.ts'
import { HashPages, type PagesShape } from './hash-pages.ts'
import { type HashSeed, hashWords, TextWords } from './id-hash.ts'
import { type DumpOptions, numbersPart, type Section, type SectionReader, sectionOf } from './sections.ts'

/** Ids of a collection may take 32 GiB, because an address has 32 bits. */
const heapBytesMax = 2 ** 35
/** The id of the last lookup. */
const text = new TextWords(idBytesMax)

export class IdTable {
  readonly #seed: HashSeed
  #heap = new ByteHeap()
  /** Address of each ordinal's id, divided by 8; 0 when it has none. */
  #addresses = new Column('u32')
  #pages: HashPages
  #wanted = 0
  /** No ordinal at or above it ever had an id. */
  #ordinalEnd = 0
  readonly #isWanted = (ordinal: number): boolean =>
    this.#heap.holds(this.#addresses.get(ordinal) * 8, text.words, this.#wanted)

  constructor(seed: HashSeed) {
    this.#seed = seed
    this.#pages = new HashPages(this.#isWanted)
  }

  /** Number of ids in the table. */
  get count(): number {
    return this.#pages.count
  }

  /** Returns -1 when no object has this id. */
  find(id: string): number {
    const slot = this.#slotOf(id)
    return slot < 0 ? -1 : this.#pages.ordinalAt(slot)
  }

  /** The id must not be in the table, and the ordinal must not have an id. */
  insert(id: string, ordinal: number): void {
    assert(this.#slotOf(id) < 0 && this.#wanted > 0, 'a well-formed id is inserted once')
    const hash = hashWords(text.words, this.#wanted, this.#seed)
    this.#assign(ordinal)
    this.#pages.add(hash, ordinal)
  }

  /** Maps the id to another ordinal. Returns the previous ordinal, which the caller must release later. */
  replace(id: string, ordinal: number): number {
    const slot = this.#slotOf(id)
    assert(slot >= 0, 'a replaced id is in the table')
    this.#assign(ordinal)
    const before = this.#pages.ordinalAt(slot)
    this.#pages.setOrdinal(slot, ordinal)
    return before
  }

  /** Removes the id from the table. Returns its ordinal, which the caller must release later, or -1. */
  remove(id: string): number {
    const slot = this.#slotOf(id)
    if (slot < 0) return -1
    const ordinal = this.#pages.ordinalAt(slot)
    this.#pages.remove(slot)
    return ordinal
  }

  /** Returns the id of an ordinal, until it is released. */
  idAt(ordinal: number): string | undefined {
    const address = this.#addresses.get(ordinal)
    return address === 0 ? undefined : this.#heap.readText(address * 8)
  }

  /** Frees the id of an ordinal that was removed or replaced. */
  release(ordinal: number): void {
    const address = this.#addresses.get(ordinal)
    assert(address !== 0, `ordinal ${ordinal} has an id to release`)
    this.#heap.free(address * 8)
    this.#addresses.set(ordinal, 0)
  }

  /**
   * Reserves space for `ids` more ids of `bytes` UTF-8 bytes in total, for ordinals below `ordinalEnd`. Throws
   * EngineError memory_exhausted.
   */
  reserve(ids: number, bytes: number, ordinalEnd: number): void {
    this.#heap.reserve(ids, bytes)
    this.#addresses.ensure(ordinalEnd)
    this.#pages.reserve(ids)
  }

  /** The memory of the ids, of their addresses by ordinal, and of the pages that lead from ids to ordinals. */
  get chunks(): {
    readonly addresses: readonly SharedBytes[]
    readonly ids: readonly SharedBytes[]
    readonly pages: readonly SharedBytes[]
  } {
    return { addresses: this.#addresses.chunks, ids: this.#heap.chunks, pages: this.#pages.chunks }
  }

  get seed(): HashSeed {
    return this.#seed
  }

  /** How hashes of ids lead to pages. */
  get shape(): PagesShape {
    return this.#pages.shape
  }

  bytes(): { readonly ids: number; readonly table: number } {
    return { ids: this.#heap.bytes(), table: this.#addresses.bytes() + this.#pages.bytes() }
  }

  /** Bytes of released ids that can be reused. */
  deadBytes(): number {
    return this.#heap.deadBytes()
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return [
      sectionOf(`${name}.seed`, numbersPart([this.#seed.low, this.#seed.high])),
      this.#addresses.dump(`${name}.addresses`, this.#ordinalEnd, options),
      this.#heap.dump(`${name}.heap`, options),
      this.#pages.dump(`${name}.pages`, options),
    ]
  }

  static async load(reader: SectionReader, name: string): Promise<IdTable> {
    const body = await reader.open(`${name}.seed`)
    const [low = 0, high = 0] = await body.takeNumbers(2)
    await body.end()
    const table = new IdTable({ low, high })
    const { column, length } = await Column.loadAny(reader, `${name}.addresses`, 'u32')
    table.#addresses = column
    table.#ordinalEnd = length
    table.#heap = await ByteHeap.load(reader, `${name}.heap`)
    for (let ordinal = 0; ordinal < length; ordinal++) {
      const address = column.get(ordinal) * 8
      if (address !== 0 && !table.#heap.mayHold(address)) throw body.damaged(`there is no id at ${address}`)
    }
    table.#pages = await HashPages.load(reader, `${name}.pages`, { matches: table.#isWanted, ordinalEnd: length })
    return table
  }

  /** Returns the slot of an id, or -1, and sets #wanted to the id's length in bytes, or -1. */
  #slotOf(id: string): number {
    this.#wanted = text.encode(id)
    return this.#wanted <= 0 ? -1 : this.#pages.find(hashWords(text.words, this.#wanted, this.#seed))
  }

  /** Assigns the id that was encoded last to the ordinal. */
  #assign(ordinal: number): void {
    assert(this.#addresses.get(ordinal) === 0, `ordinal ${ordinal} has no id yet`)
    const address = this.#heap.write(text.bytes(this.#wanted))
    assert(address < heapBytesMax, 'ids take less than 32 GiB')
    this.#addresses.set(ordinal, address / 8)
    if (ordinal >= this.#ordinalEnd) this.#ordinalEnd = ordinal + 1
  }
}
