// The engine: how a data directory is opened, and the calls that concern all of it. engine.ts in the folder above implements it.
import type { FsyncPolicy } from '@annal/wal'
import type { Limits } from '../limits.ts'
import type { ControlPlane } from './control.ts'
import type { Database } from './database.ts'
import type { EmbedFunction, EmbedProvider, ProviderInfo } from './embed.ts'
import type { EngineHealth, EngineStats, Progress } from './engine-stats.ts'
import type { Event } from './event.ts'
import type { PastState } from './moment.ts'
import type { Acknowledgement } from './object.ts'
import type { SearchRequest } from './query.ts'
import type { ReaderHandle } from './reader.ts'
import type { RequestKeys } from './requests.ts'

/** How a directory is opened. Only `dataDir` is required. */
export interface EngineOptions {
  /** Created when absent. One engine at a time: a second open fails with WalError `directory_locked`. */
  readonly dataDir: string
  readonly fsync?: FsyncPolicy
  /** Worker threads for graph work. Default: the number of cores, at most 16. */
  readonly threads?: number
  /** Other threads that may search with handles from `readerHandle`: 0 to 64. Default: 0. */
  readonly readers?: number
  readonly limits?: Partial<Limits>
  /** Keeps the whole log, not only what recovery needs, so that any moment can be replayed. Default false. */
  readonly keepLog?: boolean
  /**
   * Keeps segments removed from the log, and checkpoints to begin with, so that moments of the past can be restored:
   * not longer than `maxAgeMs`, not more than `maxBytes`, and not more than the share `freeShareMax` of the free disk,
   * where kept history counts as free. Without it nothing more is kept and existing history stays; a `maxAgeMs` of 0
   * removes existing history.
   */
  readonly archive?:
    | { readonly maxBytes: number; readonly maxAgeMs: number; readonly freeShareMax?: number }
    | undefined
  /**
   * How many request keys are kept, 1,000,000 by default, and for how long by the times of the log's records, 24 hours by default. The
   * oldest is forgotten first.
   */
  readonly requestKeys?: { readonly max?: number; readonly maxAgeMs?: number } | undefined
  /**
   * Reads of the past (`asOf`). Moments are loaded from checkpoints and the log into at most `loadedBytesMax` bytes of memory, 1,073,741,824 by
   * default; 0: they cannot be loaded. Live collections answer moments of the last `windowSeconds`, 600 by default, from what they keep of
   * it: at most `windowBytesMax` bytes for all of them, 268,435,456 by default; 0: they keep nothing.
   */
  readonly asOf?:
    | { readonly loadedBytesMax?: number; readonly windowSeconds?: number; readonly windowBytesMax?: number }
    | undefined
  /**
   * Writes that make memory grow are refused with `memory_exhausted` before the process has no memory left: with control groups of Linux
   * and the memory of a Linux machine, and everywhere with `bytesMax`, which the memory of this process must not exceed. About an eighth
   * stays free, at least 96 MiB. A write that would fit when others have ended waits for them, up to 10 s, and is then refused with
   * `overloaded`. `onScarce` is called before anything is refused, so that the host program can free memory, for example with
   * a garbage collection. `false`: nothing is refused.
   */
  readonly memory?: { readonly bytesMax?: number | undefined; readonly onScarce?: () => void } | false | undefined
  /**
   * Returns the LSN up to which records, and the images that they name, may be removed from the directory; for a copy of the log that is
   * made elsewhere. By default there is no bound.
   */
  readonly retainAfter?: () => number
  /**
   * Functions that compute vectors of texts, by the name that fields have in `embed.provider`. They are called before a write passes its gate,
   * never during a replay.
   */
  readonly embed?: { readonly [provider: string]: EmbedFunction | EmbedProvider } | undefined
  readonly clock?: Clock
  /** Called at most about ten times a second during a long job: recovery, checkpoint, rebuild. */
  readonly onProgress?: (progress: Progress) => void
  /** Called once recovery has begun: collections that are ready serve requests while others are still being rebuilt. */
  readonly onServing?: (engine: Engine) => void
  /** Called with each valid search before it runs, for a log of queries; not for those that readers run themselves. It must be quick. */
  readonly onSearch?: (search: ReceivedSearch) => void
  /** Called with a sentence for the log, for example when a torn tail was cut or the disk is slow or full. */
  readonly onNotice?: (sentence: string) => void
  /**
   * Called once when the engine can no longer keep its promises (a sync failed, a broken invariant). The owner should
   * end the process.
   */
  readonly onFailed?: (error: Error) => void
}

/** A search that the engine answered. */
export interface ReceivedSearch {
  readonly collectionId: number
  /** The newest record that the result reflects. */
  readonly lsn: number
  readonly request: SearchRequest
}

