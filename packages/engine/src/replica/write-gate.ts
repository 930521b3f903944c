// Where the writers of one collection wait: for their turn, while a consistent cut is taken, and for space in the queue of events that are
// durable but not applied yet. Readers do not use it.
import { EngineError } from '../errors.ts'
import { WaitLimit } from '../wait-limit.ts'

/** A writer that waits longer is rejected. */
const waitMsMax = 30_000
/** Events appended but not applied yet. A longer queue would only move waiting from the callers into memory. */
const pendingEventsMax = 512
const pendingBytesMax = 256 * 1024 * 1024

/** The write gate of one collection. */
export class WriteGate {
  readonly #nowMs: (() => number) | undefined
  #held = 0
  #pendingEvents = 0
  #pendingBytes = 0
  /** The events of one collection are applied one after another, in LSN order. */
  #tail: Promise<unknown> = Promise.resolve()
  /** Settles when the last requested hold has ended. */
  #holds: Promise<unknown> = Promise.resolve()
  readonly #waiting: (() => void)[] = []

  /** `nowMs` is a monotonic clock, that of the process by default. */
  constructor(nowMs?: () => number) {
    this.#nowMs = nowMs
  }

  /** Calls `append` as soon as a writer may append, in the same turn as the check, so that no cut starts between them. */
  async write<T>(append: () => Promise<T>): Promise<T> {
    let limit: WaitLimit | undefined
    while (this.#held > 0 || this.#full()) {
      limit ??= new WaitLimit(waitMsMax, this.#nowMs)
      if (limit.isOver) {
        throw new EngineError('overloaded', `the collection accepted no writes for ${waitMsMax / 1000} s; try again`, {
          limit: waitMsMax,
        })
      }
      await limit.wait(new Promise<void>((resolve) => this.#waiting.push(resolve)))
    }
    return append()
  }

  /** Runs `apply` after all queued applies. `bytes` is the memory that the queued event uses. */
  queue<T>(bytes: number, apply: () => Promise<T>): Promise<T> {
    this.#pendingEvents++
    this.#pendingBytes += bytes
    const done = this.#tail.then(apply).finally(() => {
      this.#pendingEvents--
      this.#pendingBytes -= bytes
      this.#wake()
    })
    // The queue continues after a failed event; the caller of queue() gets the error.
    this.#tail = done.catch(() => undefined)
    return done
  }

  /** Runs `action` between two applies, while writers continue to append. */
  between<T>(action: () => T): Promise<T> {
    return this.queue(0, async () => action())
  }

  /**
   * Holds back new writers, waits until everything appended is applied, runs `action`, and lets the writers continue even if it failed.
   * Holds run one at a time: what is appended between two holds is applied before the second one starts.
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
}
