// Finds phrases in texts, and the part of a text that shows the words of a query.
import type { Analyzer } from './params.ts'

/** A word of a phrase; `offset` is its place in the phrase. */
interface PhraseWord {
  readonly term: string
  readonly offset: number
}

/**
 * Whether a text has the words at the places of the phrase. With `slop`, their places may be shifted against each other by as many words in
 * total: by the largest shift less the smallest. A word of the text stands for one word of the phrase only.
 */
export function hasPhrase(analyzer: Analyzer, text: string, words: readonly PhraseWord[], slop: number): boolean {
  const places = new Map<string, number[]>()
  for (const { term } of words) places.set(term, [])
  analyzer.forEachToken(text, (term, position) => places.get(term)?.push(position))
  if (slop === 0) {
    const [first, ...others] = words.map(({ term, offset }) => ({ at: new Set(places.get(term)), offset }))
    if (first === undefined) return true
    const starts = [...first.at].map((position) => position - first.offset)
    return starts.some((start) => others.every(({ at, offset }) => at.has(start + offset)))
  }
  return hasSloppyPhrase(
    words.map(({ term, offset }) => ({ offset, places: places.get(term) ?? [] })),
    slop,
  )
}

/** Tries each word in turn at each of its places that keeps the shifts within the slop. */
function hasSloppyPhrase(
  words: readonly { readonly offset: number; readonly places: readonly number[] }[],
  slop: number,
): boolean {
  // Few places first, so that most tries end early.
  const ordered = [...words].sort((a, b) => a.places.length - b.places.length)
  const used = new Set<number>()
  const place = (next: number, least: number, most: number): boolean => {
    const word = ordered[next]
    if (word === undefined) return true
    for (const position of word.places) {
      const shift = position - word.offset
      const [low, high] = [Math.min(least, shift), Math.max(most, shift)]
      if (high - low > slop || used.has(position)) continue
      used.add(position)
      if (place(next + 1, low, high)) return true
      used.delete(position)
    }
    return false
  }
  return place(0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)
}
