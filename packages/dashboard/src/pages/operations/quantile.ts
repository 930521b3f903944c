// Quantiles of a histogram.

/** Interpolates within the bucket, as if its requests were spread evenly. */
export function quantile(buckets: readonly (readonly [bound: number, below: number])[], share: number) {
  const sorted = [...buckets].sort(([a], [b]) => a - b)
  const total = sorted.at(-1)?.[1] ?? 0
  if (total <= 0) return undefined
  const wanted = share * total
  let low = 0
  let under = 0
  for (const [bound, below] of sorted) {
    if (below >= wanted) {
      if (!Number.isFinite(bound)) return low
      return below === under ? bound : low + ((bound - low) * (wanted - under)) / (below - under)
    }
    low = bound
    under = below
  }
  return low
}
