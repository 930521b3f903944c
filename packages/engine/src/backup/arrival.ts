// A collection that exists before its initial content is in memory: a clone. Its files are read as soon as its record
// is applied, ahead of its own events; requests wait in the meantime.
import { outOfServiceReason } from '../disk-errors.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'

export interface ReplicaToCome {
  /** Facts that need no reading of its files. */
  readonly objects: number
  readonly elements: readonly number[]
  /** Stops as soon as `checkWanted` throws. */
  load(checkWanted: () => void): Promise<Replica>
}

export interface Awaiting {
  readonly gate: WriteGate
  /** Throws when the collection was deleted or the engine closed. */
  checkOpen(): void
  arrived(replica: Replica): void
  quarantine(reason: string): Promise<void>
}

/** After this wait a request is refused with advice to retry. */
const waitMsMax = 30_000

export class Arrival {
  readonly coming: ReplicaToCome
  readonly #collection: Awaiting
  #under: Promise<void> | undefined
  #isHere = false

  constructor(coming: ReplicaToCome, collection: Awaiting) {
    this.coming = coming
    this.#collection = collection
    this.begin()
  }

  /** Called again when a deletion was not appended. */
  begin(): void {
    const under = this.#collection.gate
      .queue(0, () => this.#load())
      .finally(() => {
        if (this.#under === under) this.#under = undefined
      })
    this.#under = under
  }

  /** Resolves when the replica exists, when it is known to have failed, or when the wait takes too long. */
  async wait(): Promise<void> {
    if (!this.#under) return
    const { promise: tooLong, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, waitMsMax)
    await Promise.race([this.#under, tooLong])
    clearTimeout(timer)
  }

  /** Resolves when nothing is loading. */
  async settled(): Promise<void> {
    await this.#under
  }

  async #load(): Promise<void> {
    const collection = this.#collection
    let isWanted = true
    const checkWanted = () => {
      isWanted = false
      collection.checkOpen()
      isWanted = true
    }
    if (this.#isHere) return
    try {
      collection.arrived(await this.coming.load(checkWanted))
      this.#isHere = true
    } catch (error) {
      // A load that was stopped by the closing of the engine is done by the next start.
      if (isWanted) await collection.quarantine(outOfServiceReason(error))
    }
  }
}
