// The indices of a sparse field, with the places of their postings. Each has a number, so the index space may have 2^32 indices. The number is
// reused after the last posting is gone. Readers in other threads look up indices meanwhile (term-view.ts): the words of a term are in one
// chunk, and a lookup that fails is repeated if entries of the hash table moved.
import { Chunks, type SharedBytes, updateViews } from '../../memory/chunks.ts'
import { HashPages } from '../../memory/hash-pages.ts'
import { OwnedLookup, type SharedLookup } from '../../memory/shared-lookup.ts'
import { elementAt } from '../element-at.ts'
import type { Directory, SinglePosting } from './lists.ts'

/**
 * Words of a term. Most terms of a large vocabulary have one posting, which is here instead of in a list.
 *
 *   place of a list     address of the directory, a multiple of 16
 *   place of a posting  ordinal << 1 | 1, and its weight in the next word
 *   place 0             no posting
 */
export const termWord = { index: 0, place: 1, weight: 2 } as const
const wordsOfTerm = 4
const chunkShift = 16
const chunkMask = 2 ** chunkShift - 1
const termsFirst = 64
const singleBit = 1

const weight = new Float32Array(1)
const weightBits = new Uint32Array(weight.buffer)

/** The chunk of a term, and the position of its first word. */
export function chunkOfTerm(term: number): number {
  return term >>> chunkShift
}
export function wordOfTerm(term: number): number {
  return (term & chunkMask) * wordsOfTerm
}

/** The posting at a place; undefined if it is the place of a list, or none. */
export function singleAt(place: number, bits: number): SinglePosting | undefined {
  if ((place & singleBit) === 0) return undefined
  weightBits[0] = bits
  return { ordinal: place >>> 1, weight: elementAt(weight, 0) }
}

export class Vocabulary {
  readonly #terms = new Chunks({
    chunkBytes: (wordsOfTerm * 4) << chunkShift,
    firstBytes: termsFirst * wordsOfTerm * 4,
  })
  readonly #words: Uint32Array[] = []
  readonly #free: number[] = []
  readonly #lookup = new OwnedLookup(() => this.#pages.shape)
  #wanted = 0
  #end = 0
  readonly #pages: HashPages = new HashPages((term) => this.#get(term, termWord.index) === this.#wanted, this.#lookup)

  /** Number of indices that have postings, including those of removed rows. */
  get count(): number {
    return this.#end - this.#free.length
  }

  /** The number of an index, or -1. */
  find(index: number): number {
    this.#wanted = index
    const slot = this.#pages.find(hashOfIndex(index))
    return slot < 0 ? -1 : this.#pages.ordinalAt(slot)
  }

  findOrAdd(index: number): number {
    const known = this.find(index)
    if (known >= 0) return known
    const term = this.#free.pop() ?? this.#end++
    this.#ensure(term)
    this.#set(term, termWord.index, index)
    this.#set(term, termWord.place, 0)
    this.#pages.add(hashOfIndex(index), term)
    return term
  }

  remove(term: number): void {
    this.#wanted = this.#get(term, termWord.index)
    this.#pages.remove(this.#pages.find(hashOfIndex(this.#wanted)))
    this.#set(term, termWord.place, 0)
    this.#free.push(term)
  }

  /** Whether the term has a posting. */
  hasPostings(term: number): boolean {
    return this.#get(term, termWord.place) !== 0
  }

  /** 0 if the term has no list: no posting, or a single one. */
  directory(term: number): Directory {
    const place = this.#get(term, termWord.place)
    return (place & singleBit) === 0 ? place : 0
  }

  setDirectory(term: number, directory: Directory): void {
    this.#set(term, termWord.place, directory)
  }

  /** The posting of a term with one posting and no list. */
  single(term: number): SinglePosting | undefined {
    return singleAt(this.#get(term, termWord.place), this.#get(term, termWord.weight))
  }

  /** The weight is stored first: readers load the place again after it. */
  setSingle(term: number, { ordinal, weight: value }: SinglePosting): void {
    weight[0] = value
    this.#set(term, termWord.weight, elementAt(weightBits, 0))
    this.#set(term, termWord.place, ((ordinal << 1) | singleBit) >>> 0)
  }

  /** All numbers assigned so far are below this. */
  get end(): number {
    return this.#end
  }

  /** The indices that have a list, for the numbers from `from` up to `to`. */
  indicesOf(from: number, to: number): Uint32Array {
    const found: number[] = []
    for (let term = from; term < Math.min(to, this.#end); term++)
      if (this.hasPostings(term)) found.push(this.indexOf(term))
    return Uint32Array.from(found)
  }

  has(index: number): boolean {
    const term = this.find(index)
    return term >= 0 && this.hasPostings(term)
  }

  indexOf(term: number): number {
    return this.#get(term, termWord.index)
  }

  bytes(): number {
    return this.#pages.bytes() + this.#terms.bytes
  }

  /** The memory of the terms, and that of the hash table. */
  get chunks(): { readonly terms: readonly SharedBytes[]; readonly termPages: readonly SharedBytes[] } {
    return { terms: this.#terms.list, termPages: this.#pages.chunks }
  }

  /** The same value until it changes. */
  get shared(): SharedLookup {
    return this.#lookup.shared
  }

  #get(term: number, word: number): number {
    const words = this.#words[chunkOfTerm(term)]
    return words === undefined ? 0 : (words[wordOfTerm(term) + word] ?? 0)
  }

  #set(term: number, word: number, value: number): void {
    Atomics.store(elementAt(this.#words, chunkOfTerm(term)), wordOfTerm(term) + word, value)
  }

  #ensure(term: number): void {
    const bytes = (term + 1) * wordsOfTerm * 4
    if (bytes <= this.#terms.bytes) return
    try {
      this.#terms.ensure(bytes)
    } finally {
      updateViews(this.#words, this.#terms.list, (chunk) => new Uint32Array(chunk.buffer))
    }
  }
}

/** Indices often occur in runs, which must not affect the first bits of the hash. */
export function hashOfIndex(index: number): number {
  let h = Math.imul(index ^ (index >>> 16), 0x21f0aaad)
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
  return (h ^ (h >>> 15)) >>> 0
}
