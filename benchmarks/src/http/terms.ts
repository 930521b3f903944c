// Generated terms of a sparse field, and the exact results of searches of them, weighted by rarity. A few indices are in many rows and most are in
// few, like words.
import { seededRandom } from '@annal/wal/testing'

export interface Terms {
  readonly indices: readonly number[]
  readonly values: readonly number[]
}

export interface TermSet {
  readonly rows: readonly Terms[]
  readonly queries: readonly Terms[]
  /** The ten best rows of each query. */
  truth(): Set<number>[]
}

const indicesMax = 30_000
const termsOfRow = 60
const termsOfQuery = 12

export function generateTerms(rowCount: number, queryCount: number): TermSet {
  const random = seededRandom(63)
  const draw = (count: number): Terms => {
    const chosen = new Set<number>()
    while (chosen.size < count) chosen.add(Math.floor(indicesMax * random.next() ** 4))
    const indices = [...chosen].sort((a, b) => a - b)
    return { indices, values: indices.map(() => Math.fround(0.1 + 2 * random.next())) }
  }
  const rows = Array.from({ length: rowCount }, () => draw(termsOfRow))
  const queries = Array.from({ length: queryCount }, () => draw(termsOfQuery))
  return { rows, queries, truth: () => bestRows(rows, queries) }
}

function bestRows(rows: readonly Terms[], queries: readonly Terms[]): Set<number>[] {
  const postings = new Map<number, { readonly row: number; readonly value: number }[]>()
  for (const [row, { indices, values }] of rows.entries()) {
    for (const [i, index] of indices.entries()) {
      const list = postings.get(index) ?? []
      list.push({ row, value: values[i]! })
      postings.set(index, list)
    }
  }
  return queries.map(({ indices, values }) => {
    const scores = new Float64Array(rows.length)
    for (const [i, index] of indices.entries()) {
      const list = postings.get(index) ?? []
      const weight = values[i]! * Math.log1p((rows.length - list.length + 0.5) / (list.length + 0.5))
      for (const { row, value } of list) scores[row]! += weight * value
    }
    const best = Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!)
    return new Set(best.slice(0, 10))
  })
}
