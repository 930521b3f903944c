// When a worker that builds a graph pauses, so that threads that answer searches get its core. An operating system leaves a core to a thread
// that computes for milliseconds while others wait for it, even if the thread has a low priority. Does not affect what is built.
import { availableParallelism } from 'node:os'

/** Work between two pauses for each core: on average, one of the workers gives up its core this often. */
const workMsPerCore = 0.1
const workMsMost = 1
/** Long enough for the system to choose another thread; a sleep takes some 50 us longer. */
export const pauseMs = 0.05

export class Pace {
  readonly #workMsMax: number
  readonly #now: () => number
  #workMs = 0
  #begunMs = 0

  constructor(cores = availableParallelism(), now = () => performance.now()) {
    this.#workMsMax = Math.min(workMsMost, workMsPerCore * cores)
    this.#now = now
  }

  /** The worker begins a piece. */
  begin(): void {
    this.#begunMs = this.#now()
  }

  /** The worker has finished the piece. Returns whether it pauses now. */
  end(): boolean {
    this.#workMs += this.#now() - this.#begunMs
    if (this.#workMs < this.#workMsMax) return false
    this.#workMs = 0
    return true
  }

  /** The worker has slept. */
  restart(): void {
    this.#workMs = 0
  }
}
