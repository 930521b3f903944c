// When a checkpoint is worth its cost. The bound is the cost of a replay: rows to be linked again, and bytes to be read. Both
// grow with what is there already, so that a growing collection is written a bounded number of times in all.

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

  applied(rows: number, bytes: number): void {
    this.#rows += rows
    this.#bytes += bytes
  }

  /** Called when a checkpoint starts: what is applied from now on belongs to the next. */
  started(): void {
    this.#rows = 0
    this.#bytes = 0
  }

  /** Whether it must not wait, given what the engine holds (asked only when it may matter). */
  due(held: () => { readonly objects: number; readonly bytes: number }): boolean {
    if (this.#rows < rowsMin && this.#bytes < bytesMin) return false
    const { objects, bytes } = held()
    return this.#rows >= Math.max(rowsMin, objects * rowsShare) || this.#bytes >= Math.max(bytesMin, bytes * bytesShare)
  }

  /** Whether it is worth doing now that nobody writes. */
  worthwhile(): boolean {
    return this.#rows >= idleRowsMin || this.#bytes >= idleBytesMin
  }
}
