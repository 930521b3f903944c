// The engine as its users see it, but for backups and history. engine.ts, database.ts and collection.ts implement it.
import type { FsyncPolicy } from '@annal/wal'
import type { Event } from '../events/event.ts'
import type { Limits } from '../limits.ts'
import type { Backups } from './backups.ts'
import type { DatabaseType, TokenFacts, TokenKind } from './database.ts'
import type { History } from './history.ts'
import type { Acknowledgement, CollectionDescription, FilterUpdate, ObjectInput, StoredObject } from './object.ts'
import type {
  AnswerRoom,
  FacetRequest,
  Facets,
  FilterInput,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
  SearchRequest,
  SearchResult,
} from './query.ts'

export interface EngineOptions {
  /** Made when absent. One engine at a time: the second open fails with WalError `directory_locked`. */
  readonly dataDir: string
  readonly fsync?: FsyncPolicy
  /** Worker threads for graph work; default: the number of cores, at most 16. */
  readonly threads?: number
  readonly limits?: Partial<Limits>
  /** Keeps the whole log, not only what recovery needs, so that any moment can be replayed. Default false. */
  readonly keepLog?: boolean
  /**
   * Keeps what the log gives up, and checkpoints to begin with, so that moments of the past can be restored: not longer than
   * `maxAgeMs`, not more than `maxBytes`, and not more than a share `freeShareMax` of the free disk, of which what is kept counts as
   * free. Nothing is kept when it is not given, and what was kept before stays as it is; a `maxAgeMs` of 0 removes that, too.
   */
  readonly archive?:
    | { readonly maxBytes: number; readonly maxAgeMs: number; readonly freeShareMax?: number }
    | undefined
  readonly clock?: Clock
  /** Called at most about ten times a second while a long job runs: recovery, checkpoint, rebuild. */
  readonly onProgress?: (progress: Progress) => void
  /** Called once recovery has begun: the engine answers for collections that are ready, while others are still being rebuilt. */
  readonly onServing?: (engine: Engine) => void
  /** Called with each search that was found to be well-formed, before it is answered; for a log of queries. Must be quick. */
  readonly onSearch?: (asked: AskedSearch) => void
  /** Called with a sentence worth logging: a torn tail was cut, the disk is slow or full, and such. */
  readonly onNotice?: (sentence: string) => void
  /** Called once when the engine can no longer keep its promises (fsync refused, broken invariant). The owner should end the process. */
  readonly onFailed?: (error: Error) => void
}

export interface AskedSearch {
  readonly collectionId: number
  /** The newest record that the answer reflects. */
  readonly lsn: number
  readonly request: SearchRequest
}

export interface Clock {
  /** Milliseconds since 1970; may jump. Enters the state only through the events it stamps. */
  now(): number
}

export interface Progress {
  readonly job: 'snapshot-load' | 'replay' | 'checkpoint'
  readonly collection?: string
  readonly done: number
  readonly total: number
  readonly unit: 'bytes' | 'records' | 'collections'
}

export interface EngineHealth {
  readonly status: 'starting' | 'ok' | 'degraded' | 'read-only' | 'failed' | 'closed'
  readonly reasons: readonly string[]
  readonly progress?: Progress
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
    /** When the newest was made. */
    readonly newestAt?: number
  }
  readonly log: {
    readonly bytes: number
    readonly segments: number
    readonly appends: number
    readonly syncs: number
    /** Time spent in them. */
    readonly syncMs: number
    /** What waits to be written. */
    readonly queuedRecords: number
    readonly queuedBytes: number
  }
  /** Taken since the engine was opened, also those that failed, and the time they took. */
  readonly checkpoints: { readonly taken: number; readonly failed: number; readonly ms: number }
  readonly workers: {
    readonly threads: number
    /** Ended without being asked to, and replaced. */
    readonly lost: number
    /** Questions that no thread has begun with. */
    readonly queriesWaiting: number
  }
  /** Bytes of memory by part, over all collections. */
  readonly memory: { readonly [part: string]: number }
}

/** Where history begins, and why there. */
export interface HistoryReach {
  /** The oldest record after which a moment can be restored, and its time; both are 0 for the very first. */
  readonly lsn: number
  readonly timeMs: number
  /** Of the disk, that nothing but history needs. */
  readonly bytes: number
  readonly segments: number
  /**
   * `first-record`: nothing was given up. `age`: it is as old as wanted. `size`: there was no more room within the limits. `disk`: the disk
   * was nearly full. `start`: history was turned on then, or has been kept since.
   */
  readonly begins: 'first-record' | 'age' | 'size' | 'disk' | 'start'
  /** How old it is to be. */
  readonly maxAgeMs: number
}

