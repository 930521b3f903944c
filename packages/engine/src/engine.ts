// Opens a data directory and keeps everything in it: the log, the catalog, one replica per collection, checkpoints.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  type DataDirectory,
  type LogNotice,
  type LogState,
  type Lsn,
  nodeVfs,
  openDataDirectory,
  type Vfs,
} from '@annal/wal'
import type { Database, Engine, EngineHealth, EngineOptions, EngineStats, Progress } from './api.ts'
import { Catalog, type CollectionEntry } from './catalog/catalog.ts'
import { Checkpointer } from './checkpointer.ts'
import { LocalCollection } from './collection.ts'
import { Committer, type EventDraft } from './commit.ts'
import { type DatabaseHost, LocalDatabase } from './database.ts'
import { EngineError } from './errors.ts'
import type { CatalogEvent } from './events/event.ts'
import { printed } from './ids.ts'
import { type Limits, limitsConfigurable, limitsDefault } from './limits.ts'
import type { Acknowledgement } from './object.ts'
import { replay } from './recovery.ts'
import { Replica } from './replica/replica.ts'
import { WriteGate } from './replica/write-gate.ts'
import type { CheckpointSource } from './snapshot/checkpoint.ts'
import { openWorkerPool, type WorkerPool } from './vector/worker-pool.ts'

const threadsMax = 16
const progressEveryMs = 100

/**
 * Opens the directory, recovers its state and resolves when everything in it can be searched. Rejects with WalError
 * (directory_locked, log_damaged, ...) or EngineError (snapshot_damaged, format_too_new, invalid_argument), with nothing left open.
 */
export async function openEngine(options: EngineOptions, parts: EngineParts = {}): Promise<Engine> {
  const engine = new LocalEngine(options, parts)
  await engine.open()
  return engine
}

/** What tests put in the place of the real thing, or share between engines. */
export interface EngineParts {
  readonly vfs?: Vfs
  /** Closed by whoever opened it. */
  readonly pool?: WorkerPool
}

class LocalEngine implements Engine, DatabaseHost {
  readonly limits: Limits
  readonly creating = new Set<string>()
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #vfs: Vfs
  readonly #checkpointer: Checkpointer
  readonly #openedAt = performance.now()
  readonly #catalogGate = new WriteGate()
  #catalog = new Catalog()
  #collections = new Map<number, LocalCollection>()
  #nextCollectionId = 1
  #notices: string[] = []
  #progress: Progress | undefined
  #progressAt = 0
  #failure: Error | undefined
  #phase: 'starting' | 'open' | 'closed' = 'starting'
  #directory: DataDirectory | undefined
  #pool: WorkerPool | undefined
  #committer: Committer | undefined
  #closing: Promise<void> | undefined

  constructor(options: EngineOptions, parts: EngineParts) {
    if (typeof options?.dataDir !== 'string' || options.dataDir === '') {
      throw new EngineError('invalid_argument', 'dataDir must be the path of a directory', { field: 'dataDir' })
    }
    this.#options = options
    this.#parts = parts
    this.#vfs = parts.vfs ?? nodeVfs()
    this.limits = checkedLimits(options.limits)
    this.#checkpointer = new Checkpointer(
      { vfs: this.#vfs, dir: join(options.dataDir, 'checkpoints') },
      {
        keepLog: options.keepLog ?? false,
        onProgress: (progress) => this.#report(progress),
        onTrouble: (sentence) => this.#notices.push(sentence),
      },
    )
  }

  get catalog(): Catalog {
    return this.#catalog
  }

