// The part of a text that shows the words of a query.
import type { Highlight } from '../model/query.ts'
import type { Analyzer } from '../text/params.ts'

/** Units of UTF-16 of a fragment, about three lines. */
const fragmentUnits = 240
/** Units that may be added to end a fragment between words. */
const marginUnits = 24

interface Place {
  readonly term: string
  readonly start: number
  readonly end: number
}

/** The fragment of a text with the most of the terms; undefined if it has none of them. */
export function highlightOf(analyzer: Analyzer, text: string, terms: ReadonlySet<string>): Highlight | undefined {
  const places: Place[] = []
  analyzer.forEachToken(text, (term, _, start, end) => {
    if (terms.has(term) && places.at(-1)?.start !== start) places.push({ term, start, end })
  })
  const best = bestRun(places)
  const [first, last] = [best[0], best.at(-1)]
  if (first === undefined || last === undefined) return undefined
  // The words stand in the middle of the fragment.
  const spare = Math.max(0, fragmentUnits - (last.end - first.start))
  const from = boundaryBefore(text, Math.max(0, Math.min(first.start, first.start - Math.floor(spare / 2))))
  const to = boundaryAfter(text, Math.max(last.end, Math.min(text.length, from + fragmentUnits)))
  const inside = places.filter(({ start, end }) => start >= from && end <= to)
  return {
    fragment: text.slice(from, to),
    start: from,
    ranges: inside.map(({ start, end }) => [start - from, end - from] as const),
  }
}

/** Places that fit into one fragment: with the most different terms, then the most places, then the first. */
function bestRun(places: readonly Place[]): readonly Place[] {
  let best: { readonly from: number; readonly to: number; readonly distinct: number } | undefined
  const counts = new Map<string, number>()
  let from = 0
  for (const [to, place] of places.entries()) {
    counts.set(place.term, (counts.get(place.term) ?? 0) + 1)
    while (from < to && place.end - (places[from] as Place).start > fragmentUnits) {
      const { term } = places[from] as Place
      const left = (counts.get(term) as number) - 1
      if (left === 0) counts.delete(term)
      else counts.set(term, left)
      from++
    }
    const isBetter =
      best === undefined ||
      counts.size > best.distinct ||
      (counts.size === best.distinct && to - from > best.to - best.from)
    if (isBetter) best = { from, to, distinct: counts.size }
  }
  return best === undefined ? [] : places.slice(best.from, best.to + 1)
}

/** A place between words, or at least between characters, a little before. */
function boundaryBefore(text: string, at: number): number {
  if (at === 0) return 0
  for (let place = at; place > Math.max(0, at - marginUnits); place--) if (isSpace(text, place - 1)) return place
  return isLowSurrogate(text, at) ? at - 1 : at
}

function boundaryAfter(text: string, at: number): number {
  if (at >= text.length) return text.length
  for (let place = at; place < Math.min(text.length, at + marginUnits); place++) if (isSpace(text, place)) return place
  return isLowSurrogate(text, at) ? at + 1 : at
}

function isSpace(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xa0 || unit === 0x3000
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}
