// The values of one key and one type, in order, with their ordinals: pages of up to 255 entries, and a directory of the
// pages' first entries. The same calls produce the same pages.
import type { Bounds } from './condition.ts'
import { noReference } from './postings.ts'
import { ValueGroups } from './value-groups.ts'
import type { Page, ValuePages } from './value-pages.ts'

const roomFirst = 4
/** Fills a block of 3 KiB completely. */
const roomMax = 255

/** Threshold for building groups: bits set one by one for each 32 ordinals of a range. */
const bitsAloneMax = 2

/**
 * The part of a run outside the heap: its pages in order, and the first value and block of each page when it was
 * created.
 */
export interface RunDirectory {
  readonly pages: readonly Page[]
  readonly values: readonly number[]
  readonly blocks: readonly number[]
}

export class ValueRun {
  readonly #store: ValuePages
  readonly #pages: Page[]
  readonly #values: number[]
  readonly #blocks: number[]
  #groups: ValueGroups | undefined

  constructor(pages: ValuePages, directory: RunDirectory = { pages: [], values: [], blocks: [] }) {
    this.#store = pages
    this.#pages = [...directory.pages]
    this.#values = [...directory.values]
    this.#blocks = [...directory.blocks]
  }

  get isEmpty(): boolean {
    return this.#pages.length === 0
  }

  /** The lowest value; undefined if there is none. */
  get lowest(): number | undefined {
    const page = this.#pages[0]
    return page === undefined ? undefined : this.#store.value(page, 0)
  }

