// One index that is measured: built once, then runs all queries at an ef each time it is its turn.
import { answersKept } from '../sets/dataset.ts'

export interface Run {
  readonly recall: number
  readonly wallSeconds: number
  readonly cpuSeconds: number
}

export interface Contender {
  readonly name: string
  readonly buildCpuSeconds: number
  /** Codes or vectors, links, and what the index keeps for each row; undefined if the library does not say. */
  readonly bytesPerRow: number | undefined
  /** Searches all queries for their `k` nearest rows. */
  run(ef: number, k: number): Promise<Run>
  close(): Promise<void>
}

/** Share of the `k` exact neighbors that are among the `k` found. */
export function recallOf(
  found: Uint32Array,
  truth: Int32Array,
  { queries, k }: { queries: number; k: number },
): number {
  let hits = 0
  for (let i = 0; i < queries; i++) {
    const known = new Set(truth.subarray(i * answersKept, i * answersKept + k))
    for (const ordinal of found.subarray(i * k, (i + 1) * k)) if (known.has(ordinal)) hits++
  }
  return hits / (queries * k)
}

/** Recall and queries per CPU second at one ef. */
export interface Point {
  readonly recall: number
  readonly speed: number
}

/** Queries per second at a recall, interpolated between the measured points on a logarithmic scale; undefined outside of them. */
export function speedAt(points: readonly Point[], recall: number): number | undefined {
  const [first] = points
  if (first !== undefined && first.recall >= recall) return first.speed
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1]
    const b = points[i]
    if (a === undefined || b === undefined || a.recall > recall || b.recall < recall) continue
    const share = b.recall === a.recall ? 0 : (recall - a.recall) / (b.recall - a.recall)
    return Math.exp(Math.log(a.speed) * (1 - share) + Math.log(b.speed) * share)
  }
  return undefined
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
