// Inverted lists: for each index the ordinals that have it, ascending, with their weights, in blocks of up to 128 postings with a bound of
// their weights: the largest one, or what posting-form.ts says. Postings at the end are written in place, and the count is stored last. Any
// other change writes a new block and then stores its address in the directory. So readers see every posting that existed when they started,
// and may or may not see newer ones. The same calls give the same blocks. The directory also has the number of live rows as of the last two
// versions that changed it.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { SparseMemory } from './memory.ts'
import { boundsOf, type PostingBounds, type PostingForm } from './posting-form.ts'
import { copyRows, newestRows, startRows, storeRows } from './row-counts.ts'

export const blockPostingsMax = 128
const headBytes = 16
/** Bytes of a directory before the addresses of its blocks; assembly/sparse/layout.ts has the same number. */
export const directoryHeadBytes = 28
/** Position of the row counts in a directory. */
const rowCountsWord = 3
/** When a block overflows, its postings are distributed to blocks of about this size, so that further postings fit. */
const blockPostingsAim = 96

export interface Postings {
  readonly ordinals: Uint32Array
  readonly weights: Float32Array
}

/** A posting without a list. */
export interface SinglePosting {
  readonly ordinal: number
  readonly weight: number
}

export function postingsOf({ ordinal, weight }: SinglePosting): Postings {
  return { ordinals: Uint32Array.of(ordinal), weights: Float32Array.of(weight) }
}

/** Address of the directory of a list; 0 if there is no list. */
export type Directory = number

export class PostingLists {
  readonly #in: SparseMemory
  readonly #bounds: PostingBounds

  constructor(memory: SparseMemory, form: PostingForm) {
    this.#in = memory
    this.#bounds = boundsOf[form]
  }

  /** The list of `posting` and of others that are added to it, ascending; equals a list that was created with `posting` before. */
  make(single: SinglePosting, added: Postings): Directory {
    const first = postingsOf(single)
    if (elementAt(added.ordinals, 0) > single.ordinal) return this.#make(joined(first, added))
    const directory = this.#makeDirectory(this.#splitIntoBlocks(mergePostings(first, added)), 0)
    this.#raise(directory, first.weights)
    this.#raise(directory, added.weights)
    return directory
  }

  /**
   * Frees a list with one posting, which running searches may read, and returns the posting. Returns undefined if it has more postings or
   * none.
   */
  takeSingle(directory: Directory): SinglePosting | undefined {
    if (directory === 0 || this.blocks(directory) > 1) return undefined
    const block = this.#blockAt(directory, 0)
    const { ordinals, weights } = this.postings(block)
    if (ordinals.length > 1) return undefined
    const single = { ordinal: elementAt(ordinals, 0), weight: elementAt(weights, 0) }
    this.#retireBlock(block)
    this.#retireDirectory(directory)
    return single
  }

