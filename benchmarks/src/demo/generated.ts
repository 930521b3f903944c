// Generates a data set for machines without a real one: clustered vectors from a seed. Exact answers are computed by comparing a query with
// every row when they are first needed. The same seed gives the same set on every machine.
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
  const centers = rowsOf(clusters, dimension, normal)
  const around = (row: number) => {
    const center = centers[row % clusters] as Float32Array
    return center.map((value) => value + spread * normal())
  }
  const base = Array.from({ length: count }, (_, row) => around(row))
  const queries = Array.from({ length: queryCount }, (_, row) => around(row))
  const known = new Map<number, Truth>()
  const truth = (query: number): Truth => {
    const found = known.get(query) ?? nearest(queries[query] as Float32Array, base)
    known.set(query, found)
    return found
  }
  return {
    title: `generated set, seed ${seed}: ${count.toLocaleString('en')} x ${dimension} in ${clusters} clusters, exact answers by brute force`,
    space: 'l2',
    dimension,
    count,
    queryCount,
    // Distances of neighbors in a round cluster differ by less than a step of int8, which is rare in real data.
    recallMin: 0.95,
    base: (row) => base[row] as Float32Array,
    query: (row) => queries[row] as Float32Array,
    neighbors: (query) => truth(query).rows,
    distances: (query) => truth(query).distances,
  }
}

interface Truth {
  readonly rows: readonly number[]
  /** Ascending; rows at equal distance are ordered by index. */
  readonly distances: readonly number[]
}

function nearest(query: Float32Array, base: readonly Float32Array[]): Truth {
  const rows: number[] = []
  const distances: number[] = []
  base.forEach((row, index) => {
    const distance = squaredDistance(query, row)
    if (distances.length === depth && distance >= (distances.at(-1) as number)) return
    const found = distances.findIndex((other) => other > distance)
    const position = found < 0 ? distances.length : found
    rows.splice(position, 0, index)
    distances.splice(position, 0, distance)
    rows.length = distances.length = Math.min(distances.length, depth)
  })
  return { rows, distances }
}

function rowsOf(count: number, dimension: number, number: () => number): Float32Array[] {
  return Array.from({ length: count }, () => Float32Array.from({ length: dimension }, number))
}

/** Normally distributed numbers, by Box and Muller, with the mulberry32 generator. */
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
