// The public interfaces of the engine, except backups and history. engine.ts, database.ts and collection.ts implement
// them.
import type { FsyncPolicy } from '@annal/wal'
import type { ControlEvent, Event } from '../events/event.ts'
import type { Limits } from '../limits.ts'
import type { Backups } from './backups.ts'
import type { CalibrationCounts } from './calibration.ts'
import type { Collection } from './collection.ts'
import type { DatabaseType, TokenFacts, TokenKind } from './database.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf } from './definition.ts'
import type { History } from './history.ts'
import type { Acknowledgement, CollectionDescription } from './object.ts'
import type { SearchRequest } from './query.ts'
import type { ReaderHandle } from './reader.ts'
import type { RequestKeyStats, RequestKeys, WriteOptions } from './requests.ts'

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
   * Returns the LSN up to which records, and the images that they name, may be removed from the directory; for a copy of the log that is
   * made elsewhere. By default there is no bound.
   */
  readonly retainAfter?: () => number
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

/** A change of a database or of its tokens. */
export interface ControlChange {
  readonly kind: Exclude<ControlEvent['kind'], 'setting-put' | 'request-answered'>
  /** Name of the database. */
  readonly database: string
}

export interface ReceivedSearch {
  readonly collectionId: number
  /** The newest record that the result reflects. */
  readonly lsn: number
  readonly request: SearchRequest
}

export interface Clock {
  /** Milliseconds since 1970; may jump. It enters the state only through the events it stamps. */
  now(): number
}

export interface Progress {
  readonly job: 'snapshot-load' | 'replay' | 'checkpoint'
  readonly collection?: string
  readonly done: number
  readonly total: number
  readonly unit: 'bytes' | 'records' | 'collections'
}

/** How the threads that build graphs work. */
export interface GraphThreadOptions {
  /** They give up their cores for a moment again and again. Default: false. */
  readonly pauses?: boolean
}

export interface EngineHealth {
  readonly status: 'starting' | 'ok' | 'degraded' | 'read-only' | 'failed' | 'closed'
  readonly reasons: readonly string[]
  readonly progress?: Progress
  /** Number of calibrations by state, if there is any. */
  readonly calibrations?: CalibrationCounts['states']
}

export interface EngineStats {
  readonly uptimeMs: number
  readonly databases: number
  readonly collections: number
  readonly objects: number
  readonly lsnApplied: number
  readonly lsnDurable: number
  readonly lsnCheckpoint: number
  /** Time of the newest record, in milliseconds since 1970. */
  readonly timeMs: number
  /** How far back a moment can be restored, as of the last checkpoint; only with an archive. */
  readonly reach?: HistoryReach
  readonly backups: {
    readonly count: number
    readonly bytes: number
    /** Time of the newest one. */
    readonly newestAt?: number
  }
  readonly log: {
    readonly bytes: number
    readonly segments: number
    readonly appends: number
    readonly syncs: number
    /** Total time of the syncs. */
    readonly syncMs: number
    /** Records and bytes waiting to be written. */
    readonly queuedRecords: number
    readonly queuedBytes: number
  }
  /** Checkpoints since the engine was opened, including failed ones, and their total time. */
  readonly checkpoints: { readonly taken: number; readonly failed: number; readonly ms: number }
  readonly workers: {
    readonly threads: number
    /** Worker threads that exited unexpectedly and were replaced. */
    readonly lost: number
    /** Queries that no thread has started. */
    readonly queriesWaiting: number
  }
  readonly calibrations: CalibrationCounts
  readonly requestKeys: RequestKeyStats
  /** Bytes of memory by part, over all collections. */
  readonly memory: { readonly [part: string]: number }
}

/** Where history begins, and why. */
export interface HistoryReach {
  /** The oldest record after which a moment can be restored, and its time; both are 0 for the very first. */
  readonly lsn: number
  readonly timeMs: number
  /** Disk space that only the history needs. */
  readonly bytes: number
  readonly segments: number
  /**
   * `first-record`: nothing was removed. `age`: the wanted age is reached. `size`: the limits leave no space for more.
   * `disk`: the disk was nearly full. `start`: history was turned on then, or was kept since.
   */
  readonly begins: 'first-record' | 'age' | 'size' | 'disk' | 'start'
  /** The wanted age. */
  readonly maxAgeMs: number
}

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
  /** Databases, their tokens, and the directory's settings. */
  readonly control: ControlPlane
  /** Runs writes with request keys once. */
  readonly requestKeys: RequestKeys
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

/**
 * Each call is one record of the log, durable when its promise resolves; the calls run one after another. Reads reflect
 * the end of the log, also while it is replayed; writes during a replay are refused with `collection_loading`.
 */
