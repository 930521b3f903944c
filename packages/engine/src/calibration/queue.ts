// Runs the calibrations of an engine one after another, in the order in which they were requested.

export class CalibrationQueue {
  #last: Promise<void> = Promise.resolve()

  /** Runs `work` after all work that was added before. It must not reject. */
  add(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work)
    return this.#last
  }
}
