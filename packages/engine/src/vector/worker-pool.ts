// The threads that search and build graphs. Piscina owns them; this gives them numbers, tells them which arenas are gone,
// and counts what they do.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { BroadcastChannel } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { assert, EngineError } from '../errors.ts'
import type { ArenaHandle } from './arena.ts'
import { compileKernel } from './kernel.ts'
import {
  type ApplyTask,
  type Found,
  type Release,
  type ScanTask,
  type SearchTask,
  type Task,
  unknownArena,
  type WorkerData,
} from './tasks.ts'

/** A task with the arena itself; the pool decides what of it to send. */
type Asked<T extends Task> = T extends Task ? Omit<T, 'arena'> & { readonly arena: ArenaHandle } : never

export interface WorkerPoolOptions {
  /** How many worker threads; one for each core when not given. */
  readonly threads?: number
}

export interface WorkerPoolStats {
  readonly threads: number
  readonly waiting: number
  readonly completed: number
}

let nextPool = 1

export class WorkerPool {
  readonly threads: number
  readonly module: WebAssembly.Module
  readonly #piscina: Piscina<Task, Found | typeof unknownArena | undefined>
  readonly #releases: BroadcastChannel
  #closed: Promise<void> | undefined

  constructor(module: WebAssembly.Module, threads: number) {
    this.module = module
    this.threads = threads
    const channel = `annal-arenas-${process.pid}-${nextPool++}`
    this.#releases = new BroadcastChannel(channel)
    this.#releases.unref()
    const workerData: WorkerData = {
      module,
      channel,
      threads,
      numbers: new Int32Array(new SharedArrayBuffer(4)),
    }
    this.#piscina = new Piscina({
      filename: fileURLToPath(import.meta.resolve('@annal/engine/worker')),
      name: 'run',
      minThreads: threads,
      maxThreads: threads,
      workerData,
    })
  }

  async query(task: Asked<SearchTask> | Asked<ScanTask>): Promise<Found> {
    this.#refuseWhenClosed()
    const found = await this.#run(task)
    assert(found !== undefined, 'a query has an answer')
    return found
  }

  /** Has up to `helpers` threads work on the open job of an arena; resolves when the job is over. */
  async apply(task: Asked<ApplyTask>, helpers: number): Promise<void> {
    this.#refuseWhenClosed()
    await Promise.all(Array.from({ length: Math.min(helpers, this.threads) }, () => this.#run(task)))
  }

  async #run(task: Asked<Task>): Promise<Found | undefined> {
    const { id } = task.arena
    const answer = await this.#piscina.run({ ...task, arena: { id, handle: undefined } })
    if (answer !== unknownArena) return answer
    const second = await this.#piscina.run({ ...task, arena: { id, handle: task.arena } })
    assert(second !== unknownArena, 'a worker attaches to the arena it is given')
    return second
  }

  /** Tells the workers that an arena is gone. */
  release(arena: number): void {
    const message: Release = { release: arena }
    if (this.#closed === undefined) this.#releases.postMessage(message)
  }

  get stats(): WorkerPoolStats {
    return { threads: this.threads, waiting: this.#piscina.queueSize, completed: this.#piscina.completed }
  }

  #refuseWhenClosed(): void {
    if (this.#closed !== undefined) throw new EngineError('closed', 'the worker pool is closed')
  }

  close(): Promise<void> {
    this.#closed ??= this.#piscina.close().then(() => this.#releases.close())
    return this.#closed
  }
}

export async function openWorkerPool(options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const threads = options.threads ?? availableParallelism()
  if (!Number.isInteger(threads) || threads < 1 || threads > 256)
    throw new EngineError('invalid_argument', 'threads must be 1 to 256', {
      field: 'threads',
      value: threads,
      limit: 256,
    })
  return new WorkerPool(await compileKernel(), threads)
}
