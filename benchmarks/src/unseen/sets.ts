// Sets of vectors that no real set resembles, each made from its name and a seed: tight clusters, rows of very different lengths, copies,
// zeros, rows in the order of a curve, every kind of dimension.
import { seededRandom } from '@annal/wal/testing'

export type Metric = 'l2' | 'cosine' | 'ip'

export interface UnseenSet {
  readonly name: string
  readonly dimension: number
  readonly metric: Metric
  /** Rows in the order in which they are inserted, as given: not of unit length for cosine. */
  readonly base: Float32Array
  readonly queries: Float32Array
}

/** Draws a value or a vector. */
interface Draws {
  readonly uniform: () => number
  readonly normal: () => number
  readonly vector: (dimension: number, deviation?: number) => Float32Array
}

/** Makes row `i` of `count`. Queries are made by the same function, after all rows. */
type Maker = (i: number, count: number) => Float32Array

interface Kind {
  readonly dimension: number
  readonly metric: Metric
  /** Share of the usual number of rows. Default: 1. */
  readonly share?: number
  readonly make: (draws: Draws) => { readonly row: Maker; readonly query?: Maker }
}

function drawsOf(seed: number): Draws {
  const uniform = seededRandom(seed).next
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  const vector = (dimension: number, deviation = 1) =>
    Float32Array.from({ length: dimension }, () => normal() * deviation)
  return { uniform, normal, vector }
}

/** Rows around centers. `deviation` is that of a row around its center in deviations of the centers. */
function clusters(
  dimension: number,
  {
    deviation,
    centers = 100,
    metric = 'l2' as Metric,
    inOrder = false,
  }: {
    readonly deviation: number
    readonly centers?: number
    readonly metric?: Metric
    readonly inOrder?: boolean
  },
): Kind {
  return {
    dimension,
    metric,
    make: ({ uniform, normal, vector }) => {
      const all = Array.from({ length: centers }, () => vector(dimension))
      const near = (c: number) => (all[c] as Float32Array).map((x) => x + normal() * deviation)
      const query = () => near(Math.floor(uniform() * centers))
      return { row: (i, count) => (inOrder ? near(Math.floor((i / count) * centers)) : query()), query }
    },
  }
}

/** Rows near a plane of 12 dimensions, whatever the dimension, as embeddings are. */
function flat(dimension: number, metric: Metric = 'l2'): Kind {
  return {
    dimension,
    metric,
    make: ({ normal, vector }) => {
      const rank = Math.min(12, dimension)
      const basis = Array.from({ length: rank }, () => vector(dimension, 1 / Math.sqrt(dimension)))
      const row = () => {
        const sum = vector(dimension, 0.1 / Math.sqrt(dimension))
        for (const direction of basis) {
          const weight = normal()
          for (let i = 0; i < dimension; i++) sum[i] = (sum[i] as number) + weight * (direction[i] as number)
        }
        return sum
      }
      return { row }
    },
  }
}

/** Rows of another kind, each changed by `change`. */
function changed(kind: Kind, change: (row: Float32Array, i: number, draws: Draws) => Float32Array): Kind {
  return {
    ...kind,
    make: (draws) => {
      const { row, query = row } = kind.make(draws)
      return { row: (i, count) => change(row(i, count), i, draws), query }
    },
  }
}

const scaled = (row: Float32Array, factor: number) => row.map((x) => x * factor)

const normal = (dimension: number, metric: Metric = 'l2'): Kind => ({
  dimension,
  metric,
  make: ({ vector }) => ({ row: () => vector(dimension) }),
})

const dimensions = [1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 768, 1_000, 1_536, 4_096]

