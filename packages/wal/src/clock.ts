// The time source of the log: elapsed milliseconds and delayed calls. Tests advance a manual clock instead.

/** A time source that tests can replace. */
export interface Clock {
  /** Milliseconds from a monotonic clock; not a date. */
  nowMs(): number
  /**
   * Calls `call` once after the delay, unless the returned function cancels it first. A pending call never keeps the
   * process alive.
   */
  after(delayMs: number, call: () => void): () => void
}

/** The monotonic clock and the timers of Node.js. */
export function systemClock(): Clock {
  return {
    nowMs: () => performance.now(),
    after(delayMs, call) {
      const timer = setTimeout(call, delayMs)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}
