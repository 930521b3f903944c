// Sends the replies of one turn of the event loop together, at its end. A client that has several connections then wakes once for several
// replies, and does not interrupt the thread after each of them. A reply waits for the searches that began in the same turn, but not for
// more than `waitMsMax` and one search.

/** The turns of one thread. */
export class ReplyTurn {
  readonly #waitMsMax: number
  #waiting: (() => void)[] = []
  #beganMs = 0

  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax
  }

  /** Calls `send` at the end of this turn, or earlier. `schedule` calls its argument at the end of the turn. */
  add(send: () => void, schedule: (flush: () => void) => void): void {
    const nowMs = performance.now()
    if (this.#waiting.length === 0) {
      this.#beganMs = nowMs
      schedule(this.#flush)
    }
    this.#waiting.push(send)
    if (nowMs - this.#beganMs >= this.#waitMsMax) this.#flush()
  }

  readonly #flush = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const send of waiting) send()
  }
}
