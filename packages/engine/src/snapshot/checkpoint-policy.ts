// Decides when a checkpoint is worth its cost. The cost of a replay is the limit: rows to link again and bytes to read.
// Both limits grow with the size of the data, so that a growing collection is written a bounded number of times in
// total.

const rowsMin = 10_000
const bytesMin = 64 * 1024 * 1024
/** A replay after a crash links at most this share of the rows again. */
const rowsShare = 1 / 8
const bytesShare = 1 / 4
/** Less than this is not worth a checkpoint when writers pause. */
const idleRowsMin = 1_000
const idleBytesMin = 1024 * 1024

export class CheckpointPolicy {
  #rows = 0
  #bytes = 0

  recordApplied(rows: number, bytes: number): void {
    this.#rows += rows
    this.#bytes += bytes
  }

  /** Called when a checkpoint starts: later events belong to the next one. */
  reset(): void {
    this.#rows = 0
    this.#bytes = 0
  }

  /** Whether a checkpoint is due now, given what the engine holds (evaluated only when it matters). */
  isDue(held: () => { readonly objects: number; readonly bytes: number }): boolean {
    if (this.#rows < rowsMin && this.#bytes < bytesMin) return false
    const { objects, bytes } = held()
    return this.#rows >= Math.max(rowsMin, objects * rowsShare) || this.#bytes >= Math.max(bytesMin, bytes * bytesShare)
  }

  /** Whether a checkpoint is worth taking while nobody writes. */
  isWorthwhile(): boolean {
    return this.#rows >= idleRowsMin || this.#bytes >= idleBytesMin
  }
}
