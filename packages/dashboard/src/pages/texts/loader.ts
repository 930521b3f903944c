// Writes a table in batches. A batch that failed, or was canceled, is written again when the load continues: ids are the same, so nothing
// is there twice.
import { type Batch, batchesOfTable } from './chunks.ts'
import type { Plan } from './plan.ts'
import type { Table } from './table.ts'

export interface Progress {
  readonly rows: number
  readonly chunks: number
}

export type WriteBatch = (objects: Batch['objects'], signal: AbortSignal) => Promise<unknown>

export class Loader {
  readonly #batches: Generator<Batch>
  readonly #write: WriteBatch
  #pending: Batch | undefined
  #progress: Progress = { rows: 0, chunks: 0 }

  constructor(table: Table, plan: Plan, write: WriteBatch) {
    this.#batches = batchesOfTable(table, plan)
    this.#write = write
  }

  /** Resolves when everything is written. Rejects when a batch fails or the signal aborts; then it can run again. */
  async run(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<Progress> {
    for (;;) {
      signal.throwIfAborted()
      this.#pending ??= this.#batches.next().value ?? undefined
      if (this.#pending === undefined) return this.#progress
      const { objects, rows } = this.#pending
      if (objects.length > 0) await this.#write(objects, signal)
      this.#pending = undefined
      this.#progress = { rows, chunks: this.#progress.chunks + objects.length }
      onProgress(this.#progress)
    }
  }
}
