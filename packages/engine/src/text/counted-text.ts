// The terms of a text with their numbers of occurrences, which is what the lists of a text field keep of it.
import { analyzerOf } from './analyzers.ts'
import type { AnalyzerParams } from './params.ts'

/** The terms of one text. */
export interface CountedText {
  /** Distinct, in the order of their first occurrence. */
  readonly terms: readonly string[]
  /** One for each of `terms`. */
  readonly counts: readonly number[]
  /** Number of words, each counted once, whatever prefixes it has. */
  readonly length: number
}

/** Counts the terms of a text. The same text and params give the same terms in the same order. */
export function countTerms(text: string, params: AnalyzerParams): CountedText {
  const places = new Map<string, number>()
  const counts: number[] = []
  let length = 0
  let lastPosition = -1
  analyzerOf(params).forEachToken(text, (term, position) => {
    if (position !== lastPosition) length++
    lastPosition = position
    const place = places.get(term)
    if (place !== undefined) counts[place] = (counts[place] as number) + 1
    else {
      places.set(term, counts.length)
      counts.push(1)
    }
  })
  return { terms: [...places.keys()], counts, length }
}

/** Terms of texts that were counted when they were checked, by the list of the texts; they are applied soon after. */
const known = new WeakMap<readonly string[], { readonly counted: readonly CountedText[]; readonly params: string }>()

/** Keeps the terms of texts until they are applied. */
export function keepCounts(texts: readonly string[], counted: readonly CountedText[], params: AnalyzerParams): void {
  known.set(texts, { counted, params: JSON.stringify(params) })
}

/** Keeps the terms of some of the texts, whose list is `chosen`. */
export function chooseCounts(texts: readonly string[], rows: readonly number[], chosen: readonly string[]): void {
  const kept = known.get(texts)
  if (kept) known.set(chosen, { ...kept, counted: rows.map((row) => kept.counted[row] as CountedText) })
}

/** The terms of each text: those that were kept, or counted now. */
export function* countedTexts(texts: readonly string[], params: AnalyzerParams): Generator<CountedText> {
  const kept = known.get(texts)
  // A rebuild may have changed the params in between.
  const counted = kept?.params === JSON.stringify(params) ? kept.counted : undefined
  for (const [i, text] of texts.entries()) yield counted?.[i] ?? countTerms(text, params)
}