const kinds: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    dimensions.flatMap((dimension) => [
      [`flat-${dimension}`, flat(dimension)],
      ...(dimension > 1 ? [[`flat-cosine-${dimension}`, flat(dimension, 'cosine')]] : []),
    ]),
  ),
  'normal-16': normal(16),
  'tight-.1': clusters(64, { deviation: 0.1 }),
  'tight-.05': clusters(64, { deviation: 0.05 }),
  'tight-.01': clusters(64, { deviation: 0.01 }),
  'tight-.001': clusters(64, { deviation: 0.001 }),
  'tight-.01-few': clusters(64, { deviation: 0.01, centers: 8 }),
  'tight-.01-many': clusters(64, { deviation: 0.01, centers: 2_000 }),
  'tight-cosine': clusters(64, { deviation: 0.01, metric: 'cosine' }),
  'tight-ip': clusters(64, { deviation: 0.01, metric: 'ip' }),
  'tight-768': { ...clusters(768, { deviation: 0.01 }), share: 0.5 },
  'tight-sorted': clusters(64, { deviation: 0.01, inOrder: true }),
  'sorted-clusters': clusters(64, { deviation: 0.3, inOrder: true }),
  'sorted-curve': {
    dimension: 32,
    metric: 'l2',
    make: ({ uniform, vector }) => {
      const [a, b] = [vector(32), vector(32)]
      const at = (t: number) =>
        Float32Array.from(
          vector(32, 0.01),
          (x, j) => x + Math.sin(6 * t * (a[j] as number)) + Math.cos(9 * t * (b[j] as number)),
        )
      return { row: (i, count) => at(i / count), query: () => at(uniform()) }
    },
  },
  'sorted-lengths': changed(flat(32), (row, i) => scaled(row, 1 + i / 1_000)),
  'first-long': changed(flat(64), (row, i) => (i === 0 ? scaled(row, 1e6) : row)),
  'first-long-ip': changed(flat(64, 'ip'), (row, i) => (i === 0 ? scaled(row, 1e6) : row)),
  'first-1000': changed(flat(64), (row, i) => (i === 0 ? scaled(row, 1_000) : row)),
  'first-ten-1000': changed(flat(64), (row, i) => (i < 10 ? scaled(row, 1_000) : row)),
  'first-ten-1000-ip': changed(flat(64, 'ip'), (row, i) => (i < 10 ? scaled(row, 1_000) : row)),
  'first-ten-1000-cosine': changed(flat(64, 'cosine'), (row, i) => (i < 10 ? scaled(row, 1_000) : row)),
  'some-long': changed(flat(64), (row, i) => (i % 100 === 0 ? scaled(row, 1_000) : row)),
  'far-from-zero': changed(flat(64), (row) => row.map((x) => x + 1_000)),
  'one-component': changed(flat(64), (row, _, draws) => row.map((x, j) => (j === 5 ? draws.normal() * 1_000 : x))),
  'constant-component': changed(flat(64), (row) => row.map((x, j) => (j === 5 ? 1e6 : x))),
  'lengths-ip': changed(flat(64, 'ip'), (row, _, { uniform }) => scaled(row, 10 ** (3 * uniform()))),
  tiny: changed(flat(64), (row) => scaled(row, 1e-15)),
  'tiny-cosine': changed(flat(64, 'cosine'), (row) => scaled(row, 1e-30)),
  'subnormal-cosine': changed(flat(64, 'cosine'), (row) => scaled(row, 1e-38)),
  large: changed(flat(64), (row) => scaled(row, 1e15)),
  hubs: normal(256),
  'zeros-cosine': changed(flat(64, 'cosine'), (row, i) => (i % 10 === 0 ? scaled(row, 0) : row)),
  copies: {
    dimension: 64,
    metric: 'l2',
    make: ({ uniform, vector }) => {
      const all = Array.from({ length: 20 }, () => vector(64))
      return {
        row: (i) => (i % 2 ? (all[i % 20] as Float32Array) : vector(64)),
        query: () => (all[Math.floor(uniform() * 20)] as Float32Array).map((x) => x + 0.1),
      }
    },
  },
  'copies-50': {
    dimension: 33,
    metric: 'l2',
    make: ({ vector }) => {
      let one = vector(33)
      const row = (i: number) => {
        if (i % 50 === 0) one = vector(33)
        return one
      }
      return { row, query: () => vector(33) }
    },
  },
  'integers-ip': {
    dimension: 33,
    metric: 'ip',
    make: ({ uniform }) => ({ row: () => Float32Array.from({ length: 33 }, () => Math.floor(256 * uniform())) }),
  },
  'one-hot': {
    dimension: 33,
    metric: 'l2',
    make: ({ uniform, vector }) => {
      const row = () => {
        const hot = Math.floor(33 * uniform())
        const length = 1 + uniform()
        return Float32Array.from({ length: 33 }, (_, j) => (j === hot ? length : 0))
      }
      return { row, query: (i) => (i % 2 ? row() : vector(33)) }
    },
  },
  'heavy-tails-ip': {
    dimension: 33,
    metric: 'ip',
    make: ({ uniform, vector }) => ({ row: () => scaled(vector(33), 1 / (1 - uniform())), query: () => vector(33) }),
  },
  equal: {
    dimension: 16,
    metric: 'l2',
    make: ({ vector }) => {
      const one = vector(16)
      return { row: () => one, query: () => vector(16) }
    },
  },
}

export const setNames: readonly string[] = Object.keys(kinds)

/** Components of all rows of a set, at most. */
const componentsMax = 8e6

/** Makes a set by its name. The same seed and size make the same set. Throws if there is no such set. */
export function makeSet(
  name: string,
  { rows, queries, seed }: { rows: number; queries: number; seed: number },
): UnseenSet {
  const kind = kinds[name]
  if (kind === undefined) throw new Error(`no set ${name}: there are ${setNames.join(', ')}`)
  const { dimension, metric, share = 1 } = kind
  const { row, query = row } = kind.make(drawsOf(seed))
  const count = Math.floor(Math.min(rows * share, componentsMax / dimension))
  const base = fill(count, dimension, row)
  // A query is drawn as a row in the middle, so that no rule for the first rows applies to it.
  return { name, dimension, metric, base, queries: fill(queries, dimension, (i) => query(count + 1 + 100 * i, count)) }
}

function fill(count: number, dimension: number, make: Maker): Float32Array {
  const all = new Float32Array(count * dimension)
  for (let i = 0; i < count; i++) all.set(make(i, count), i * dimension)
  return all
}
