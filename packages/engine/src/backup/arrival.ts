// A collection that exists before what it begins with is in memory: a clone. Its files are read as soon as its record is applied,
// ahead of any event of its own; whoever asks meanwhile waits.
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'

export interface ReplicaToCome {
  /** What is known of it without looking into it. */
  readonly objects: number
  readonly elements: readonly number[]
  /** Given up as soon as `checkWanted` throws. */
  load(checkWanted: () => void): Promise<Replica>
}

export interface Awaiting {
  readonly gate: WriteGate
  /** Throws when the collection was dropped or the engine closed. */
  checkOpen(): void
  arrived(replica: Replica): void
  quarantine(reason: string): Promise<void>
}

/** Whoever has waited so long is told to come back. */
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

  /** Again when a drop was not appended after all. */
  begin(): void {
    const under = this.#collection.gate
      .queue(0, () => this.#load())
      .finally(() => {
        if (this.#under === under) this.#under = undefined
      })
    this.#under = under
  }

  /** Resolves when the replica is there, or is known not to come, or when that takes too long to wait for. */
  async wait(): Promise<void> {
    if (!this.#under) return
    const { promise: tooLong, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, waitMsMax)
    await Promise.race([this.#under, tooLong])
    clearTimeout(timer)
  }

  /** Resolves when nothing is being loaded. */
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
      // What was given up because the engine closes is loaded by the next start.
      if (isWanted) await collection.quarantine((error as Error).message)
    }
  }
}
