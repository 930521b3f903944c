// A set of vectors with the exact answers to its queries: read from a folder, or generated from a seed.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

export interface Dataset {
  /** One line of text for users. */
  readonly title: string
  readonly space: 'l2'
  readonly dimension: number
  readonly count: number
  readonly queryCount: number
  /** Minimum recall with default settings. */
  readonly recallMin: number
  base(row: number): ArrayLike<number>
  query(row: number): ArrayLike<number>
  /** Rows of the exact nearest neighbors, nearest first, at least ten. */
  neighbors(query: number): ArrayLike<number>
  /** Squared distances of the neighbors. */
  distances(query: number): ArrayLike<number>
}

/** Reads base, queries and ground truth as little-endian rows, described by meta.json. */
export function readDataset(folder: string): Dataset {
  // meta.json is written together with the rows. A wrong one shows as a size that does not match.
  const meta = JSON.parse(readFileSync(path.join(folder, 'meta.json'), 'utf8')) as Meta
  if (meta.metric !== 'l2') throw new Error(`${folder} uses the metric ${meta.metric}; the demo requires l2`)
  const base = readRows(folder, 'base', meta.n, meta.d)
  const queries = readRows(folder, 'queries', meta.nq, meta.d)
  const neighbors = new Int32Array(bytesOf(path.join(folder, 'groundtruth.i32')))
  const distances = new Float32Array(bytesOf(path.join(folder, 'groundtruth_dist.f32')))
  const depth = neighbors.length / meta.nq
  return {
    title: `${meta.name}: ${meta.n.toLocaleString('en')} x ${meta.d}, with its own exact ground truth`,
    space: 'l2',
    dimension: meta.d,
    count: meta.n,
    queryCount: meta.nq,
    recallMin: 0.99,
    base: (row) => base.subarray(row * meta.d, (row + 1) * meta.d),
    query: (row) => queries.subarray(row * meta.d, (row + 1) * meta.d),
    neighbors: (query) => neighbors.subarray(query * depth, (query + 1) * depth),
    distances: (query) => distances.subarray(query * depth, (query + 1) * depth),
  }
}

/** The squared distance in exact arithmetic. */
export function squaredDistance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i += 1) {
    const difference = (a[i] as number) - (b[i] as number)
    sum += difference * difference
  }
  return sum
}

interface Meta {
  readonly name: string
  readonly n: number
  readonly d: number
  readonly nq: number
  readonly metric: string
}

function readRows(folder: string, name: string, rows: number, dimension: number): Uint8Array | Float32Array {
  const bytesFile = path.join(folder, `${name}.u8`)
  const values = existsSync(bytesFile)
    ? new Uint8Array(bytesOf(bytesFile))
    : new Float32Array(bytesOf(path.join(folder, `${name}.f32`)))
  if (values.length !== rows * dimension) {
    throw new Error(`${folder}: ${name} has ${values.length} numbers, meta.json says ${rows} x ${dimension}`)
  }
  return values
}

/** A separate buffer, so that a typed array can start at its beginning. */
function bytesOf(file: string): ArrayBuffer {
  return new Uint8Array(readFileSync(file)).buffer
}