  /** The lowest value above this one; undefined if there is none. */
  lowestAbove(value: number): number | undefined {
    if (this.isEmpty) return undefined
    const index = this.#find(value, Number.POSITIVE_INFINITY)
    const page = this.#pages[index]!
    const place = this.#store.place(page, value, Number.POSITIVE_INFINITY)
    if (place < this.#store.count(page)) return this.#store.value(page, place)
    const next = this.#pages[index + 1]
    return next === undefined ? undefined : this.#store.value(next, 0)
  }

  get directory(): RunDirectory {
    return { pages: this.#pages, values: this.#values, blocks: this.#blocks }
  }

  /** Returns false when the ordinal already had the value. */
  add(value: number, ordinal: number): boolean {
    const isAdded = this.#addToPages(value, ordinal)
    if (isAdded && this.#groups?.add(value, ordinal) === false) this.#groups = undefined
    return isAdded
  }

  /**
   * Returns false when the ordinal did not have the value. An ordinal that loses one value loses all of them before the
   * next query.
   */
  remove(value: number, ordinal: number): boolean {
    const isRemoved = this.#removeFromPages(value, ordinal)
    if (isRemoved) this.#groups?.remove(value, ordinal)
    return isRemoved
  }

  #addToPages(value: number, ordinal: number): boolean {
    const block = ordinal >>> 16
    if (this.isEmpty) this.#insertPage(0, this.#store.make(roomFirst), value, block)
    const index = this.#find(value, block)
    const page = this.#pages[index]!
    const place = this.#store.place(page, value, block)
    if (!this.#isAt(page, place, value, block)) {
      this.#insert(index, place, value, ordinal)
      return true
    }
    const reference = this.#store.reference(page, place)
    if (this.#store.postings.has(reference, ordinal)) return false
    this.#store.setReference(page, place, this.#store.postings.add(reference, ordinal))
    return true
  }

  #removeFromPages(value: number, ordinal: number): boolean {
    if (this.isEmpty) return false
    const block = ordinal >>> 16
    const index = this.#find(value, block)
    const page = this.#pages[index]!
    const place = this.#store.place(page, value, block)
    if (!this.#isAt(page, place, value, block)) return false
    const reference = this.#store.reference(page, place)
    if (!this.#store.postings.has(reference, ordinal)) return false
    const left = this.#store.postings.remove(reference, ordinal)
    if (left !== noReference) this.#store.setReference(page, place, left)
    else this.#delete(index, place)
    return true
  }

  /** Sets the bits of the ordinals whose value is within the bounds. */
  collect(bounds: Bounds, into: Int32Array): void {
    const rest = this.#groups?.collect(bounds, into) ?? [bounds]
    let alone = 0
    for (const part of rest) alone += this.#collectFromPages(part, into)
    // Groups are built after the first slow range: setting bits one by one took most of its time.
    if (this.#groups === undefined && alone > into.length * bitsAloneMax) this.#groups = this.#buildGroups(into.length)
  }

  /** Bytes outside the heap, except for the directory. */
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
      const from = index === first ? this.#store.place(page, bounds.low, fromBlock) : 0
      const end = index === last ? this.#store.place(page, bounds.high, endBlock) : this.#store.count(page)
      alone += this.#store.collect(page, from, end, into)
    }
    return alone
  }

  #buildGroups(words: number): ValueGroups {
    const { postings } = this.#store
    let count = 0
    for (const page of this.#pages)
      for (let index = 0; index < this.#store.count(page); index++)
        count += postings.count(this.#store.reference(page, index))
    const groups = new ValueGroups(words, count)
    for (const page of this.#pages) {
      for (let index = 0; index < this.#store.count(page); index++) {
        const reference = this.#store.reference(page, index)
        postings.collect(reference, groups.next(this.#store.value(page, index), postings.count(reference)))
      }
    }
    return groups
  }

  /** Yields each value, ascending, with the number of its ordinals. With `within`, only its ordinals count. */
  *counts(within: Uint32Array | undefined): Generator<{ readonly value: number; readonly count: number }> {
    let value = Number.NaN
    let count = 0
    for (const page of this.#pages) {
      for (let index = 0; index < this.#store.count(page); index++) {
        const here = this.#store.value(page, index)
        if (here !== value) {
          if (count > 0) yield { value, count }
          value = here
          count = 0
        }
        count += this.#store.postings.countIn(this.#store.reference(page, index), within)
      }
    }
    if (count > 0) yield { value, count }
  }

  /** Returns what is wrong with a loaded run, or undefined. */
  fault(ordinalEnd: number): string | undefined {
    // The first page covers everything before the second, whatever its own first value was.
    const firsts = this.#values.slice(1)
    const ascending = firsts.every((value, index) => Number.isFinite(value) && value >= (firsts[index - 1] ?? value))
    if (!ascending) return 'a directory is out of order'
    for (const page of this.#pages) {
      const fault = this.#store.fault(page, ordinalEnd)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  /** Index of the last page whose first entry is not after (value, block); the first page covers everything before. */
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

  #isAt(page: Page, index: number, value: number, block: number): boolean {
    return (
      index < this.#store.count(page) &&
      this.#store.value(page, index) === value &&
      this.#store.block(page, index) === block
    )
  }

  #insert(index: number, place: number, value: number, ordinal: number): void {
    const page = this.#pages[index]!
    const count = this.#store.count(page)
    if (count < this.#store.room(page)) {
      this.#store.insert(page, place, value, ordinal)
    } else if (count < roomMax) {
      this.#store.insert(this.#resize(index, roomFor(count + 1)), place, value, ordinal)
    } else if (place === count && index === this.#pages.length - 1) {
      // Ascending values leave full pages behind.
      const added = this.#store.make(roomFirst * 4)
      this.#insertPage(index + 1, added, value, ordinal >>> 16)
      this.#store.insert(added, 0, value, ordinal)
    } else {
      const upper = this.#split(index)
      const half = this.#store.count(page)
      if (place > half) this.#store.insert(upper, place - half, value, ordinal)
      else this.#store.insert(page, place, value, ordinal)
    }
  }

  #delete(index: number, place: number): void {
    const page = this.#pages[index]!
    this.#store.delete(page, place)
    const count = this.#store.count(page)
    if (count === 0) this.#removePage(index)
    else if (this.#fits(count, index + 1)) this.#merge(index)
    else if (this.#fits(count, index - 1)) this.#merge(index - 1)
    else if (count * 4 <= this.#store.room(page) && count > roomFirst) this.#resize(index, roomFor(count * 2))
  }

  /** Whether a neighbor and `count` entries would fill half a page. */
  #fits(count: number, neighbor: number): boolean {
    const page = this.#pages[neighbor]
    return page !== undefined && count + this.#store.count(page) <= roomMax / 2
  }

  /** Returns the new page with the upper half. */
  #split(index: number): Page {
    const page = this.#pages[index]!
    const half = roomMax >>> 1
    const upper = this.#store.make(roomMax)
    this.#insertPage(index + 1, upper, this.#store.value(page, half), this.#store.block(page, half))
    this.#store.move(page, half, upper)
    return upper
  }

  /** Moves the entries of the next page into this one. */
  #merge(index: number): void {
    const next = this.#pages[index + 1]!
    let page = this.#pages[index]!
    const count = this.#store.count(page) + this.#store.count(next)
    if (count > this.#store.room(page)) page = this.#resize(index, roomFor(count))
    this.#store.move(next, 0, page)
    this.#removePage(index + 1)
  }

  #resize(index: number, room: number): Page {
    const page = this.#pages[index]!
    const resized = this.#store.make(room)
    this.#store.move(page, 0, resized)
    this.#store.free(page)
    this.#pages[index] = resized
    return resized
  }

  #insertPage(index: number, page: Page, value: number, block: number): void {
    this.#pages.splice(index, 0, page)
    this.#values.splice(index, 0, value)
    this.#blocks.splice(index, 0, block)
  }

  #removePage(index: number): void {
    this.#store.free(this.#pages[index]!)
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
