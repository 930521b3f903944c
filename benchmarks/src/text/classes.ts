// Queries of several kinds, chosen from the words of the texts by a seed, and the texts that have all words of a query, found without an index.
import { seededRandom } from '@annal/wal/testing'
import type { Texts } from './texts.ts'

export type Combine = 'all' | 'any'

export interface QueryClass {
  readonly name: string
  readonly combine: Combine
  readonly queries: readonly (readonly string[])[]
}

/** Words are frequent if 2 to 20 % of the texts have them, and rare if 0.01 to 0.2 % do. */
const frequentShares = [0.02, 0.2] as const
const rareShares = [0.0001, 0.002] as const

export function queryClasses(texts: Texts, queriesPerClass: number, seed: number): QueryClass[] {
  const random = seededRandom(seed + 1).next
  const { rows, having } = texts
  const isWithin = (word: string, [low, high]: readonly [number, number]) => {
    const count = having.get(word) ?? 0
    return count >= low * rows && count <= high * rows
  }
  const within = (shares: readonly [number, number]) => [...having.keys()].filter((word) => isWithin(word, shares))
  const [frequent, rare] = [within(frequentShares), within(rareShares)]
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
  const many = (choose: () => readonly string[]) => Array.from({ length: queriesPerClass }, choose)
  const of =
    (...kinds: (readonly string[])[]) =>
    () => {
      const chosen = new Set<string>()
      for (const kind of kinds) for (const size = chosen.size; chosen.size === size; ) chosen.add(pick(kind))
      return [...chosen]
    }
  const ofText = (isWanted: (word: string) => boolean) => () => {
    for (;;) {
      const words = [...new Set(texts.words(Math.floor(random() * rows)))].filter(isWanted)
      if (words.length < 2) continue
      const first = pick(words)
      return [first, pick(words.filter((word) => word !== first))]
    }
  }
  const fromTexts = many(ofText((word) => word !== ''))
  return [
    { name: 'two words of a text', combine: 'all', queries: fromTexts },
    { name: 'two frequent words', combine: 'all', queries: many(of(frequent, frequent)) },
    { name: 'a frequent and a rare word', combine: 'all', queries: many(of(frequent, rare)) },
    { name: 'two rare words of a text', combine: 'all', queries: many(ofText((word) => isWithin(word, rareShares))) },
    { name: 'two rare words, mostly of no text', combine: 'all', queries: many(of(rare, rare)) },
    { name: 'two words of a text', combine: 'any', queries: fromTexts },
    { name: 'two frequent words', combine: 'any', queries: many(of(frequent, frequent)) },
    { name: 'four words, two of them rare', combine: 'any', queries: many(of(frequent, frequent, rare, rare)) },
  ]
}

export type Having = (words: readonly string[]) => readonly number[]

/** The rows with all words of a query of these classes, ascending. */
export function rowsHaving(texts: Texts, classes: readonly QueryClass[]): Having {
  const rowsOf = new Map<string, number[]>(classes.flatMap(({ queries }) => queries.flat()).map((word) => [word, []]))
  for (let row = 0; row < texts.rows; row++) for (const word of new Set(texts.words(row))) rowsOf.get(word)?.push(row)
  return (words) => {
    const [first = [], ...others] = words.map((word) => rowsOf.get(word) ?? [])
    const sets = others.map((rows) => new Set(rows))
    return first.filter((row) => sets.every((rows) => rows.has(row)))
  }
}
