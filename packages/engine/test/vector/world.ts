// Test data for dense fields: seeded vectors, exact results by plain arithmetic, and a field with the calls that fill it.

import type { DenseFieldSchema, DenseSchemaParams, SpaceType } from '../../src/model/schema.ts'
import type { DenseHits, DenseRows, FieldCut, PreparedCut } from '../../src/vector/field.ts'

/** Numbers in [0, 1) that depend on the seed only. */
export function createRandom(seed: number): () => number {
  let s = seed >>> 0
  return () => {
    s = (s + 0x6d2b79f5) >>> 0
    let t = Math.imul(s ^ (s >>> 15), s | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export function definitionOf(params: Partial<DenseSchemaParams> & { dimension: number }): DenseFieldSchema {
  return {
    kind: 'dense',
    name: 'vector',
    params: { spaceType: 'l2', precision: 'float32', M: 16, efConstruction: 128, ...params },
  }
}

/** Rows around `clusters` centers, not centered at the origin, like real data. */
export function clusteredRows(n: number, dimension: number, seed: number, clusters = 20): Float32Array {
  const random = createRandom(seed)
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const centers = Float32Array.from({ length: clusters * dimension }, () => 3 + 2 * gauss())
  const rows = new Float32Array(n * dimension)
  for (let i = 0; i < n; i++) {
    const from = Math.floor(random() * clusters) * dimension
    for (let j = 0; j < dimension; j++) rows[i * dimension + j] = (centers[from + j] ?? 0) + gauss()
  }
  return rows
}

/** Normalizes rows in place, as the collection does for cosine, and returns their lengths. */
export function normalize(rows: Float32Array, dimension: number): Float32Array {
  const lengths = new Float32Array(rows.length / dimension)
  for (let i = 0; i < lengths.length; i++) {
    const row = rows.subarray(i * dimension, (i + 1) * dimension)
    const length = Math.hypot(...row)
    lengths[i] = length
    if (length > 0) for (let j = 0; j < dimension; j++) row[j] = (row[j] ?? 0) / length
  }
  return lengths
}

export function rowsOf(vectors: Float32Array, dimension: number, from: number, to: number, first = from): DenseRows {
  const n = to - from
  return {
    ordinals: Uint32Array.from({ length: n }, (_, i) => first + i),
    vectors: vectors.subarray(from * dimension, to * dimension),
    norms: new Float32Array(n).fill(1),
  }
}

export function similarity(space: SpaceType, a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) {
    const x = a[i] ?? 0
    const y = b[i] ?? 0
    sum += space === 'l2' ? -((x - y) ** 2) : x * y
  }
  return sum
}

/** The k best similarities, exactly. */
export function exactNearest(
  space: SpaceType,
  rows: Float32Array,
  dimension: number,
  query: Float32Array,
  k: number,
  wanted: (ordinal: number) => boolean = () => true,
): { ordinal: number; similarity: number }[] {
  const all: { ordinal: number; similarity: number }[] = []
  for (let i = 0; i * dimension < rows.length; i++)
    if (wanted(i))
      all.push({ ordinal: i, similarity: similarity(space, query, rows.subarray(i * dimension, (i + 1) * dimension)) })
  all.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
  return all.slice(0, k)
}

/** Share of the exact results that was found, by similarity, so that duplicates count as equal. */
export function recall(hits: DenseHits, truth: readonly { ordinal: number; similarity: number }[]): number {
  const known = new Set(truth.map((hit) => hit.ordinal))
  return [...hits.ordinals].filter((ordinal) => known.has(ordinal)).length / Math.max(1, truth.length)
}

/** A cut of a field that does not change meanwhile. Must be released. */
async function cutOf(field: { prepareCut(): PreparedCut }): Promise<FieldCut> {
  const prepared = field.prepareCut()
  await prepared.copyAhead(async () => undefined)
  const cut = prepared.take()
  prepared.release()
  return cut
}

/** The bytes of a snapshot of the field. */
export async function dumpField(field: { prepareCut(): PreparedCut }): Promise<Buffer> {
  const { pieces, release } = await cutOf(field)
  const copies = Array.from(pieces, (piece) => piece.slice())
  release()
  return Buffer.concat(copies)
}
