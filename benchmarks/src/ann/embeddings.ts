// Generates rows that resemble normalized text embeddings: a common mean, topics and subtopics of very different sizes, and a local part whose
// variance falls by a power law, half of it in directions of the topic. So no single projection fits all rows, as in real embeddings.
// Named `embeddings-100k-768`, or `embeddings-100k-768-seed2` for another seed.
import { seededRandom } from '@annal/wal/testing'
import type { Dataset } from '../sets/dataset.ts'
import { normalizeRows } from '../sets/dataset.ts'

const [topics, subtopicsEach] = [64, 40]
const share = { mean: 0.55, topic: 0.62, subtopic: 0.38, local: 0.55, noise: 0.08 }

export interface EmbeddingsName {
  readonly rows: number
  readonly dimension: number
  readonly seed: number
}

export function parseEmbeddingsName(name: string): EmbeddingsName | undefined {
  const [, count, unit = '', dimension, seed = '1'] = /^embeddings-(\d+)([km]?)-(\d+)(?:-seed(\d+))?$/.exec(name) ?? []
  const units: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 }
  if (count === undefined) return undefined
  return { rows: Number(count) * (units[unit] ?? 1), dimension: Number(dimension), seed: Number(seed) }
}

/** `rows` unit rows and 1,000 queries of the same kind. */
export function makeEmbeddings(name: string, { rows, dimension, seed }: EmbeddingsName): Omit<Dataset, 'truth'> {
  const random = seededRandom(seed).next
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const drawn = (weights: Float64Array) => Float64Array.from(weights, (weight) => weight * gauss())
  const rotate = makeRotation(dimension, random)
  const mean = scaledTo(drawn(new Float64Array(dimension).fill(1)), share.mean)
  const topicRows = Array.from({ length: topics }, () => drawn(spectrum(dimension, 0.45)))
  const subtopicRows = Array.from({ length: topics * subtopicsEach }, () => drawn(spectrum(dimension, 0.5)))
  const orders = topicRows.map(() => shuffled(dimension, random))
  const local = spectrum(dimension, 0.75)
  const [pickTopic, pickSubtopic] = [zipf(topics, 0.6, random), zipf(subtopicsEach, 0.7, random)]
  const noise = share.noise / Math.sqrt(dimension)

  const fillRow = (out: Float32Array) => {
    const topic = pickTopic()
    const [topicRow, order] = [topicRows[topic], orders[topic]]
    const subtopicRow = subtopicRows[topic * subtopicsEach + pickSubtopic()]
    if (topicRow === undefined || order === undefined || subtopicRow === undefined) throw new Error('no such topic')
    // Some texts are nearer to their subtopic than others.
    const spread = share.local * Math.SQRT1_2 * Math.exp(0.35 * gauss())
    const row = new Float64Array(dimension)
    for (let j = 0; j < dimension; j++)
      row[j] = share.topic * (topicRow[j] ?? 0) + share.subtopic * (subtopicRow[j] ?? 0)
    for (let j = 0; j < dimension; j++) {
      const weight = spread * (local[j] ?? 0)
      row[j] = (row[j] ?? 0) + weight * gauss() + noise * gauss()
      const place = order[j] ?? 0
      row[place] = (row[place] ?? 0) + weight * gauss()
    }
    rotate(row)
    for (let j = 0; j < dimension; j++) out[j] = (row[j] ?? 0) + (mean[j] ?? 0)
  }
  const make = (count: number) => {
    const made = new Float32Array(count * dimension)
    for (let i = 0; i < count; i++) fillRow(made.subarray(i * dimension, (i + 1) * dimension))
    normalizeRows(made, dimension)
    return made
  }
  return { name, dimension, metric: 'cosine', base: make(rows), queries: make(1000) }
}

/** Standard deviations of the dimensions, falling by a power law; their squares sum to 1. */
function spectrum(dimension: number, power: number): Float64Array {
  const falling = Float64Array.from({ length: dimension }, (_, i) => (i + 1) ** -power)
  return scaledTo(falling, 1)
}

function scaledTo(row: Float64Array, length: number): Float64Array {
  const scale = length / Math.sqrt(row.reduce((sum, x) => sum + x * x, 0))
  return row.map((x) => x * scale)
}

/** Draws numbers below `count`; the i-th with a probability that falls by a power law. */
function zipf(count: number, power: number, random: () => number): () => number {
  const limits = Float64Array.from({ length: count }, (_, i) => (i + 1) ** -power)
  for (let i = 1; i < count; i++) limits[i] = (limits[i] ?? 0) + (limits[i - 1] ?? 0)
  const total = limits[count - 1] ?? 1
  return () => {
    const at = random() * total
    return Math.max(
      0,
      limits.findIndex((limit) => at < limit),
    )
  }
}

function shuffled(count: number, random: () => number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0]
  }
  return order
}

/** An orthogonal map that mixes all dimensions: rounds of random signs, a random order, and Hadamard transforms of blocks. */
function makeRotation(dimension: number, random: () => number): (row: Float64Array) => void {
  const rounds = Array.from({ length: 3 }, () => {
    const signs = Float64Array.from({ length: dimension }, () => (random() < 0.5 ? -1 : 1))
    return { signs, order: shuffled(dimension, random) }
  })
  const mixed = new Float64Array(dimension)
  return (row) => {
    for (const { signs, order } of rounds) {
      for (let j = 0; j < dimension; j++) mixed[j] = (signs[j] ?? 0) * (row[order[j] ?? 0] ?? 0)
      hadamardBlocks(mixed)
      row.set(mixed)
    }
  }
}

/** Blocks of falling powers of two, from the start. */
function hadamardBlocks(row: Float64Array): void {
  for (let from = 0; from < row.length; ) {
    const size = 2 ** Math.floor(Math.log2(row.length - from))
    const scale = 1 / Math.sqrt(size)
    for (let half = 1; half < size; half *= 2)
      for (let start = from; start < from + size; start += 2 * half)
        for (let j = start; j < start + half; j++) {
          const [a, b] = [row[j] ?? 0, row[j + half] ?? 0]
          row[j] = a + b
          row[j + half] = a - b
        }
    for (let j = from; j < from + size; j++) row[j] = (row[j] ?? 0) * scale
    from += size
  }
}
