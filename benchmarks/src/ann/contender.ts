// One index that is measured: built once, then runs all queries at an ef each time it is its turn.
export interface Run {
  readonly recall: number
  readonly wallSeconds: number
  readonly cpuSeconds: number
}

export interface Contender {
  readonly name: string
  readonly buildCpuSeconds: number
  run(ef: number): Promise<Run>
  close(): Promise<void>
}

/** Share of the ten exact neighbors that are among the ten found. */
export function recallAtTen(found: Uint32Array, truth: Int32Array, queries: number): number {
  let hits = 0
  for (let i = 0; i < queries; i++) {
    const known = truth.subarray(i * 100, i * 100 + 10)
    for (const ordinal of found.subarray(i * 10, i * 10 + 10)) if (known.includes(ordinal)) hits++
  }
  return hits / (queries * 10)
}

/** Queries per second at a recall, interpolated between the measured points on a logarithmic scale; undefined outside of them. */
export function speedAt(points: readonly { recall: number; speed: number }[], recall: number): number | undefined {
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
