// The times at which the requests of an open loop are due: a Poisson process from a seed. The thread that sends and the thread that wakes it
// generate the same times.

export interface Schedule {
  readonly perSecond: number
  readonly seed: number
}

/** Returns the next time in milliseconds since the start, each time it is called. */
export function createSchedule({ perSecond, seed }: Schedule): () => number {
  let state = seed >>> 0
  let due = 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    due += (-Math.log(1 - ((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * 1_000) / perSecond
    return due
  }
}

/** A clock that is the same in all threads of a process. */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}