  async open(): Promise<void> {
    try {
      const threads = checkedThreads(this.#options.threads)
      let replicas = new Map<number, Replica>()
      const directory = await openDataDirectory({
        dir: this.#options.dataDir,
        vfs: this.#vfs,
        fsync: this.#options.fsync ?? 'always',
        findStart: async () => {
          this.#pool = this.#parts.pool ?? (await openWorkerPool({ threads }))
          replicas = await this.#checkpointer.load(this.#pool)
          return ((this.#checkpointer.manifest?.lsn ?? 0) + 1) as Lsn
        },
        onNotice: (notice) => this.#note(notice),
        onFailed: (error) => this.#fail(error),
      })
      this.#directory = directory
      await this.#recover(directory, replicas)
      this.#phase = 'open'
      this.#progress = undefined
      this.#checkpointer.start(directory.log, () => this.#checkpointSource())
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  database(name = 'default'): Database {
    this.checkOpen()
    const entry = this.#catalog.database(name)
    if (!entry)
      throw new EngineError('invalid_argument', `there is no database ${printed(name)}`, {
        field: 'database',
        value: name,
      })
    return new LocalDatabase(entry, this)
  }

  health(): EngineHealth {
    const reasons = [...this.#notices]
    const state = this.#directory?.log.state()
    if (state?.reason) reasons.push(state.reason)
    if (this.#failure) reasons.push(this.#failure.message)
    return { status: this.#status(state), reasons, ...(this.#progress && { progress: this.#progress }) }
  }

  stats(): EngineStats {
    this.checkOpen()
    const { log } = this.#directory as DataDirectory
    const { bytes, segments, appends, syncs, lsnDurable } = log.state()
    const memory: Record<string, number> = {}
    let objects = 0
    for (const { replica } of this.#collections.values()) {
      objects += replica.objects.count
      for (const [part, size] of Object.entries(replica.bytes())) memory[part] = (memory[part] ?? 0) + size
    }
    return {
      uptimeMs: performance.now() - this.#openedAt,
      databases: this.#catalog.databases.length,
      collections: this.#catalog.collections.length,
      objects,
      lsnApplied: this.#committer?.lsnApplied ?? 0,
      lsnDurable,
      lsnCheckpoint: this.#checkpointer.manifest?.lsn ?? 0,
      log: { bytes, segments, appends, syncs },
      memory,
    }
  }

  checkpoint(): Promise<{ readonly lsn: number }> {
    this.checkOpen()
    return this.#checkpointer.take()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  loaded(id: number): LocalCollection | undefined {
    return this.#collections.get(id)
  }

  nextCollectionId(): number {
    return this.#nextCollectionId++
  }

  commit(makeDraft: () => Extract<EventDraft, { kind: CatalogEvent['kind'] }>): Promise<Acknowledgement> {
    return this.#catalogGate.write(async () => {
      this.checkOpen()
      const committer = this.#committer as Committer
      const { lsn, durable } = await committer.commit(makeDraft(), this.#catalogGate, (at, event) =>
        this.applyCatalog(at, event as CatalogEvent),
      )
      return { lsn, durable }
    })
  }

  checkOpen(): void {
    if (this.#failure)
      throw new EngineError('closed', `the engine stopped: ${this.#failure.message}`, {}, { cause: this.#failure })
    if (this.#phase !== 'open')
      throw new EngineError('closed', this.#phase === 'closed' ? 'the engine is closed' : 'the engine is starting')
  }

  async applyCatalog(lsn: number, event: CatalogEvent): Promise<void> {
    if (event.kind === 'collection-created') {
      const definition = { name: event.name, fields: event.fields }
      const replica = await Replica.empty(event.collectionId, definition, {
        seed: event.hashSeed,
        lsn,
        pool: this.#pool as WorkerPool,
      })
      this.#catalog.apply(lsn, event)
      this.#nextCollectionId = Math.max(this.#nextCollectionId, this.#catalog.nextCollectionId)
      this.#add(this.#catalog.byId(event.collectionId) as CollectionEntry, replica)
      return
    }
    const collection = this.#collections.get(event.collectionId)
    // Whatever was appended before the drop is applied before it.
    await collection?.gate.hold(async () => collection.shut('dropped'))
    this.#catalog.apply(lsn, event)
    this.#collections.delete(event.collectionId)
    // Searches under way end first.
    await collection?.replica.pins.until(Number.POSITIVE_INFINITY)
    await collection?.replica.close()
  }

  collection(id: number): LocalCollection | undefined {
    return this.#collections.get(id)
  }

  async #recover(directory: DataDirectory, replicas: Map<number, Replica>): Promise<void> {
    const { manifest } = this.#checkpointer
    this.#catalog = new Catalog(manifest?.catalog)
    this.#nextCollectionId = this.#catalog.nextCollectionId
    const from = { lsn: manifest?.lsn ?? 0, timeMs: manifest?.timeMs ?? 0 }
    this.#committer = this.#newCommitter(directory, from)
    for (const [id, replica] of replicas) this.#add(this.#catalog.byId(id) as CollectionEntry, replica)
    const recovered = await replay(directory.log, this, from, (done, total) =>
      this.#report({ job: 'replay', done, total, unit: 'records' }),
    )
    this.#committer.startAfter(recovered)
  }

  #newCommitter(directory: DataDirectory, from: { readonly lsn: number; readonly timeMs: number }): Committer {
    return new Committer({
      log: directory.log,
      clock: this.#options.clock ?? { now: Date.now },
      lsnApplied: from.lsn,
      timeMs: from.timeMs,
      onBroken: (error) => this.#fail(error),
      onApplied: (event, bytes) => this.#checkpointer.applied(event, bytes),
    })
  }

  #add(entry: CollectionEntry, replica: Replica): void {
    const options = { entry, replica, committer: this.#committer as Committer, limits: this.limits }
    this.#collections.set(entry.id, new LocalCollection(options))
  }

  #checkpointSource(): CheckpointSource {
    const committer = this.#committer as Committer
    return {
      lsn: committer.lsnApplied,
      timeMs: committer.timeMs,
      catalog: this.#catalog.state(),
      collections: [...this.#collections.values()],
    }
  }

  async #close(): Promise<void> {
    if (this.#phase === 'open' && !this.#failure) {
      for (const collection of this.#collections.values()) collection.shut('engine')
      await this.#catalogGate.hold(async () => {
        for (const { gate } of this.#collections.values()) await gate.hold(async () => undefined)
      })
      await this.#checkpointer.end()
    }
    this.#phase = 'closed'
    await this.#release()
  }

  /** Gives back what open took, in reverse order. */
  async #release(): Promise<void> {
    await this.#directory?.close()
    for (const { replica } of this.#collections.values()) {
      await replica.pins.until(Number.POSITIVE_INFINITY)
      await replica.close()
    }
    this.#collections.clear()
    if (!this.#parts.pool) await this.#pool?.close()
  }

  #fail(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.#options.onFailed?.(error)
  }

  #note(notice: LogNotice): void {
    const sentence = sentenceOf(notice)
    // A tear is what a crash leaves and a slow disk is no damage; read-only is the log's own state.
    if (notice.kind === 'tip-damaged') this.#notices.push(sentence)
    this.#options.onNotice?.(sentence)
  }

  #status(log: LogState | undefined): EngineHealth['status'] {
    if (this.#failure || log?.condition === 'failed') return 'failed'
    if (this.#phase === 'closed') return 'closed'
    if (this.#phase === 'starting') return 'starting'
    if (log?.condition === 'read-only') return 'read-only'
    return this.#notices.length > 0 ? 'degraded' : 'ok'
  }

  #report(progress: Progress | undefined): void {
    this.#progress = progress
    if (!progress) return
    const now = performance.now()
    if (progress.done < progress.total && now - this.#progressAt < progressEveryMs) return
    this.#progressAt = now
    this.#options.onProgress?.(progress)
  }
}

function sentenceOf(notice: LogNotice): string {
  switch (notice.kind) {
    case 'tail-cut':
      return `${notice.bytes} bytes that were never acknowledged were cut off the end of the log, whose last record is ${notice.lsnLast}`
    case 'tip-damaged':
      return `${notice.slots} of 2 slots of wal/TIP are damaged; the other means were used to find the end of the log`
    case 'slow-sync':
      return `the disk took ${Math.round(notice.tookMs)} ms to make writes durable`
    case 'read-only':
      return `no more writes are taken: ${notice.reason}`
    case 'writable':
      return 'writes are taken again'
  }
}

function checkedLimits(wanted: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(wanted)) {
    const limit = limitsConfigurable[name as keyof Limits]
    if (limit === undefined || !Number.isInteger(value) || value < 1 || value > limit) {
      throw new EngineError(
        'invalid_argument',
        `limits.${name} is ${printed(value)}, it must be a whole number from 1 to ${limit}`,
        {
          field: `limits.${name}`,
          value: printed(value),
          limit,
        },
      )
    }
  }
  return { ...limitsDefault, ...wanted }
}

function checkedThreads(wanted: number | undefined): number {
  const threads = wanted ?? Math.min(availableParallelism(), threadsMax)
  if (Number.isInteger(threads) && threads >= 1 && threads <= threadsMax) return threads
  throw new EngineError(
    'invalid_argument',
    `threads is ${printed(wanted)}, it must be a whole number from 1 to ${threadsMax}`,
    {
      field: 'threads',
      value: printed(wanted),
      limit: threadsMax,
    },
  )
}
