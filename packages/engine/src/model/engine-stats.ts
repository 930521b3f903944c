// What an engine reports about itself: health, counts, sizes, and progress.
import type { CalibrationCounts } from './calibration.ts'
import type { RequestKeyStats } from './requests.ts'

/** The progress of a job of the engine, in the given unit. */
export interface Progress {
  readonly job: 'snapshot-download' | 'snapshot-load' | 'replay' | 'checkpoint'
  readonly collection?: string
  readonly done: number
  readonly total: number
  readonly unit: 'bytes' | 'records' | 'collections'
}

/** Whether the engine serves requests. `reasons` are sentences. */
export interface EngineHealth {
  readonly status: 'starting' | 'ok' | 'degraded' | 'read-only' | 'failed' | 'closed'
  readonly reasons: readonly string[]
  readonly progress?: Progress
  /** Number of calibrations by state, if there is any. */
  readonly calibrations?: CalibrationCounts['states']
}

/** Counts, sizes in bytes, and times in milliseconds, since the engine was opened. */
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
  /**
   * Objects that have expired and are still stored, those deleted since the engine was opened, jumps of the clock since then, and whether
   * expired objects are being deleted now: only while the clock has run steadily for an hour.
   */
  readonly expiry: {
    readonly hidden: number
    readonly deleted: number
    readonly clockJumps: number
    readonly isDeleting: boolean
  }
  /** Consumers of the change feed, records between the slowest one and the newest record, and bytes of records in memory. */
  readonly feed: { readonly consumers: number; readonly lagMax: number; readonly bytes: number }
  /**
   * Moments of the past that are loaded for reads, and their memory; what live collections keep of the recent past, and the reads that they
   * answered from it.
   */
  readonly asOf: {
    readonly loaded: number
    readonly loadedBytes: number
    readonly windowBytes: number
    readonly windowReads: number
  }
  /**
   * The scarcest memory: the limit, what is in use and cannot be reclaimed, what running work may take besides, the bytes from which on work
   * is refused, the work that was refused, and the writes that wait. Undefined where no limit is known.
   */
  readonly memoryRoom?:
    | {
        readonly limit: number
        readonly used: number
        readonly pending: number
        readonly usable: number
        readonly refused: number
        readonly waiting: number
      }
    | undefined
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