/** The clocks of an engine, for tests. */
export interface Clock {
  /** Milliseconds since 1970; may jump. It enters the state only through the events it stamps. */
  now(): number
  /** Milliseconds since any moment; never jumps. By default that of the process. */
  monotonic?(): number
}

/** How the threads that build graphs work. */
export interface GraphThreadOptions {
  /** They give up their cores for a moment again and again. Default: false. */
  readonly pauses?: boolean
}

/** An open data directory: its databases, collections, and background work. `openEngine` opens one, and calls fail with `EngineError` or `WalError`. */
export interface Engine {
  /**
   * Returns the database with this name; simple deployments have one, `default`. Throws `database_not_found`.
   *
   * @example
   * ```ts
   * const database = engine.database()
   * ```
   */
  database(name?: string): Database
  /**
   * For memory that the host program is about to use for a while, such as that of a reply: throws `overloaded` if the process would come close
   * to its memory limit. Garbage is collected first. `what` is the subject of the message.
   *
   * @example
   * ```ts
   * engine.checkMemory('the page', 4_000_000)
   * ```
   */
  checkMemory(what: string, bytes: number): void
  /** Databases, their tokens, and the directory's settings. */
  readonly control: ControlPlane
  /**
   * The providers of vectors in the option `embed`, sorted by name.
   *
   * @example
   * ```ts
   * for (const { name, model, dimension } of engine.providers()) console.log(name, model, dimension)
   * ```
   */
  providers(): readonly ProviderInfo[]
  /** Runs writes with request keys once. */
  readonly requestKeys: RequestKeys
  /**
   * Moments of the past that are loaded, are being loaded, or could not be loaded; of one database if it is named.
   *
   * @example
   * ```ts
   * for (const { collection, lsn, status, bytesDone, bytes } of engine.pastStates()) console.log(collection, lsn, status, bytesDone / bytes)
   * ```
   */
  pastStates(database?: string): readonly PastState[]
  /** The id of the data directory, assigned when it was created and never changed; empty until it is open. */
  readonly id: string
  /** Time of the newest record, milliseconds since 1970. It never runs backward, whatever the clock does. */
  readonly timeMs: number
  /** The newest record that searches see; 0 if there is none. */
  readonly lsnApplied: number
  /** The newest record that is durable; 0 if there is none. */
  readonly lsnDurable: number
  /**
   * Whether the engine serves requests, and what is wrong where it does not.
   *
   * @example
   * ```ts
   * const { status, reasons } = engine.health()
   * ```
   */
  health(): EngineHealth
  /**
   * Counts, sizes and times since the engine was opened.
   *
   * @example
   * ```ts
   * const { objects, memory } = engine.stats()
   * ```
   */
  stats(): EngineStats
  /**
   * Commits an event of another log unchanged, with its collection ids and seeds: the same events build the same state,
   * digest for digest. Use it on a directory that nothing else writes to. Events of one collection take effect in the
   * order of the calls, which need not wait for each other; await calls that create, delete or change collections.
   * Throws collection_not_found, and the errors of the write itself.
   *
   * @example
   * ```ts
   * import type { Event } from '@annal/engine/events'
   *
   * async function copy(events: AsyncIterable<Event>): Promise<void> {
   *   for await (const event of events) await engine.repeat(event)
   * }
   * ```
   */
  repeat(event: Event): Promise<Acknowledgement>
  /**
   * Connects one more thread, which then searches the collections of this engine in shared memory: see `attachReader` of
   * `@annal/engine/reader`. The handle is sent to the thread, with its port among the transferred objects. It can be used once, and is
   * free again when the thread exits or closes the reader. Throws limit_exceeded when all `readers` of the options have a handle.
   *
   * @example
   * ```ts
   * import { Worker } from 'node:worker_threads'
   *
   * const reader = engine.readerHandle()
   * new Worker('./search-thread.js', { workerData: { reader }, transferList: [reader.port] })
   * ```
   */
  readerHandle(): ReaderHandle
  /**
   * At most this many worker threads, and at least one, build graphs from now on. A host program that knows how many of its own threads
   * are busy uses it to leave cores to them. With `pauses`, threads that build graphs give up their cores for a moment every 0.1 ms times
   * the number of cores, so that threads that answer searches do not wait for them. What is built is the same.
   *
   * @example
   * ```ts
   * engine.limitGraphThreads(1, { pauses: true })
   * ```
   */
  limitGraphThreads(count: number, options?: GraphThreadOptions): void
  /**
   * Writes a checkpoint and truncates the log up to it.
   *
   * @example
   * ```ts
   * const { lsn } = await engine.checkpoint()
   * ```
   */
  checkpoint(): Promise<{ readonly lsn: number }>
  /**
   * Waits for running writes, marks the log as cleanly closed, releases the directory. Idempotent.
   *
   * @example
   * ```ts
   * await engine.close()
   * ```
   */
  close(): Promise<void>
}
