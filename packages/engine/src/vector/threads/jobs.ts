// The open jobs of the pool. A job changes one memory, and all idle workers work on it; a few can be open at once, each with a
// staging buffer of its own.
import { assert, type EngineError } from '../../errors.ts'
import { type FieldMemory, type Staging, stagingBytes } from '../pool.ts'
import { jobsMax, type Ring, wakeWorkers, words } from './ring.ts'

interface OpenJob {
  readonly memory: FieldMemory
  readonly resolve: () => void
  readonly reject: (error: EngineError) => void
}

export class Jobs {
  readonly #ring: Ring
  readonly #threads: number
  readonly #open: (OpenJob | undefined)[] = new Array(jobsMax).fill(undefined)
  /** Callers that wait for a place. */
  readonly #queue: (() => void)[] = []
  #closed: EngineError | undefined

  constructor(ring: Ring, threads: number) {
    this.#ring = ring
    this.#threads = threads
  }

  /** See WorkerPool.runJob. */
  async run(memory: FieldMemory, open: (staging: Staging) => void): Promise<void> {
    this.#throwIfClosed()
    let place = this.#open.indexOf(undefined)
    while (place < 0) {
      await new Promise<void>((resolve) => this.#queue.push(resolve))
      this.#throwIfClosed()
      place = this.#open.indexOf(undefined)
    }
    const over = new Promise<void>((resolve, reject) => {
      this.#open[place] = { memory, resolve, reject }
    })
    open({ buffer: this.#ring.staging, offset: place * stagingBytes })
    Atomics.store(this.#ring.words, words.jobs + place, memory.id)
    wakeWorkers(this.#ring, this.#threads)
    await over
  }

  /** Resolves the jobs that are complete. */
  collect(): void {
    this.#open.forEach((job, place) => {
      if (job?.memory.isJobOver()) this.#end(place)
    })
  }

  /** Rejects the job of a memory, if it has one. */
  fail(memory: number, error: EngineError): void {
    const place = this.#open.findIndex((job) => job?.memory.id === memory)
    if (place >= 0) this.#end(place, error)
  }

  /** Rejects the jobs that wait for a place, and all further ones. */
  stop(error: EngineError): void {
    this.#closed = error
    for (const resume of this.#queue.splice(0)) resume()
  }

  /** Rejects the open jobs. */
  rejectAll(error: EngineError): void {
    this.#open.forEach((job, place) => {
      if (job !== undefined) this.#end(place, error)
    })
  }

  #end(place: number, error?: EngineError): void {
    const job = this.#open[place]
    assert(job !== undefined, 'a job that ends is open')
    Atomics.store(this.#ring.words, words.jobs + place, 0)
    this.#open[place] = undefined
    if (error === undefined) job.resolve()
    else job.reject(error)
    this.#queue.shift()?.()
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined) throw this.#closed
  }
}
