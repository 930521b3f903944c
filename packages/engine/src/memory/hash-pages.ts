// Maps a 32-bit hash to ordinals by extendible hashing. A directory over the first bits of the hash leads to pages with
// open addressing. A full page is split in two by one more bit, so growth never rebuilds the whole table. It knows only
// hashes and ordinals; its owner decides whether the ordinal in a slot is the one searched for. When thousands of
// hashes begin alike (an attack), a page that cannot be split any further is chained to another.
//
//   slot:  | u32 hash | u32 ordinal + 1, 0 when empty |
import { Chunks, type SharedBytes, updateViews } from './chunks.ts'
import type { DumpOptions, Section, SectionReader } from './sections.ts'

const pageSlots = 4_096
const pageBytes = pageSlots * 8
const chunkBytes = 1 << 20
const pagesPerChunk = chunkBytes / pageBytes
const slotsFirst = 64
/** The maximum number of used slots out of 16. */
const fullSixteenths = 13
const depthMax = 20

/** A slot of a page: page * 4,096 + position. */
export type Slot = number

/** Called around each move of entries, so that threads that look up meanwhile can find out. */
export interface EntryMoves {
  begin(): void
  /** The shape may be another one. */
  end(): void
}

/** How a hash leads to a page. The directory changes in place; the rest of a shape never does. */
export interface PagesShape {
  /** Slots of each page. */
  readonly slots: number
  /** Number of bits of a hash that select an entry of the directory. */
  readonly depth: number
  readonly directory: Uint32Array<SharedArrayBuffer>
  /** Whether a page is chained to another. Then an entry may be in a page that the directory does not name. */
  readonly isChained: boolean
}

/** Finds entries by hash in the pages of a table, in any thread. While the table changes, what it finds is of no use. */
export class PagesView {
  readonly #words: (chunk: number) => Uint32Array | undefined

  /** `words` are those of a chunk of pages. */
  constructor(words: (chunk: number) => Uint32Array | undefined) {
    this.#words = words
  }

  /**
   * The ordinal with this hash that matches, or -1; -2 if its page is in memory that this thread does not have yet. Ends after one page, whatever
   * its words are.
   */
  find({ slots, depth, directory }: PagesShape, hash: number, matches: (ordinal: number) => boolean): number {
    const page = directory[depth === 0 ? 0 : hash >>> (32 - depth)] ?? 0
    const words = this.#words((page / pagesPerChunk) | 0)
    const start = (page % pagesPerChunk) * pageSlots * 2
    if (words === undefined || words.length < start + slots * 2) return -2
    const place = placeOf({ words, start, slots }, hash, matches)
    return place < 0 ? -1 : (words[start + place * 2 + 1] ?? 0) - 1
  }
}

interface Page {
  readonly words: Uint32Array
  /** Position of its first slot. */
  readonly start: number
  readonly slots: number
}

/** The place in the page of the entry that matches, or -1. A whole page has an empty slot; one that is changing may have none. */
function placeOf({ words, start, slots }: Page, hash: number, matches: (ordinal: number) => boolean): number {
  const mask = slots - 1
  for (let probe = 0; probe < slots; probe++) {
    const place = (hash + probe) & mask
    const entry = words[start + place * 2 + 1]
    if (!entry) return -1
    if (words[start + place * 2] === hash && matches(entry - 1)) return place
  }
  return -1
}

function sharedDirectory(words: number): Uint32Array<SharedArrayBuffer> {
  return new Uint32Array(new SharedArrayBuffer(words * 4))
}

export class HashPages {
  /** Whether the ordinal is the one searched for. */
  readonly #matches: (ordinal: number) => boolean
  #pages = new Chunks({ chunkBytes, firstBytes: slotsFirst * 8 })
  #words: Uint32Array[] = []
  /** Slots of a page; fewer than pageSlots only while there is one page. */
  #slots = slotsFirst
  #depth = 0
  #directory = sharedDirectory(1)
  #pageDepths = [0]
  #pageCounts = [0]
  /** The page chained to a full one that cannot be split; 0 for none. */
  #pageNexts = [0]
  #count = 0
  #isChained = false
  #shape: PagesShape | undefined
  readonly #moves: EntryMoves | undefined

