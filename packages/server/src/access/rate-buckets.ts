// The token buckets of callers in shared memory: several threads take from one bucket, never more than it has, and no token is lost. It
// knows places, not callers.

/** Milliseconds of a clock that is the same on all threads and never runs backward. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + Math.floor(nanoseconds / 1e6)
}

/** One token in the unit of the words below. */
const token = 1_000n

/**
 * A bucket is one 64-bit word, the time when it is full again, so that one compare-and-exchange takes a token and refills the bucket. The
 * unit is a millisecond divided by the rate: then a token takes exactly 1,000 units to come back, and nothing is rounded. A bucket whose
 * word is in the past is full, so zero is a bucket that was never used.
 */
export class RateBuckets {
  /** Given to another thread, which makes its own RateBuckets of it. */
  readonly memory: SharedArrayBuffer
  readonly #words: BigInt64Array
  readonly #perSecond: bigint
  readonly #now: () => number

  /** The buckets of `memory`, or `length` full ones. A bucket holds the requests of one second. */
  constructor(
    memory: SharedArrayBuffer | { readonly length: number },
    perSecond: number,
    now: () => number = monotonicMs,
  ) {
    this.memory = memory instanceof SharedArrayBuffer ? memory : new SharedArrayBuffer(memory.length * 8)
    this.#words = new BigInt64Array(this.memory)
    this.#perSecond = BigInt(perSecond)
    this.#now = now
  }

  /** Takes a token. Returns false if the bucket is empty. */
  take(place: number): boolean {
    const now = BigInt(this.#now()) * this.#perSecond
    const latest = now + this.#perSecond * token
    for (;;) {
      const full = Atomics.load(this.#words, place)
      const next = (full > now ? full : now) + token
      if (next > latest) return false
      if (Atomics.compareExchange(this.#words, place, full, next) === full) return true
    }
  }

  /** Gives a token back that was not used. */
  giveBack(place: number): void {
    Atomics.sub(this.#words, place, token)
  }

  /** When the bucket is full, which every taken token changes. */
  fullAt(place: number): bigint {
    return Atomics.load(this.#words, place)
  }

  /** Makes the bucket full. */
  reset(place: number): void {
    Atomics.store(this.#words, place, 0n)
  }
}
