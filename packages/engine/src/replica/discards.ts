// Closes replicas that were replaced or deleted as soon as no search uses them, and removes their files. The next start removes the files
// that a crash leaves.
import type { Replica } from './replica.ts'

/** The replicas that wait to be closed and removed. */
export class Discards {
  readonly #onTrouble: (error: Error) => void
  #all: Promise<unknown> = Promise.resolve()

  /** `onTrouble` receives the errors of files that could not be removed. */
  constructor(onTrouble: (error: Error) => void) {
    this.#onTrouble = onTrouble
  }

  /**
   * Closes the replica after `after` has resolved and the running searches and cuts have ended. Then calls `onGone`, even if its files
   * could not be removed.
   */
  add(replica: Replica, after: Promise<unknown> = Promise.resolve(), onGone?: () => void): void {
    const gone = after
      .then(() => replica.pins.until(Number.POSITIVE_INFINITY))
      .then(() => replica.window.idle())
      .then(() => replica.remove())
      .catch(this.#onTrouble)
      .then(onGone)
    // Drops the values, each of which would keep the previous one alive.
    this.#all = Promise.all([this.#all, gone]).then(() => undefined)
  }

  /** Runs `act` after everything added so far is removed. */
  after(act: () => Promise<void>): void {
    this.#all = this.#all.then(act).catch(this.#onTrouble)
  }

  /** Resolves when everything added so far is removed, including files. */
  async settled(): Promise<void> {
    await this.#all
  }
}
