// Seeded rows that resemble normalized text embeddings, generated in batches that do not depend on each other: a common mean, topics and
// subtopics of very different sizes, a local part whose variance falls by a power law, and noise. A batch takes little time and no memory
// besides its rows, so that a million rows need not be kept.
import { seededRandom } from '@annal/wal/testing'
import { normalizeRows } from '../sets/dataset.ts'

const [topics, subtopicsEach] = [64, 40]
const share = { mean: 0.55, topic: 0.62, subtopic: 0.38, local: 0.55, noise: 0.08 }
/** Normally distributed values are drawn from a table: a logarithm and a cosine for each of them would take most of the time. */
const tableSize = 2 ** 16

/** A source of batches. */
export interface RowSource {
  /** `rows` rows, one after another. The same number and seed give the same rows. */
  batch(number: number, rows: number): Float32Array
}

export function openRows(dimension: number, seed: number): RowSource {
  const random = seededRandom(seed).next
  const normal = Float32Array.from(
    { length: tableSize },
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  )
  const falling = (power: number, length: number) => {
    const weights = Float64Array.from({ length: dimension }, (_, i) => (i + 1) ** -power)
    const scale = length / Math.sqrt(weights.reduce((sum, x) => sum + x * x, 0))
    return weights.map((x) => x * scale)
  }
  const vectors = (count: number, weights: Float64Array) =>
    Array.from({ length: count }, () => weights.map((weight) => weight * draw(normal, random)))
  const [mean] = vectors(1, falling(0, share.mean)) as [Float64Array]
  const topicRows = vectors(topics, falling(0.45, share.topic))
  const subtopicRows = vectors(topics * subtopicsEach, falling(0.5, share.subtopic))
  const local = falling(0.75, share.local)
  const noise = share.noise / Math.sqrt(dimension)
  const [topicLimits, subtopicLimits] = [zipf(topics, 0.6), zipf(subtopicsEach, 0.7)]

  return {
    batch(number, rows) {
      const drawn = seededRandom(seed * 1_000_003 + number + 1).next
      const made = new Float32Array(rows * dimension)
      for (let row = 0; row < rows; row++) {
        const topic = pick(topicLimits, drawn())
        const [topicRow, subtopicRow] = [
          topicRows[topic] as Float64Array,
          subtopicRows[topic * subtopicsEach + pick(subtopicLimits, drawn())] as Float64Array,
        ]
        const spread = Math.exp(0.35 * draw(normal, drawn))
        // Each topic has its own order of the directions in which its rows differ most.
        const turn = (topic * 97) % dimension
        for (let j = 0, to = row * dimension; j < dimension; j++) {
          const weight = spread * (local[(j + turn) % dimension] as number)
          const around = (topicRow[j] as number) + (subtopicRow[j] as number) + (mean[j] as number)
          made[to + j] = around + weight * draw(normal, drawn) + noise * draw(normal, drawn)
        }
      }
      normalizeRows(made, dimension)
      return made
    },
  }
}

function draw(normal: Float32Array, random: () => number): number {
  return normal[Math.floor(random() * tableSize)] as number
}

/** The upper limits of shares that fall by a power law. */
function zipf(count: number, power: number): Float64Array {
  const limits = Float64Array.from({ length: count }, (_, i) => (i + 1) ** -power)
  for (let i = 1; i < count; i++) limits[i] = (limits[i] as number) + (limits[i - 1] as number)
  const total = limits[count - 1] as number
  return limits.map((limit) => limit / total)
}

function pick(limits: Float64Array, at: number): number {
  return Math.max(
    0,
    limits.findIndex((limit) => at < limit),
  )
}