export interface Engine {
  /** The database of that name; plain deployments have one, `default`. Throws `database_not_found`. */
  database(name?: string): Database
  /** Databases themselves, their tokens, the directory's settings. */
  readonly control: ControlPlane
  /** Of the data directory, given when it was made and kept for ever; empty until it is open. */
  readonly id: string
  /** Time of the newest record, milliseconds since 1970: never runs backwards, whatever the clock does. */
  readonly timeMs: number
  health(): EngineHealth
  stats(): EngineStats
  /**
   * Commits an event of another log as it was, with its ids of collections and its seeds: the same events build the same state,
   * digest for digest. For a directory that nothing else writes to. Events of one collection take effect in the order of the
   * calls, which need not wait for each other; whatever creates, drops or changes what exists is to be waited for.
   * Throws collection_not_found, and what the write itself would.
   */
  repeat(event: Event): Promise<Acknowledgement>
  /** Writes snapshots of what changed and lets the log go up to them. */
  checkpoint(): Promise<{ readonly lsn: number }>
  /** Waits for writes under way, marks the log as cleanly closed, releases the directory. Idempotent. */
  close(): Promise<void>
}

/**
 * Each call is one record of the log, durable when its promise resolves, and all of them are one after another. What is read
 * is as of the end of the log, also while that is replayed; what is written then is refused with `collection_loading`.
 */
export interface ControlPlane {
  databases(): readonly DatabaseDescription[]
  /** With its first token, when one is given. Throws invalid_argument, database_exists, token_exists, limit_exceeded. */
  createDatabase(options: {
    readonly name: string
    readonly type?: DatabaseType
    readonly token?: TokenFacts
  }): Promise<DatabaseDescription>
  /** With every collection in it and all its tokens, at once. `default` stays. Throws database_not_found, invalid_argument. */
  deleteDatabase(name: string): Promise<Acknowledgement>
  /** @deprecated Use deleteDatabase. */
  dropDatabase(name: string): Promise<Acknowledgement>
  setDatabaseActive(name: string, active: boolean): Promise<DatabaseDescription>
  setDatabaseType(name: string, type: DatabaseType): Promise<DatabaseDescription>
  /** Without their hashes. Throws database_not_found. */
  tokens(database: string): readonly TokenDescription[]
  /** Throws database_not_found, token_exists, invalid_argument, limit_exceeded. */
  putToken(database: string, token: TokenFacts): Promise<TokenDescription>
  /** Throws database_not_found, token_not_found. */
  deleteToken(database: string, name: string): Promise<Acknowledgement>
  /** @deprecated Use deleteToken. */
  dropToken(database: string, name: string): Promise<Acknowledgement>
  /** Whose token has this SHA-256, hexadecimal. How long it takes depends on the hash alone. */
  findToken(hash: string): TokenOwner | undefined
  /** A fact kept for whoever owns the directory; the engine does not know what it means. */
  setting(key: string): string | undefined
  /** Throws invalid_argument, limit_exceeded. */
  putSetting(key: string, value: string): Promise<Acknowledgement>
  /** Hash of all this and of what collections there are, hexadecimal. */
  digest(): string
}

