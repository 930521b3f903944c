// Runs writes that depend on what is stored. Each sees everything that was written before it and nothing that is written after it. Writes
// that wait for each other share one hold of the gate, because a hold waits for the log: so many clients that compare and set one object
// take about two holds for each success, not one for each attempt.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CollectionLife } from './life.ts'

/** A write that decides by what is stored. */
export interface SerialWrite<R> {
  /** The objects that it reads or writes. */
  readonly ids: readonly string[]
  /** Decides, and appends the record. Writes of other ids may run meanwhile. */
  decide(): Promise<Decided<R>>
}

/** `done` resolves when the write is durable and applied. */
export interface Decided<R> {
  readonly done: Promise<R>
}

interface Waiting {
  readonly ids: readonly string[]
  readonly run: () => Promise<void>
  readonly refuse: (error: unknown) => void
}

/** Writes in one hold. Their events fit in the queue of the gate. */
const writesOfHoldMax = 256

export class SerialWrites {
  readonly #collection: CollectionLife
  #waiting: Waiting[] = []
  #isHolding = false

  constructor(collection: CollectionLife) {
    this.#collection = collection
  }

  /** Resolves when the write is decided. */
  run<R>({ ids, decide }: SerialWrite<R>): Promise<Decided<R>> {
    const { promise, resolve, reject } = Promise.withResolvers<Decided<R>>()
    // A hold runs where its first write was called, but each write has its own author.
    const inCall = AsyncLocalStorage.snapshot()
    this.#waiting.push({ ids, run: () => inCall(decide).then(resolve, reject), refuse: reject })
    if (!this.#isHolding) void this.#hold()
    return promise
  }

  async #hold(): Promise<void> {
    this.#isHolding = true
    while (this.#waiting.length > 0) {
      try {
        await this.#collection.gate.hold(() => this.#runWaiting())
      } catch (error) {
        for (const { refuse } of this.#waiting.splice(0)) refuse(error)
      }
    }
    this.#isHolding = false
  }

  /** Runs the waiting writes of different objects. Others wait for the next hold, which sees what these write. */
  async #runWaiting(): Promise<void> {
    this.#collection.checkOpen()
    const taken = new Set<string>()
    const later: Waiting[] = []
    const now = this.#waiting.splice(0, writesOfHoldMax)
    for (const write of now) {
      const isLater = write.ids.some((id) => taken.has(id))
      // Also those of a write that waits, which comes before later ones.
      for (const id of write.ids) taken.add(id)
      if (isLater) later.push(write)
      else await write.run()
    }
    this.#waiting = [...later, ...this.#waiting]
  }
}
