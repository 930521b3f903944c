// The sets that filters are measured on: those of a data directory, and generated ones of any size.
import { makeClustered, normalizeForMetric, readDataset } from '../ann/dataset.ts'
import type { Metric } from '../ann/similarity.ts'
import { dimension as scatteredDimension, vectorOf } from '../start/objects.ts'

export interface VectorSet {
  readonly name: string
  readonly dimension: number
  readonly metric: Metric
  readonly base: Float32Array
  readonly queries: Float32Array
}

/** A folder of `data`, `clustered:ROWS` (200 clusters that overlap), or `scattered:ROWS` (1,000 centers far apart). */
export async function readSet(
  data: string,
  name: string,
  { metric, queries }: { readonly metric: Metric | undefined; readonly queries: number },
): Promise<VectorSet> {
  const [kind, rows] = name.split(':')
  if (kind === 'clustered') return cut({ ...makeClustered(Number(rows), 128, 1), metric: metric ?? 'l2' }, queries)
  if (kind === 'scattered') return cut({ ...makeScattered(Number(rows)), metric: metric ?? 'l2' }, queries)
  const set = await readDataset(data, name)
  const own: VectorSet =
    metric === 'cosine' ? normalizeForMetric({ ...set, metric }) : { ...set, ...(metric && { metric }) }
  return cut(own, queries)
}

function cut(set: VectorSet, queries: number): VectorSet {
  const { name, dimension, metric, base } = set
  return { name, dimension, metric, base, queries: set.queries.subarray(0, queries * dimension) }
}

function makeScattered(rows: number): VectorSet {
  const dimension = scatteredDimension
  const base = new Float32Array(rows * dimension)
  for (let i = 0; i < rows; i++) base.set(vectorOf(i), i * dimension)
  const queries = new Float32Array(1_000 * dimension)
  for (let i = 0; i < 1_000; i++) queries.set(vectorOf(10_000_000 + i * 7), i * dimension)
  return { name: `scattered-${rows}`, dimension, metric: 'l2', base, queries }
}
