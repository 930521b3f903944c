// Keeps the last progress of a long job, and reports it to its owner about ten times a second.
import type { Progress } from './model/engine-stats.ts'

const everyMs = 100

/** The progress of one job at a time. */
export class ProgressReport {
  readonly #report: ((progress: Progress) => void) | undefined
  #newest: Progress | undefined
  #reportedAtMs = 0

  constructor(report: ((progress: Progress) => void) | undefined) {
    this.#report = report
  }

  /** Progress of the running job, if any. */
  get newest(): Progress | undefined {
    return this.#newest
  }

  report(progress: Progress | undefined): void {
    this.#newest = progress
    if (!progress) return
    const now = performance.now()
    if (progress.done < progress.total && now - this.#reportedAtMs < everyMs) return
    this.#reportedAtMs = now
    this.#report?.(progress)
  }
}
