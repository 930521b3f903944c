// The sets that filters are measured on: those of a data directory, and generated ones of any size.
import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
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
  {
    metric,
    queries,
    keep,
  }: { readonly metric: Metric | undefined; readonly queries: number; readonly keep: string | undefined },
): Promise<VectorSet> {
  const [kind, rows] = name.split(':')
  if (kind === 'clustered' || kind === 'scattered') {
    const make = () => (kind === 'clustered' ? makeClustered(Number(rows), 128, 1) : makeScattered(Number(rows)))
    return cut({ ...keptOr(make, `${kind}-${rows}`, keep), metric: metric ?? 'l2' }, queries)
  }
  const set = await readDataset(data, name)
  const own: VectorSet =
    metric === 'cosine' ? normalizeForMetric({ ...set, metric }) : { ...set, ...(metric && { metric }) }
  return cut(own, queries)
}

type Generated = Omit<VectorSet, 'metric'>

/** A generated set, or the one that an earlier run wrote to `keep`: the number of rows and of queries, the dimension, and the values. */
function keptOr(make: () => Generated, name: string, keep: string | undefined): Generated {
  if (keep === undefined) return make()
  const file = path.join(keep, `set-${name}.f32`)
  if (!existsSync(file)) {
    const { base, queries, dimension } = make()
    const counts = Uint32Array.of(base.length / dimension, queries.length / dimension, dimension)
    const out = openSync(`${file}.tmp`, 'w')
    for (const part of [counts, base, queries]) writeSync(out, part)
    closeSync(out)
    renameSync(`${file}.tmp`, file)
  }
  const { buffer, byteOffset, byteLength } = readFileSync(file)
  const [n, queryCount, dimension] = new Uint32Array(buffer, byteOffset, 3) as unknown as [number, number, number]
  const values = new Float32Array(buffer, byteOffset + 12, byteLength / 4 - 3)
  const end = n * dimension
  return { name, dimension, base: values.subarray(0, end), queries: values.subarray(end, end + queryCount * dimension) }
}

function cut(set: VectorSet, queries: number): VectorSet {
  const { name, dimension, metric, base } = set
  return { name, dimension, metric, base, queries: set.queries.subarray(0, queries * dimension) }
}

function makeScattered(rows: number): Generated {
  const dimension = scatteredDimension
  const base = new Float32Array(rows * dimension)
  for (let i = 0; i < rows; i++) base.set(vectorOf(i), i * dimension)
  const queries = new Float32Array(1_000 * dimension)
  for (let i = 0; i < 1_000; i++) queries.set(vectorOf(10_000_000 + i * 7), i * dimension)
  return { name: `scattered-${rows}`, dimension, base, queries }
}
