// Times and shares of one stretch of a replay.

export interface Stretch {
  /** Events replayed before it ended, of all. */
  readonly events: number
  /** Objects written, deleted or given other filters in it. */
  readonly objects: number
  /** Milliseconds since 1970, of its last event. */
  readonly logTimeMs: number
  /** Seconds in which changes were on their way. */
  readonly busySeconds: number
  readonly objectsPerSecond: number
  /** Milliseconds from the call to the acknowledgement. */
  readonly acknowledged: Percentiles
  readonly searched: Percentiles
  /** Share of the exact answers that searches found; undefined where none was compared. */
  readonly recall: number | undefined
  readonly memoryBytes: number | undefined
  /** Milliseconds that a checkpoint ran in it. */
  readonly checkpointMs: number
}

export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Exact, of all values: a stretch has thousands of them at most. */
export function percentiles(values: readonly number[]): Percentiles {
  if (values.length === 0) return { count: 0, p50: 0, p99: 0, max: 0 }
  const sorted = Float64Array.from(values).sort()
  const quantile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number
  return { count: sorted.length, p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) }
}

export function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}
