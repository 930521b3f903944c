// Byte values at addresses. A block never crosses a chunk; freed blocks are kept in one list for each size. The same
// calls always produce the same addresses and the same bytes.
//
//   value:  | u32 length      | bytes; the rest of the block stays zero |
//   free:   | u32 0xffffffff  | u32 size of block | f64 address of the next free block of that size, 0 at the end |
//
// Addresses are multiples of 8; 0 is the null address.

import { assert, EngineError } from '../errors.ts'
import { Chunks, type SharedBytes, updateViews } from './chunks.ts'
import type { Copies } from './copies.ts'
import type { DumpOptions, Section, SectionReader } from './sections.ts'
import { blockBytes, blockBytesMin, blockWithin, sizeClass, sizeClasses, valueBytesMax } from './size-class.ts'

/** Location of a value in its heap; a multiple of 8, below 2^53. */
export type Address = number

export const heapChunkBytes = 1 << 20
const chunkBytes = heapChunkBytes
const firstBytes = 1 << 9
/** Addresses divided by 8 fit into 32 bits. */
const bytesMaxDefault = 2 ** 35
const freeMark = 0xffffffff

export class ByteHeap {
  readonly #chunks = new Chunks({ chunkBytes, firstBytes })
  readonly #bytesMax: number
  /** Typed views of the memory, chunk by chunk, for callers that store numbers in it. */
  readonly words: Uint32Array[] = []
  readonly ints: Int32Array[] = []
  readonly halves: Uint16Array[] = []
  readonly doubles: Float64Array[] = []
  readonly #texts: Buffer[] = []
  #end = 8
  #dead = 0
  readonly #free = new Float64Array(sizeClasses)

