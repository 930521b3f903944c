// Keeps what a long job last said of itself, and tells its owner about ten times a second.
import type { Progress } from './model/api.ts'

const everyMs = 100

export class ProgressReport {
  readonly #tell: ((progress: Progress) => void) | undefined
  #newest: Progress | undefined
  #toldAt = 0

  constructor(tell: ((progress: Progress) => void) | undefined) {
    this.#tell = tell
  }

  /** Of the job that runs now, if one does. */
  get newest(): Progress | undefined {
    return this.#newest
  }

  report(progress: Progress | undefined): void {
    this.#newest = progress
    if (!progress) return
    const now = performance.now()
    if (progress.done < progress.total && now - this.#toldAt < everyMs) return
    this.#toldAt = now
    this.#tell?.(progress)
  }
}
