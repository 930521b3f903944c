// Test data for sparse fields: seeded rows, and a plain model of the expected results.
import type { SparseFieldSchema, SparseModel } from '../../src/model/schema.ts'
import type { DenseHits, SparseQuery, SparseRows } from '../../src/vector/field.ts'

export interface Terms {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

export function sparseDefinition(model: SparseModel = 'default', dimension = 2 ** 32): SparseFieldSchema {
  return { kind: 'sparse', name: 'words', params: { model, dimension } }
}

export const noRows: SparseRows = {
  ordinals: new Uint32Array(0),
  counts: new Uint32Array(0),
  indices: new Uint32Array(0),
  values: new Float32Array(0),
}

/** `terms` distinct indices; small ones are much more frequent than large ones, like words. */
export function randomTerms(random: () => number, terms: number, indices: number, spread = 1): Terms {
  const chosen = new Set<number>()
  while (chosen.size < terms) chosen.add(Math.floor(indices * random() ** 3) * spread)
  const sorted = [...chosen].sort((a, b) => a - b)
  return { indices: Uint32Array.from(sorted), values: Float32Array.from(sorted, () => 0.1 + 3 * random()) }
}

export function rowsOfTerms(rows: readonly (readonly [ordinal: number, terms: Terms])[]): SparseRows {
  const sorted = [...rows].sort(([a], [b]) => a - b)
  return {
    ordinals: Uint32Array.from(sorted, ([ordinal]) => ordinal),
    counts: Uint32Array.from(sorted, ([, { indices }]) => indices.length),
    indices: Uint32Array.from(sorted.flatMap(([, { indices }]) => [...indices])),
    values: Float32Array.from(sorted.flatMap(([, { values }]) => [...values])),
  }
}

/** Scores every row in double precision. */
export function scoreAllRows(
  rows: Iterable<readonly [ordinal: number, terms: Terms]>,
  query: SparseQuery,
  weightOf: (index: number, value: number) => number = (_, value) => value,
): { ordinal: number; score: number }[] {
  const weights = new Map([...query.indices].map((index, i) => [index, weightOf(index, query.values[i] ?? 0)]))
  const found: { ordinal: number; score: number }[] = []
  for (const [ordinal, { indices, values }] of rows) {
    let score = 0
    let shared = false
    for (let i = 0; i < indices.length; i++) {
      const weight = weights.get(indices[i] ?? -1)
      if (weight === undefined || weight <= 0) continue
      shared = true
      score += weight * (values[i] ?? 0)
    }
    if (shared) found.push({ ordinal, score })
  }
  return found.sort((a, b) => b.score - a.score || a.ordinal - b.ordinal)
}

/** Describes what is wrong with the hits, or returns undefined. Scores must be equal, and ordinals, too, except for ties within float32. */
export function fault(
  hits: DenseHits,
  truth: readonly { ordinal: number; score: number }[],
  k: number,
): string | undefined {
  const wanted = truth.slice(0, k)
  if (hits.ordinals.length !== wanted.length) return `${hits.ordinals.length} hits, not ${wanted.length}`
  const scores = new Map(truth.map(({ ordinal, score }) => [ordinal, score]))
  for (const [i, { ordinal, score }] of wanted.entries()) {
    const found = hits.ordinals[i] ?? -1
    const similarity = hits.similarities[i] ?? Number.NaN
    const near = (a: number, b: number) => Math.abs(a - b) <= 2e-7 * Math.max(1, Math.abs(a), Math.abs(b))
    if (!near(similarity, score)) return `hit ${i} has ${similarity}, not ${score}`
    if (found !== ordinal && !near(scores.get(found) ?? Number.NaN, score))
      return `hit ${i} is ${found}, not ${ordinal}`
  }
  return new Set(hits.ordinals).size === hits.ordinals.length ? undefined : 'a row twice'
}
