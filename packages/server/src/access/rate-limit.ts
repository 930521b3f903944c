// Limits the requests of each caller, by token, or by address if there is no token. Each caller has a token bucket, which is refilled at a
// steady rate. The main thread assigns the buckets, which are in shared memory; other threads learn the bucket of a caller from a grant
// (serving/grants.ts) and take from the same one.
import { ServerError } from '../errors.ts'
import { authAddressesMax } from '../limits.ts'
import { RateBuckets } from './rate-buckets.ts'

export interface RateLimit {
  /** Throws rate_limited when the caller's bucket is empty. */
  take(caller: string): void
  /** The bucket of a caller that has taken from it; undefined without a limit. */
  placeOf(caller: string): number | undefined
  /** Undefined without a limit. */
  readonly buckets: RateBuckets | undefined
  /** Calls `listener` when a bucket is given to another caller. */
  onReassigned(listener: (place: number) => void): void
}

interface Caller {
  readonly place: number
  /** `fullAt` of the bucket when the caller was moved to the end of the map. */
  noted: bigint
}

/** Callers that are examined for one to forget. Those that made requests since they were examined last are kept. */
const examinedMax = 8

/** Allows `perSecond` requests on average, and a burst of the same size; undefined: no limit. */
export function createRateLimit(perSecond: number | undefined, now?: () => number): RateLimit {
  if (perSecond === undefined) {
    return {
      take: () => undefined,
      placeOf: () => undefined,
      buckets: undefined,
      onReassigned: () => undefined,
    }
  }
  const buckets = new RateBuckets({ length: authAddressesMax }, perSecond, now)
  const callers = new Map<string, Caller>()
  const listeners: ((place: number) => void)[] = []
  const place = (): number => {
    if (callers.size < authAddressesMax) return callers.size
    const [name, { place }] = idle(callers, buckets)
    callers.delete(name)
    for (const listener of listeners) listener(place)
    buckets.reset(place)
    return place
  }
  return {
    buckets,
    take(caller) {
      const known = callers.get(caller)
      const bucket = known?.place ?? place()
      const taken = buckets.take(bucket)
      if (known === undefined) callers.set(caller, { place: bucket, noted: buckets.fullAt(bucket) })
      if (taken) return
      throw new ServerError('rate_limited', `more than ${perSecond} requests a second; slow down`, { limit: perSecond })
    },
    placeOf: (caller) => callers.get(caller)?.place,
    onReassigned: (listener) => void listeners.push(listener),
  }
}

/** A caller that made no request for a long time, mostly the longest. */
function idle(callers: Map<string, Caller>, buckets: RateBuckets): [name: string, caller: Caller] {
  for (let examined = 0; ; examined++) {
    const first = callers.entries().next().value
    if (first === undefined) throw new Error('there is no caller to forget')
    const [name, caller] = first
    const fullAt = buckets.fullAt(caller.place)
    if (fullAt === caller.noted || examined === examinedMax) return first
    caller.noted = fullAt
    callers.delete(name)
    callers.set(name, caller)
  }
}
