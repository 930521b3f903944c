// Long work on the main thread in slices, so that everybody else gets a turn of the event loop in between. It asks a clock, so
// nothing in the fold uses it.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A slice is over after so long; others then wait about as long as one of them takes. */
const sliceMs = 8

export class Slices {
  #from = performance.now()

  /** Whether the slice is over. Cheap, but not free: ask once per few microseconds of work. */
  get areDue(): boolean {
    return performance.now() - this.#from > sliceMs
  }

  /** Gives others their turn and begins the next slice. */
  async rest(): Promise<void> {
    await nextTurn()
    this.#from = performance.now()
  }
}

/** All that the work gives, with rests between two of them where they are due. */
export async function collectInSlices<T>(work: Iterable<T>): Promise<T[]> {
  const slices = new Slices()
  const collected: T[] = []
  for (const part of work) {
    collected.push(part)
    if (slices.areDue) await slices.rest()
  }
  return collected
}
