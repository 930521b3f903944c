// Finds phrases in texts, and the part of a text that shows the words of a query.
import type { Analyzer } from './params.ts'

/** A word of a phrase; `offset` is its place in the phrase. */
interface PhraseWord {
  readonly term: string
  readonly offset: number
}

/** The places of some terms in a text, in order. */
export function placesOf(
  analyzer: Analyzer,
  text: string,
  terms: Iterable<string>,
): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const term of terms) places.set(term, [])
  analyzer.forEachToken(text, (term, position) => places.get(term)?.push(position))
  return places
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
