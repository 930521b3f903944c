// Where the writers of one collection wait: for their turn, while a consistent cut is taken, and for room in the queue of
// events that are durable but not yet applied. Readers never come here.
import { EngineError } from '../errors.ts'

/** A writer that waits longer is told to come back: DURABILITY's bound for a backup's cut. */
const waitMsMax = 30_000
/** Events appended but not yet applied; more would only move the queue from the caller into memory. */
const pendingEventsMax = 512
const pendingBytesMax = 256 * 1024 * 1024

export class WriteGate {
  #held = 0
  #pendingEvents = 0
  #pendingBytes = 0
  /** Applies of one collection happen one after another, in LSN order. */
  #tail: Promise<unknown> = Promise.resolve()
  /** Settles when the last hold asked for is over. */
  #holds: Promise<unknown> = Promise.resolve()
  readonly #waiting: (() => void)[] = []

  /** Calls `append` as soon as a writer may, in the same turn as the check, so that no cut slips in between. */
  async write<T>(append: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + waitMsMax
    while (this.#held > 0 || this.#full()) {
      const left = deadline - Date.now()
      if (left <= 0) {
        throw new EngineError('overloaded', `the collection accepted no writes for ${waitMsMax / 1000} s; try again`, {
          limit: waitMsMax,
        })
      }
      await this.#change(left)
    }
    return append()
  }

  /** Runs `apply` after every apply queued before it. `bytes` is what the queued event holds in memory. */
  queue<T>(bytes: number, apply: () => Promise<T>): Promise<T> {
    this.#pendingEvents++
    this.#pendingBytes += bytes
    const done = this.#tail.then(apply).finally(() => {
      this.#pendingEvents--
      this.#pendingBytes -= bytes
      this.#wake()
    })
    // The queue goes on whatever became of this event; the caller of queue() hears of the failure.
    this.#tail = done.catch(() => undefined)
    return done
  }

  /** Runs `action` between two applies, while writers go on appending. */
  between<T>(action: () => T): Promise<T> {
    return this.queue(0, async () => action())
  }

  /**
   * Keeps new writers out, waits until everything appended is applied, runs `action`, and lets the writers in again, whatever
   * happened. One hold at a time: what is appended in one of them is applied before the next begins.
   */
  async hold<T>(action: () => Promise<T>): Promise<T> {
    this.#held++
    const done = this.#holds.then(async () => {
      await this.#tail
      return action()
    })
    this.#holds = done.catch(() => undefined)
    try {
      return await done
    } finally {
      this.#held--
      this.#wake()
    }
  }

  get pending(): { readonly events: number; readonly bytes: number } {
    return { events: this.#pendingEvents, bytes: this.#pendingBytes }
  }

  #full(): boolean {
    return this.#pendingEvents >= pendingEventsMax || this.#pendingBytes >= pendingBytesMax
  }

  #wake(): void {
    const waiting = this.#waiting.splice(0)
    for (const resume of waiting) resume()
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
