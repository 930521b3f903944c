// Finds phrases in the tokens of texts.
import { stepOf, type TextTokens, type TokenMemory, termOf, tokenMemory } from './kept-tokens.ts'

/** A word of a phrase; `offset` is its place in the phrase. */
interface PhraseWord {
  readonly term: string
  readonly offset: number
}

/** The words of a phrase, which is looked for in many texts. */
export class PhraseMatcher {
  readonly #words: readonly PhraseWord[]
  readonly #slop: number
  readonly #memory: TokenMemory
  /** The words stand one after another, each at a place of its own. */
  readonly #isPlain: boolean
  readonly #offsets: Uint32Array
  readonly #numbers: Uint32Array
  #generation = 0

  constructor(words: readonly PhraseWord[], slop: number, memory: TokenMemory = tokenMemory) {
    this.#words = words.toSorted((a, b) => a.offset - b.offset)
    this.#slop = slop
    this.#memory = memory
    const first = this.#words[0]?.offset ?? 0
    this.#offsets = Uint32Array.from(this.#words, ({ offset }) => offset - first)
    this.#numbers = new Uint32Array(words.length)
    this.#isPlain =
      slop === 0 && this.#offsets.every((offset, i) => i === 0 || offset > (this.#offsets[i - 1] as number))
  }

  /** Whether a text with these tokens has the phrase: see `hasWordsAt`. */
  isIn(tokens: TextTokens): boolean {
    if (!this.#hasNumbers()) return false
    return this.#isPlain ? this.#hasNext(tokens) : hasWordsAt(this.#words, this.#placesIn(tokens), this.#slop)
  }

  /** False: a word is in none of the texts that were analyzed, so far. */
  #hasNumbers(): boolean {
    if (this.#generation === this.#memory.generation) return true
    for (const [i, { term }] of this.#words.entries()) {
      const number = this.#memory.find(term)
      if (number === 0) return false
      this.#numbers[i] = number
    }
    this.#generation = this.#memory.generation
    return true
  }

  /** Whether the words stand exactly at the places of the phrase. */
  #hasNext({ list, start, end }: TextTokens): boolean {
    const first = this.#numbers[0]
    let position = 0
    for (let at = start; at < end; at++) {
      const token = list[at] as number
      position += stepOf(token)
      if (termOf(token) === first && this.#hasOthers(list, at, end, position)) return true
    }
    return false
  }

  /** Whether the words after the first one, whose token is at `at`, stand where they should. */
  #hasOthers(list: Uint32Array, at: number, end: number, start: number): boolean {
    const [numbers, offsets] = [this.#numbers, this.#offsets]
    let position = start
    let next = at + 1
    for (let word = 1; word < numbers.length; word++) {
      const [number, wanted] = [numbers[word], start + (offsets[word] as number)]
      // Several tokens may share a position: prefixes of a word.
      for (;;) {
        if (next === end) return false
        const token = list[next] as number
        if (position + stepOf(token) > wanted) return false
        position += stepOf(token)
        next++
        if (position === wanted && termOf(token) === number) break
      }
    }
    return true
  }

  #placesIn({ list, start, end }: TextTokens): ReadonlyMap<string, readonly number[]> {
    const places = new Map<number, number[]>(Array.from(this.#numbers, (number) => [number, []]))
    let position = 0
    for (let at = start; at < end; at++) {
      const token = list[at] as number
      position += stepOf(token)
      places.get(termOf(token))?.push(position)
    }
    return new Map(this.#words.map(({ term }, i) => [term, places.get(this.#numbers[i] as number) ?? []]))
  }
}

/**
 * Whether a text with these places has the words at the places of the phrase. With `slop`, their places may be shifted against each other by as many
 * words in total: by the largest shift less the smallest. A place of the text stands for one word of the phrase only.
 *
 * Words take the first free places that a least shift allows, in the order of the phrase: of words with the same term, no other choice leaves more.
 * A word whose place is too far away says how large the least shift must be, so each place of the text is tried at most once.
 */
export function hasWordsAt(
  words: readonly PhraseWord[],
  places: ReadonlyMap<string, readonly number[]>,
  slop: number,
): boolean {
  const ordered = words
    .map(({ term, offset }) => ({ term, offset, at: places.get(term) ?? [] }))
    .sort((a, b) => a.offset - b.offset)
  if (ordered.some(({ at }) => at.length === 0)) return false
  const used = new Set<number>()
  // The first place of each term that is not below every place that its first word may have.
  const firsts = new Map<string, number>()
  let least = Math.max(...ordered.map(({ offset, at }) => (at[0] as number) - offset - slop))
  for (;;) {
    used.clear()
    const nexts = new Map<string, number>()
    let needed = least
    for (const { term, offset, at } of ordered) {
      let next = nexts.get(term) ?? firsts.get(term) ?? 0
      while (next < at.length && (at[next] as number) < least + offset) next++
      if (!nexts.has(term)) firsts.set(term, next)
      while (next < at.length && used.has(at[next] as number)) next++
      if (next === at.length) return false
      const place = at[next] as number
      if (place - offset > least + slop) {
        needed = place - offset - slop
        break
      }
      used.add(place)
      nexts.set(term, next + 1)
    }
    if (needed === least) return true
    least = needed
  }
}
