// Sets with exact answers: from a data directory, or clustered sets generated from a seed, whose answers are computed here.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seededRandom } from '@annal/wal/testing'

export interface Dataset {
  readonly name: string
  readonly dimension: number
  readonly metric: 'l2' | 'cosine'
  readonly base: Float32Array
  readonly queries: Float32Array
  /** `answersKept` ordinals for each query, nearest first. */
  readonly truth: Int32Array
}

export async function readDataset(directory: string, name: string): Promise<Dataset> {
  const file = join(directory, name)
  const meta = JSON.parse(await readFile(join(file, 'meta.json'), 'utf8')) as { d: number; metric: 'l2' | 'cosine' }
  return normalizeForMetric({
    name,
    dimension: meta.d,
    metric: meta.metric,
    base: await vectors(file, 'base'),
    queries: await vectors(file, 'queries'),
    truth: new Int32Array((await bytes(join(file, 'groundtruth.i32'))).buffer),
  })
}

/** Writes the form that `readDataset` reads. The file that it checks for is written last. */
export async function writeDataset(directory: string, set: Dataset): Promise<void> {
  const file = join(directory, set.name)
  await mkdir(file, { recursive: true })
  await writeFile(join(file, 'base.f32'), set.base)
  await writeFile(join(file, 'queries.f32'), set.queries)
  await writeFile(join(file, 'groundtruth.i32'), set.truth)
  await writeFile(join(file, 'meta.json'), JSON.stringify({ d: set.dimension, metric: set.metric }))
}

/** Number of nearest ordinals that a set keeps for each query. */
export const answersKept = 100

/** Converts answers of any width to the width that a set keeps; missing ones are -1. */
export function answersOf(answers: Int32Array, columns: number): Int32Array {
  const kept = new Int32Array((answers.length / columns) * answersKept).fill(-1)
  for (let row = 0; row * columns < answers.length; row++) {
    const width = Math.min(columns, answersKept)
    kept.set(answers.subarray(row * columns, row * columns + width), row * answersKept)
  }
  return kept
}

/** Normalizes vectors that are compared by angle, in place. */
export function normalizeForMetric(set: Dataset): Dataset {
  if (set.metric === 'cosine') for (const rows of [set.base, set.queries]) normalizeRows(rows, set.dimension)
  return set
}

async function vectors(directory: string, name: string): Promise<Float32Array> {
  try {
    return new Float32Array((await bytes(join(directory, `${name}.f32`))).buffer)
  } catch (error) {
    // A set has one of the two files. If both are missing, the second error is thrown.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return Float32Array.from(await bytes(join(directory, `${name}.u8`)))
  }
}

async function bytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
  // Copied, so that the buffer starts with the bytes.
  return new Uint8Array(await readFile(path))
}

/** Gives each row the length 1, in place; rows of zeros stay as they are. */
export function normalizeRows(rows: Float32Array, dimension: number): void {
  for (let from = 0; from < rows.length; from += dimension) {
    const row = rows.subarray(from, from + dimension)
    let square = 0
    for (const x of row) square += x * x
    const scale = square > 0 ? 1 / Math.sqrt(square) : 0
    for (let i = 0; i < dimension; i++) row[i] = (row[i] ?? 0) * scale
  }
}

export interface Clustered extends Omit<Dataset, 'truth'> {
  /** The cluster of each row and of each query. */
  readonly baseClusters: Uint8Array
  readonly queryClusters: Uint8Array
}

/** Generates `n` unit rows in 200 clusters with a decaying spectrum, and 1,000 queries of the same kind. */
export function makeClustered(n: number, dimension: number, seed: number): Clustered {
  const random = seededRandom(seed).next
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const rank = 32
  const basis = Float32Array.from({ length: rank * dimension }, () => gauss() / Math.sqrt(dimension))
  const clusters = 200
  const centers = Float32Array.from({ length: clusters * dimension }, () => gauss() / Math.sqrt(dimension))
  const make = (count: number) => {
    const rows = new Float32Array(count * dimension)
    const clusterOf = new Uint8Array(count)
    for (let i = 0; i < count; i++) {
      const cluster = Math.floor(random() * clusters)
      clusterOf[i] = cluster
      const centerOffset = cluster * dimension
      const row = rows.subarray(i * dimension, (i + 1) * dimension)
      for (let j = 0; j < dimension; j++)
        row[j] = (centers[centerOffset + j] ?? 0) + (0.15 * gauss()) / Math.sqrt(dimension)
      for (let r = 0; r < rank; r++) {
        const weight = (1.2 * gauss()) / (1 + r / 8)
        for (let j = 0; j < dimension; j++) row[j] = (row[j] ?? 0) + (weight * (basis[r * dimension + j] ?? 0)) / 3
      }
    }
    normalizeRows(rows, dimension)
    return { rows, drawn: clusterOf }
  }
  const [base, queries] = [make(n), make(1000)]
  return {
    name: `clustered-${n}`,
    dimension,
    metric: 'cosine',
    base: base.rows,
    queries: queries.rows,
    baseClusters: base.drawn,
    queryClusters: queries.drawn,
  }
}
