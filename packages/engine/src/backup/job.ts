// A running backup, restore or load of a clone: its progress, and whether it is still wanted.

import { EngineError } from '../errors.ts'
import type { JobStatus } from '../model/backups.ts'

export class Job {
  status: JobStatus
  readonly #msMax: number | undefined
  readonly #began = performance.now()
  #unwanted: EngineError | undefined

  /** Without `msMax` the job cannot be canceled. */
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

  /** Stops at the next piece of its work. */
  end(error: EngineError): void {
    this.#unwanted ??= error
  }

  /** Throws when the job is no longer wanted or has taken too long. */
  check(): void {
    if (this.#unwanted) throw this.#unwanted
    if (this.#msMax === undefined || performance.now() - this.#began <= this.#msMax) return
    throw new EngineError('cancelled', `it was canceled because it took longer than ${this.#msMax} ms`, {
      field: 'backupMsMax',
      limit: this.#msMax,
    })
  }

  finish(endedAt: number, error?: Error): void {
    const bytesDone = error ? this.status.bytesDone : this.status.bytes
    const outcome = error ? ({ status: 'failed', error: error.message } as const) : ({ status: 'completed' } as const)
    this.status = { ...this.status, ...outcome, completedAt: endedAt, ...(bytesDone !== undefined && { bytesDone }) }
  }
}
