// A backup, a restore or the loading of a clone while it runs: how far it is, and whether it is still wanted.

import { EngineError } from '../errors.ts'
import type { JobStatus } from '../model/backups.ts'

export class Job {
  status: JobStatus
  readonly #msMax: number | undefined
  readonly #began = performance.now()
  #unwanted: EngineError | undefined

  /** Without `msMax` it cannot be ended, whatever is asked of it. */
  constructor(about: Pick<JobStatus, 'name' | 'collection' | 'startedAt' | 'bytes'>, msMax: number | undefined) {
    this.status = { status: 'running', bytesDone: 0, ...about }
    this.#msMax = msMax
  }

  get isRunning(): boolean {
    return this.status.status === 'running'
  }

  get canEnd(): boolean {
    return this.#msMax !== undefined
  }

  progress(more: Pick<JobStatus, 'bytesDone' | 'bytes' | 'heldMs'>): void {
    if (this.isRunning) this.status = { ...this.status, ...more }
  }

  /** It ends at the next piece of its work. */
  end(error: EngineError): void {
    this.#unwanted ??= error
  }

  /** Throws when it is not wanted any more, or has taken too long. */
  check(): void {
    if (this.#unwanted) throw this.#unwanted
    if (this.#msMax === undefined || performance.now() - this.#began <= this.#msMax) return
    throw new EngineError('cancelled', `it was given up since it took longer than ${this.#msMax} ms`, {
      field: 'backupMsMax',
      limit: this.#msMax,
    })
  }

  ended(at: number, error?: Error): void {
    const bytesDone = error ? this.status.bytesDone : this.status.bytes
    const outcome = error ? ({ status: 'failed', error: error.message } as const) : ({ status: 'completed' } as const)
    this.status = { ...this.status, ...outcome, completedAt: at, ...(bytesDone !== undefined && { bytesDone }) }
  }
}
