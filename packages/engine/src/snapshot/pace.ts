// How fast the work of a checkpoint may be done beside searches and writes: a little, then a rest in which everybody else has
// their turn. A whole second of rests for a hundred megabytes costs nothing that a checkpoint is there for.
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** A gigabyte takes eight seconds. */
const bytesPerMs = 128 * 1024
const restMsLeast = 2

export class Pace {
  #bytes = 0
  #hurried: boolean

  constructor({ hurried }: { readonly hurried: boolean }) {
    this.#hurried = hurried
  }

  /** From now on nobody needs to be let by. */
  hurry(): void {
    this.#hurried = true
  }

  /** Called when so many bytes more have been worked on. */
  async rest(bytes: number): Promise<void> {
    this.#bytes += bytes
    const ms = Math.floor(this.#bytes / bytesPerMs)
    if (ms < restMsLeast) return
    this.#bytes -= ms * bytesPerMs
    await (this.#hurried ? turn() : sleep(ms))
  }
}
