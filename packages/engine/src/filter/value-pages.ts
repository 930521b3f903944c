// Pages of entries in a heap. An entry is a value and a reference to postings of one block; entries of a page are in order
// of value, then block. Knows one page at a time, by its address / 8; which page is next is the run's business.
//
//   page:  | u32 bytes (the heap's) | u16 entries | u16 room | f64 value per room | i32 reference per room |
import { assert } from '../errors.ts'
import type { ByteHeap } from '../memory/byte-heap.ts'
import type { Postings, Reference } from './postings.ts'

/** Address of a page divided by 8. */
export type Page = number

const entryBytes = 12
const headBytes = 4
const heapBytesMax = 2 ** 34
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
    assert(address < heapBytesMax, 'filter pages take less than 16 GiB')
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

  /** The first entry that is not before (value, block). */
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

  value(page: Page, at: number): number {
    return this.#heap.doubles[page >>> chunkShift]![valuesOf(page) + at]!
  }

  block(page: Page, at: number): number {
    return this.postings.block(this.reference(page, at))
  }

  reference(page: Page, at: number): Reference {
    return this.#heap.ints[page >>> chunkShift]![this.#referencesOf(page) + at]!
  }

  setReference(page: Page, at: number, reference: Reference): void {
    this.#heap.beforeWrite(page >>> chunkShift, headOf(page))
    this.#heap.ints[page >>> chunkShift]![this.#referencesOf(page) + at] = reference
  }

  /** Into a page that has room. */
  insert(page: Page, at: number, value: number, reference: Reference): void {
    const count = this.count(page)
    this.#setCount(page, count + 1)
    this.#shift(page, at, at + 1, count - at)
    this.#heap.doubles[page >>> chunkShift]![valuesOf(page) + at] = value
    this.setReference(page, at, reference)
  }

  delete(page: Page, at: number): void {
    const count = this.count(page) - 1
    this.#setCount(page, count)
    this.#shift(page, at + 1, at, count - at)
  }

  /** Moves the entries from `at` on to the end of another page that has room for them. */
  move(from: Page, at: number, to: Page): void {
    const count = this.count(from) - at
    const end = this.count(to)
    this.#setCount(from, at)
    this.#setCount(to, end + count)
    const values = this.#heap.doubles[from >>> chunkShift]!.subarray(valuesOf(from) + at, valuesOf(from) + at + count)
    this.#heap.doubles[to >>> chunkShift]!.set(values, valuesOf(to) + end)
    const start = this.#referencesOf(from) + at
    const references = this.#heap.ints[from >>> chunkShift]!.subarray(start, start + count)
    this.#heap.ints[to >>> chunkShift]!.set(references, this.#referencesOf(to) + end)
  }

  /** Sets the bits of the ordinals of entries `from` to `end`; returns how many of them one by one. */
  collect(page: Page, from: number, end: number, into: Int32Array): number {
    const ints = this.#heap.ints[page >>> chunkShift]!
    const start = this.#referencesOf(page)
    let at = collectSingles(ints, start + from, start + end, into)
    let alone = at - start - from
    while (at < start + end) {
      const next = collectSingles(ints, at + 1, start + end, into)
      alone += this.postings.collect(ints[at]!, into) + next - at - 1
      at = next
    }
    return alone
  }

  /** What is wrong with a page that was loaded, or undefined. */
  fault(page: Page, ordinalEnd: number): string | undefined {
    if (!this.#heap.mayHold(page * 8)) return `no page lies at ${page * 8}`
    const bytes = this.#heap.words[page >>> chunkShift]![headOf(page) - 1]!
    const [count, room] = [this.count(page), this.room(page)]
    if (bytes !== headBytes + room * entryBytes || count > room || count === 0) return `the page at ${page * 8} is none`
    for (let at = 0; at < count; at++) {
      const sound = Number.isFinite(this.value(page, at)) && this.postings.isSound(this.reference(page, at), ordinalEnd)
      if (!sound) return `entry ${at} of the page at ${page * 8} leads nowhere`
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

/** A loop without a call in it, which is what makes it fast. Sets the bits of ordinals up to the first reference that is a container; gives its index, or `end`. */
function collectSingles(ints: Int32Array, from: number, end: number, into: Int32Array): number {
  for (let at = from; at < end; at++) {
    const reference = ints[at]!
    if (reference < 0) return at
    into[reference >>> 5]! |= 1 << (reference & 31)
  }
  return end
}

/** Index of the counts among the chunk's 32-bit numbers. */
function headOf(page: Page): number {
  return (page & chunkMask) * 2 + 1
}

/** Index of the first value among the chunk's 64-bit numbers. */
function valuesOf(page: Page): number {
  return (page & chunkMask) + 1
}
