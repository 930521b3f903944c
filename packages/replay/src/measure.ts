// Times and shares of one interval of a replay.

/** The measurements of one interval of a replay. */
export interface Stretch {
  /** The share of all events replayed by the end of the interval. */
  readonly events: number
  /** Objects written, deleted or updated in the interval. */
  readonly objects: number
  /** Time of its last event, in milliseconds since 1970. */
  readonly logTimeMs: number
  /** Seconds during which changes were pending. */
  readonly busySeconds: number
  readonly objectsPerSecond: number
  /** Milliseconds from the call to the acknowledgement. */
  readonly acknowledged: Percentiles
  readonly searched: Percentiles
  /** The share of exact results that searches found; undefined if none was compared. */
  readonly recall: number | undefined
  readonly memoryBytes: number | undefined
  /** Milliseconds during which a checkpoint ran. */
  readonly checkpointMs: number
}

/** Percentiles of times, in milliseconds, and the number of values. */
export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Computed from all values, because an interval has at most some thousands. */
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
