// A set of ordinals, one bit each, that counts its members. A full set grows into a new array of words.
import { EngineError } from '../errors.ts'
import { sharedBytes } from './chunks.ts'
import { chain, numbersPart, type Section, type SectionReader } from './sections.ts'

const ordinalsMax = 2 ** 32

/** Implements OrdinalBitmap for the vector fields. */
export class Bitmap {
  #words: Uint32Array<SharedArrayBuffer>
  #count = 0

  /** Has capacity for ordinals below `length`. */
  constructor(length = 0) {
    this.#words = wordsFor(length)
  }

  static from(ordinals: Iterable<number>): Bitmap {
    const bitmap = new Bitmap()
    for (const ordinal of ordinals) bitmap.set(ordinal)
    return bitmap
  }

  /** A set over words of another thread, which must not change. */
  static over(words: Uint32Array<SharedArrayBuffer>, count: number): Bitmap {
    const bitmap = new Bitmap()
    bitmap.#words = words
    bitmap.#count = count
    return bitmap
  }

  /** Shared with workers. Growth replaces the array. */
  get words(): Uint32Array<SharedArrayBuffer> {
    return this.#words
  }

  get count(): number {
    return this.#count
  }

  has(ordinal: number): boolean {
    const word = this.#words[ordinal >>> 5]
    return word !== undefined && ((word >>> (ordinal & 31)) & 1) === 1
  }

  /** Returns true when the ordinal was not in the set. */
  set(ordinal: number): boolean {
    if (ordinal >>> 5 >= this.#words.length) this.#grow(ordinal + 1)
    const word = this.#words[ordinal >>> 5]!
    const bit = 1 << (ordinal & 31)
    if ((word & bit) !== 0) return false
    this.#words[ordinal >>> 5] = word | bit
    this.#count++
    return true
  }

  /** Returns true when the ordinal was in the set. */
  clear(ordinal: number): boolean {
    if (!this.has(ordinal)) return false
    this.#words[ordinal >>> 5]! &= ~(1 << (ordinal & 31))
    this.#count--
    return true
  }

  /** Ensures capacity for ordinals below `length`. Throws EngineError memory_exhausted. */
  ensure(length: number): void {
    if (length > this.#words.length * 32) this.#grow(length)
  }

  /** Intersects with `other`, in place. */
  and(other: Bitmap): this {
    const words = this.#words
    const theirs = other.#words
    const both = Math.min(words.length, theirs.length)
    for (let index = 0; index < both; index++) words[index]! &= theirs[index]!
    words.fill(0, both)
    return this.recount()
  }

  /** Unites with `other`, in place. */
  or(other: Bitmap): this {
    this.ensure(other.#words.length * 32)
    const words = this.#words
    const theirs = other.#words
    for (let index = 0; index < theirs.length; index++) words[index]! |= theirs[index]!
    return this.recount()
  }

  /** Subtracts `other`, in place. */
  andNot(other: Bitmap): this {
    const words = this.#words
    const theirs = other.#words
    const both = Math.min(words.length, theirs.length)
    for (let index = 0; index < both; index++) words[index]! &= ~theirs[index]!
    return this.recount()
  }

  /** Replaces the set with its complement among the ordinals below `length`. */
  not(length: number): this {
    this.ensure(length)
    const words = this.#words
    const whole = length >>> 5
    for (let index = 0; index < whole; index++) words[index] = ~words[index]!
    if (whole < words.length) {
      words[whole] = ~words[whole]! & ((1 << (length & 31)) - 1)
      words.fill(0, whole + 1)
    }
    return this.recount()
  }

  clone(): Bitmap {
    const copy = new Bitmap(this.#words.length * 32)
    copy.#words.set(this.#words)
    copy.#count = this.#count
    return copy
  }

  /** In ascending order. */
  forEach(take: (ordinal: number) => void): void {
    const words = this.#words
    for (let index = 0; index < words.length; index++) {
      for (let word = words[index]!; word !== 0; word &= word - 1) take(index * 32 + 31 - Math.clz32(word & -word))
    }
  }

  /** In ascending order. */
  toOrdinals(): Uint32Array {
    const ordinals = new Uint32Array(this.#count)
    const words = this.#words
    let next = 0
    for (let index = 0; index < words.length; index++) {
      for (let word = words[index]!; word !== 0; word &= word - 1)
        ordinals[next++] = index * 32 + 31 - Math.clz32(word & -word)
    }
    return ordinals
  }

  bytes(): number {
    return this.#words.byteLength
  }

  /** Recounts the members after a caller wrote to `words`. */
  recount(): this {
    const words = this.#words
    let count = 0
    for (let index = 0; index < words.length; index++) count += bitsIn(words[index]!)
    this.#count = count
    return this
  }

  /** The current set; the words are copied immediately. */
  dump(name: string): Section {
    const used = this.#words.findLastIndex((word) => word !== 0) + 1
    const head = numbersPart([this.#count, used])
    const words = new Uint8Array(this.#words.slice(0, used).buffer)
    return { name, length: head.length + words.length, parts: chain(head, [words]), release: releaseNothing }
  }

  static async load(reader: SectionReader, name: string): Promise<Bitmap> {
    const body = await reader.open(name)
    const [count, used] = await body.takeNumbers(2)
    if (used === undefined || body.remaining !== used * 4 || used > ordinalsMax / 32) {
      throw body.damaged(`${used} words do not make ${body.remaining} bytes`)
    }
    const bytes = await body.take(used * 4)
    await body.end()
    const bitmap = new Bitmap(used * 32)
    bitmap.#words.set(new Uint32Array(bytes.buffer))
    bitmap.recount()
    if (bitmap.count !== count) throw body.damaged(`it has ${bitmap.count} members, not ${count}`)
    return bitmap
  }

  #grow(length: number): void {
    if (length > ordinalsMax)
      throw new EngineError('limit_exceeded', `Ordinals end at ${ordinalsMax}.`, { value: length })
    const words = wordsFor(Math.min(ordinalsMax, Math.max(length, this.#words.length * 64)))
    words.set(this.#words)
    this.#words = words
  }
}

export function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

function wordsFor(length: number): Uint32Array<SharedArrayBuffer> {
  return new Uint32Array(sharedBytes(Math.ceil(length / 32) * 4).buffer)
}

function releaseNothing(): void {
  // The words were copied, so nothing is retained.
}
