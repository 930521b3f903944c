// A made-up data set for machines that have no real one: clustered vectors from a seed, with exact answers by comparing
// every query with every row. The same seed gives the same set everywhere.
import { type Dataset, squaredDistance } from './dataset.ts'

export interface GeneratedSize {
  readonly count: number
  readonly dimension: number
  readonly queryCount: number
}

const clusters = 100
const depth = 10
const spread = 0.35

export function generateDataset(size: GeneratedSize, seed: number): Dataset {
  const { count, dimension, queryCount } = size
  const normal = normalNumbers(seed)
  const centres = rowsOf(clusters, dimension, normal)
  const around = (row: number) => {
    const centre = centres[row % clusters] as Float32Array
    return centre.map((value) => value + spread * normal())
  }
  const base = Array.from({ length: count }, (_, row) => around(row))
  const queries = Array.from({ length: queryCount }, (_, row) => around(row))
  const truth = queries.map((query) => nearest(query, base))
  return {
    title: `generated set, seed ${seed}: ${count.toLocaleString('en')} x ${dimension} in ${clusters} clusters, exact answers by brute force`,
    space: 'l2',
    dimension,
    count,
    queryCount,
    base: (row) => base[row] as Float32Array,
    query: (row) => queries[row] as Float32Array,
    neighbours: (query) => (truth[query] as Truth).rows,
    distances: (query) => (truth[query] as Truth).distances,
  }
}

interface Truth {
  readonly rows: readonly number[]
  readonly distances: readonly number[]
}

function nearest(query: Float32Array, base: readonly Float32Array[]): Truth {
  const all = base.map((row, index) => ({ index, distance: squaredDistance(query, row) }))
  all.sort((a, b) => a.distance - b.distance || a.index - b.index)
  const top = all.slice(0, depth)
  return { rows: top.map(({ index }) => index), distances: top.map(({ distance }) => distance) }
}

function rowsOf(count: number, dimension: number, number: () => number): Float32Array[] {
  return Array.from({ length: count }, () => Float32Array.from({ length: dimension }, number))
}

/** Standard normal numbers, by Box and Muller, over the mulberry32 generator. */
function normalNumbers(seed: number): () => number {
  let state = seed | 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}