  /** Adds new postings, ascending. Returns the address of the directory, which may have changed. */
  add(directory: Directory, added: Postings): Directory {
    if (directory === 0) return this.#make(added)
    this.#raise(directory, added.weights)
    const last = this.#lastOf(this.#blockAt(directory, this.blocks(directory) - 1))
    if (elementAt(added.ordinals, 0) > last) return this.#append(directory, added)
    return this.#rewrite(directory, added.ordinals, (block, from, to) =>
      mergePostings(this.postings(block), slice(added, from, to)),
    )
  }

  /** Removes existing postings, ascending. Returns 0 if none is left. */
  remove(directory: Directory, ordinals: Uint32Array): Directory {
    return this.#rewrite(directory, ordinals, (block, from, to) => {
      const gone = new Set(ordinals.subarray(from, to))
      const all = this.postings(block)
      const kept = [...all.ordinals.keys()].filter((i) => !gone.has(elementAt(all.ordinals, i)))
      return {
        ordinals: Uint32Array.from(kept, (i) => elementAt(all.ordinals, i)),
        weights: Float32Array.from(kept, (i) => elementAt(all.weights, i)),
      }
    })
  }

  blocks(directory: Directory): number {
    return elementAt(this.#in.u32, directory / 4)
  }
  /** Number of live rows as of the newest event. */
  rows(directory: Directory): number {
    return newestRows(this.#in.u32, rowCountsOf(directory))
  }
  /** Begins the counts of a new list. `version` is that of the last change. */
  startRows(directory: Directory, version: number, rows: number): void {
    startRows(this.#in.u32, rowCountsOf(directory), version, rows)
  }
  /** The number of live rows from a version on, which is that of the event being applied. */
  setRows(directory: Directory, version: number, rows: number): void {
    storeRows(this.#in.u32, rowCountsOf(directory), version, rows)
  }
  /** Bound of the list's weights: the largest magnitude, or a packed bound of counts. */
  magnitude(directory: Directory): number {
    return elementAt(this.#in.f32, directory / 4 + 2)
  }
  /** The current addresses of its blocks. */
  blocksOf(directory: Directory): Uint32Array {
    const from = (directory + directoryHeadBytes) / 4
    return this.#in.u32.slice(from, from + this.blocks(directory))
  }
  /** Views of the postings of a block. */
  postings(block: number): Postings {
    const { u32, f32 } = this.#in
    const count = elementAt(u32, block / 4)
    const from = (block + headBytes) / 4
    const weights = from + elementAt(u32, block / 4 + 1)
    return { ordinals: u32.subarray(from, from + count), weights: f32.subarray(weights, weights + count) }
  }

  /** Creates a list from stored blocks. */
  restore(blocks: readonly Postings[]): Directory {
    const addresses = blocks.map((postings) => this.#makeBlock(postings, capacityFor(postings.ordinals.length)))
    const directory = this.#makeDirectory(addresses, 0)
    for (const { weights } of blocks) this.#raise(directory, weights)
    return directory
  }

  #make(added: Postings): Directory {
    const first = Math.min(added.ordinals.length, blockPostingsMax)
    const block = this.#makeBlock(slice(added, 0, first), capacityFor(first))
    const directory = this.#makeDirectory([block], 0)
    this.#raise(directory, added.weights)
    return first === added.ordinals.length
      ? directory
      : this.#append(directory, slice(added, first, added.ordinals.length))
  }

  #append(directory: Directory, added: Postings): Directory {
    const place = this.blocks(directory) - 1
    let block = this.#blockAt(directory, place)
    const count = this.#countOf(block)
    const taken = Math.min(blockPostingsMax - count, added.ordinals.length)
    if (count + taken > this.#capacityOf(block)) {
      const wider = this.#makeBlock(this.postings(block), capacityFor(count + taken))
      this.#replaceBlock(directory, place, wider)
      block = wider
    }
    if (taken > 0) this.#fill(block, slice(added, 0, taken))
    let list = directory
    for (let from = taken; from < added.ordinals.length; from += blockPostingsMax) {
      const postings = slice(added, from, Math.min(added.ordinals.length, from + blockPostingsMax))
      list = this.#pushBlock(list, this.#makeBlock(postings, capacityFor(postings.ordinals.length)))
    }
    return list
  }

  /** Appends to a block; readers see the postings when the count is stored. */
  #fill(block: number, { ordinals, weights }: Postings): void {
    const { u32, f32 } = this.#in
    const count = this.#countOf(block)
    const from = (block + headBytes) / 4 + count
    u32.set(ordinals, from)
    f32.set(weights, from + this.#capacityOf(block))
    u32[block / 4 + 2] = elementAt(ordinals, ordinals.length - 1)
    f32[block / 4 + 3] = this.#bounds.ofBlock(weights, this.#largestOf(block))
    Atomics.store(u32, block / 4, count + ordinals.length)
  }

  /** Replaces each block that ordinals fall into by the blocks that `change` returns for it and its share of the ordinals. */
  #rewrite(
    directory: Directory,
    ordinals: Uint32Array,
    change: (block: number, from: number, to: number) => Postings,
  ): Directory {
    const changes: { readonly place: number; readonly blocks: readonly number[] }[] = []
    const lastPlace = this.blocks(directory) - 1
    for (let from = 0; from < ordinals.length; ) {
      const place = Math.min(lastPlace, this.#placeOf(directory, elementAt(ordinals, from)))
      const block = this.#blockAt(directory, place)
      let to = from + 1
      while (to < ordinals.length && (place === lastPlace || elementAt(ordinals, to) <= this.#lastOf(block))) to++
      changes.push({ place, blocks: this.#splitIntoBlocks(change(block, from, to)) })
      from = to
    }
    if (changes.every(({ blocks }) => blocks.length === 1)) {
      for (const { place, blocks } of changes) this.#replaceBlock(directory, place, elementAt(blocks, 0))
      return directory
    }
    return this.#replaceDirectory(directory, changes)
  }

  #replaceDirectory(
    directory: Directory,
    changes: readonly { readonly place: number; readonly blocks: readonly number[] }[],
  ): Directory {
    const addresses: number[] = []
    let next = 0
    for (const { place, blocks } of changes) {
      for (; next < place; next++) addresses.push(this.#blockAt(directory, next))
      addresses.push(...blocks)
      this.#retireBlock(this.#blockAt(directory, place))
      next = place + 1
    }
    for (; next < this.blocks(directory); next++) addresses.push(this.#blockAt(directory, next))
    const made = addresses.length === 0 ? 0 : this.#copyDirectory(directory, addresses)
    this.#retireDirectory(directory)
    return made
  }

  #splitIntoBlocks(postings: Postings): number[] {
    const n = postings.ordinals.length
    if (n === 0) return []
    if (n <= blockPostingsMax) return [this.#makeBlock(postings, capacityFor(n))]
    const parts = Math.ceil(n / blockPostingsAim)
    return Array.from({ length: parts }, (_, i) => {
      const [from, to] = [Math.floor((i * n) / parts), Math.floor(((i + 1) * n) / parts)]
      return this.#makeBlock(slice(postings, from, to), capacityFor(to - from))
    })
  }

  #makeBlock({ ordinals, weights }: Postings, capacity: number): number {
    const block = this.#in.allocate(blockBytes(capacity))
    // Read after allocating, which may have replaced the views.
    const { u32, f32 } = this.#in
    u32[block / 4] = ordinals.length
    u32[block / 4 + 1] = capacity
    u32[block / 4 + 2] = elementAt(ordinals, ordinals.length - 1)
    f32[block / 4 + 3] = this.#bounds.ofBlock(weights, this.#bounds.none)
    u32.set(ordinals, (block + headBytes) / 4)
    f32.set(weights, (block + headBytes) / 4 + capacity)
    return block
  }

  #makeDirectory(blocks: readonly number[], magnitude: number): Directory {
    const capacity = powerOfTwo(blocks.length)
    const directory = this.#in.allocate(directoryBytes(capacity))
    const { u32, f32 } = this.#in
    u32[directory / 4] = blocks.length
    u32[directory / 4 + 1] = capacity
    f32[directory / 4 + 2] = magnitude
    startRows(u32, rowCountsOf(directory), 0, 0)
    u32.set(blocks, (directory + directoryHeadBytes) / 4)
    return directory
  }

  /** A directory like another one, of other blocks. */
  #copyDirectory(directory: Directory, blocks: readonly number[]): Directory {
    const made = this.#makeDirectory(blocks, this.magnitude(directory))
    copyRows(this.#in.u32, rowCountsOf(directory), rowCountsOf(made))
    return made
  }

  #pushBlock(directory: Directory, block: number): Directory {
    const { u32 } = this.#in
    const count = this.blocks(directory)
    if (count === elementAt(u32, directory / 4 + 1)) {
      const from = (directory + directoryHeadBytes) / 4
      const made = this.#copyDirectory(directory, [...u32.subarray(from, from + count), block])
      this.#retireDirectory(directory)
      return made
    }
    Atomics.store(u32, (directory + directoryHeadBytes) / 4 + count, block)
    Atomics.store(u32, directory / 4, count + 1)
    return directory
  }

  #replaceBlock(directory: Directory, place: number, block: number): void {
    const old = this.#blockAt(directory, place)
    Atomics.store(this.#in.u32, (directory + directoryHeadBytes) / 4 + place, block)
    this.#retireBlock(old)
  }

  #retireBlock(block: number): void {
    this.#in.retire(block, blockBytes(this.#capacityOf(block)))
  }
  #retireDirectory(directory: Directory): void {
    this.#in.retire(directory, directoryBytes(elementAt(this.#in.u32, directory / 4 + 1)))
  }

  #raise(directory: Directory, weights: Float32Array): void {
    this.#in.f32[directory / 4 + 2] = this.#bounds.ofList(weights, this.magnitude(directory))
  }

  /** The first block that does not end before the ordinal. */
  #placeOf(directory: Directory, ordinal: number): number {
    let below = 0
    let above = this.blocks(directory)
    while (below < above) {
      const middle = (below + above) >>> 1
      if (this.#lastOf(this.#blockAt(directory, middle)) < ordinal) below = middle + 1
      else above = middle
    }
    return below
  }

  #blockAt(directory: Directory, place: number): number {
    assert(place < this.blocks(directory), 'a block is in its directory')
    return elementAt(this.#in.u32, (directory + directoryHeadBytes) / 4 + place)
  }
  #countOf(block: number): number {
    return elementAt(this.#in.u32, block / 4)
  }
  #capacityOf(block: number): number {
    return elementAt(this.#in.u32, block / 4 + 1)
  }
  #lastOf(block: number): number {
    return elementAt(this.#in.u32, block / 4 + 2)
  }
  #largestOf(block: number): number {
    return elementAt(this.#in.f32, block / 4 + 3)
  }
}

/** Bytes of the list that the second posting of a term creates; the first one takes none. */
export const postingBytesFirst = blockBytes(2) + directoryBytes(1)
/** Bytes of a block that is written again for one posting. */
export const postingBytesRewritten = blockBytes(blockPostingsMax) + directoryBytes(2)
/** Bytes that a posting usually takes. */
export const postingBytesUsual = 24

function blockBytes(capacity: number): number {
  return headBytes + Math.ceil((capacity * 8) / 16) * 16
}

function directoryBytes(capacity: number): number {
  return Math.ceil((directoryHeadBytes + capacity * 4) / 16) * 16
}

/** Position of the row counts of a list, in words. */
export function rowCountsOf(directory: Directory): number {
  return directory / 4 + rowCountsWord
}

function capacityFor(count: number): number {
  return Math.min(blockPostingsMax, powerOfTwo(count))
}

function powerOfTwo(n: number): number {
  return 2 ** Math.ceil(Math.log2(n))
}

function joined(a: Postings, b: Postings): Postings {
  const ordinals = new Uint32Array(a.ordinals.length + b.ordinals.length)
  const weights = new Float32Array(ordinals.length)
  ordinals.set(a.ordinals)
  ordinals.set(b.ordinals, a.ordinals.length)
  weights.set(a.weights)
  weights.set(b.weights, a.weights.length)
  return { ordinals, weights }
}

function slice({ ordinals, weights }: Postings, from: number, to: number): Postings {
  return { ordinals: ordinals.subarray(from, to), weights: weights.subarray(from, to) }
}

/** Merges two ascending arrays without common values. */
function mergePostings(a: Postings, b: Postings): Postings {
  const n = a.ordinals.length + b.ordinals.length
  const ordinals = new Uint32Array(n)
  const weights = new Float32Array(n)
  for (let i = 0, j = 0; i + j < n; ) {
    const left =
      j === b.ordinals.length || (i < a.ordinals.length && elementAt(a.ordinals, i) < elementAt(b.ordinals, j))
    const from = left ? a : b
    const index = left ? i : j
    ordinals[i + j] = elementAt(from.ordinals, index)
    weights[i + j] = elementAt(from.weights, index)
    if (left) i++
    else j++
  }
  return { ordinals, weights }
}
