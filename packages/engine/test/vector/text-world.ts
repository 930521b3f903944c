// Test data for fields of texts: seeded texts, and a plain model of BM25.
import type { DenseHits, SparseRows, TextQuery } from '../../src/vector/field.ts'
import { packCount } from '../../src/vector/sparse/packed-counts.ts'
import { rowsOfTerms } from './sparse-world.ts'

export interface Text {
  /** By the number of the term; at most what a posting can count. */
  readonly counts: ReadonlyMap<number, number>
  /** Number of tokens. */
  readonly length: number
}

export const noText: Text = { counts: new Map(), length: 0 }

/** A text of `tokens` tokens, whose terms have the frequencies of words: small numbers are much more frequent. */
export function randomText(random: () => number, tokens: number, terms: number): Text {
  const counts = new Map<number, number>()
  for (let i = 0; i < tokens; i++) {
    const index = randomIndex(random, terms)
    counts.set(index, (counts.get(index) ?? 0) + 1)
  }
  return { counts, length: tokens }
}

export function randomIndex(random: () => number, terms: number): number {
  return Math.floor(terms ** random()) - 1
}

/** A query of `terms` different terms; each is required with the probability `required`. */
export function randomTextQuery(random: () => number, terms: number, of: number, required: number): TextQuery {
  const indices = new Set<number>()
  while (indices.size < terms) indices.add(randomIndex(random, of))
  return {
    terms: [...indices].map((index) => ({
      index,
      boost: random() < 0.5 ? 1 : 4 * random(),
      isRequired: random() < required,
    })),
    k1: random() < 0.1 ? 0 : 3 * random(),
    b: [0, 1, 0.75, random()][Math.floor(4 * random())] ?? 0,
  }
}

export function rowsOfTexts(rows: Iterable<readonly [ordinal: number, text: Text]>): SparseRows {
  return rowsOfTerms(
    [...rows].map(([ordinal, { counts, length }]) => {
      const sorted = [...counts].sort(([a], [b]) => a - b)
      const indices = Uint32Array.from(sorted, ([index]) => index)
      return [ordinal, { indices, values: Float32Array.from(sorted, ([, count]) => packCount(count, length)) }]
    }),
  )
}

/** Scores every text by the formula. `isAllowed` removes hits, but counts are those of all rows. */
export function scoreAllTexts(
  rows: ReadonlyMap<number, Text>,
  { terms, k1, b }: TextQuery,
  isAllowed: (ordinal: number) => boolean = () => true,
): { ordinal: number; score: number }[] {
  let total = 0
  for (const { length } of rows.values()) total += length
  const average = total / rows.size
  const idf = terms.map(({ index }) => {
    let having = 0
    for (const { counts } of rows.values()) if (counts.has(index)) having++
    return Math.log(1 + (rows.size - having + 0.5) / (having + 0.5))
  })
  const found: { ordinal: number; score: number }[] = []
  for (const [ordinal, { counts, length }] of rows) {
    if (!isAllowed(ordinal)) continue
    let score = 0
    let shared = false
    let hasAll = true
    terms.forEach(({ index, boost, isRequired }, i) => {
      const count = counts.get(index)
      if (count === undefined) {
        if (isRequired) hasAll = false
        return
      }
      if (isRequired || boost > 0) shared = true
      score += (boost * (idf[i] ?? 0) * count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / average))
    })
    if (shared && hasAll) found.push({ ordinal, score })
  }
  return found.sort((x, y) => y.score - x.score || x.ordinal - y.ordinal)
}

/**
 * Describes what is wrong with the hits, or returns undefined. Each score is within 1e-6 of that of the reference, relative to it, and hits are the
 * same unless their scores are that near.
 */
export function wrongHits(
  hits: Pick<DenseHits, 'ordinals' | 'similarities'>,
  truth: readonly { ordinal: number; score: number }[],
  k: number,
): string | undefined {
  const wanted = truth.slice(0, k)
  if (hits.ordinals.length !== wanted.length) return `${hits.ordinals.length} hits, not ${wanted.length}`
  if (new Set(hits.ordinals).size !== wanted.length) return 'a row twice'
  const scores = new Map(truth.map(({ ordinal, score }) => [ordinal, score]))
  for (const [i, { ordinal, score }] of wanted.entries()) {
    const isNear = (value: number | undefined) => value !== undefined && Math.abs(value - score) <= 1e-6 * score
    if (!isNear(hits.similarities[i])) return `hit ${i} has ${hits.similarities[i]}, not ${score}`
    const found = hits.ordinals[i]
    if (found !== ordinal && !isNear(scores.get(found ?? -1))) return `hit ${i} is ${found}, not ${ordinal}`
  }
  return undefined
}
