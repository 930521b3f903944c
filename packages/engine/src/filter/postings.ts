// Sets of ordinals that share their upper bits (a block of 65,536). Each set has one 32-bit reference: the ordinal
// itself when the set has one member, otherwise the address of a container.
//
//   reference:  >= 0: the ordinal;  < 0: address / 8 of a container in the lower 31 bits
//   container:  | u32 bytes (the heap's) | u32 block | u32 count, top bit set for bits |
//               then | u16 ordinal mod 65,536, ascending, with room for more |   up to 4,096 of them
//               or   | 65,536 bits |                                             above
import { assert } from '../errors.ts'
import { bitsIn } from '../memory/bitmap.ts'
import type { ByteHeap } from '../memory/byte-heap.ts'

export type Reference = number

/** The reference of an empty set, after the last ordinal was removed. */
export const noReference: Reference = -(2 ** 31)

const addressMask = 0x7fffffff
/** Bytes of the heap of lists and pages: references have 31 bits. */
export const postingsBytesMax = 2 ** 34
const chunkShift = 17
const chunkMask = (1 << chunkShift) - 1
const listMax = 4_096
/**
 * A bit set becomes a list below this size, well under listMax so that a single added or removed ordinal changes
 * little.
 */
const bitsMin = 2_048
const bitsFlag = -(2 ** 31)
const countMask = 0x1ffff
const bitsWords = 65_536 / 32
const headBytes = 8

export class Postings {
  readonly heap: ByteHeap

  constructor(heap: ByteHeap) {
    this.heap = heap
  }

  block(reference: Reference): number {
    if (reference >= 0) return reference >>> 16
    return this.heap.ints[chunkOf(reference)]![headOf(reference)]!
  }

  count(reference: Reference): number {
    if (reference >= 0) return 1
    return this.heap.ints[chunkOf(reference)]![headOf(reference) + 1]! & countMask
  }

  has(reference: Reference, ordinal: number): boolean {
    if (reference >= 0) return reference === ordinal
    const ints = this.heap.ints[chunkOf(reference)]!
    const head = headOf(reference)
    const low = ordinal & 0xffff
    if (ints[head + 1]! < 0) return ((ints[head + 2 + (low >>> 5)]! >>> (low & 31)) & 1) === 1
    const place = this.#place(reference, low)
    return place < ints[head + 1]! && this.heap.halves[chunkOf(reference)]![(head + 2) * 2 + place] === low
  }

  /**
   * Returns the reference after adding an ordinal of its block that was not in the set. The old reference is no longer
   * valid.
   */
  add(reference: Reference, ordinal: number): Reference {
    if (reference >= 0) return this.#pair(Math.min(reference, ordinal), Math.max(reference, ordinal))
    const count = this.count(reference)
    if (this.#isBits(reference)) {
      this.#flip(reference, ordinal & 0xffff)
      this.#setCount(reference, (count + 1) | bitsFlag)
      return reference
    }
    if (count === listMax) return this.add(this.#toBits(reference), ordinal)
    const extended = count < this.#capacity(reference) ? reference : this.#move(reference, capacityFor(count))
    this.heap.beforeWrite(chunkOf(extended), headOf(extended))
    const halves = this.heap.halves[chunkOf(extended)]!
    const start = (headOf(extended) + 2) * 2
    const place = start + this.#place(extended, ordinal & 0xffff)
    halves.copyWithin(place + 1, place, start + count)
    halves[place] = ordinal & 0xffff
    this.#setCount(extended, count + 1)
    return extended
  }

  /** Returns the reference after removing a member of the set. */
  remove(reference: Reference, ordinal: number): Reference {
    if (reference >= 0) return noReference
    const count = this.count(reference) - 1
    if (this.#isBits(reference)) {
      this.#flip(reference, ordinal & 0xffff)
      this.#setCount(reference, count | bitsFlag)
      return count < bitsMin ? this.#toList(reference) : reference
    }
    this.heap.beforeWrite(chunkOf(reference), headOf(reference))
    const halves = this.heap.halves[chunkOf(reference)]!
    const start = (headOf(reference) + 2) * 2
    const place = start + this.#place(reference, ordinal & 0xffff)
    halves.copyWithin(place, place + 1, start + count + 1)
    halves[start + count] = 0
    this.#setCount(reference, count)
    if (count === 1) return this.#alone(reference)
    return capacityFor(count) < this.#capacity(reference) / 2 ? this.#move(reference, capacityFor(count)) : reference
  }

  /** Sets the bits of the members; returns how many of them were set one by one. */
  collect(reference: Reference, into: Int32Array): number {
    if (reference >= 0) {
      into[reference >>> 5]! |= 1 << (reference & 31)
      return 1
    }
    const ints = this.heap.ints[chunkOf(reference)]!
    const head = headOf(reference)
    const base = ints[head]! * bitsWords
    const count = ints[head + 1]!
    if (count < 0) {
      for (let word = 0; word < bitsWords; word++) into[base + word]! |= ints[head + 2 + word]!
      return 0
    }
    const halves = this.heap.halves[chunkOf(reference)]!
    const start = (head + 2) * 2
    for (let index = start; index < start + count; index++) {
      const low = halves[index]!
      into[base + (low >>> 5)]! |= 1 << (low & 31)
    }
    return count
  }

  /** Counts the members with a bit in `within`; all of them without `within`. */
  countIn(reference: Reference, within: Uint32Array | undefined): number {
    if (within === undefined) return this.count(reference)
    if (reference >= 0) return ((within[reference >>> 5] ?? 0) >>> (reference & 31)) & 1
    const ints = this.heap.ints[chunkOf(reference)]!
    const head = headOf(reference)
    const base = ints[head]! * bitsWords
    let counted = 0
    if (this.#isBits(reference)) {
      for (let word = 0; word < bitsWords; word++)
        counted += bitsIn(ints[head + 2 + word]! & (within[base + word] ?? 0))
      return counted
    }
    const halves = this.heap.halves[chunkOf(reference)]!
    const start = (head + 2) * 2
    for (let index = start; index < start + ints[head + 1]!; index++) {
      const low = halves[index]!
      counted += ((within[base + (low >>> 5)] ?? 0) >>> (low & 31)) & 1
    }
    return counted
  }

  /** Whether a loaded reference names a valid container of ordinals below `ordinalEnd`. */
  isSound(reference: Reference, ordinalEnd: number): boolean {
    if (reference >= 0) return reference < ordinalEnd
    if (!this.heap.mayHold((reference & addressMask) * 8)) return false
    const bytes = this.heap.words[chunkOf(reference)]![headOf(reference) - 1]!
    if (bytes < headBytes) return false
    const block = this.block(reference)
    if (!(block >= 0 && block * 65_536 < ordinalEnd)) return false
    return this.#isBits(reference)
      ? bytes === headBytes + bitsWords * 4
      : this.count(reference) <= this.#capacity(reference)
  }

  #isBits(reference: Reference): boolean {
    return this.heap.ints[chunkOf(reference)]![headOf(reference) + 1]! < 0
  }