export interface DatabaseDescription {
  readonly name: string
  readonly type: DatabaseType
  /** Data of one that is not is kept; a server refuses its tokens. */
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

/** By name of a dense field. */
export interface RebuildChanges {
  readonly [field: string]: { readonly M?: number; readonly efConstruction?: number }
}

export interface RebuildStatus {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  readonly objectsDone: number
  readonly objects: number
  /** Milliseconds since 1970. */
  readonly startedAt?: number
  readonly completedAt?: number
  readonly error?: string
}

export interface Database {
  readonly name: string
  /** Throws database_not_found when it was dropped. */
  describe(): DatabaseDescription
  readonly backups: Backups
  readonly history: History
  /**
   * Takes a definition as people write it: `{ name, fields: [{ name, type: 'vector' | 'sparse', params: { dimension,
   * space_type, precision, M, ef_con } }] }` (camelCase names are taken too). Throws invalid_argument, collection_exists, limit_exceeded.
   */
  createCollection(definition: unknown): Promise<Collection>
  /** Throws collection_not_found. */
  collection(name: string): Collection
  collections(): readonly CollectionDescription[]
  /** How much there is: collections with those being made or restored, and objects in all of them. Costs little. */
  usage(): { readonly collections: number; readonly objects: number }
  /** Deletes a collection with everything in it. Throws collection_not_found. */
  deleteCollection(name: string): Promise<Acknowledgement>
  /** @deprecated Use deleteCollection. */
  dropCollection(name: string): Promise<Acknowledgement>
}

export interface Collection {
  readonly name: string
  describe(): CollectionDescription
  /**
   * Resolves when the collection can answer: at once, except for a clone whose files are still being read (calls that return a
   * promise wait for them, half a minute at most; calls that return a value throw collection_loading) and while a large write
   * becomes visible. A call that returns a value does not wait for that write: it completes the write first, which can take
   * hundreds of milliseconds.
   */
  served(): Promise<void>
  /**
   * Inserts or replaces by id, all or nothing. Refuses duplicate ids in one call. Objects may come one after another: nothing is
   * written before the last one came, and an error of the iterable refuses them all.
   */
  upsert(
    objects: readonly ObjectInput[] | AsyncIterable<ObjectInput>,
  ): Promise<Acknowledgement & { readonly upserted: number }>
  /** Returns the object with this id, or undefined where there is none. */
  get(id: string, room?: AnswerRoom): Promise<StoredObject | undefined>
  /** @deprecated Use getMany. */
  get(ids: readonly string[], room?: AnswerRoom): Promise<readonly StoredObject[]>
  /** Returns the objects with these ids in the order of `ids`; unknown ids are left out. */
  getMany(ids: readonly string[], room?: AnswerRoom): Promise<readonly StoredObject[]>
  delete(ids: readonly string[]): Promise<Acknowledgement & { readonly deleted: readonly string[] }>
  /** Logged as the ids it found. An empty filter deletes nothing. */
  deleteWhere(filter: FilterInput): Promise<Acknowledgement & { readonly deleted: number }>
  /** Replaces whole filter objects; unknown ids are skipped. Updates may come one after another, as objects of an upsert may. */
  updateFilters(
    updates: readonly FilterUpdate[] | AsyncIterable<FilterUpdate>,
  ): Promise<Acknowledgement & { readonly updated: number }>
  /** @deprecated Use updateFilters. */
  replaceFilters(
    updates: readonly FilterUpdate[] | AsyncIterable<FilterUpdate>,
  ): Promise<Acknowledgement & { readonly updated: number }>
  /** With a `room`, here and below, an answer that it refuses is not made: its `take` throws, and so does the call. */
  search(request: SearchRequest, room?: AnswerRoom): Promise<SearchResult>
  /** Several searches, all of the collection as it is now; one that is refused refuses them all. */
  searchBatch(requests: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]>
  /** Objects that match; all of them without a filter. */
  count(filter?: FilterInput): { readonly count: number; readonly lsn: number }
  /** How many objects have which values under a filter key. With more than a few thousand values, writes are applied when it is done. */
  facets(request: FacetRequest): Promise<Facets>
  /** Pages through all objects that match. An object that is not written meanwhile comes exactly once, whatever else is. */
  scroll(request?: ScrollRequest, room?: AnswerRoom): Promise<ScrollPage>
  /** Asks the index for stored vectors and compares with exact answers: a number to watch. */
  recall(request?: RecallRequest): Promise<RecallReport>
  /** Ids of the objects that an object is linked to at the base of a dense field's graph; none where it has no vector. Throws object_not_found, field_not_found or invalid_argument. */
  neighbors(field: string, id: string): readonly string[]
  /** @deprecated Use neighbors. */
  neighbours(field: string, id: string): readonly string[]
  /**
   * Builds everything anew from the live objects, with other graph parameters where given. Searches go on; writers wait, and
   * those that wait longer than 30 s are refused with `overloaded`. Throws rebuild_running while another one runs.
   */
  rebuild(changes?: RebuildChanges): Promise<Acknowledgement>
  /** A rebuild with nothing changed: gives back the memory and the disk that deleted and replaced objects took. */
  vacuum(): Promise<Acknowledgement & { readonly reclaimedBytes: number }>
  /** The rebuild that runs, or the last one since the engine was opened. */
  rebuildStatus(): RebuildStatus
  /** Hash of everything a replay must reproduce, hexadecimal. */
  stateDigest(): string
}
