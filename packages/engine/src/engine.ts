// Opens a data directory and owns everything in it: the log, the catalog, one replica for each collection, checkpoints. This file has the calls of
// users. The folder `engine` has a file for each of the parts that answer them.
import type { LogRecord } from '@annal/wal'
import { repeatEvent } from './collection/repeat-event.ts'
import type { Committer } from './commit.ts'
import { codeDiskErrors } from './disk-errors.ts'
import { EngineCore } from './engine/core.ts'
import type { EngineParts } from './engine/engine-parts.ts'
import { Foundation } from './engine/foundation.ts'
import { EngineLife } from './engine/life.ts'
import { engineHealth, engineStats, stateLsns } from './engine/stats.ts'
import { EngineError } from './errors.ts'
import type { LogOpener, ReplicatedEngine } from './log-opener.ts'
import type { ControlPlane } from './model/control.ts'
import type { Database } from './model/database.ts'
import type { ProviderInfo } from './model/embed.ts'
import type { Engine, EngineOptions, GraphThreadOptions } from './model/engine.ts'
import type { EngineHealth, EngineStats } from './model/engine-stats.ts'
import type { Event } from './model/event.ts'
import { checkObject } from './model/ids.ts'
import type { PastState } from './model/moment.ts'
import { wholeNumber } from './model/numbers.ts'
import type { Acknowledgement } from './model/object.ts'
import type { ReaderHandle } from './model/reader.ts'
import type { RequestKeys } from './model/requests.ts'
import type { StateDigest } from './model/state-digest.ts'
import { refuseOldNode } from './node-version.ts'

/**
 * Opens the directory, recovers its state and resolves when everything in it can be searched. Rejects with WalError
 * (directory_locked, log_damaged, ...) or EngineError (snapshot_damaged, format_too_new, invalid_argument), with
 * nothing left open.
 *
 * @example
 * ```ts
 * const engine = await openEngine({ dataDir: './data' })
 * const database = engine.database()
 * await engine.close()
 * ```
 */
export async function openEngine(options: EngineOptions, parts: EngineParts = {}): Promise<Engine> {
  refuseOldNode()
  const engine = new LocalEngine(options, parts)
  await engine.open()
  return engine
}

/** Opens an engine on the log of an opener, whose records other nodes append as well. Rejects as `openEngine` does. */
export async function openReplicatedEngine(
  options: EngineOptions,
  opener: LogOpener,
  parts: EngineParts = {},
): Promise<ReplicatedEngine> {
  refuseOldNode()
  const engine = new LocalEngine(options, { ...parts, opener })
  await engine.open()
  return engine
}

class LocalEngine implements ReplicatedEngine {
  readonly #base: Foundation
  readonly #core: EngineCore
  readonly #life: EngineLife

  constructor(options: EngineOptions, parts: EngineParts) {
    this.#base = new Foundation(options, parts)
    this.#core = new EngineCore(this.#base)
    this.#life = new EngineLife(this.#core, () => options.onServing?.(this))
  }

  open(): Promise<void> {
    return this.#life.open()
  }

  close(): Promise<void> {
    return this.#life.close()
  }

  get id(): string {
    return this.#base.id
  }

  get timeMs(): number {
    return this.#base.timeMs
  }

  get lsnApplied(): number {
    return this.#base.lsnApplied
  }

  get lsnDurable(): number {
    return this.#base.lsnDurable
  }

  database(name = 'default'): Database {
    return this.#core.database(name)
  }

  get control(): ControlPlane {
    return this.#core.control
  }

  get requestKeys(): RequestKeys {
    return this.#core.keys
  }

  providers(): readonly ProviderInfo[] {
    return this.#base.embedder.providers()
  }

  health(): EngineHealth {
    return engineHealth(this.#core)
  }

  checkMemory(what: string, bytes: number): void {
    this.#base.checkOpen()
    this.#core.memory.checkPassing(what, bytes)
  }

  stats(): EngineStats {
    this.#base.checkOpen()
    return engineStats(this.#core)
  }

  pastStates(database?: string): readonly PastState[] {
    this.#base.checkOpen()
    return this.#core.pastStates.list(database)
  }

  checkpoint(): Promise<{ readonly lsn: number }> {
    this.#base.checkOpen()
    return this.#core.checkpointer.take()
  }

  repeat(event: Event): Promise<Acknowledgement> {
    return repeatEvent(this.#core, event)
  }

  limitGraphThreads(count: number, options: GraphThreadOptions = {}): void {
    const threads = wholeNumber(count, 'count', 0, Number.MAX_SAFE_INTEGER)
    checkObject(options, 'options')
    this.#base.pool?.limitJobs(threads, options.pauses === true)
  }

  readerHandle(): ReaderHandle {
    this.#base.checkOpen()
    if (this.#base.hub) return this.#base.hub.handle()
    throw new EngineError('limit_exceeded', 'the engine was opened without readers', { field: 'readers', limit: 0 })
  }

  // What a node of a cluster uses.

  applyTailed(records: readonly LogRecord[]): Promise<void> {
    return this.#core.applyTailed(records)
  }

  whenApplied(lsn: number, timeoutMs: number): Promise<boolean> {
    this.#base.checkOpen()
    const wanted = wholeNumber(lsn, 'lsn', 0, Number.MAX_SAFE_INTEGER)
    return (this.#base.committer as Committer).whenApplied(wanted, timeoutMs)
  }

  get stateDigests(): readonly StateDigest[] {
    return this.#core.digests?.kept ?? []
  }

  get stateLsns(): readonly Omit<StateDigest, 'digest'>[] {
    return stateLsns(this.#core)
  }

  async digestQuiet(): Promise<void> {
    this.#base.checkOpen()
    await this.#core.digests?.quiet(this.#core.catalog, this.#core.collections.all())
  }

  collectShared(confirm: () => Promise<unknown>): Promise<void> {
    return this.#core.backups.collectShared(confirm)
  }
}

codeDiskErrors(LocalEngine)
