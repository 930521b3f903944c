// How old the newest of a series is that is made at intervals. A clock that was set back does not stop the series until it has caught up.

/** The clocks, which tests replace. */
export interface AgeClocks {
  /** Milliseconds since 1970; may jump. */
  readonly now?: () => number
  /** A monotonic time in milliseconds. */
  readonly elapsed?: () => number
}

/** The age of the newest. It is at least the time since this process knows it. */
export class NewestAge {
  readonly #now: () => number
  readonly #elapsed: () => number
  #sinceMs: number

  constructor({ now = Date.now, elapsed = () => performance.now() }: AgeClocks = {}) {
    this.#now = now
    this.#elapsed = elapsed
    this.#sinceMs = elapsed()
  }

  /** There is a new one. */
  renew(): void {
    this.#sinceMs = this.#elapsed()
  }

  /** In milliseconds; `timeMs` is when the newest was made. Without one, the age is the time since the process waits for it. */
  ageMs(timeMs: number | undefined): number {
    const sinceMs = this.#elapsed() - this.#sinceMs
    return timeMs === undefined ? sinceMs : Math.max(sinceMs, this.#now() - timeMs)
  }
}
