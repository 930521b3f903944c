// The interface between fields and the threads that work for them. A field is in shared memory: an arena for each segment of a
// dense field, the inverted lists of a sparse field. The fields implement FieldMemory for the thread that owns them and
// AttachedMemory for every other thread; threads/ implements WorkerPool. Fields and threads/ know only this file, not each
// other: attach.ts and open-pool.ts connect them. A thread outside the pool attaches a memory in the same way.
import type { Caller } from './caller.ts'
import type { ReaderSlots } from './threads/reader-slots.ts'

/** Size of the buffer for a query and the ordinals that it lists, and then for its answer. */
export const queryBytesMax = 64 * 1024
/** Size of the buffer for the vectors of one piece of a job. */
export const stagingBytes = 4 * 2 ** 20

/** How many ordinals a scan query of this dimension can list. */
export function listedMax(dimension: number): number {
  return queryBytesMax / 4 - dimension
}

interface QueryBase {
  /** Id of the memory that is searched. */
  readonly memory: number
  readonly query: Float32Array
  readonly k: number
  readonly version: number
  /** Not known to the thread that runs the query. */
  readonly caller?: Caller | undefined
}

/** A search in a graph. */
export interface GraphQuery extends QueryBase {
  readonly kind: 'search'
  readonly ef: number
  /** How many of the best candidates are ranked again at the precision of the field. */
  readonly rerank: number
  /** 0: walk. Otherwise the number of rows, of the bitmap if there is one, whose codes are all compared. */
  readonly compared: number
  /** Address of a bitmap in the memory, or 0. */
  readonly bitmap: number
  readonly bits: number
}

/** An exact comparison with rows of a dense field. */
export interface ScanQuery extends QueryBase {
  readonly kind: 'scan'
  /** The ordinals to compare, at most `listedMax`. Undefined: all from `from` to before `to`. */
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}

/** A search in inverted lists. The query is in the memory of the field, and the answer is written next to it. */
export interface SparseQuery extends QueryBase {
  readonly kind: 'sparse'
  /** Address of the descriptor of the query. */
  readonly descriptor: number
}

export type Query = GraphQuery | ScanQuery | SparseQuery

/** The answer of one memory, best hit first. The counts are the work that it took. */
export interface Found {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  readonly visited: number
  readonly distances: number
  /** Whether rows differ by less than the errors of their codes, so that other rows may be nearer: originals tell. */
  readonly isUnresolved: boolean
}

/** What a thread needs to attach a memory. Fits into a message between threads. */
export interface MemoryHandle {
  /** Selects the implementation in attach.ts. */
  readonly kind: 'dense' | 'sparse'
  /** Above 0. */
  readonly id: number
}

/**
 * The result of `help`. `nothing`: the job has no work at the moment. `piece`: a piece of work is complete. `phase`: the piece was the last of a
 * phase, so there is work for other threads. `over`: the job is complete.
 */
export type Progress = 'nothing' | 'piece' | 'phase' | 'over'

/** A memory as one thread sees it. Only that thread uses the object. */
export interface AttachedMemory {
  /** Runs a query. Its answer stays in the memory until the next call. Returns the number of hits. */
  run(query: Query): number
  /** Copies the hits of the last query. */
  copyHits(count: number, ordinals: Uint32Array, similarities: Float32Array): void
  /** Whether the rows in memory do not order the hits of the last query well. */
  readonly isUnresolved: boolean
  /** Rows or postings that the last query visited. Sets the counter to 0. */
  takeVisited(): number
  /** Distances that the last query computed. Sets the counter to 0. */
  takeDistances(): number
  /** Does one piece of the memory's job. `staging` has the encodable vectors. */
  help(staging: SharedArrayBuffer): Progress
}

/** Runs a query in the calling thread. */
export function answerIn(attached: AttachedMemory, query: Query): Found {
  const count = attached.run(query)
  const ordinals = new Uint32Array(count)
  const similarities = new Float32Array(count)
  attached.copyHits(count, ordinals, similarities)
  const { isUnresolved } = attached
  return { ordinals, similarities, visited: attached.takeVisited(), distances: attached.takeDistances(), isUnresolved }
}

/** A memory as its owner sees it: what the pool must know to announce it, to watch threads in it, and to follow its job. */
export interface FieldMemory {
  readonly id: number
  readonly handle: MemoryHandle
  /** Runs queries in the owner's thread. Undefined: only workers run them. */
  readonly attached: AttachedMemory | undefined
  /** Approximate number of bytes that were written to. */
  readonly bytesTouched: number
  /** A number that changes while the thread makes progress in the memory. Undefined: this kind of memory shows no progress. */
  pulse(thread: number): number | undefined
  /** Whether no job is open. */
  isJobOver(): boolean
}

/** A place for vectors on their way into a memory. */
export interface Staging {
  readonly buffer: SharedArrayBuffer
  readonly offset: number
}

export interface WorkerPoolStats {
  readonly threads: number
  /** Whether the workers were started: they start with the first work for them. */
  readonly started: boolean
  /** Queries that no thread has begun. */
  readonly waiting: number
  readonly completed: number
  /** For each worker, how many queries and pieces of jobs it has begun. */
  readonly begun: readonly number[]
  /** Workers that exited unexpectedly. */
  readonly lost: number
  /** Memories of fields that have data. */
  readonly memories: number
}

/** The threads that run queries and jobs. One pool serves all fields of an engine. */
export interface WorkerPool {
  /** Number of workers. */
  readonly threads: number
  /** How many threads besides the owner can attach a memory: the workers, numbered from 0, and then the readers. */
  readonly attachments: number
  /** What the readers read. Undefined: there are no readers. */
  readonly readers: ReaderSlots | undefined
  /** The kernel of dense fields, compiled. The same in every thread. */
  readonly module: WebAssembly.Module
  /** The largest size of the lists of a sparse field or a text field. Undefined: that of a memory. Tests fill less. */
  readonly listsBytesMax?: number
  readonly stats: WorkerPoolStats
  /** Announces a memory to all workers. They attach it when they first need it. */
  attach(memory: FieldMemory): void
  /** Stops using a memory as soon as its queries are answered. The owner must drop it too. */
  release(memory: FieldMemory): void
  /** Calls back whenever all threads collect garbage, so that the readers do, too. */
  onCollect(callback: () => void): void
  /** Counts a memory that was never attached and that its owner drops. */
  discard(memory: FieldMemory): void
  /**
   * Runs a query. Rejects with `overloaded` if too many are waiting, with `closed` if the memory was released or the caller left before a
   * thread began the query, and with `worker_lost` if the thread exits during the query.
   */
  submit(query: Query): Promise<Found>
  /**
   * Runs a job in a memory. Calls `open` when it is the job's turn, and `open` opens the job in the memory. Resolves when the job is
   * complete. Rejects with `worker_lost` if a worker exits during the job: the memory is then in an unknown state.
   */
  runJob(memory: FieldMemory, open: (staging: Staging) => void): Promise<void>
  /**
   * At most this many workers, and at least one, work on jobs from now on, and if `pauses` is true, they give up their cores for a moment
   * several times in a millisecond. All of them answer queries.
   */
  limitJobs(workers: number, pauses?: boolean): void
  /** Starts the workers if no work has started them, and resolves when every one runs. */
  started(): Promise<void>
  /** Workers finish the queries that they have begun. Rejects the queries that wait. */
  close(): Promise<void>
}