  /** `bytesMax` is a limit of the addresses that the caller stores, at most 2^35. */
  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax
  }

  /** Stores a copy of the bytes. Throws EngineError memory_exhausted unless space was reserved. */
  write(bytes: Uint8Array): Address {
    const address = this.allocate(bytes.length)
    const chunk = Math.floor(address / chunkBytes)
    this.#chunks.list[chunk]!.set(bytes, address - chunk * chunkBytes + 4)
    return address
  }

  /** Allocates a value of zeros that the caller fills in place. */
  allocate(length: number): Address {
    assert(length <= valueBytesMax, `a value of ${length} bytes`)
    const size = blockBytes(length)
    const address = this.#take(size)
    const chunk = Math.floor(address / chunkBytes)
    const offset = address - chunk * chunkBytes
    this.#chunks.beforeWrite(chunk, offset, size)
    this.words[chunk]![offset / 4] = length
    this.#chunks.list[chunk]!.fill(0, offset + 4, offset + size)
    return address
  }

  /** Must be called before the value whose first word is `word` of the chunk changes in place. */
  beforeWrite(chunk: number, word: number): void {
    this.#chunks.beforeWrite(chunk, word * 4, this.words[chunk]![word - 1]!)
  }

  /** Returns the bytes in place, without a copy. Valid until the value is freed. */
  read(address: Address): Uint8Array<SharedArrayBuffer> {
    const chunk = Math.floor(address / chunkBytes)
    const start = address - chunk * chunkBytes
    const memory = this.#chunks.list[chunk]
    assert(memory !== undefined, `address ${address} is in the heap`)
    return new Uint8Array(memory.buffer, start + 4, this.#lengthAt(chunk, start))
  }

  /** The value as UTF-8 text. */
  readText(address: Address): string {
    const chunk = Math.floor(address / chunkBytes)
    const offset = address - chunk * chunkBytes
    const length = this.#lengthAt(chunk, offset)
    return this.#texts[chunk]!.toString('utf8', offset + 4, offset + 4 + length)
  }

  /** Returns a 32-bit number of the value; `offset` counts bytes from its start, a multiple of 4. */
  wordAt(address: Address, offset: number): number {
    const chunk = Math.floor(address / chunkBytes)
    return this.words[chunk]![(address - chunk * chunkBytes + 4 + offset) / 4]!
  }

  /** Returns part of the value as UTF-8 text. */
  readTextAt(address: Address, offset: number, length: number): string {
    const chunk = Math.floor(address / chunkBytes)
    const from = address - chunk * chunkBytes + 4 + offset
    return this.#texts[chunk]!.toString('utf8', from, from + length)
  }

  /** Returns a copy of part of the value, in a buffer of its own or in one of `copies`. */
  copyAt(address: Address, offset: number, length: number, copies?: Copies): Uint8Array {
    const chunk = Math.floor(address / chunkBytes)
    const from = address - chunk * chunkBytes + 4 + offset
    const part = this.#chunks.list[chunk]!.subarray(from, from + length)
    return copies?.copyOf(part) ?? new Uint8Array(part)
  }

  /** Whether the value equals the first `length` bytes of `words`, whose last word is zero padded. */
  holds(address: Address, words: Uint32Array, length: number): boolean {
    const chunk = Math.floor(address / chunkBytes)
    const memory = this.words[chunk]!
    let index = (address - chunk * chunkBytes) / 4
    if (memory[index] !== length) return false
    for (let word = 0; word * 4 < length; word++) if (memory[++index] !== words[word]) return false
    return true
  }

  free(address: Address): void {
    const chunk = Math.floor(address / chunkBytes)
    const offset = address - chunk * chunkBytes
    this.#release(address, blockBytes(this.#lengthAt(chunk, offset)))
  }

  /**
   * Reserves space for `values` more values of `bytes` bytes in total, so that writing them cannot fail. Throws EngineError memory_exhausted, also if
   * their addresses might be too large.
   */
  reserve(values: number, bytes: number): void {
    const most = Math.ceil(bytes * 1.125) + values * 24
    const inChunk = this.#end % chunkBytes
    const end = inChunk + most <= chunkBytes ? this.#end + most : this.#end + Math.ceil(most * 1.125) + chunkBytes
    if (end > this.#bytesMax) {
      const message = `a part of the collection would take ${end} bytes of memory, at most ${this.#bytesMax} can be addressed; use several collections`
      throw new EngineError('memory_exhausted', message, { value: end, limit: this.#bytesMax })
    }
    this.#ensure(end)
  }

  /** The memory of the values. Readers in other threads have the same memory. */
  get chunks(): readonly SharedBytes[] {
    return this.#chunks.list
  }

  /** Bytes allocated from the process. */
  bytes(): number {
    return this.#chunks.bytes
  }

  /** Free bytes that can be reused. */
  deadBytes(): number {
    return this.#dead
  }

  dump(name: string, options: DumpOptions = {}): Section {
    this.#ensure(this.#end)
    return this.#chunks.section(name, [this.#end, this.#dead, ...this.#free], this.#end, options)
  }

  static async load(reader: SectionReader, name: string, bytesMax?: number): Promise<ByteHeap> {
    const body = await reader.open(name)
    const [end, dead, ...free] = await body.takeNumbers(2 + sizeClasses)
    if (end === undefined || end !== body.remaining || end < 8 || end % 8 !== 0) {
      throw body.damaged(`a heap that ends at ${end} has ${body.remaining} bytes`)
    }
    if (dead === undefined || !(dead >= 0 && dead <= end)) throw body.damaged(`${dead} of ${end} bytes are free`)
    if (free.some((address) => !(address % 8 === 0 && address < end))) throw body.damaged('a free list leaves the heap')
    const heap = new ByteHeap(bytesMax)
    await heap.#chunks.load(body, end)
    await body.end()
    heap.#updateViews()
    heap.#end = end
    heap.#dead = dead
    heap.#free.set(free)
    return heap
  }

  /** Whether a value could be at the address; used to check loaded data. */
  mayHold(address: Address): boolean {
    if (!(address % 8 === 0 && address >= 8 && address < this.#end)) return false
    const chunk = Math.floor(address / chunkBytes)
    const offset = address - chunk * chunkBytes
    const length = this.words[chunk]![offset / 4]
    return length !== undefined && length <= valueBytesMax && offset + blockBytes(length) <= chunkBytes
  }

  #lengthAt(chunk: number, offset: number): number {
    const length = this.words[chunk]?.[offset / 4]
    assert(length !== undefined && length !== freeMark, `there is no value at ${chunk * chunkBytes + offset}`)
    return length
  }

  #take(size: number): Address {
    const cls = sizeClass(size)
    const waiting = this.#free[cls]!
    if (waiting !== 0) {
      this.#free[cls] = this.#next(waiting)
      this.#dead -= size
      return waiting
    }
    const left = chunkBytes - (this.#end % chunkBytes)
    if (left < size) this.#freeRest(left)
    const address = this.#end
    this.#ensure(address + size)
    this.#end = address + size
    return address
  }

  /** Turns the rest of the last chunk, too small for the next block, into free blocks. */
  #freeRest(bytes: number): void {
    this.#ensure(this.#end + bytes)
    let left = bytes
    while (left >= blockBytesMin) {
      const size = blockWithin(left)
      this.#release(this.#end, size)
      this.#end += size
      left -= size
    }
    this.#end += left
    this.#dead += left
  }

  #release(address: Address, size: number): void {
    const chunk = Math.floor(address / chunkBytes)
    const offset = address - chunk * chunkBytes
    const cls = sizeClass(size)
    this.#chunks.beforeWrite(chunk, offset, 16)
    const words = this.words[chunk]!
    words[offset / 4] = freeMark
    words[offset / 4 + 1] = size
    new Float64Array(words.buffer, offset + 8, 1)[0] = this.#free[cls]!
    this.#free[cls] = address
    this.#dead += size
  }

  #next(address: Address): Address {
    const chunk = Math.floor(address / chunkBytes)
    return new Float64Array(this.words[chunk]!.buffer, address - chunk * chunkBytes + 8, 1)[0]!
  }

  #ensure(bytes: number): void {
    if (bytes <= this.#chunks.bytes) return
    try {
      this.#chunks.ensure(bytes)
    } finally {
      this.#updateViews()
    }
  }

  #updateViews(): void {
    updateViews(this.words, this.#chunks.list, (chunk) => new Uint32Array(chunk.buffer))
    updateViews(this.ints, this.#chunks.list, (chunk) => new Int32Array(chunk.buffer))
    updateViews(this.halves, this.#chunks.list, (chunk) => new Uint16Array(chunk.buffer))
    updateViews(this.doubles, this.#chunks.list, (chunk) => new Float64Array(chunk.buffer))
    updateViews(this.#texts, this.#chunks.list, (chunk) => Buffer.from(chunk.buffer))
  }
}
