// Assigns a number to every string that some object has under some key, so that strings are indexed as numbers: string values of filters
// by the key of the filter, and terms of texts by the field. A term is counted; its number becomes free when its last object is gone. Threads that
// have the memory find terms meanwhile (term-names.ts).
//
//   term, in the heap:  | u32 key | UTF-8 |
import { assert } from '../errors.ts'
import { filterStringBytesMax } from '../limits.ts'
import { ByteHeap } from './byte-heap.ts'
import type { SharedBytes } from './chunks.ts'
import { Column } from './column.ts'
import { HashPages } from './hash-pages.ts'
import { type HashSeed, hashWords, TextWords } from './id-hash.ts'
import { type DumpOptions, numbersPart, type Section, type SectionReader, sectionOf } from './sections.ts'
import { OwnedLookup, type SharedLookup } from './shared-lookup.ts'

/** The term of the last lookup. */
const text = new TextWords(filterStringBytesMax, 1)
const heapBytesMax = 2 ** 35

/** Chunks of a table. */
export const termNamesLists = ['nameAddresses', 'names', 'namePages'] as const
export type TermNamesList = (typeof termNamesLists)[number]

/** What other threads need to find terms, besides the chunks. */
export interface SharedTerms {
  readonly seed: HashSeed
  readonly lookup: SharedLookup
}

export class TermTable {
  readonly #seed: HashSeed
  #heap = new ByteHeap()
  /** Address of each term divided by 8; for a free number, the next free number + 1. */
  #addresses = new Column('u32')
  /** Number of objects that have the term; 0 for a free number. */
  #counts = new Column('u32')
  readonly #lookup = new OwnedLookup(() => this.#pages.shape)
  #pages: HashPages
  #shared: SharedTerms | undefined
  #wanted = 0
  #end = 0
  #free = 0
  readonly #isWanted = (term: number): boolean =>
    this.#heap.holds(this.#addresses.get(term) * 8, text.words, this.#wanted)

  constructor(seed: HashSeed) {
    this.#seed = seed
    this.#pages = new HashPages(this.#isWanted, this.#lookup)
  }

  /** Returns -1 when no object has the term. */
  find(key: number, value: string): number {
    const slot = this.#slotOf(key, value)
    return slot < 0 ? -1 : this.#pages.ordinalAt(slot)
  }

  /** Returns the term's number, a new one when needed. Must be followed by `use`. */
  intern(key: number, value: string): number {
    const slot = this.#slotOf(key, value)
    if (slot >= 0) return this.#pages.ordinalAt(slot)
    assert(this.#wanted > 0, 'terms are well-formed and at most 1,024 bytes')
    const term = this.#free === 0 ? this.#end++ : this.#free - 1
    if (this.#free !== 0) this.#free = this.#addresses.get(term)
    const address = this.#heap.write(text.bytes(this.#wanted))
    assert(address < heapBytesMax, 'terms take less than 32 GiB')
    this.#addresses.set(term, address / 8)
    this.#pages.add(hashWords(text.words, this.#wanted, this.#seed), term)
    return term
  }

  /** Counts one more object with the term. */
  use(term: number): void {
    this.#counts.set(term, this.#counts.get(term) + 1)
  }

  /** Returns the string of a term in use. */
  textAt(term: number): string {
    const bytes = this.#heap.read(this.#addresses.get(term) * 8)
    return Buffer.from(bytes.buffer, bytes.byteOffset + 4, bytes.length - 4).toString('utf8')
  }

  /** Counts one object fewer. */
  drop(key: number, value: string): void {
    const slot = this.#slotOf(key, value)
    assert(slot >= 0, 'a term is dropped at most once for each use')
    const term = this.#pages.ordinalAt(slot)
    const count = this.#counts.get(term) - 1
    this.#counts.set(term, count)
    if (count > 0) return
    this.#pages.remove(slot)
    this.#heap.free(this.#addresses.get(term) * 8)
    this.#addresses.set(term, this.#free)
    this.#free = term + 1
  }

  /** Counts one object fewer of a term in use, by its number. */
  dropNumber(term: number): void {
    this.drop(this.keyAt(term), this.textAt(term))
  }

  /** Returns the key of a term in use. */
  keyAt(term: number): number {
    return this.#heap.wordAt(this.#addresses.get(term) * 8, 0)
  }

  /** Number of objects that have a term; 0 for a free number. */
  countOf(term: number): number {
    return this.#counts.get(term)
  }

  /** All numbers given so far are below this. */
  get end(): number {
    return this.#end
  }

  /** Reserves space for `terms` more strings of `bytes` UTF-8 bytes in total. Throws EngineError memory_exhausted. */
  reserve(terms: number, bytes: number): void {
    this.#heap.reserve(terms, bytes + terms * 4)
    this.#addresses.ensure(this.#end + terms)
    this.#counts.ensure(this.#end + terms)
    this.#pages.reserve(terms)
  }

  /** What other threads need to find terms, besides the chunks. The same value until it changes. */
  get shared(): SharedTerms {
    const lookup = this.#lookup.shared
    if (this.#shared?.lookup !== lookup) this.#shared = { seed: this.#seed, lookup }
    return this.#shared
  }

  /** The memory of the addresses of terms, of the terms, and of the pages that lead to them. */
  get chunks(): { readonly [list in TermNamesList]: readonly SharedBytes[] } {
    return { nameAddresses: this.#addresses.chunks, names: this.#heap.chunks, namePages: this.#pages.chunks }
  }

  bytes(): number {
    return this.#heap.bytes() + this.#addresses.bytes() + this.#counts.bytes() + this.#pages.bytes()
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return [
      sectionOf(`${name}.state`, numbersPart([this.#seed.low, this.#seed.high, this.#end, this.#free])),
      this.#addresses.dump(`${name}.addresses`, this.#end, options),
      this.#counts.dump(`${name}.counts`, this.#end, options),
      this.#heap.dump(`${name}.heap`, options),
      this.#pages.dump(`${name}.pages`, options),
    ]
  }

  static async load(reader: SectionReader, name: string): Promise<TermTable> {
    const body = await reader.open(`${name}.state`)
    const [low = 0, high = 0, end = 0, free = 0] = await body.takeNumbers(4)
    await body.end()
    const table = new TermTable({ low, high })
    table.#end = end
    table.#free = free
    table.#addresses = await Column.load(reader, `${name}.addresses`, 'u32', end)
    table.#counts = await Column.load(reader, `${name}.counts`, 'u32', end)
    table.#heap = await ByteHeap.load(reader, `${name}.heap`)
    if (!(free >= 0 && free <= end)) throw body.damaged(`number ${free - 1} of ${end} is free`)
    for (let term = 0; term < end; term++) {
      const address = table.#addresses.get(term)
      const sound = table.#counts.get(term) === 0 ? address <= end : table.#heap.mayHold(address * 8)
      if (!sound) throw body.damaged(`there is no term at ${address * 8}`)
    }
    const options = { matches: table.#isWanted, ordinalEnd: end, moves: table.#lookup }
    table.#pages = await HashPages.load(reader, `${name}.pages`, options)
    return table
  }

  /** Returns the slot of a term, or -1, and sets #wanted to its length, or -1. */
  #slotOf(key: number, value: string): number {
    text.words[0] = key
    this.#wanted = text.encode(value)
    return this.#wanted < 0 ? -1 : this.#pages.find(hashWords(text.words, this.#wanted, this.#seed))
  }
}
