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

/** Resolves when every worker runs. */
export async function openWorkerPool(options: WorkerPoolOptions = {}): Promise<ThreadPool> {
  const pool = await startWorkerPool(options)
  await pool.started()
  return pool
}

/** Resolves while the threads still start, so that fields can be loaded in the meantime. */
export async function startWorkerPool(options: WorkerPoolOptions = {}): Promise<ThreadPool> {
  const threads = options.threads ?? Math.min(workersMax, availableParallelism())
  if (!Number.isInteger(threads) || threads < 1 || threads > workersMax)
    throw new EngineError('invalid_argument', `threads must be 1 to ${workersMax}`, {
      field: 'threads',
      value: threads,
      limit: workersMax,
    })
  return new ThreadPool(await compileKernel(), threads, options.readers)
}
