// The rows that a filter allows, by their direction from the query.
import type { Metric } from '../ann/similarity.ts'
import type { VectorSet } from './sets.ts'

/**
 * `random`: any rows. `nearest` and `farthest`: those rows of the query. `order`: rows stored one after another. `cluster`: rows around one row
 * that is far from the query. `clusters`: rows around four such rows. `negated`: all cells but those nearest to the query. `class`: whole clusters
 * of a generated set, wherever they are, but not the one of the query.
 */
const directions = ['random', 'nearest', 'farthest', 'order', 'cluster', 'clusters', 'negated', 'class'] as const
export type Direction = (typeof directions)[number]

/** The directions that a set has. */
export function directionsOf({ clusters }: VectorSet): readonly Direction[] {
  return directions.filter((direction) => direction !== 'class' || clusters !== undefined)
}

/** Ranks, by distance from the query, of the rows that far clusters are around. */
const farRanks = [0.9, 0.6, 0.75, 0.97]
/** Number of cells of `negated`: those of the rows nearest to each of as many rows. */
const cellCount = 64

interface Cells {
  readonly pivots: readonly Float32Array[]
  readonly cellOf: Uint8Array
}

/** A set and its cells. */
export class Rows {
  readonly set: VectorSet
  readonly n: number
  #cells: Cells | undefined

  constructor(set: VectorSet) {
    this.set = set
    this.n = set.base.length / set.dimension
  }

  row(row: number): Float32Array {
    const { base, dimension } = this.set
    return base.subarray(row * dimension, (row + 1) * dimension)
  }

  distancesFrom(query: Float32Array): Float32Array {
    const { base, dimension, metric } = this.set
    const distances = new Float32Array(this.n)
    for (let row = 0; row < this.n; row++) distances[row] = distance(base, row * dimension, query, metric)
    return distances
  }

  get cells(): Cells {
    this.#cells ??= this.#divide()
    return this.#cells
  }

  #divide(): Cells {
    const pivots = Array.from({ length: cellCount }, (_, i) => this.row(Math.floor(((i + 0.5) * this.n) / cellCount)))
    const cellOf = new Uint8Array(this.n)
    const best = new Float32Array(this.n).fill(Number.POSITIVE_INFINITY)
    pivots.forEach((pivot, cell) => {
      this.distancesFrom(pivot).forEach((d, row) => {
        if (d >= (best[row] as number)) return
        best[row] = d
        cellOf[row] = cell
      })
    })
    return { pivots, cellOf }
  }
}

/** The filters of one query. A direction is an order of all rows, and a filter allows the first of them. */
export class QueryFilters {
  readonly distances: Float32Array
  readonly #rows: Rows
  readonly #query: Float32Array
  readonly #index: number
  readonly #orders = new Map<Direction, { readonly places: Float32Array; readonly sorted: Float32Array }>()
  readonly #around = new Map<number, Float32Array>()

  constructor(rows: Rows, query: Float32Array, index: number) {
    this.#rows = rows
    this.#query = query
    this.#index = index
    this.distances = rows.distancesFrom(query)
  }

  /** The `count` ordinals that a filter allows; of rows at the same place those with the lowest ordinals. */
  allowed(direction: Direction, count: number): Uint32Array {
    const { places, sorted } = this.#orderOf(direction)
    const last = sorted[count - 1] as number
    const chosen = new Uint32Array(count)
    let taken = 0
    for (let row = 0; row < places.length; row++) if ((places[row] as number) < last) chosen[taken++] = row
    for (let row = 0; row < places.length && taken < count; row++) if (places[row] === last) chosen[taken++] = row
    return chosen
  }

  #orderOf(direction: Direction) {
    const known = this.#orders.get(direction)
    if (known !== undefined) return known
    const places = this.#placesBy(direction)
    const order = { places, sorted: places.slice().sort() }
    this.#orders.set(direction, order)
    return order
  }

  #placesBy(direction: Direction): Float32Array {
    const { n } = this.#rows
    const first = Math.floor(((this.#index * 0.618) % 1) * n)
    if (direction === 'random') return Float32Array.from({ length: n }, (_, row) => hash(row, this.#index))
    if (direction === 'order') return Float32Array.from({ length: n }, (_, row) => (row - first + n) % n)
    if (direction === 'nearest') return this.distances
    if (direction === 'farthest') return this.distances.map((x) => -x)
    if (direction === 'cluster') return this.#distancesAround(farRanks[0] as number)
    if (direction === 'clusters')
      return farRanks
        .map((rank) => this.#distancesAround(rank))
        .reduce((a, b) => a.map((x, row) => Math.min(x, b[row] as number)))
    if (direction === 'class') return this.#otherClustersFirst()
    return this.#farthestCellsFirst()
  }

  /** Clusters in any order, that of the query last. */
  #otherClustersFirst(): Float32Array {
    const { clusters } = this.#rows.set
    if (clusters === undefined)
      throw new Error(`the set ${this.#rows.set.name} has no clusters, and no direction class`)
    const own = clusters.queries[this.#index]
    return Float32Array.from(clusters.base, (cluster) => (cluster === own ? 1 : hash(cluster, this.#index)))
  }

  /** Distances from the row that has this rank by distance from the query. */
  #distancesAround(rank: number): Float32Array {
    const known = this.#around.get(rank)
    if (known !== undefined) return known
    const { sorted } = this.#orderOf('nearest')
    const center = this.distances.indexOf(sorted[Math.floor(rank * (this.#rows.n - 1))] as number)
    const distances = this.#rows.distancesFrom(this.#rows.row(center))
    this.#around.set(rank, distances)
    return distances
  }

  #farthestCellsFirst(): Float32Array {
    const { pivots, cellOf } = this.#rows.cells
    const { metric } = this.#rows.set
    const order = pivots
      .map((pivot, cell) => ({ cell, distance: distance(pivot, 0, this.#query, metric) }))
      .sort((a, b) => b.distance - a.distance)
    const places = new Float32Array(pivots.length)
    order.forEach(({ cell }, place) => {
      places[cell] = place
    })
    return Float32Array.from(cellOf, (cell) => places[cell] as number)
  }
}

/** Squared distance, or the negative product for inner products. Rows of a cosine field have unit length, so their order is the same. */
export function distance(base: Float32Array, from: number, query: Float32Array, metric: Metric): number {
  let sum = 0
  if (metric === 'ip') {
    for (let i = 0; i < query.length; i++) sum -= (base[from + i] as number) * (query[i] as number)
    return sum
  }
  for (let i = 0; i < query.length; i++) {
    const difference = (base[from + i] as number) - (query[i] as number)
    sum += difference * difference
  }
  return sum
}

function hash(row: number, seed: number): number {
  let t = Math.imul(row + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b)
  t = Math.imul(t ^ (t >>> 15), 0x2c1b3c6d)
  t = Math.imul(t ^ (t >>> 12), 0x297a2d39)
  return ((t ^ (t >>> 15)) >>> 0) / 2 ** 32
}
