// A collection that exists before its initial content is in memory: a clone. Its files are read as soon as its record
// is applied, ahead of its own events; requests wait in the meantime. A load that the system refused is tried again until it succeeds.
import { errnoOf } from '@annal/wal'
import { loadedAgainReason, outOfServiceReason } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'

export interface ReplicaToCome {
  /** Facts that need no reading of its files. */
  readonly objects: number
  readonly elements: readonly number[]
  /** No other process appends records of the collection, so none is missed while it is out of service. */
  readonly isAlone: boolean
  /** Stops as soon as `checkWanted` throws. Can be called again after a failure. */
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
/** A failed load is tried again after this time, then after twice as long, up to the maximum. */
const retryMsFirst = 1_000
const retryMsMax = 60_000

export class Arrival {
  readonly coming: ReplicaToCome
  readonly #collection: Awaiting
  #under: Promise<void> | undefined
  #isHere = false
  #retryMs = retryMsFirst
  #retry: NodeJS.Timeout | undefined

  constructor(coming: ReplicaToCome, collection: Awaiting) {
    this.coming = coming
    this.#collection = collection
    this.begin()
  }

  /** Called again when a deletion was not appended. */
  begin(): void {
    this.#stopRetry()
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

  /** Resolves when nothing is loading. A failed load is not tried again afterwards. */
  async settled(): Promise<void> {
    this.#stopRetry()
    await this.#under
    this.#stopRetry()
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
      checkWanted()
      collection.arrived(await this.coming.load(checkWanted))
      this.#isHere = true
    } catch (error) {
      // A load that was stopped by the closing of the engine is done by the next start.
      if (!isWanted) return
      const isAgain = this.coming.isAlone && isPassing(error)
      await collection.quarantine(isAgain ? loadedAgainReason(error) : outOfServiceReason(error))
      if (isAgain) this.#beginLater()
    }
  }

  #beginLater(): void {
    this.#retry = setTimeout(() => this.begin(), this.#retryMs).unref()
    this.#retryMs = Math.min(retryMsMax, 2 * this.#retryMs)
  }

  #stopRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }
}

/** Whether the cause may end: no file was read and found damaged. */
function isPassing(error: unknown): boolean {
  if (errnoOf(error) !== undefined) return true
  if (!(error instanceof EngineError)) return false
  // A file that could not be read has the reason of the system.
  return error.code === 'memory_exhausted' || (error.code === 'snapshot_damaged' && error.details.reason !== undefined)
}
