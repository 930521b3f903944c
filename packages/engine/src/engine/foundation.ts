// What an engine stands on: its checked options, what opening the directory acquires, and the phase that decides which calls are accepted.
import { join } from 'node:path'
import { type DataDirectory, type Identity, type LogNotice, nodeVfs, type Vfs } from '@annal/wal'
import { ClockWatch } from '../collection/clock-watch.ts'
import type { Committer } from '../commit.ts'
import { Embedder } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { type Phase, sentenceOf } from '../health.ts'
import {
  checkedAsOf,
  checkedClock,
  checkedDataDir,
  checkedLimits,
  checkedMemory,
  checkedReaders,
  checkedRequestKeys,
  checkedThreads,
} from '../input/engine-options.ts'
import type { Limits } from '../limits.ts'
import { fileLogOpener, type LogOpener } from '../log-opener.ts'
import type { Clock, EngineOptions } from '../model/engine.ts'
import type { OriginalsPlace } from '../originals/originals-owner.ts'
import { ProgressReport } from '../progress.ts'
import type { ReaderHub } from '../readers/hub.ts'
import type { KeyTableLimits } from '../requests/key-table.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { EngineParts } from './engine-parts.ts'

export class Foundation {
  readonly options: EngineOptions
  readonly parts: EngineParts
  readonly dataDir: string
  readonly vfs: Vfs
  readonly clock: Clock
  readonly clockWatch: ClockWatch
  readonly opener: LogOpener
  readonly limits: Limits
  readonly embedder: Embedder
  readonly keyLimits: KeyTableLimits
  readonly threads: number
  readonly readers: number
  readonly asOf: ReturnType<typeof checkedAsOf>
  readonly memory: ReturnType<typeof checkedMemory>
  readonly originals: OriginalsPlace
  readonly progress: ProgressReport
  readonly openedAt = performance.now()
  /** Sentences for the health. */
  readonly notices: string[] = []
  readonly #damagedFiles = new Set<string>()
  /** Sentences for the health about work that fails, by the name of the work. */
  readonly #failing = new Map<string, string>()
  phase: Phase = 'starting'
  /** Whether `close` was called. */
  isClosing = false
  failure: Error | undefined
  /** Time of the newest record when the engine was opened. */
  timeAtStartMs = 0
  identity: Identity | undefined
  pool: WorkerPool | undefined
  /** Undefined in an engine without readers. */
  hub: ReaderHub | undefined
  directory: DataDirectory | undefined
  committer: Committer | undefined

  /** Throws invalid_argument. */
  constructor(options: EngineOptions, parts: EngineParts) {
    this.options = options
    this.parts = parts
    this.dataDir = checkedDataDir(options?.dataDir)
    this.vfs = parts.vfs ?? nodeVfs()
    const clock = checkedClock(options.clock)
    this.clock = clock
    this.clockWatch = new ClockWatch({
      now: () => clock.now(),
      monotonic: () => clock.monotonic?.() ?? performance.now(),
    })
    this.opener = parts.opener ?? fileLogOpener
    this.limits = checkedLimits(options.limits)
    this.embedder = new Embedder(options.embed)
    this.keyLimits = checkedRequestKeys(options.requestKeys)
    this.threads = checkedThreads(options.threads)
    this.readers = checkedReaders(options.readers)
    this.asOf = checkedAsOf(options.asOf)
    this.memory = checkedMemory(options.memory)
    this.originals = {
      vfs: this.vfs,
      dir: join(this.dataDir, 'originals'),
      directory: () => this.id,
      onDamaged: (file, message) => this.#noteDamage(file, message),
    }
    this.progress = new ProgressReport(options.onProgress)
  }

  get id(): string {
    return this.identity?.uuid ?? ''
  }

  get lsnApplied(): number {
    return this.committer?.lsnApplied ?? 0
  }

  get lsnDurable(): number {
    return this.directory?.log.state().lsnDurable ?? 0
  }

  get timeMs(): number {
    return this.committer?.timeMs ?? 0
  }

  get hasFiles(): boolean {
    return this.opener.bringsFiles === true || this.opener.shared !== undefined
  }

  /** Adds a sentence to the health of the engine. */
  warn(sentence: string): void {
    this.notices.push(sentence)
  }

  /** Says in the health of the engine that this work fails, until it is called without a sentence. */
  warnWhileFailing(work: string, sentence: string | undefined): void {
    if (sentence === undefined) {
      this.#failing.delete(work)
      return
    }
    this.#failing.set(work, sentence)
    this.notify(sentence)
  }

  /** Every sentence for the health. */
  get warnings(): readonly string[] {
    return [...this.notices, ...this.#failing.values()]
  }

  /** One sentence for each file: every later read of the vector finds the same. */
  #noteDamage(file: string, message: string): void {
    if (this.#damagedFiles.has(file)) return
    this.#damagedFiles.add(file)
    this.warn(message)
    this.notify(message)
  }

  /** Passes a sentence to `onNotice`. */
  notify(sentence: string): void {
    this.options.onNotice?.(sentence)
  }

  note(notice: LogNotice): void {
    const sentence = sentenceOf(notice)
    // A torn tail is a normal result of a crash, a slow disk is no damage, and read-only is the log's own state.
    if (notice.kind === 'tip-damaged' && notice.slots > 1) this.warn(sentence)
    this.notify(sentence)
  }

  checkOpen(): void {
    if (this.failure)
      throw new EngineError('closed', `the engine stopped: ${this.failure.message}`, {}, { cause: this.failure })
    if (this.phase === 'starting' || this.phase === 'closed')
      throw new EngineError('closed', this.phase === 'closed' ? 'the engine is closed' : 'the engine is starting')
  }

  checkBackups(): void {
    if (this.opener.refusal !== undefined && !this.hasFiles) refuseInCluster('backups, restores, and clones')
  }

  checkHistory(): void {
    // A copy of an archive grows while it is read.
    if (this.opener.bringsFiles) this.checkWritable()
  }

  checkWritable(): void {
    if (this.opener.refusal !== undefined) this.committer?.checkWritable()
  }
}

/** Throws `unsupported_in_cluster`. */
function refuseInCluster(what: string): never {
  const message = `a node of a cluster does not support ${what} in this version`
  throw new EngineError('unsupported_in_cluster', message, { field: 'operation', value: what })
}
