// Pages of entries in a heap. An entry is a value and a reference to the postings of one block; the entries of a page
// are ordered by value, then block. A page is identified by its address / 8; the run knows the order of pages.
//
//   page:  | u32 bytes (the heap's) | u16 entries | u16 room | f64 value per room | i32 reference per room |
import { assert } from '../errors.ts'
import type { ByteHeap } from '../memory/byte-heap.ts'
import { type Postings, postingsBytesMax, type Reference } from './postings.ts'

/** Address of a page divided by 8. */
export type Page = number

const entryBytes = 12
const headBytes = 4
const chunkShift = 17
const chunkMask = (1 << chunkShift) - 1

export class ValuePages {
  readonly postings: Postings
  readonly #heap: ByteHeap

  constructor(postings: Postings) {
    this.postings = postings
    this.#heap = postings.heap
  }

  make(room: number): Page {
    const address = this.#heap.allocate(headBytes + room * entryBytes)
    assert(address < postingsBytesMax, 'filter pages take less than 16 GiB')
    const page = address / 8
    this.#heap.words[page >>> chunkShift]![headOf(page)] = room << 16
    return page
  }

  free(page: Page): void {
    this.#heap.free(page * 8)
  }

  count(page: Page): number {
    return this.#heap.words[page >>> chunkShift]![headOf(page)]! & 0xffff
  }

  room(page: Page): number {
    return this.#heap.words[page >>> chunkShift]![headOf(page)]! >>> 16
  }

  /** Index of the first entry that is not before (value, block). */
  place(page: Page, value: number, block: number): number {
    const doubles = this.#heap.doubles[page >>> chunkShift]!
    const start = valuesOf(page)
    let below = 0
    let above = this.count(page)
    while (below < above) {
      const middle = (below + above) >>> 1
      const there = doubles[start + middle]!
      if (there < value || (there === value && this.block(page, middle) < block)) below = middle + 1
      else above = middle
    }
    return below
  }

  value(page: Page, index: number): number {
    return this.#heap.doubles[page >>> chunkShift]![valuesOf(page) + index]!
  }

  block(page: Page, index: number): number {
    return this.postings.block(this.reference(page, index))
  }

  reference(page: Page, index: number): Reference {
    return this.#heap.ints[page >>> chunkShift]![this.#referencesOf(page) + index]!
  }

  setReference(page: Page, index: number, reference: Reference): void {
    this.#heap.beforeWrite(page >>> chunkShift, headOf(page))
    this.#heap.ints[page >>> chunkShift]![this.#referencesOf(page) + index] = reference
  }

  /** Inserts into a page with free space. */
  insert(page: Page, index: number, value: number, reference: Reference): void {
    const count = this.count(page)
    this.#setCount(page, count + 1)
    this.#shift(page, index, index + 1, count - index)
    this.#heap.doubles[page >>> chunkShift]![valuesOf(page) + index] = value
    this.setReference(page, index, reference)
  }

  delete(page: Page, index: number): void {
    const count = this.count(page) - 1
    this.#setCount(page, count)
    this.#shift(page, index + 1, index, count - index)
  }

  /** Moves the entries from `index` on to the end of another page, which must have space for them. */
  move(from: Page, index: number, to: Page): void {
    const count = this.count(from) - index
    const end = this.count(to)
    this.#setCount(from, index)
    this.#setCount(to, end + count)
    const values = this.#heap.doubles[from >>> chunkShift]!.subarray(
      valuesOf(from) + index,
      valuesOf(from) + index + count,
    )
    this.#heap.doubles[to >>> chunkShift]!.set(values, valuesOf(to) + end)
    const start = this.#referencesOf(from) + index
    const references = this.#heap.ints[from >>> chunkShift]!.subarray(start, start + count)
    this.#heap.ints[to >>> chunkShift]!.set(references, this.#referencesOf(to) + end)
  }

  /** Sets the bits of the ordinals of entries `from` to `end`; returns how many of them were set one by one. */
  collect(page: Page, from: number, end: number, into: Int32Array): number {
    const ints = this.#heap.ints[page >>> chunkShift]!
    const start = this.#referencesOf(page)
    let index = collectSingles(ints, start + from, start + end, into)
    let alone = index - start - from
    while (index < start + end) {
      const next = collectSingles(ints, index + 1, start + end, into)
      alone += this.postings.collect(ints[index]!, into) + next - index - 1
      index = next
    }
    return alone
  }

  /** Returns what is wrong with a loaded page, or undefined. */
  fault(page: Page, ordinalEnd: number): string | undefined {
    if (!this.#heap.mayHold(page * 8)) return `there is no page at ${page * 8}`
    const bytes = this.#heap.words[page >>> chunkShift]![headOf(page) - 1]!
    const [count, room] = [this.count(page), this.room(page)]
    if (bytes !== headBytes + room * entryBytes || count > room || count === 0)
      return `the page at ${page * 8} is malformed`
    for (let index = 0; index < count; index++) {
      const sound =
        Number.isFinite(this.value(page, index)) && this.postings.isSound(this.reference(page, index), ordinalEnd)
      if (!sound) return `entry ${index} of the page at ${page * 8} is invalid`
    }
    return undefined
  }

  #setCount(page: Page, count: number): void {
    this.#heap.beforeWrite(page >>> chunkShift, headOf(page))
    this.#heap.words[page >>> chunkShift]![headOf(page)] = (this.room(page) << 16) | count
  }

  #shift(page: Page, from: number, to: number, count: number): void {
    const [values, references] = [valuesOf(page), this.#referencesOf(page)]
    this.#heap.doubles[page >>> chunkShift]!.copyWithin(values + to, values + from, values + from + count)
    this.#heap.ints[page >>> chunkShift]!.copyWithin(references + to, references + from, references + from + count)
  }

  #referencesOf(page: Page): number {
    return (valuesOf(page) + this.room(page)) * 2
  }
}

/**
 * A loop without calls, for speed. Sets the bits of ordinals up to the first reference that is a container; returns its
 * index, or `end`.
 */
function collectSingles(ints: Int32Array, from: number, end: number, into: Int32Array): number {
  for (let index = from; index < end; index++) {
    const reference = ints[index]!
    if (reference < 0) return index
    into[reference >>> 5]! |= 1 << (reference & 31)
  }
  return end
}

/** Index of the counts among the 32-bit numbers of the chunk. */
function headOf(page: Page): number {
  return (page & chunkMask) * 2 + 1
}

/** Index of the first value among the 64-bit numbers of the chunk. */
function valuesOf(page: Page): number {
  return (page & chunkMask) + 1
}
