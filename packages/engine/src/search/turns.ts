// Work on the main thread in turns: between them the event loop serves everything else.
import { setImmediate as nextTurn } from 'node:timers/promises'

const turnMsMax = 10

export class Turns {
  #began = performance.now()

  /** Ends the turn when it has lasted long enough. */
  async give(): Promise<void> {
    if (performance.now() - this.#began < turnMsMax) return
    await nextTurn()
    this.#began = performance.now()
  }
}
