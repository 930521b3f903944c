// The loop that writes: it takes the queued entries, commits them as one batch, and continues with the entries that were queued
// meanwhile. Only one batch is in flight at a time.
import type { AppendQueue, QueueEntry } from './append-queue.ts'
import type { WalError } from './errors.ts'
import { refuse } from './settle.ts'

/** Commits what is queued, batch by batch. */
export class CommitLoop {
  readonly #queue: AppendQueue
  readonly #commit: (batch: readonly QueueEntry[]) => Promise<void>
  readonly #fail: (error: unknown) => WalError
  #working: Promise<void> | undefined

  /** `commit` settles the entries of a batch. If it rejects, the entries are refused with what `fail` makes of the error. */
  constructor(
    queue: AppendQueue,
    commit: (batch: readonly QueueEntry[]) => Promise<void>,
    fail: (error: unknown) => WalError,
  ) {
    this.#queue = queue
    this.#commit = commit
    this.#fail = fail
  }

  /** Resolves when all that is queued is settled; undefined while nothing is. */
  get working(): Promise<void> | undefined {
    return this.#working
  }

  add(entry: QueueEntry): void {
    this.#queue.push(entry)
    this.#working ??= this.#work()
  }

  async #work(): Promise<void> {
    // Calls made in the same turn of the event loop share a batch.
    await undefined
    while (!this.#queue.isEmpty) {
      const batch = this.#queue.take()
      try {
        await this.#commit(batch)
      } catch (error) {
        refuse(batch, this.#fail(error))
      }
      this.#queue.removeSettled(batch)
    }
    this.#working = undefined
  }
}