export interface ControlPlane {
  /**
   * Calls `listener` after each change of a database or of its tokens is applied. The change is acknowledged when the returned promise
   * resolves, so that a program that caches access can forget it first. The promise must not reject.
   *
   * @example
   * ```ts
   * engine.control.onChange(async ({ kind, database }) => {
   *   if (kind === 'token-dropped') console.log(`a token of ${database} was deleted`)
   * })
   * ```
   */
  onChange(listener: (change: ControlChange) => Promise<void>): void
  /**
   * Lists the databases; `default` is always there.
   *
   * @example
   * ```ts
   * for (const { name, type, active } of engine.control.databases()) console.log(name, type, active)
   * ```
   */
  databases(): readonly DatabaseDescription[]
  /**
   * Creates a database, with its first token when one is given. Throws invalid_argument, database_exists, token_exists,
   * limit_exceeded.
   *
   * @example
   * ```ts
   * await engine.control.createDatabase({ name: 'music', type: 'pro' })
   * ```
   */
  createDatabase(
    options: {
      readonly name: string
      readonly type?: DatabaseType
      readonly token?: TokenFacts
    },
    write?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Deletes a database with all its collections and tokens at once. `default` cannot be deleted. Throws
   * database_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * await engine.control.deleteDatabase('music')
   * ```
   */
  deleteDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteDatabase. */
  dropDatabase(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Turns a database off or on. Throws database_not_found.
   *
   * @example
   * ```ts
   * await engine.control.setDatabaseActive('music', false)
   * ```
   */
  setDatabaseActive(
    name: string,
    active: boolean,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Changes the type of a database, which says its size limits. Throws database_not_found, invalid_argument.
   *
   * @example
   * ```ts
   * await engine.control.setDatabaseType('music', 'enterprise')
   * ```
   */
  setDatabaseType(
    name: string,
    type: DatabaseType,
    options?: WriteOptions,
  ): Promise<DatabaseDescription & Acknowledgement>
  /**
   * Lists the tokens without their hashes. Throws database_not_found.
   *
   * @example
   * ```ts
   * for (const { name, kind } of engine.control.tokens('music')) console.log(name, kind)
   * ```
   */
  tokens(database: string): readonly TokenDescription[]
  /**
   * Stores a token by its hash. Throws database_not_found, token_exists, invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * import { createHash, randomBytes } from 'node:crypto'
   *
   * const token = randomBytes(32).toString('hex')
   * const hash = createHash('sha256').update(token).digest('hex')
   * await engine.control.putToken('music', { name: 'website', kind: 'r', hash })
   * ```
   */
  putToken(database: string, token: TokenFacts, options?: WriteOptions): Promise<TokenDescription & Acknowledgement>
  /**
   * Throws database_not_found, token_not_found.
   *
   * @example
   * ```ts
   * await engine.control.deleteToken('music', 'website')
   * ```
   */
  deleteToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteToken. */
  dropToken(database: string, name: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Finds the token with this SHA-256, in hexadecimal. The time of the lookup depends on the hash alone.
   *
   * @example
   * ```ts
   * import { createHash } from 'node:crypto'
   *
   * function ownerOf(token: string) {
   *   return engine.control.findToken(createHash('sha256').update(token).digest('hex'))
   * }
   * ```
   */
  findToken(hash: string): TokenOwner | undefined
  /**
   * A fact stored for the owner of the directory; the engine does not interpret it.
   *
   * @example
   * ```ts
   * const theme = engine.control.setting('theme')
   * ```
   */
  setting(key: string): string | undefined
  /**
   * Stores a setting. Throws invalid_argument, limit_exceeded.
   *
   * @example
   * ```ts
   * await engine.control.putSetting('theme', 'dark')
   * ```
   */
  putSetting(key: string, value: string, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Hash of all of the above and of the list of collections, in hexadecimal.
   *
   * @example
   * ```ts
   * const digest = engine.control.digest()
   * ```
   */
  digest(): string
}

export interface DatabaseDescription {
  readonly name: string
  readonly type: DatabaseType
  /** The data of an inactive database stays on disk; a server refuses its tokens. */
  readonly active: boolean
  /** Milliseconds since 1970; 0 for `default`, which every directory begins with. */
  readonly createdAt: number
}

export interface TokenDescription {
  readonly name: string
  readonly kind: TokenKind
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface TokenOwner {
  readonly database: DatabaseDescription
  readonly token: TokenDescription
}

export interface Database {
  readonly name: string
  /**
   * Properties of the database. Throws database_not_found when it was deleted.
   *
   * @example
   * ```ts
   * const { type, active } = database.describe()
   * ```
   */
  describe(): DatabaseDescription
  readonly backups: Backups
  readonly history: History
  /**
   * Creates a collection and returns it with the types of its fields. A definition that is written out is checked by the compiler; one
   * from elsewhere is checked here. Throws invalid_argument, collection_exists, limit_exceeded.
   *
   * @example
   * ```ts
   * const films = await database.createCollection({
   *   name: 'films',
   *   fields: [{ name: 'plot', type: 'vector', params: { dimension: 3, spaceType: 'cosine' } }],
   * })
   * ```
   */
  createCollection<const D extends CollectionDefinition>(
    definition: D & ExactDefinition<D>,
    options?: WriteOptions,
  ): Promise<Collection<FieldsOf<D>>>
  /**
   * Returns a collection by name, with the types of its fields where its definition is given. Throws collection_not_found, and for a
   * definition field_not_found or invalid_argument where the collection has no such fields.
   *
   * @example
   * ```ts
   * const films = database.collection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
   * const any = database.collection('films')
   * ```
   */
  collection<const D extends string | CollectionDefinition>(
    nameOrDefinition: D & ExactDefinition<D>,
  ): Collection<FieldsOf<D>>
  /**
   * Describes all collections.
   *
   * @example
   * ```ts
   * for (const { name, objects } of database.collections()) console.log(name, objects)
   * ```
   */
  collections(): readonly CollectionDescription[]
  /**
   * Number of collections, with those being created or restored, and of objects in all of them. Costs little.
   *
   * @example
   * ```ts
   * const { collections, objects } = database.usage()
   * ```
   */
  usage(): { readonly collections: number; readonly objects: number }
  /**
   * Deletes a collection with everything in it. Throws collection_not_found.
   *
   * @example
   * ```ts
   * await database.deleteCollection('films')
   * ```
   */
  deleteCollection(name: string, options?: WriteOptions): Promise<Acknowledgement>
  /** @deprecated Use deleteCollection. */
  dropCollection(name: string, options?: WriteOptions): Promise<Acknowledgement>
}
