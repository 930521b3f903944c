// The sets that filters are measured on: those of a data directory, and generated ones of any size.
import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Metric } from '../ann/similarity.ts'
import { makeClustered, normalizeForMetric, readDataset } from '../sets/dataset.ts'
import { centers, dimension as scatteredDimension, vectorOf } from '../start/objects.ts'

export interface VectorSet {
  readonly name: string
  readonly dimension: number
  readonly metric: Metric
  readonly base: Float32Array
  readonly queries: Float32Array
  /** Of generated sets: the cluster of each row and of each query. */
  readonly clusters?: Clusters
}

interface Clusters {
  readonly base: Uint16Array
  readonly queries: Uint16Array
}

/** A folder of `data`, `clustered:ROWS` (200 clusters that overlap), or `scattered:ROWS` (1,000 centers far apart). */
export async function readSet(
  data: string,
  name: string,
  {
    metric,
    first,
    queries,
    keep,
  }: {
    readonly metric: Metric | undefined
    readonly first: number
    readonly queries: number
    readonly keep: string | undefined
  },
): Promise<VectorSet> {
  const [kind, rows] = name.split(':')
  if (kind === 'clustered' || kind === 'scattered') {
    const make = () => (kind === 'clustered' ? makeInClusters(Number(rows)) : makeScattered(Number(rows)))
    return cut({ ...keptOr(make, `${kind}-${rows}`, keep), metric: metric ?? 'l2' }, first, queries)
  }
  const set = await readDataset(data, name)
  const own: VectorSet =
    metric === 'cosine' ? normalizeForMetric({ ...set, metric }) : { ...set, ...(metric && { metric }) }
  return cut(own, first, queries)
}

type Generated = Omit<VectorSet, 'metric'> & { readonly clusters: Clusters }

/** A generated set, or the one that an earlier run wrote to `keep`: the number of rows and of queries, the dimension, the values, and the clusters. */
function keptOr(make: () => Generated, name: string, keep: string | undefined): Generated {
  if (keep === undefined) return make()
  const file = path.join(keep, `set-${name}-in-clusters`)
  if (!existsSync(file)) {
    const { base, queries, dimension, clusters } = make()
    const counts = Uint32Array.of(base.length / dimension, queries.length / dimension, dimension)
    const out = openSync(`${file}.tmp`, 'w')
    for (const part of [counts, base, queries, clusters.base, clusters.queries]) writeSync(out, part)
    closeSync(out)
    renameSync(`${file}.tmp`, file)
  }
  const { buffer, byteOffset } = readFileSync(file)
  const [n, queryCount, dimension] = new Uint32Array(buffer, byteOffset, 3) as unknown as [number, number, number]
  const values = new Float32Array(buffer, byteOffset + 12, (n + queryCount) * dimension)
  const numbers = new Uint16Array(buffer, byteOffset + 12 + values.byteLength, n + queryCount)
  return {
    ...{ name, dimension, base: values.subarray(0, n * dimension), queries: values.subarray(n * dimension) },
    clusters: { base: numbers.subarray(0, n), queries: numbers.subarray(n) },
  }
}

/** The queries from `first` on. */
function cut({ clusters, ...set }: VectorSet, first: number, count: number): VectorSet {
  const { dimension } = set
  const queries = set.queries.subarray(first * dimension, (first + count) * dimension)
  const own = clusters && { clusters: { ...clusters, queries: clusters.queries.subarray(first, first + count) } }
  return { ...set, queries, ...own }
}

function makeInClusters(rows: number): Generated {
  const { name, dimension, base, queries, baseClusters, queryClusters } = makeClustered(rows, 128, 1)
  const clusters = { base: Uint16Array.from(baseClusters), queries: Uint16Array.from(queryClusters) }
  return { name, dimension, base, queries, clusters }
}

function makeScattered(rows: number): Generated {
  const dimension = scatteredDimension
  const numbers = Array.from({ length: 1_000 }, (_, i) => 10_000_000 + i * 7)
  const base = new Float32Array(rows * dimension)
  for (let i = 0; i < rows; i++) base.set(vectorOf(i), i * dimension)
  const queries = new Float32Array(numbers.length * dimension)
  numbers.forEach((number, i) => {
    queries.set(vectorOf(number), i * dimension)
  })
  const clusters = {
    base: Uint16Array.from({ length: rows }, (_, i) => i % centers),
    queries: Uint16Array.from(numbers, (number) => number % centers),
  }
  return { name: `scattered-${rows}`, dimension, base, queries, clusters }
}
