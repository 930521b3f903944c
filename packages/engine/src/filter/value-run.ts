// One key's values of one type, in order, with the ordinals that have them: pages of up to 255 entries, and a directory of
// the pages' first entries beside them. The same calls give the same pages.
import type { Bounds } from './condition.ts'
import { noReference } from './postings.ts'
import { ValueGroups } from './value-groups.ts'
import type { Page, ValuePages } from './value-pages.ts'

const roomFirst = 4
/** Fills a block of 3 KiB to the last bytes. */
const roomMax = 255

/** Bits that a range sets one by one, of each 32 ordinals, before the run's values are put in groups. */
const bitsAloneMax = 2

/** What a run keeps outside the heap: its pages in order, and the first value and block of each when it was made. */
export interface RunDirectory {
  readonly pages: readonly Page[]
  readonly values: readonly number[]
  readonly blocks: readonly number[]
}

export class ValueRun {
  readonly #in: ValuePages
  readonly #pages: Page[]
  readonly #values: number[]
  readonly #blocks: number[]
  #groups: ValueGroups | undefined

  constructor(pages: ValuePages, directory: RunDirectory = { pages: [], values: [], blocks: [] }) {
    this.#in = pages
    this.#pages = [...directory.pages]
    this.#values = [...directory.values]
    this.#blocks = [...directory.blocks]
  }

  get isEmpty(): boolean {
    return this.#pages.length === 0
  }

