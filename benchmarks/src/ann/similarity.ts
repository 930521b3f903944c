// Exact answers by plain arithmetic: slow, and independent of Annal's code.
import type { Dataset } from '../sets/dataset.ts'

export type Metric = Dataset['metric'] | 'ip'

/** The rows that queries are compared with. For cosine, rows and queries have unit length. */
export interface Rows {
  readonly base: Float32Array
  readonly dimension: number
}

export function similarity({ base, dimension }: Rows, row: number, query: Float32Array, metric: Metric): number {
  const offset = row * dimension
  return metric === 'l2' ? -squaredDistance(base, offset, query) : dot(base, offset, query)
}

function dot(base: Float32Array, from: number, query: Float32Array): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) sum += (base[from + i] as number) * (query[i] as number)
  return sum
}

function squaredDistance(base: Float32Array, from: number, query: Float32Array): number {
  let sum = 0
  for (let i = 0; i < query.length; i++) {
    const difference = (base[from + i] as number) - (query[i] as number)
    sum += difference * difference
  }
  return sum
}

/** The lowest similarity of the best k rows, minus a tolerance for rounding. */
export function kthBest(set: Rows, query: Float32Array, metric: Metric, k: number): number {
  const n = set.base.length / set.dimension
  const all = Float64Array.from({ length: n }, (_, row) => similarity(set, row, query, metric)).sort()
  const last = all[n - k] as number
  return last - Math.abs(last) * 1e-9
}
