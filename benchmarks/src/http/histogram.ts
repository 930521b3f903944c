// Counts of latencies in buckets that are at most 0.8 % wide, from 0.1 us to 200 s, like HdrHistogram: recording costs the same for every
// value and takes no memory, and histograms of several processes add up.

const subBuckets = 128
const subBucketBits = 7
const perMs = 10_000
const valueMax = 2 ** 31 - 1

export interface Histogram {
  readonly counts: Uint32Array
}

export function createHistogram(): Histogram {
  return { counts: new Uint32Array((32 - subBucketBits + 1) * subBuckets) }
}

export function record({ counts }: Histogram, ms: number): void {
  const value = Math.min(valueMax, Math.max(0, Math.round(ms * perMs)))
  const bucket = bucketOf(value)
  counts[bucket] = counts[bucket]! + 1
}

export function merge(histograms: readonly Histogram[]): Histogram {
  const sum = createHistogram()
  for (const { counts } of histograms)
    for (let i = 0; i < counts.length; i++) sum.counts[i] = sum.counts[i]! + counts[i]!
  return sum
}

/** The smallest recorded value, in milliseconds, that `share` of the values do not exceed. NaN without values. */
export function quantile({ counts }: Histogram, share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let seen = 0
  for (const [bucket, count] of counts.entries()) {
    seen += count
    if (count > 0 && seen >= share * total) return highestOf(bucket) / perMs
  }
  return Number.NaN
}

/** Values below 128 have a bucket each; above, each power of two is divided into 128 buckets. */
function bucketOf(value: number): number {
  const shift = Math.max(0, 32 - Math.clz32(value) - subBucketBits - 1)
  return shift === 0 ? value : shift * subBuckets + (value >>> shift)
}

function highestOf(bucket: number): number {
  if (bucket < 2 * subBuckets) return bucket
  const shift = Math.floor(bucket / subBuckets) - 1
  return (bucket - shift * subBuckets + 1) * 2 ** shift - 1
}
