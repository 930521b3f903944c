// The tokens of texts in which phrases were looked for, so that the next phrase does not analyze the same texts again. They are not part of the
// state: they follow from the texts, and all are forgotten when their memory is full.
//
//   token: | 20 bits number of the term | 12 bits position, less that of the token before |
//
// The number 0 is not a term: such a token only adds to the position.

import { memoryLimit } from '../admission/memory-reading.ts'
import { assert } from '../errors.ts'
import { keptTokensBytesMax, textTermsMax } from '../limits.ts'
import type { Analyzer } from './params.ts'

/** The tokens of one text. Valid until another text is analyzed. */
export interface TextTokens {
  readonly list: Uint32Array
  readonly start: number
  readonly end: number
}

const stepBits = 12
const stepMax = 2 ** stepBits - 1
const termsMax = 2 ** (32 - stepBits)
/** Units of UTF-16 of all terms that have numbers. */
const termUnitsMax = 2 ** 23
const chunkTokens = 2 ** 18

export const termOf = (token: number): number => token >>> stepBits
export const stepOf = (token: number): number => token & stepMax

/** Numbers of terms, and the tokens of texts in chunks, each after their number. */
export class TokenMemory {
  readonly #chunksMax: number
  readonly #numbers = new Map<string, number>()
  #units = 0
  readonly #chunks: Uint32Array[] = []
  /** Where the next tokens go. No address is 0. */
  #end = 1
  #isFull = false
  #generation = 1
  #analyzed = 0
  #scratch = new Uint32Array(1_024)

  constructor(bytesMax: number) {
    this.#chunksMax = Math.max(1, Math.floor(bytesMax / (chunkTokens * 4)))
  }

  /** Changes when all addresses and numbers of terms are forgotten. */
  get generation(): number {
    return this.#generation
  }

  /** Number of texts that were analyzed. */
  get analyzed(): number {
    return this.#analyzed
  }

  /** The number of a term in this generation; 0 if no text that was analyzed has it. */
  find(term: string): number {
    return this.#numbers.get(term) ?? 0
  }

  /** May forget what was kept. */
  analyze(analyzer: Analyzer, text: string): TextTokens {
    const isFull = this.#isFull || this.#units > termUnitsMax || this.#numbers.size + textTermsMax >= termsMax
    if (isFull) this.#forget()
    this.#analyzed++
    let last = 0
    let end = 0
    analyzer.forEachToken(text, (term, position) => {
      let step = position - last
      last = position
      for (; step > stepMax; step -= stepMax) this.#put(end++, stepMax)
      this.#put(end++, this.#numberOf(term) * 2 ** stepBits + step)
    })
    return { list: this.#scratch, start: 0, end }
  }

  /** Returns the address of the copy, or 0 if there is no room for one. */
  keep({ list, start, end }: TextTokens): number {
    const size = end - start + 1
    if (size > chunkTokens / 2) return 0
    const left = chunkTokens - (this.#end % chunkTokens)
    const address = size > left ? this.#end + left : this.#end
    const chunk = Math.floor(address / chunkTokens)
    if (chunk === this.#chunksMax) {
      this.#isFull = true
      return 0
    }
    const tokens = this.#chunks[chunk] ?? new Uint32Array(chunkTokens)
    this.#chunks[chunk] = tokens
    const at = address % chunkTokens
    tokens[at] = end - start
    tokens.set(list.subarray(start, end), at + 1)
    this.#end = address + size
    return address
  }

  at(address: number): TextTokens {
    const list = this.#chunks[Math.floor(address / chunkTokens)]
    assert(list !== undefined, 'an address has tokens')
    const start = (address % chunkTokens) + 1
    return { list, start, end: start + (list[start - 1] as number) }
  }

  #numberOf(term: string): number {
    const known = this.#numbers.get(term)
    if (known !== undefined) return known
    const number = this.#numbers.size + 1
    assert(number < termsMax, 'numbers of terms have 20 bits')
    this.#numbers.set(term, number)
    this.#units += term.length
    return number
  }

  #put(at: number, token: number): void {
    if (at === this.#scratch.length) {
      const larger = new Uint32Array(at * 2)
      larger.set(this.#scratch)
      this.#scratch = larger
    }
    this.#scratch[at] = token
  }

  /** Forgets all tokens, and frees their memory. */
  clear(): void {
    this.#forget()
    this.#chunks.length = 0
    this.#scratch = new Uint32Array(1_024)
  }

  #forget(): void {
    this.#numbers.clear()
    this.#units = 0
    this.#end = 1
    this.#isFull = false
    this.#generation++
  }
}

/** All collections of a thread share the memory. Each thread has one, so a process with little memory gives less to each. */
export const tokenMemory = new TokenMemory(Math.min(keptTokensBytesMax, memoryLimit() / 16))

/** The kept tokens of the texts of one collection, by field and ordinal. */
export class KeptTokens {
  readonly #memory: TokenMemory
  readonly #addresses: (Uint32Array | undefined)[] = []
  #generation = 0
  /** The text that was analyzed last: it may be too long to be kept, and several phrases are looked for in it. */
  #last:
    | { readonly field: number; readonly ordinal: number; readonly at: number; readonly tokens: TextTokens }
    | undefined

  constructor(memory: TokenMemory = tokenMemory) {
    this.#memory = memory
  }

  /** The tokens of a text, if they are kept. */
  find(field: number, ordinal: number): TextTokens | undefined {
    if (this.#generation !== this.#memory.generation) return undefined
    const address = this.#addresses[field]?.[ordinal] ?? 0
    if (address !== 0) return this.#memory.at(address)
    const last = this.#last
    const isLast = last?.ordinal === ordinal && last.field === field && last.at === this.#memory.analyzed
    return isLast ? last.tokens : undefined
  }

  /** The tokens of a text, which are kept if there is room. */
  analyze(field: number, ordinal: number, analyzer: Analyzer, text: string): TextTokens {
    const tokens = this.#memory.analyze(analyzer, text)
    if (this.#generation !== this.#memory.generation) {
      for (const addresses of this.#addresses) addresses?.fill(0)
      this.#generation = this.#memory.generation
    }
    const address = this.#memory.keep(tokens)
    if (address > 0) this.#addressesFor(field, ordinal)[ordinal] = address
    this.#last = { field, ordinal, at: this.#memory.analyzed, tokens }
    return tokens
  }

  /** Must be called before the ordinal gets other texts. */
  forget(ordinal: number): void {
    if (this.#last?.ordinal === ordinal) this.#last = undefined
    for (const addresses of this.#addresses) if (addresses && ordinal < addresses.length) addresses[ordinal] = 0
  }

  #addressesFor(field: number, ordinal: number): Uint32Array {
    const known = this.#addresses[field]
    if (known !== undefined && ordinal < known.length) return known
    const larger = new Uint32Array(Math.max(1_024, 2 ** Math.ceil(Math.log2(ordinal + 1))))
    if (known !== undefined) larger.set(known)
    this.#addresses[field] = larger
    return larger
  }
}
