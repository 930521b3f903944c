// Replicas that something else has taken the place of, or that were dropped: closed as soon as nobody looks at them, and their
// files removed. What a crash leaves of them the next start removes.
import type { Replica } from './replica.ts'

export class Discards {
  readonly #onTrouble: (error: Error) => void
  #all: Promise<unknown> = Promise.resolve()

  /** `onTrouble` hears of files that could not be removed. */
  constructor(onTrouble: (error: Error) => void) {
    this.#onTrouble = onTrouble
  }

  /** Once `after` has resolved and the searches and cuts under way have ended. `onGone` is called then, whatever came of its files. */
  add(replica: Replica, after: Promise<unknown> = Promise.resolve(), onGone?: () => void): void {
    const gone = after
      .then(() => replica.pins.until(Number.POSITIVE_INFINITY))
      .then(() => replica.remove())
      .catch(this.#onTrouble)
      .then(onGone)
    // Without the values, of which each would hold the one before.
    this.#all = Promise.all([this.#all, gone]).then(() => undefined)
  }

  /** Does something of the kind once everything added so far is gone. */
  after(act: () => Promise<void>): void {
    this.#all = this.#all.then(act).catch(this.#onTrouble)
  }

  /** Resolves when everything added so far is gone, files and all. */
  async settled(): Promise<void> {
    await this.#all
  }
}
