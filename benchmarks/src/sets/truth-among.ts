// Exact nearest rows among those that match a filter, for the recall of filtered searches.
import type { Dataset } from './dataset.ts'

/**
 * The ten nearest matching rows of each of the first `queries` queries. Rows that are compared by angle must have the length 1, or 0 if they
 * have no direction.
 */
export function truthAmong(set: Dataset, queries: number, matches: (row: number) => boolean): Set<number>[] {
  const { base, dimension } = set
  const distanceOf = set.metric === 'l2' ? squaredDistance : negativeProduct
  const rows = Array.from({ length: base.length / dimension }, (_, row) => row).filter(matches)
  const distances = new Float64Array(rows.length)
  return Array.from({ length: queries }, (_, q) => {
    const query = set.queries.subarray(q * dimension, (q + 1) * dimension)
    for (const [i, row] of rows.entries()) distances[i] = distanceOf(query, base, row * dimension)
    const nearest = Array.from(rows.keys()).sort((a, b) => distances[a]! - distances[b]!)
    return new Set(nearest.slice(0, 10).map((i) => rows[i]!))
  })
}

function squaredDistance(query: Float32Array, base: Float32Array, from: number): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) {
    const difference = query[i]! - base[from + i]!
    sum += difference * difference
  }
  return sum
}

function negativeProduct(query: Float32Array, base: Float32Array, from: number): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) sum -= query[i]! * base[from + i]!
  return sum
}
