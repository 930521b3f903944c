// The sparse vectors of the race of readers and writers: terms of an object depend on its number and its stamp, and the results of a search
// are computed from all objects of a state.
import { rarity } from '../../src/vector/sparse/term-view.ts'
import { limit } from './race-world.ts'

export interface Terms {
  readonly indices: readonly number[]
  readonly values: readonly number[]
}

/** `rare` weighs indices by their rarity. */
export type SparseName = 'words' | 'rare'

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

/** Describes what is wrong with the hits of a search as of a state; undefined if nothing is. */
export function sparseFault(
  { field, query, third, hits }: SparseRecord,
  objects: Iterable<{ readonly object: number; readonly stamp: number; readonly third: number }>,
): string | undefined {
  const rows = [...objects].map((state) => ({ ...state, terms: termsOf(state.object, state.stamp) }))
  const weights = new Map<number, number>()
  for (const [i, index] of query.indices.entries()) {
    const having = rows.filter(({ terms }) => terms.indices.includes(index)).length
    weights.set(index, (query.values[i] as number) * (field === 'rare' ? rarity(rows.length, having) : 1))
  }
  const scores = new Map<number, number>()
  for (const { object, terms, third: own } of rows) {
    if (third !== undefined && own !== third) continue
    const shared = terms.indices.flatMap((index, i) => {
      const weight = weights.get(index)
      return weight === undefined ? [] : [weight * (terms.values[i] as number)]
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
