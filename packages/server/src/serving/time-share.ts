// How much of its time a serving thread leaves to graph threads while they build. These have a lower priority, so that a search does not wait for
// a core; searches in a closed loop on every core would leave a writer next to nothing. A thread that is idle for long enough anyway
// does not pause.

/** What a long piece of work owes is not collected from many short ones: at most so many pauses. */
const owedPausesMax = 4

export interface TimeShareOptions {
  /** The part of the time that is left, from 0 to 1. */
  readonly left: number
  readonly pauseMs: number
}

export class TimeShare {
  readonly #options: TimeShareOptions
  /** When the last piece of work ended. */
  #endedMs = 0
  /** Time that has not been left yet. */
  #owedMs = 0

  constructor(options: TimeShareOptions) {
    this.#options = options
  }

  /** The thread has worked during this time. Returns whether it pauses now, for `pauseMs`. */
  worked(begunMs: number, endedMs: number): boolean {
    const { left, pauseMs } = this.#options
    // Work of 3 ms and idleness of 1 ms are even, if a quarter is left.
    const idle = (begunMs - this.#endedMs) * (1 - left)
    const owedMs = Math.max(0, this.#owedMs - idle) + (endedMs - begunMs) * left
    this.#owedMs = Math.min(owedMs, owedPausesMax * pauseMs)
    this.#endedMs = endedMs
    return this.#owedMs >= pauseMs
  }
}
