// Exact nearest rows in double precision, and recall that counts rows by their similarity: of equal rows, any is right.
import type { Metric, UnseenSet } from './sets.ts'

/** For each query, the similarity of every row. */
export function similarities({ base, queries, dimension, metric }: UnseenSet, query: number): Float64Array {
  const q = Float64Array.from(queries.subarray(query * dimension, (query + 1) * dimension))
  const lengthOfQuery = metric === 'cosine' ? lengthOf(q, 0, dimension) : 1
  const all = new Float64Array(base.length / dimension)
  for (let row = 0; row < all.length; row++) all[row] = similarity(q, base, row * dimension, metric) / lengthOfQuery
  return all
}

function similarity(q: Float64Array, base: Float32Array, from: number, metric: Metric): number {
  let sum = 0
  let square = 0
  for (let i = 0; i < q.length; i++) {
    const [x, y] = [q[i] as number, base[from + i] as number]
    if (metric === 'l2') sum -= (x - y) ** 2
    else sum += x * y
    square += y * y
  }
  return metric === 'cosine' && square > 0 ? sum / Math.sqrt(square) : sum
}

function lengthOf(v: Float64Array, from: number, dimension: number): number {
  let square = 0
  for (let i = from; i < from + dimension; i++) square += (v[i] as number) ** 2
  return Math.sqrt(square) || 1
}

/** The nearest rows of a query among some. */
export interface Truth {
  /** Ordinals, nearest first. */
  readonly nearest: readonly number[]
  /** Whether a row counts as found: it is as near as the last of the nearest. */
  isNear(row: number): boolean
}

/** The k nearest rows of those that `allows` accepts. */
export function truthOf(all: Float64Array, k: number, allows: (row: number) => boolean = () => true): Truth {
  const rows = Array.from(all.keys()).filter(allows)
  rows.sort((a, b) => (all[b] as number) - (all[a] as number) || a - b)
  const nearest = rows.slice(0, k)
  const last = all[nearest.at(-1) ?? 0] as number
  const margin = 1e-12 * Math.abs(last)
  return { nearest, isNear: (row) => (all[row] as number) >= last - margin }
}

/** Share of the nearest rows that were found. Rows that come twice count once. */
export function recallOf(found: readonly number[], { nearest, isNear }: Truth): number {
  if (nearest.length === 0) return found.length === 0 ? 1 : 0
  return Math.min(1, [...new Set(found)].filter(isNear).length / nearest.length)
}
