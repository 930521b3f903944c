// The sparse vectors and the texts of the race of readers and writers: terms of an object depend on its number and its stamp, and the results of a
// search are computed from all objects of a state.
import { rarity } from '../../src/vector/sparse/term-view.ts'
import { limit } from './race-world.ts'

export interface Terms {
  readonly indices: readonly number[]
  readonly values: readonly number[]
}

/** `rare` weighs indices by their rarity, and `texts` has a word for each index. */
export type SparseName = 'words' | 'rare' | 'texts'

/** A search of a sparse field and its similarities. */
export interface SparseRecord {
  readonly field: SparseName
  readonly lsn: number
  readonly third: number | undefined
  readonly query: Terms
  readonly hits: readonly { readonly object: number; readonly stamp: number; readonly similarity: number }[]
}

const common = 40
const commonPerObject = 4
const ownFirst = 1000
/** The defaults of text fields. */
const [k1, b] = [1.2, 0.75]

/** Some indices that many objects have, and one that no other object or stamp has. */
export function termsOf(object: number, stamp: number): Terms {
  const indices = new Set<number>()
  for (let i = 0; i < commonPerObject; i++) indices.add((object * 7 + stamp * 13 + i * i * 11 + i * stamp) % common)
  const ascending = [...indices].sort((a, b) => a - b)
  return {
    indices: [...ascending, ownIndexOf(object, stamp)],
    values: [...ascending.map((index) => 1 + ((object + index) % 5)), 2],
  }
}

export function ownIndexOf(object: number, stamp: number): number {
  return ownFirst + object * 4 + stamp
}

/** A word for each index, as often as its weight says. */
export function textOf(object: number, stamp: number): string {
  const { indices, values } = termsOf(object, stamp)
  return indices.map((index, i) => `${wordOf(index)} `.repeat(values[i] as number)).join('')
}

export function wordOf(index: number): string {
  return `w${index}`
}

/** Describes what is wrong with the hits of a search as of a state; undefined if nothing is. */
export function sparseFault(
  { field, query, third, hits }: SparseRecord,
  objects: Iterable<{ readonly object: number; readonly stamp: number; readonly third: number }>,
): string | undefined {
  const rows = [...objects].map((state) => {
    const terms = termsOf(state.object, state.stamp)
    return { ...state, terms, length: terms.values.reduce((sum, value) => sum + value, 0) }
  })
  const mean = rows.reduce((sum, { length }) => sum + length, 0) / rows.length
  const impactOf = (value: number, length: number) =>
    field === 'texts' ? (value * (k1 + 1)) / (value + k1 * (1 - b + (b * length) / mean)) : value
  const weights = new Map<number, number>()
  for (const [i, index] of query.indices.entries()) {
    const having = rows.filter(({ terms }) => terms.indices.includes(index)).length
    weights.set(index, (query.values[i] as number) * (field === 'words' ? 1 : rarity(rows.length, having)))
  }
  const scores = new Map<number, number>()
  for (const { object, terms, length, third: own } of rows) {
    if (third !== undefined && own !== third) continue
    const shared = terms.indices.flatMap((index, i) => {
      const weight = weights.get(index)
      return weight === undefined ? [] : [weight * impactOf(terms.values[i] as number, length)]
    })
    if (shared.length > 0)
      scores.set(
        object,
        shared.reduce((sum, part) => sum + part),
      )
  }
  const best = [...scores.values()].sort((a, b) => b - a).slice(0, limit)
  if (hits.length !== best.length) return `${hits.length} hits, not ${best.length}`
  for (const [i, { object, similarity }] of hits.entries()) {
    const score = scores.get(object) ?? Number.NaN
    if (!isNear(similarity, score)) return `object ${object} has ${similarity}, not ${score}`
    if (!isNear(similarity, best[i] as number)) return `hit ${i} has ${similarity}, not ${best[i]}`
  }
  return undefined
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b))
}
