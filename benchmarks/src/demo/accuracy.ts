// Measures the quality and speed of answers from outside, one query at a time.
import type { Hit, VectorIndex } from '@annal/client'
import { type Dataset, squaredDistance } from './dataset.ts'

export interface Accuracy {
  readonly ef: number
  readonly recallAt10: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** A query that was answered exactly, or undefined. */
  readonly perfectQuery: number | undefined
}

const topK = 10

export interface AccuracyOptions {
  readonly ef: number
  readonly queries: number
  readonly onAnswer: () => void
}

export async function measureAccuracy(index: VectorIndex, data: Dataset, options: AccuracyOptions): Promise<Accuracy> {
  const timesMs: number[] = []
  let found = 0
  let perfectQuery: number | undefined
  for (let query = 0; query < options.queries; query += 1) {
    const startMs = performance.now()
    const hits = await index.query({ vector: data.query(query), topK, ef: options.ef })
    timesMs.push(performance.now() - startMs)
    const right = countRight(hits, data, { query, nearest: topK })
    found += right
    if (right === topK) perfectQuery ??= query
    options.onAnswer()
  }
  timesMs.sort((a, b) => a - b)
  return {
    ef: options.ef,
    recallAt10: found / (topK * options.queries),
    p50Ms: quantile(timesMs, 0.5),
    p99Ms: quantile(timesMs, 0.99),
    perfectQuery,
  }
}

/** Number of hits among the nearest rows; compared by distance, because rows at the same distance are equally correct. */
function countRight(
  hits: readonly Hit[],
  data: Dataset,
  { query, nearest }: { query: number; nearest: number },
): number {
  const furthest = (data.distances(query)[nearest - 1] as number) * (1 + 1e-6)
  const rows = new Set(hits.map(({ id }) => Number(id)))
  return [...rows].filter((row) => squaredDistance(data.base(row), data.query(query)) <= furthest).length
}

/**
 * Whether the answer to a query is exact. It may contain vectors of the second load; the rest of the answer must then be the nearest of the
 * first load, and at least half of it.
 */
export async function answersExactly(index: VectorIndex, data: Dataset, query: number): Promise<boolean> {
  const hits = await index.query({ vector: data.query(query), topK })
  const first = hits.filter(({ id }) => Number(id) < data.count)
  return first.length >= topK / 2 && countRight(first, data, { query, nearest: first.length }) === first.length
}

/** The nearest-rank quantile of sorted times. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number
}
