// Caches the terms of recent words, in a table that grows up to a fixed size. A lookup creates no string, which would be most of the cost of a
// map.
export interface WordCache<Term> {
  /** The term of the word between two offsets, or undefined. */
  find(text: string, start: number, end: number, hash: number): Term | undefined
  /** Keeps a term, in a full table instead of the least recent one of its two places. */
  keep(word: string, hash: number, term: Term): void
}

const placesMin = 1_024
const placesMax = 32_768

/** A hash of the units between two offsets: 32 bits. */
export function hashOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}

interface Places<Term> {
  readonly count: number
  readonly hashes: Int32Array
  readonly words: string[]
  readonly terms: (Term | undefined)[]
}

export function wordCache<Term>(): WordCache<Term> {
  let places: Places<Term> = emptyPlaces(placesMin)
  let kept = 0

  function grow(): void {
    const old = places
    places = emptyPlaces(old.count * 2)
    for (const [place, term] of old.terms.entries()) {
      if (term !== undefined) put(places, old.words[place] as string, old.hashes[place] as number, term)
    }
  }

  return {
    find(text, start, end, hash) {
      const { count, hashes, words, terms } = places
      const place = hash & (count - 1)
      if (hashes[place] === hash && isWord(words[place] as string, text, start, end)) return terms[place]
      const second = place ^ 1
      const isSecond = hashes[second] === hash && isWord(words[second] as string, text, start, end)
      return isSecond ? terms[second] : undefined
    },
    keep(word, hash, term) {
      kept++
      if (kept * 2 > places.count && places.count < placesMax) grow()
      put(places, word, hash, term)
    },
  }
}

function emptyPlaces<Term>(count: number): Places<Term> {
  return {
    count,
    hashes: new Int32Array(count),
    words: new Array<string>(count).fill(''),
    terms: new Array<Term | undefined>(count).fill(undefined),
  }
}

function put<Term>({ count, hashes, words, terms }: Places<Term>, word: string, hash: number, term: Term): void {
  const place = hash & (count - 1)
  const second = place ^ 1
  hashes[second] = hashes[place] as number
  words[second] = words[place] as string
  terms[second] = terms[place]
  hashes[place] = hash
  words[place] = word
  terms[place] = term
}

function isWord(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) !== text.charCodeAt(start + at)) return false
  return true
}