  constructor(matches: (ordinal: number) => boolean, moves?: EntryMoves) {
    this.#matches = matches
    this.#moves = moves
    this.#ensure(slotsFirst * 8)
  }

  get count(): number {
    return this.#count
  }

  /** The same value until it changes. */
  get shape(): PagesShape {
    const known = this.#shape
    const isSame =
      known?.directory === this.#directory && known.slots === this.#slots && known.isChained === this.#isChained
    if (known !== undefined && isSame) return known
    this.#shape = {
      slots: this.#slots,
      depth: this.#depth,
      directory: this.#directory,
      isChained: this.#isChained,
    }
    return this.#shape
  }

  /** The memory of the pages. */
  get chunks(): readonly SharedBytes[] {
    return this.#pages.list
  }

  /** Returns the slot of the ordinal searched for, or -1. */
  find(hash: number): Slot {
    let page = this.#pageOf(hash)
    do {
      const slot = this.#findIn(page, hash)
      if (slot >= 0) return slot
      page = this.#pageNexts[page]!
    } while (page !== 0)
    return -1
  }

  ordinalAt(slot: Slot): number {
    const chunk = (slot / (pagesPerChunk * pageSlots)) | 0
    return this.#words[chunk]![(slot % (pagesPerChunk * pageSlots)) * 2 + 1]! - 1
  }

  setOrdinal(slot: Slot, ordinal: number): void {
    const chunk = (slot / (pagesPerChunk * pageSlots)) | 0
    this.#pages.beforeWrite(chunk, (slot % (pagesPerChunk * pageSlots)) * 8, 8)
    this.#words[chunk]![(slot % (pagesPerChunk * pageSlots)) * 2 + 1] = ordinal + 1
  }

  add(hash: number, ordinal: number): void {
    let page = this.#pageOf(hash)
    while (this.#pageCounts[page]! * 16 >= this.#slots * fullSixteenths) page = this.#makeRoom(page, hash)
    this.#put(page, hash, ordinal)
    this.#count++
  }

  /** Empties a slot and moves up the entries that were displaced by it. */
  remove(slot: Slot): void {
    this.#moves?.begin()
    this.#removeFrom(slot)
    this.#moves?.end()
  }

  #removeFrom(slot: Slot): void {
    const page = Math.floor(slot / pageSlots)
    const words = this.#words[(page / pagesPerChunk) | 0]!
    const start = (page % pagesPerChunk) * pageSlots * 2
    const mask = this.#slots - 1
    let hole = slot % pageSlots
    for (let place = (hole + 1) & mask; words[start + place * 2 + 1] !== 0; place = (place + 1) & mask) {
      const home = words[start + place * 2]! & mask
      if (((place - home) & mask) < ((place - hole) & mask)) continue
      this.#write(page, hole, words[start + place * 2]!, words[start + place * 2 + 1]!)
      hole = place
    }
    this.#write(page, hole, 0, 0)
    this.#pageCounts[page]!--
    this.#count--
  }

  /** Reserves space for `more` entries, except for very unlucky hashes. Throws EngineError memory_exhausted. */
  reserve(more: number): void {
    const pages = this.#pageDepths.length
    const taken = this.#count + more
    if (pages > 1 || taken * 16 >= pageSlots * fullSixteenths) {
      this.#ensure((pages + Math.min(pages, more) + Math.ceil(more / (pageSlots / 4)) + 1) * pageBytes)
      return
    }
    let slots = this.#slots
    while (taken * 16 >= slots * fullSixteenths) slots *= 2
    this.#ensure(slots * 8)
  }

  bytes(): number {
    return this.#pages.bytes + this.#directory.byteLength
  }

  dump(name: string, options: DumpOptions = {}): Section {
    const pages = this.#pageDepths.length
    const numbers = [this.#slots, this.#depth, pages, this.#count]
    const head = [...numbers, ...this.#pageDepths, ...this.#pageCounts, ...this.#pageNexts, ...this.#directory]
    return this.#pages.section(name, head, pages * this.#slots * 8, options)
  }

  /** Every loaded ordinal must be below `ordinalEnd`. */
  static async load(
    reader: SectionReader,
    name: string,
    options: {
      readonly matches: (ordinal: number) => boolean
      readonly ordinalEnd: number
      readonly moves?: EntryMoves
    },
  ): Promise<HashPages> {
    const body = await reader.open(name)
    const [slots = 0, depth = 0, pages = 0, count = 0] = await body.takeNumbers(4)
    const sound =
      isWhole(depth, depthMax) &&
      isWhole(pages, body.length / pageBytes + 1) &&
      pages > 0 &&
      isWhole(slots, pageSlots) &&
      slots >= slotsFirst &&
      (slots & (slots - 1)) === 0 &&
      (pages === 1 || slots === pageSlots)
    if (!sound) throw body.damaged(`a table of ${pages} pages of ${slots} slots, ${depth} deep`)
    const table = new HashPages(options.matches, options.moves)
    table.#slots = slots
    table.#depth = depth
    table.#count = count
    table.#pageDepths = await body.takeNumbers(pages)
    table.#pageCounts = await body.takeNumbers(pages)
    table.#pageNexts = await body.takeNumbers(pages)
    table.#directory = sharedDirectory(2 ** depth)
    table.#directory.set(await body.takeNumbers(2 ** depth))
    table.#isChained = table.#pageNexts.some((next) => next !== 0)
    if (body.remaining !== pages * slots * 8) throw body.damaged(`${pages} pages do not make ${body.remaining} bytes`)
    table.#pages = new Chunks({ chunkBytes, firstBytes: slotsFirst * 8 })
    table.#words = []
    await table.#pages.load(body, body.remaining)
    await body.end()
    table.#updateViews()
    const fault = table.#fault(options.ordinalEnd)
    if (fault !== undefined) throw body.damaged(fault)
    return table
  }

  #findIn(page: number, hash: number): Slot {
    const words = this.#words[(page / pagesPerChunk) | 0]!
    const start = (page % pagesPerChunk) * pageSlots * 2
    const place = placeOf({ words, start, slots: this.#slots }, hash, this.#matches)
    return place < 0 ? -1 : page * pageSlots + place
  }

  #pageOf(hash: number): number {
    return this.#depth === 0 ? 0 : this.#directory[hash >>> (32 - this.#depth)]!
  }

  #put(page: number, hash: number, ordinal: number): void {
    const words = this.#words[(page / pagesPerChunk) | 0]!
    const start = (page % pagesPerChunk) * pageSlots * 2
    const mask = this.#slots - 1
    let place = hash & mask
    while (words[start + place * 2 + 1] !== 0) place = (place + 1) & mask
    this.#write(page, place, hash, ordinal + 1)
    this.#pageCounts[page]!++
  }

  #write(page: number, place: number, hash: number, entry: number): void {
    const chunk = (page / pagesPerChunk) | 0
    const slot = (page % pagesPerChunk) * pageSlots + place
    this.#pages.beforeWrite(chunk, slot * 8, 8)
    this.#words[chunk]![slot * 2] = hash
    this.#words[chunk]![slot * 2 + 1] = entry
  }

  /** Returns the page to try next for an entry that found `page` full. */
  #makeRoom(page: number, hash: number): number {
    this.#moves?.begin()
    try {
      if (this.#slots < pageSlots) this.#double()
      else if (this.#pageDepths[page]! < depthMax) this.#split(page)
      else return this.#chainedPage(page)
      return this.#pageOf(hash)
    } finally {
      this.#moves?.end()
    }
  }

  #chainedPage(page: number): number {
    if (this.#pageNexts[page] === 0) {
      this.#pageNexts[page] = this.#addPage(depthMax)
      this.#isChained = true
    }
    return this.#pageNexts[page]!
  }

  #addPage(depth: number): number {
    const added = this.#pageDepths.length
    this.#ensure((added + 1) * pageBytes)
    this.#pageDepths.push(depth)
    this.#pageCounts.push(0)
    this.#pageNexts.push(0)
    return added
  }

  #double(): void {
    const entries = this.#takeOut(0)
    this.#slots *= 2
    this.#ensure(this.#slots * 8)
    for (let index = 0; index < entries.length; index += 2) this.#put(0, entries[index]!, entries[index + 1]!)
  }

  #split(page: number): void {
    const depth = this.#pageDepths[page]!
    const added = this.#addPage(depth + 1)
    if (depth === this.#depth) this.#doubleDirectory()
    const entries = this.#takeOut(page)
    this.#pageDepths[page] = depth + 1
    const bit = this.#depth - depth - 1
    for (let index = 0; index < this.#directory.length; index++) {
      if (this.#directory[index] === page && (index >>> bit) % 2 === 1) this.#directory[index] = added
    }
    for (let index = 0; index < entries.length; index += 2)
      this.#put(this.#pageOf(entries[index]!), entries[index]!, entries[index + 1]!)
  }

  #doubleDirectory(): void {
    const doubled = sharedDirectory(this.#directory.length * 2)
    for (let index = 0; index < doubled.length; index++) doubled[index] = this.#directory[index >>> 1]!
    this.#directory = doubled
    this.#depth++
  }

  /** Empties a page and returns its entries: hash and ordinal in turn, in the order of the slots. */
  #takeOut(page: number): number[] {
    const chunk = (page / pagesPerChunk) | 0
    this.#pages.beforeWrite(chunk, (page % pagesPerChunk) * pageBytes, this.#slots * 8)
    const words = this.#words[chunk]!
    const start = (page % pagesPerChunk) * pageSlots * 2
    const entries: number[] = []
    for (let index = start; index < start + this.#slots * 2; index += 2) {
      if (words[index + 1] !== 0) entries.push(words[index]!, words[index + 1]! - 1)
    }
    words.fill(0, start, start + this.#slots * 2)
    this.#pageCounts[page] = 0
    return entries
  }

  #ensure(bytes: number): void {
    if (bytes <= this.#pages.bytes) return
    try {
      this.#pages.ensure(bytes)
    } finally {
      this.#updateViews()
    }
  }

  #updateViews(): void {
    updateViews(this.#words, this.#pages.list, (chunk) => new Uint32Array(chunk.buffer))
  }

  /** Returns what is wrong with a loaded table: probing must end, and every entry must be a valid ordinal. */
  #fault(ordinalEnd: number): string | undefined {
    const pages = this.#pageDepths.length
    if (this.#directory.some((page) => page >= pages)) return 'its directory names a page it does not have'
    if (this.#pageDepths.some((depth) => !isWhole(depth, this.#depth))) return 'a page is deeper than its directory'
    // A chained page is newer, so that following the chain ends.
    if (this.#pageNexts.some((next, page) => next !== 0 && !(isWhole(next, pages - 1) && next > page))) {
      return 'a page is chained to an older page'
    }
    for (let page = 0; page < pages; page++) {
      const words = this.#words[(page / pagesPerChunk) | 0]!
      const start = (page % pagesPerChunk) * pageSlots * 2
      let taken = 0
      for (let index = start; index < start + this.#slots * 2; index += 2) {
        const entry = words[index + 1]!
        if (entry > ordinalEnd) return `page ${page} holds ordinal ${entry - 1} of ${ordinalEnd}`
        if (entry !== 0) taken++
      }
      if (taken !== this.#pageCounts[page] || taken === this.#slots) return `page ${page} has ${taken} entries`
    }
    const sum = this.#pageCounts.reduce((total, count) => total + count, 0)
    return sum === this.#count ? undefined : `it has ${sum} entries, not ${this.#count}`
  }
}

function isWhole(number: number, max: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= max
}
