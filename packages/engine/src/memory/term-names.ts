// Finds the numbers of terms in a thread that does not own their table (term-table.ts), while the owner changes it. If an object of the thread's
// version has a term, the term keeps one number all the time. Whether a lookup finds other terms does not matter, because their lists have no
// row that this version sees.
import { filterStringBytesMax } from '../limits.ts'
import { heapChunkBytes } from './byte-heap.ts'
import { PagesView } from './hash-pages.ts'
import { hashWords, TextWords } from './id-hash.ts'
import { LookupWords } from './shared-lookup.ts'
import type { SharedTerms, TermNamesList } from './term-table.ts'

/** The owner changed what was read; it may be read again. */
export const termsMove = Symbol('terms move')

/** How often a lookup is repeated. Entries move for some microseconds at a time. */
const attemptsMax = 4
/** Entries of one chunk of addresses, which are in units of 8 bytes. */
const columnShift = 16
const columnMask = 0xffff
const unitsShift = Math.log2(heapChunkBytes / 8)
const unitsMask = heapChunkBytes / 8 - 1

/** The term of the last lookup. */
const wanted = new TextWords(filterStringBytesMax, 1)

export class TermNames {
  readonly #words: (list: TermNamesList, chunk: number) => Uint32Array | undefined
  readonly #pages: PagesView

  /** `words` are those of a chunk; undefined if it was not announced yet. */
  constructor(words: (list: TermNamesList, chunk: number) => Uint32Array | undefined) {
    this.#words = words
    this.#pages = new PagesView((chunk) => words('namePages', chunk))
  }

  /**
   * The number of a term, or -1: no object of the version has it. `settle` must be called between what was read before and what is read
   * afterwards.
   */
  find(
    { seed, lookup }: SharedTerms,
    { key, term }: { readonly key: number; readonly term: string },
    settle: () => void,
  ): number | typeof termsMove {
    wanted.words[0] = key
    const length = wanted.encode(term)
    if (length < 0) return -1
    const hash = hashWords(wanted.words, length, seed)
    const state = new LookupWords(lookup.words)
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { moves } = state
      const found = this.#pages.find(lookup.shape, hash, (candidate) => this.#hasName(candidate, length))
      settle()
      if (moves % 2 !== 0 || state.moves !== moves) continue
      if (found >= 0) return found
      const isCurrent = found === -1 && state.shapes === lookup.shapes && !lookup.shape.isChained
      return isCurrent ? -1 : termsMove
    }
    return termsMove
  }

  /** Whether the term of a number is the wanted one. */
  #hasName(number: number, length: number): boolean {
    const unit = this.#words('nameAddresses', number >>> columnShift)?.[number & columnMask] ?? 0
    const chunk = unit === 0 ? undefined : this.#words('names', unit >>> unitsShift)
    const at = (unit & unitsMask) * 2
    if (chunk?.[at] !== length) return false
    // The rest of the last word is zero in both.
    for (let i = 0; i < length; i += 4) if (chunk[at + 1 + i / 4] !== wanted.words[i / 4]) return false
    return true
  }
}
