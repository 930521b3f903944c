// How many requests one caller may make: a bucket per token, or per address where there is no token, that fills at a steady rate.
import { ServerError } from '../http/errors.ts'
import { authAddressesMax } from '../http/limits.ts'

export interface RateLimit {
  /** Throws rate_limited when the caller's bucket is empty. */
  take(caller: string): void
}

interface Bucket {
  left: number
  timeMs: number
}

/** `perSecond` on average, and as many at once; undefined lets everybody through. */
export function createRateLimit(perSecond: number | undefined, now: () => number = Date.now): RateLimit {
  if (perSecond === undefined) return { take: () => undefined }
  const buckets = new Map<string, Bucket>()
  return {
    take(caller) {
      const bucket = buckets.get(caller) ?? { left: perSecond, timeMs: now() }
      const filled = bucket.left + ((now() - bucket.timeMs) / 1_000) * perSecond
      bucket.left = Math.min(perSecond, filled)
      bucket.timeMs = now()
      // Callers are kept in the order of their last request, so that the first one can be dropped.
      buckets.delete(caller)
      buckets.set(caller, bucket)
      const idle = buckets.keys().next().value
      if (buckets.size > authAddressesMax && idle !== undefined) buckets.delete(idle)
      if (bucket.left < 1) {
        throw new ServerError('rate_limited', `more than ${perSecond} requests a second; slow down`, {
          limit: perSecond,
        })
      }
      bucket.left -= 1
    },
  }
}
