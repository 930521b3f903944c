// Time as the log needs it: how long something took, and "call me later". A test turns the hands itself.

export interface Clock {
  /** Milliseconds that only ever grow; not a date. */
  nowMs(): number
  /** Calls once after the delay, unless the returned function is called first. Waiting never keeps a process alive. */
  after(delayMs: number, call: () => void): () => void
}

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
