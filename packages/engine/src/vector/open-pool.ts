// Opens the worker pool of an engine: the compiled kernel of dense fields together with the threads that run it.
import { availableParallelism } from 'node:os'
import { EngineError } from '../errors.ts'
import { compileKernel } from './dense/kernel.ts'
import { workersMax } from './threads/ring.ts'
import { ThreadPool } from './threads/thread-pool.ts'

export interface WorkerPoolOptions {
  /** Number of worker threads. Default: one for each core. */
  readonly threads?: number
  /** Number of further threads that can attach memories to search them. Default: 0. */
  readonly readers?: number
}

/** Starts the workers, and resolves when every one runs. */
export async function openWorkerPool(options: WorkerPoolOptions = {}): Promise<ThreadPool> {
  const pool = await createWorkerPool(options)
  await pool.started()
  return pool
}

/** The workers start with the first work for them. */
export async function createWorkerPool(options: WorkerPoolOptions = {}): Promise<ThreadPool> {
  const threads = options.threads ?? Math.min(workersMax, availableParallelism())
  if (!Number.isInteger(threads) || threads < 1 || threads > workersMax)
    throw new EngineError('invalid_argument', `threads must be 1 to ${workersMax}`, {
      field: 'threads',
      value: threads,
      limit: workersMax,
    })
  return new ThreadPool(await compileKernel(), threads, options.readers)
}