  get directory(): RunDirectory {
    return { pages: this.#pages, values: this.#values, blocks: this.#blocks }
  }

  /** False when the ordinal had the value already. */
  add(value: number, ordinal: number): boolean {
    const added = this.#addToPages(value, ordinal)
    if (added && this.#groups?.add(value, ordinal) === false) this.#groups = undefined
    return added
  }

  /** False when the ordinal did not have the value. An ordinal that loses one loses all, before anything is asked. */
  remove(value: number, ordinal: number): boolean {
    const removed = this.#removeFromPages(value, ordinal)
    if (removed) this.#groups?.remove(value, ordinal)
    return removed
  }

  #addToPages(value: number, ordinal: number): boolean {
    const block = ordinal >>> 16
    if (this.isEmpty) this.#insertPage(0, this.#in.make(roomFirst), value, block)
    const index = this.#find(value, block)
    const page = this.#pages[index]!
    const at = this.#in.place(page, value, block)
    if (!this.#isAt(page, at, value, block)) {
      this.#insert(index, at, value, ordinal)
      return true
    }
    const reference = this.#in.reference(page, at)
    if (this.#in.postings.has(reference, ordinal)) return false
    this.#in.setReference(page, at, this.#in.postings.add(reference, ordinal))
    return true
  }

  #removeFromPages(value: number, ordinal: number): boolean {
    if (this.isEmpty) return false
    const block = ordinal >>> 16
    const index = this.#find(value, block)
    const page = this.#pages[index]!
    const at = this.#in.place(page, value, block)
    if (!this.#isAt(page, at, value, block)) return false
    const reference = this.#in.reference(page, at)
    if (!this.#in.postings.has(reference, ordinal)) return false
    const left = this.#in.postings.remove(reference, ordinal)
    if (left !== noReference) this.#in.setReference(page, at, left)
    else this.#delete(index, at)
    return true
  }

  /** Sets the bits of the ordinals whose value lies within the bounds. */
  collect(bounds: Bounds, into: Int32Array): void {
    const rest = this.#groups?.collect(bounds, into) ?? [bounds]
    let alone = 0
    for (const part of rest) alone += this.#collectFromPages(part, into)
    // Worth their memory to whom this was asked of once: setting bits one by one took most of the time.
    if (this.#groups === undefined && alone > into.length * bitsAloneMax) this.#groups = this.#grouped(into.length)
  }

  /** Outside the heap, but for the directory. */
  bytes(): number {
    return this.#groups?.bytes() ?? 0
  }

  /** Returns how many bits were set one by one. */
  #collectFromPages(bounds: Bounds, into: Int32Array): number {
    if (this.isEmpty) return 0
    let alone = 0
    const fromBlock = bounds.lowOpen ? Number.POSITIVE_INFINITY : -1
    const endBlock = bounds.highOpen ? -1 : Number.POSITIVE_INFINITY
    const first = this.#find(bounds.low, fromBlock)
    const last = this.#find(bounds.high, endBlock)
    for (let index = first; index <= last; index++) {
      const page = this.#pages[index]!
      const from = index === first ? this.#in.place(page, bounds.low, fromBlock) : 0
      const end = index === last ? this.#in.place(page, bounds.high, endBlock) : this.#in.count(page)
      alone += this.#in.collect(page, from, end, into)
    }
    return alone
  }

  #grouped(words: number): ValueGroups {
    const { postings } = this.#in
    let count = 0
    for (const page of this.#pages)
      for (let at = 0; at < this.#in.count(page); at++) count += postings.count(this.#in.reference(page, at))
    const groups = new ValueGroups(words, count)
    for (const page of this.#pages) {
      for (let at = 0; at < this.#in.count(page); at++) {
        const reference = this.#in.reference(page, at)
        postings.collect(reference, groups.next(this.#in.value(page, at), postings.count(reference)))
      }
    }
    return groups
  }

  /** Each value, ascending, with how many ordinals have it; only those in `within` count, where it is given. */
  *counts(within: Uint32Array | undefined): Generator<{ readonly value: number; readonly count: number }> {
    let value = Number.NaN
    let count = 0
    for (const page of this.#pages) {
      for (let at = 0; at < this.#in.count(page); at++) {
        const here = this.#in.value(page, at)
        if (here !== value) {
          if (count > 0) yield { value, count }
          value = here
          count = 0
        }
        count += this.#in.postings.countIn(this.#in.reference(page, at), within)
      }
    }
    if (count > 0) yield { value, count }
  }

  /** What is wrong with a run that was loaded, or undefined. */
  fault(ordinalEnd: number): string | undefined {
    // The first page stands for everything before the second, whatever its own first value was.
    const firsts = this.#values.slice(1)
    const ascending = firsts.every((value, at) => Number.isFinite(value) && value >= (firsts[at - 1] ?? value))
    if (!ascending) return 'a directory is out of order'
    for (const page of this.#pages) {
      const fault = this.#in.fault(page, ordinalEnd)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  /** The last page whose first entry is not after (value, block); the first page stands for everything before. */
  #find(value: number, block: number): number {
    let below = 0
    let above = this.#pages.length - 1
    while (below < above) {
      const middle = (below + above + 1) >>> 1
      const first = this.#values[middle]!
      if (first < value || (first === value && this.#blocks[middle]! <= block)) below = middle
      else above = middle - 1
    }
    return below
  }

  #isAt(page: Page, at: number, value: number, block: number): boolean {
    return at < this.#in.count(page) && this.#in.value(page, at) === value && this.#in.block(page, at) === block
  }

  #insert(index: number, at: number, value: number, ordinal: number): void {
    const page = this.#pages[index]!
    const count = this.#in.count(page)
    if (count < this.#in.room(page)) {
      this.#in.insert(page, at, value, ordinal)
    } else if (count < roomMax) {
      this.#in.insert(this.#resize(index, roomFor(count + 1)), at, value, ordinal)
    } else if (at === count && index === this.#pages.length - 1) {
      // Values that only grow leave full pages behind.
      const added = this.#in.make(roomFirst * 4)
      this.#insertPage(index + 1, added, value, ordinal >>> 16)
      this.#in.insert(added, 0, value, ordinal)
    } else {
      const upper = this.#split(index)
      const half = this.#in.count(page)
      if (at > half) this.#in.insert(upper, at - half, value, ordinal)
      else this.#in.insert(page, at, value, ordinal)
    }
  }

  #delete(index: number, at: number): void {
    const page = this.#pages[index]!
    this.#in.delete(page, at)
    const count = this.#in.count(page)
    if (count === 0) this.#removePage(index)
    else if (this.#fits(count, index + 1)) this.#merge(index)
    else if (this.#fits(count, index - 1)) this.#merge(index - 1)
    else if (count * 4 <= this.#in.room(page) && count > roomFirst) this.#resize(index, roomFor(count * 2))
  }

  /** Whether a neighbor and `count` entries would make half a page. */
  #fits(count: number, neighbor: number): boolean {
    const page = this.#pages[neighbor]
    return page !== undefined && count + this.#in.count(page) <= roomMax / 2
  }

  /** Gives the new page with the upper half. */
  #split(index: number): Page {
    const page = this.#pages[index]!
    const half = roomMax >>> 1
    const upper = this.#in.make(roomMax)
    this.#insertPage(index + 1, upper, this.#in.value(page, half), this.#in.block(page, half))
    this.#in.move(page, half, upper)
    return upper
  }

  /** Takes the entries of the next page into this one. */
  #merge(index: number): void {
    const next = this.#pages[index + 1]!
    let page = this.#pages[index]!
    const count = this.#in.count(page) + this.#in.count(next)
    if (count > this.#in.room(page)) page = this.#resize(index, roomFor(count))
    this.#in.move(next, 0, page)
    this.#removePage(index + 1)
  }

  #resize(index: number, room: number): Page {
    const page = this.#pages[index]!
    const resized = this.#in.make(room)
    this.#in.move(page, 0, resized)
    this.#in.free(page)
    this.#pages[index] = resized
    return resized
  }

  #insertPage(index: number, page: Page, value: number, block: number): void {
    this.#pages.splice(index, 0, page)
    this.#values.splice(index, 0, value)
    this.#blocks.splice(index, 0, block)
  }

  #removePage(index: number): void {
    this.#in.free(this.#pages[index]!)
    this.#pages.splice(index, 1)
    this.#values.splice(index, 1)
    this.#blocks.splice(index, 1)
  }
}

function roomFor(count: number): number {
  let room = roomFirst
  while (room < count) room *= 2
  return Math.min(room, roomMax)
}