  #capacity(reference: Reference): number {
    return (this.heap.words[chunkOf(reference)]![headOf(reference) - 1]! - headBytes) / 2
  }

  #setCount(reference: Reference, count: number): void {
    this.heap.beforeWrite(chunkOf(reference), headOf(reference))
    this.heap.ints[chunkOf(reference)]![headOf(reference) + 1] = count
  }

  #flip(reference: Reference, low: number): void {
    this.heap.beforeWrite(chunkOf(reference), headOf(reference))
    this.heap.ints[chunkOf(reference)]![headOf(reference) + 2 + (low >>> 5)]! ^= 1 << (low & 31)
  }

  /** The index of `low` in a list, or its insertion point. */
  #place(reference: Reference, low: number): number {
    const halves = this.heap.halves[chunkOf(reference)]!
    const head = headOf(reference)
    const start = (head + 2) * 2
    const count = this.heap.ints[chunkOf(reference)]![head + 1]!
    // Ordinals nearly always arrive in ascending order.
    if (halves[start + count - 1]! < low) return count
    let below = 0
    let above = count
    while (below < above) {
      const middle = (below + above) >>> 1
      if (halves[start + middle]! < low) below = middle + 1
      else above = middle
    }
    return below
  }

  #pair(first: number, second: number): Reference {
    const reference = this.#allocate(first >>> 16, capacityFor(1) * 2)
    const start = (headOf(reference) + 2) * 2
    const halves = this.heap.halves[chunkOf(reference)]!
    halves[start] = first & 0xffff
    halves[start + 1] = second & 0xffff
    this.#setCount(reference, 2)
    return reference
  }

  #move(from: Reference, capacity: number): Reference {
    const count = this.count(from)
    const to = this.#allocate(this.block(from), capacity * 2)
    const start = (headOf(from) + 2) * 2
    const list = this.heap.halves[chunkOf(from)]!.subarray(start, start + count)
    this.heap.halves[chunkOf(to)]!.set(list, (headOf(to) + 2) * 2)
    this.#setCount(to, count)
    this.#free(from)
    return to
  }

  #toBits(from: Reference): Reference {
    const to = this.#allocate(this.block(from), bitsWords * 4)
    const count = this.count(from)
    const start = (headOf(from) + 2) * 2
    for (let index = 0; index < count; index++) this.#flip(to, this.heap.halves[chunkOf(from)]![start + index]!)
    this.#setCount(to, count | bitsFlag)
    this.#free(from)
    return to
  }

  #toList(from: Reference): Reference {
    const count = this.count(from)
    const to = this.#allocate(this.block(from), capacityFor(count) * 2)
    const ints = this.heap.ints[chunkOf(from)]!
    const halves = this.heap.halves[chunkOf(to)]!
    let next = (headOf(to) + 2) * 2
    for (let index = 0; index < bitsWords; index++) {
      for (let word = ints[headOf(from) + 2 + index]!; word !== 0; word &= word - 1) {
        halves[next++] = index * 32 + 31 - Math.clz32(word & -word)
      }
    }
    this.#setCount(to, count)
    this.#free(from)
    return to
  }

  #alone(from: Reference): Reference {
    const ordinal = this.block(from) * 65_536 + this.heap.halves[chunkOf(from)]![(headOf(from) + 2) * 2]!
    this.#free(from)
    return ordinal
  }

  #allocate(block: number, bytes: number): Reference {
    const address = this.heap.allocate(headBytes + bytes)
    assert(address < postingsBytesMax, 'filter postings take less than 16 GiB')
    const reference = (address / 8) | bitsFlag
    this.heap.ints[chunkOf(reference)]![headOf(reference)] = block
    return reference
  }

  #free(reference: Reference): void {
    this.heap.free((reference & addressMask) * 8)
  }
}

function chunkOf(reference: Reference): number {
  return (reference & addressMask) >>> chunkShift
}

/** Index of the block number among the 32-bit numbers of the chunk. */
function headOf(reference: Reference): number {
  return (reference & chunkMask) * 2 + 1
}

/** Capacity of a list of `count` ordinals with spare space, chosen so that no byte of its memory block is unused. */
function capacityFor(count: number): number {
  const wanted = count < 32 ? count * 2 : count * 1.5
  return Math.min(listMax + 2, Math.ceil((wanted - 2) / 4) * 4 + 2)
}
