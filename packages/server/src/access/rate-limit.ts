// Limits the requests of each caller, by token, or by address if there is no token. Each caller has a token bucket, which is refilled at a
// steady rate. The buckets of one thread are in this file; threads that share limits would share them behind the same interface.
import { ServerError } from '../http/errors.ts'
import { authAddressesMax } from '../http/limits.ts'

export interface RateLimit {
  /** Throws rate_limited when the caller's bucket is empty. */
  take(caller: string): void
}

interface Bucket {
  left: number
  timeMs: number
  /** When the caller was moved to the end of the map. */
  movedMs: number
}

/** Callers are moved at most this often, because a move of an entry in a map takes longer than the rest. */
const moveEveryMs = 1_000

/** Allows `perSecond` requests on average, and a burst of the same size; undefined: no limit. */
export function createRateLimit(perSecond: number | undefined, now: () => number = Date.now): RateLimit {
  if (perSecond === undefined) return { take: () => undefined }
  // In the order of the last requests, to the second, so that its first caller is the one to forget.
  const buckets = new Map<string, Bucket>()
  const move = (caller: string, bucket: Bucket, timeMs: number): void => {
    bucket.movedMs = timeMs
    buckets.delete(caller)
    buckets.set(caller, bucket)
    const idle = buckets.keys().next().value
    if (buckets.size > authAddressesMax && idle !== undefined) buckets.delete(idle)
  }
  return {
    take(caller) {
      const timeMs = now()
      const bucket = buckets.get(caller) ?? { left: perSecond, timeMs, movedMs: Number.NEGATIVE_INFINITY }
      bucket.left = Math.min(perSecond, bucket.left + ((timeMs - bucket.timeMs) / 1_000) * perSecond)
      bucket.timeMs = timeMs
      if (timeMs - bucket.movedMs >= moveEveryMs) move(caller, bucket, timeMs)
      if (bucket.left < 1) {
        throw new ServerError('rate_limited', `more than ${perSecond} requests a second; slow down`, {
          limit: perSecond,
        })
      }
      bucket.left -= 1
    },
  }
}
