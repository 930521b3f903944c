// Opens a data directory and owns everything in it: the log, the catalog, one replica for each collection, checkpoints.
import { join } from 'node:path'
import {
  type DataDirectory,
  type Identity,
  type LogNotice,
  type LogRecord,
  type Lsn,
  nodeVfs,
  type Vfs,
} from '@annal/wal'
import { archivedCheckpointsDir, archivedLogDir, basesOf, historyOf } from './backup/archive.ts'
import { EngineBackups } from './backup/engine-backups.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { CollectionEntry } from './catalog/catalog-state.ts'
import { allNames } from './catalog/changed-names.ts'
import { CatalogWrites } from './catalog-writes.ts'
import type { LocalCollection } from './collection/collection.ts'
import { Collections } from './collection/collections.ts'
import { ExpiryJob } from './collection/expiry-job.ts'
import { heldBy } from './collection/memory-use.ts'
import { repeatEvent } from './collection/repeat-event.ts'
import { StateDigests } from './collection/state-digests.ts'
import { type CatalogDraft, type CommitOptions, Committer } from './commit.ts'
import { type ControlHost, LocalControl, refuseDatabase } from './control.ts'
import { type DatabaseHost, LocalDatabase } from './database.ts'
import { Embedder } from './embed/embedder.ts'
import { EngineError } from './errors.ts'
import { isControlEvent } from './events/control-codec.ts'
import type { CatalogEvent, ControlEvent, Event } from './events/event.ts'
import { ChangeFeed } from './feed/change-feed.ts'
import { FeedCursors } from './feed/feed-cursors.ts'
import { healthOf, type Phase, roomLeft, sentenceOf } from './health.ts'
import { type PastRecords, recordsInFiles, recordsInLog } from './history/past-records.ts'
import {
  checkedAsOf,
  checkedDataDir,
  checkedLimits,
  checkedReaders,
  checkedRequestKeys,
  checkedThreads,
} from './input/engine-options.ts'
import type { Limits } from './limits.ts'
import { fileLogOpener, type LogOpener, type ReplicatedEngine } from './log-opener.ts'
import type { HashSeed } from './memory/id-hash.ts'
import type { CalibrationCounts } from './model/calibration.ts'
import type { ControlChange } from './model/control.ts'
import type { Database } from './model/database.ts'
import type { ProviderInfo } from './model/embed.ts'
import type { Engine, EngineOptions, GraphThreadOptions } from './model/engine.ts'
import type { EngineHealth, EngineStats } from './model/engine-stats.ts'
import type { PastState } from './model/moment.ts'
import type { Acknowledgement } from './model/object.ts'
import type { ReaderHandle } from './model/reader.ts'
import type { RequestKeys } from './model/requests.ts'
import type { StateDigest } from './model/state-digest.ts'
import { refuseCollection } from './naming.ts'
import { refuseOldNode } from './node-version.ts'
import { parseAsOf } from './past/parse-as-of.ts'
import { LocalPastCollection, type PastDoor } from './past/past-collection.ts'
import { PastStates, type PastSubject } from './past/past-states.ts'
import { RecentPast } from './past/recent-past.ts'
import { ProgressReport } from './progress.ts'
import { answerCall } from './readers/answer-call.ts'
import { ReaderHub } from './readers/hub.ts'
import { replay, survey } from './recovery.ts'
import { type OriginalsPlace, sweepOriginals } from './replica/originals-owner.ts'
import { Replica, type ReplicaHost } from './replica/replica.ts'
import type { KeyTableLimits } from './requests/key-table.ts'
import { type Claim, KeptRequests } from './requests/request-keys.ts'
import type { CheckpointSource } from './snapshot/checkpoint.ts'
import { Checkpointer } from './snapshot/checkpointer.ts'
import type { DeltaLimits } from './snapshot/delta-limits.ts'
import { TailApplier, type TailTarget } from './tail-applier.ts'
import { memoriesMax } from './vector/address-space.ts'
import { createWorkerPool } from './vector/open-pool.ts'
import type { WorkerPool } from './vector/pool.ts'

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

/** Replacements for tests, or parts shared between engines. */
export interface EngineParts {
  readonly vfs?: Vfs
  /** Gives identity and log. By default they are files of the data directory. */
  readonly opener?: LogOpener
  /** Its creator closes it. */
  readonly pool?: WorkerPool
  /** Takes no checkpoints, not even on close. */
  readonly readOnly?: boolean
  /** When checkpoints contain only changes; the usual limits by default. */
  readonly deltas?: DeltaLimits
  /** Takes checkpoints only when they are called for, and on close. */
  readonly checkpointsOnDemand?: boolean
  /** Keeps digests of its states. At least so many records are between two of a collection that is written to. */
  readonly digestEvery?: number
  /** How often expired objects are deleted. */
  readonly expiryEveryMs?: number
}

const trimEveryMs = 10 * 60_000

class LocalEngine implements ReplicatedEngine, DatabaseHost, ControlHost, TailTarget {
  readonly limits: Limits
  readonly control = new LocalControl(this)
  readonly creating = new Set<string>()
  readonly naming = new Map<string, number>()
  readonly keys: KeptRequests
  readonly embedder: Embedder
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #vfs: Vfs
  readonly #threads: number
  readonly #readers: number
  readonly #checkpointer: Checkpointer
  readonly #originals: OriginalsPlace
  readonly #openedAt = performance.now()
  readonly backups: EngineBackups
  readonly feed: ChangeFeed
  readonly cursors: FeedCursors
  readonly past: PastDoor
  readonly #pastStates: PastStates
  readonly #recent: RecentPast
  readonly #collections: Collections
  readonly #catalog: CatalogWrites
  readonly #digests: StateDigests | undefined
  #notices: string[] = []
  readonly #progress: ProgressReport
  #failure: Error | undefined
  #phase: Phase = 'starting'
  #directory: DataDirectory | undefined
  #identity: Identity | undefined
  #pool: WorkerPool | undefined
  #hub: ReaderHub | undefined
  #committer: Committer | undefined
  #tail: TailApplier | undefined
  #trimTimer: NodeJS.Timeout | undefined
  #expiry: ExpiryJob | undefined
  #opening: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(options: EngineOptions, parts: EngineParts) {
    const dataDir = checkedDataDir(options?.dataDir)
    this.#options = { ...options, dataDir }
    this.#progress = new ProgressReport(options.onProgress)
    this.#parts = parts
    this.#vfs = parts.vfs ?? nodeVfs()
    this.limits = checkedLimits(options.limits)
    this.embedder = new Embedder(options.embed)
    this.keys = this.#newKeys(checkedRequestKeys(options.requestKeys))
    this.#threads = checkedThreads(options.threads)
    this.#readers = checkedReaders(options.readers)
    this.#originals = { vfs: this.#vfs, dir: join(dataDir, 'originals'), directory: () => this.id }
    this.#checkpointer = new Checkpointer(
      {
        ...{ vfs: this.#vfs, dir: join(dataDir, 'checkpoints'), originalsDir: join(dataDir, 'originals') },
        directory: () => this.#identity?.uuid,
        ...(options.archive?.maxAgeMs && { archiveDir: archivedCheckpointsDir(dataDir) }),
      },
      {
        onTaken: (taken) => this.backups.checkpointTaken(taken),
        keepLog: options.keepLog ?? false,
        retainAfter: options.retainAfter,
        ...(parts.deltas && { deltas: parts.deltas }),
        onlyOnDemand: parts.checkpointsOnDemand ?? false,
        onProgress: (progress) => this.#progress.report(progress),
        onTrouble: (sentence) => this.#notices.push(sentence),
      },
    )
    this.backups = this.#newBackups(dataDir)
    this.feed = this.#newFeed(dataDir)
    this.cursors = new FeedCursors({
      catalog: () => this.catalogAhead,
      lsnLast: () => this.#directory?.log.state().lsnLast ?? 0,
      commit: (makeDraft, options) => this.commitAlone(makeDraft, options),
      onTrouble: (sentence) => this.#options.onNotice?.(sentence),
    })
    const { loadedBytesMax, windowSeconds, windowBytesMax } = checkedAsOf(options.asOf)
    this.#recent = new RecentPast({ ageMsMax: windowSeconds * 1_000, bytesMax: parts.readOnly ? 0 : windowBytesMax })
    this.#pastStates = this.#newPastStates(loadedBytesMax)
    this.past = this.#newPast()
    this.#digests = parts.digestEvery === undefined ? undefined : new StateDigests(parts.digestEvery)
    this.#collections = new Collections({
      limits: this.limits,
      embedder: this.embedder,
      keys: this.keys,
      digests: this.#digests,
      onSearch: options.onSearch,
      onServing: (entry, replica) => {
        if (replica) replica.expiry.clock = () => this.#committer?.nowMs ?? Number.NEGATIVE_INFINITY
        this.#serveReaders(entry, replica)
      },
      onCalibrated: (collection) => this.#hub?.calibrate(collection.entry.id, collection.calibrationTable()),
      calibrations: {
        ...{ vfs: this.#vfs, dataDir, isReadOnly: parts.readOnly ?? false },
        directory: () => this.id,
        onTrouble: (sentence) => this.#options.onNotice?.(sentence),
      },
      committer: () => this.#committer as Committer,
      replicaHost: (seed) => this.#replicaHost(seed),
      openPast: ({ databaseId, definition }, asOf, options) => {
        const database = this.catalog.databaseById(databaseId)?.name ?? ''
        const subject = { databaseId, database, collection: definition.name }
        return LocalPastCollection.open(this.past, subject, asOf, options)
      },
    })
    this.#catalog = this.#newCatalog()
  }

  get catalog(): Catalog {
    return this.#catalog.now
  }

  get catalogAhead(): Catalog {
    return this.#catalog.ahead
  }

  get id(): string {
    return this.#identity?.uuid ?? ''
  }

  get requestKeys(): RequestKeys {
    return this.keys
  }

  get lsnApplied(): number {
    return this.#committer?.lsnApplied ?? 0
  }

  get lsnDurable(): number {
    return this.#directory?.log.state().lsnDurable ?? 0
  }

  get timeMs(): number {
    return this.#committer?.timeMs ?? 0
  }

  get #opener(): LogOpener {
    return this.#parts.opener ?? fileLogOpener
  }

  get hasFiles(): boolean {
    return this.#opener.bringsFiles === true || this.#opener.shared !== undefined
  }

  open(): Promise<void> {
    this.#opening = this.#open()
    return this.#opening
  }

  async #open(): Promise<void> {
    try {
      let loaded = new Map<number, Replica | EngineError>()
      const directory = await this.#opener.open({
        dir: this.#options.dataDir,
        vfs: this.#vfs,
        fsync: this.#options.fsync ?? 'always',
        ...(this.#options.archive?.maxAgeMs && { archiveDir: archivedLogDir(this.#options.dataDir) }),
        findStart: async (known) => {
          this.#identity = known
          const pool = this.#parts.pool ?? (await createWorkerPool({ threads: this.#threads, readers: this.#readers }))
          this.#pool = pool
          this.#hub = this.#newHub(pool)
          loaded = await this.#checkpointer.load(pool, this.keys.table)
          this.#notices.push(...(await this.backups.open()))
          return (this.#checkpointer.lsnLoaded + 1) as Lsn
        },
        checkpointPlace: () => this.#checkpointer.manifest?.logPlace,
        makeRoom: (bytes) => this.#makeRoom(bytes),
        onNotice: (notice) => this.#note(notice),
        onFailed: (error) => this.#fail(error),
      })
      this.#directory = directory
      this.#identity = directory.identity
      await this.#recover(directory, loaded)
      await this.#collections.loadCalibrations()
      // The callbacks above live as long as the directory and share this scope: without this, deleted collections stay in memory.
      loaded.clear()
      this.#phase = 'open'
      this.#progress.report(undefined)
      if (this.#parts.readOnly) return
      this.#checkpointer.start(directory.log, () => this.#checkpointSource())
      this.#expiry = this.#newExpiryJob()
      await this.#trim()
      // History also expires when nothing is written.
      if (this.#options.archive?.maxAgeMs) this.#trimTimer = setInterval(() => this.#trim(), trimEveryMs).unref()
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  /**
   * Called when the disk is nearly full: removes history first, then the files of deleted collections in checkpoints.
   */
  async #makeRoom(bytes: number): Promise<boolean> {
    if (this.#phase !== 'open' || this.#parts.readOnly) return false
    try {
      if (await this.backups.giveWay(bytes)) return true
      if (this.catalog.lsn > this.lsnDurable) return false
      return await this.#checkpointer.removeDropped((id) => this.catalog.byId(id) !== undefined)
    } catch (error) {
      this.#options.onNotice?.(`no disk space could be freed: ${(error as Error).message}`)
      return false
    }
  }

  async #trim(): Promise<void> {
    const trouble = (error: Error) => this.#notices.push(`cannot remove obsolete files: ${error.message}`)
    await this.backups.trim().catch(trouble)
  }

  database(name = 'default'): Database {
    this.checkOpen()
    return new LocalDatabase(this.catalogAhead.database(name) ?? refuseDatabase(name), this)
  }

  providers(): readonly ProviderInfo[] {
    return this.embedder.providers()
  }

  health(): EngineHealth {
    const [phase, failure, notices] = [this.#phase, this.#failure, [...this.#notices, ...this.backups.reasons()]]
    notices.push(...(this.#expiry?.reasons() ?? []))
    notices.push(...roomLeft(this.#pool?.stats.memories ?? 0, memoriesMax()))
    const log = this.#directory?.log.state()
    const { newest: progress } = this.#progress
    const health = healthOf({ phase, log, failure, notices, collections: this.#collections.all() })
    const { states } = this.#collections.calibrationCounts()
    const isCalibrated = Object.values(states).some((count) => count > 0)
    return { ...health, ...(progress && { progress }), ...(isCalibrated && { calibrations: states }) }
  }

  stats(): EngineStats {
    this.checkOpen()
    const { lsnDurable, ...log } = (this.#directory as DataDirectory).log.state()
    const { bytes, segments, appends, syncs, syncMs, queuedRecords, queuedBytes } = log
    const { threads, lost, waiting } = (this.#pool as WorkerPool).stats
    return {
      uptimeMs: performance.now() - this.#openedAt,
      databases: this.catalog.databases.length,
      collections: this.catalog.collections.length,
      ...heldBy(this.#collections.all()),
      lsnApplied: this.lsnApplied,
      lsnDurable,
      lsnCheckpoint: this.#checkpointer.manifest?.lsn ?? 0,
      timeMs: this.timeMs,
      ...this.backups.stats(),
      log: { bytes, segments, appends, syncs, syncMs, queuedRecords, queuedBytes },
      checkpoints: this.#checkpointer.stats(),
      workers: { threads, lost, queriesWaiting: waiting },
      calibrations: this.#calibrationCounts(),
      requestKeys: this.keys.stats(),
      expiry: this.#expiryStats(),
      feed: this.feed.stats(),
      asOf: {
        ...{ loaded: this.#pastStates.count, loadedBytes: this.#pastStates.bytes },
        ...{ windowBytes: this.#recent.bytes, windowReads: this.#recent.reads },
      },
    }
  }

  /** Of searches on this thread and on those of the readers. */
  #calibrationCounts(): CalibrationCounts {
    const counts = this.#collections.calibrationCounts()
    const { searches, unreachable } = this.#hub?.slots.recallCounts() ?? { searches: 0, unreachable: 0 }
    return { ...counts, searches: counts.searches + searches, unreachable: counts.unreachable + unreachable }
  }

  limitGraphThreads(count: number, { pauses = false }: GraphThreadOptions = {}): void {
    this.#pool?.limitJobs(count, pauses)
  }

  pastStates(database?: string): readonly PastState[] {
    this.checkOpen()
    return this.#pastStates.list(database)
  }

  readerHandle(): ReaderHandle {
    this.checkOpen()
    if (this.#hub) return this.#hub.handle()
    throw new EngineError('limit_exceeded', 'the engine was opened without readers', { field: 'readers', limit: 0 })
  }

  /** There is no hub in an engine without readers, which then costs nothing. */
  #newHub(pool: WorkerPool): ReaderHub | undefined {
    const { readers: slots } = pool
    if (this.#parts.pool || slots === undefined) return undefined
    const { limits } = this
    const host = {
      collection: (database: string, name: string) => this.database(database).collection(name),
      replicaOf: (board: number) => this.#hub?.replicaOf(board),
    }
    return new ReaderHub({
      ...{ pool, slots, limits },
      // During a replay the end of the log decides what names lead to.
      names: () => allNames(this.catalogAhead),
      answer: (call) => answerCall(call, host),
      receive: ({ collectionId, ...queries }) => this.#collections.get(collectionId)?.receiveQueries(queries),
    })
  }

  #serveReaders({ id }: CollectionEntry, replica: Replica | undefined): void {
    this.#recent.serve(id, replica)
    if (this.#hub === undefined) return
    // A collection that is being made has none.
    const calibration = replica && this.#collections.get(id)?.calibrationTable()
    this.#hub.serve(id, replica, calibration)
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
    return this.#catalog.nextCollectionId()
  }

  repeat(event: Event): Promise<Acknowledgement> {
    return repeatEvent(this, event)
  }

  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.#catalog.commit(makeDraft, options)
  }

  commitAlone(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.#catalog.commitAlone(makeDraft, options)
  }

  whenApplied(lsn: number, timeoutMs: number): Promise<boolean> {
    this.checkOpen()
    return (this.#committer as Committer).whenApplied(lsn, timeoutMs)
  }

  get stateDigests(): readonly StateDigest[] {
    return this.#digests?.kept ?? []
  }

  get stateLsns(): readonly Omit<StateDigest, 'digest'>[] {
    const collections = [...this.#collections.all()].flatMap(({ entry, name, recovering }) => {
      return recovering === undefined ? [] : [{ part: entry.id, name, lsn: recovering.lsnApplied }]
    })
    return [{ part: 0, lsn: this.catalog.lsn }, ...collections]
  }

  async digestQuiet(): Promise<void> {
    this.checkOpen()
    await this.#digests?.quiet(this.catalog, this.#collections.all())
  }

  collectShared(confirm: () => Promise<unknown>): Promise<void> {
    return this.backups.collectShared(confirm)
  }

  async applyTailed(records: readonly LogRecord[]): Promise<void> {
    this.checkOpen()
    // An engine that closes stops where it is; the rest is applied when it is opened again.
    this.#tail ??= new TailApplier(this, this.#committer as Committer, (error) => {
      const isClosed = error instanceof EngineError && error.code === 'closed'
      if (!this.#closing && !isClosed) this.#fail(error)
    })
    for (const record of records) {
      await this.#tail.apply(record)
      if (this.#closing) throw new EngineError('closed', 'the engine is closing')
    }
  }

  announcing(event: CatalogEvent): () => Promise<void> {
    // Collections, settings, cursors, and request keys have no listeners.
    if (!isControlEvent(event) || !isAnnounced(event)) return async () => undefined
    // The event may delete the database.
    const { kind } = event
    const database =
      kind === 'database-created' ? event.name : (this.catalog.databaseById(event.databaseId)?.name ?? '')
    return () => this.control.announce({ kind, database })
  }

  checkBackups(): void {
    if (this.#opener.refusal !== undefined && !this.hasFiles) refuseInCluster('backups, restores, and clones')
  }

  checkHistory(): void {
    // A copy of an archive grows while it is read.
    if (this.#opener.bringsFiles) this.checkWritable()
  }

  checkWritable(): void {
    if (this.#opener.refusal !== undefined) this.#committer?.checkWritable()
  }

  checkOpen(): void {
    if (this.#failure)
      throw new EngineError('closed', `the engine stopped: ${this.#failure.message}`, {}, { cause: this.#failure })
    if (this.#phase === 'starting' || this.#phase === 'closed')
      throw new EngineError('closed', this.#phase === 'closed' ? 'the engine is closed' : 'the engine is starting')
  }

  applyCatalog(lsn: number, event: CatalogEvent): Promise<void> {
    this.#digests?.note(lsn, event)
    return this.#catalog.apply(lsn, event)
  }

  applied(event: Event, bytes: number): void {
    this.#checkpointer.recordApplied(event, bytes)
    if (this.#phase !== 'open' || !('collectionId' in event)) return
    // Its record comes from the node that leads.
    if (this.#committer?.isWritable) this.#collections.get(event.collectionId)?.vacuumWhenDue()
  }

  async #recover(directory: DataDirectory, loaded: ReadonlyMap<number, Replica | EngineError>): Promise<void> {
    const { log } = directory
    const { manifest } = this.#checkpointer
    this.#catalog.begin(manifest?.catalog)
    this.#committer = this.#newCommitter(directory)
    let lsnFrom = this.#checkpointer.lsnLoaded + 1
    const catalog = this.catalog.state()
    const keys = this.keys.table
    const surveyed = (lsn: number) => survey(log, { lsn, timeMs: manifest?.timeMs ?? 0, catalog, keys })
    let outlook = await surveyed(lsnFrom)
    for (const entry of this.catalog.collections) {
      const found = loaded.get(entry.id)
      if (found instanceof Replica) this.#collections.add(entry, { replica: found, condition: 'loading' })
      // A collection that the log deletes later is not needed, and its part of a checkpoint may be gone.
      else if (!outlook.catalog.byId(entry.id)) continue
      else if (entry.lsnCreated >= log.state().lsnFirst) {
        // Damaged in every checkpoint, but the log begins with its first record.
        this.#collections.begin(entry, await this.backups.firstReplica(entry), 'loading')
        this.#checkpointer.renew(entry.id)
        lsnFrom = Math.min(lsnFrom, entry.lsnCreated)
      } else this.#collections.quarantine(entry, found?.message)
    }
    if (lsnFrom <= this.#checkpointer.lsnLoaded) outlook = await surveyed(lsnFrom)
    this.#catalog.leadTo(outlook.catalog)
    const start = { lsn: Math.max(outlook.lsnLast, manifest?.lsn ?? 0), timeMs: outlook.timeMs }
    this.#committer.startAfter(start)
    this.#recent.startAfter(start)
    for (const collection of this.#collections.all())
      if (!outlook.lsnLastOf.has(collection.entry.id)) collection.ready()
    this.#phase = 'recovering'
    this.#options.onServing?.(this)
    const report = (done: number, total: number) => {
      if (this.#closing) throw new EngineError('closed', 'the engine was closed while it replayed the log')
      this.#progress.report({ job: 'replay', done, total, unit: 'records' })
    }
    await replay(log, this, lsnFrom, outlook, report)
    this.#catalog.reached()
    for (const collection of this.#collections.all()) await collection.settled()
    await this.#catalog.settled()
    // A collection in quarantine keeps the files that its checkpoint links, so nothing of it is lost here.
    await this.backups.sweepImports()
    await this.#pastStates.open()
    const kept = [...this.#collections.all()].flatMap(({ recovering }) => recovering ?? [])
    await sweepOriginals(
      this.#originals,
      kept.map(({ id: collectionId, generation }) => ({ collectionId, generation })),
    )
  }

  #newKeys(limits: KeyTableLimits): KeptRequests {
    const engine = this
    const host = {
      databaseId: (name: string) => (this.catalogAhead.database(name) ?? refuseDatabase(name)).id,
      get timeMs() {
        return engine.timeMs
      },
      get lsnDurable() {
        return engine.lsnDurable
      },
      checkOpen: () => this.checkOpen(),
      commitAnswered: (claim: Claim) => this.commit(() => ({ kind: 'request-answered' }), { claim }),
    }
    return new KeptRequests(host, limits)
  }

  #newBackups(dataDir: string): EngineBackups {
    return new EngineBackups({
      vfs: this.#vfs,
      dataDir,
      clock: this.#options.clock ?? { now: Date.now },
      catalog: () => this.catalog,
      archive: this.#options.archive,
      keepLog: this.#options.keepLog ?? false,
      retainAfter: this.#options.retainAfter,
      shared: this.#opener.shared,
      onNotice: (sentence) => this.#options.onNotice?.(sentence),
      backupMsMax: this.limits.backupMsMax,
      // Unknown only in a new directory, where nothing needs it yet.
      identity: () => this.#identity as Identity,
      log: () => (this.#directory as DataDirectory).log,
      past: () => this.#past(dataDir),
      timeMs: () => this.timeMs,
      newestCheckpoint: () => this.#checkpointer.newest,
      takeCheckpoint: () => this.#checkpointer.take(),
      renewSnapshot: (id) => this.#checkpointer.renew(id),
      replicaHost: (seed) => this.#replicaHost(seed),
      nextCollectionId: () => this.nextCollectionId(),
      commit: (makeDraft, options) => this.commit(makeDraft, options),
    })
  }

  #newFeed(dataDir: string): ChangeFeed {
    const { host } = this.backups
    return new ChangeFeed({
      catalog: () => this.catalogAhead,
      earlierCatalogs: async () => (await basesOf(host.side)).map(({ manifest }) => manifest.catalog),
      log: () => (this.#directory as DataDirectory).log,
      history: () =>
        this.#opener.refusal === undefined
          ? historyOf({ vfs: this.#vfs, dataDir }, this.#identity as Identity)
          : undefined,
      removedNextLsn: () => this.backups.removedNextLsn(),
      timeMs: () => this.timeMs,
      checkOpen: () => this.checkOpen(),
    })
  }

  #past(dataDir: string): PastRecords {
    const { refusal, bringsFiles } = this.#opener
    if (refusal !== undefined && !bringsFiles) return recordsInLog((this.#directory as DataDirectory).log)
    return recordsInFiles(historyOf({ vfs: this.#vfs, dataDir }, this.#identity as Identity))
  }

  #newPastStates(bytesMax: number): PastStates {
    const collectionIdAt = async ({ databaseId, collection }: PastSubject, lsn: number) => {
      const found = await this.backups.book.collectionAt(databaseId, collection, lsn)
      return found ?? refuseCollection(collection, 'collection', ` at LSN ${lsn}`)
    }
    const live = (id: number) => {
      const collection = this.loaded(id)
      return collection?.condition === 'ready' && !collection.isClosed ? collection.recovering : undefined
    }
    const { side } = this.backups.host
    const lsnApplied = () => this.lsnApplied
    return new PastStates({ side, collectionIdAt, recent: this.#recent, lsnApplied, live }, bytesMax)
  }

  #newPast(): PastDoor {
    const clock = this.#options.clock ?? { now: Date.now }
    return {
      states: this.#pastStates,
      limits: this.limits,
      embedder: this.embedder,
      parse: (asOf) => parseAsOf(asOf, { lsn: this.lsnApplied, nowMs: clock.now(), timeMs: this.timeMs }),
      check: () => {
        this.checkOpen()
        this.checkHistory()
      },
    }
  }

  #newExpiryJob(): ExpiryJob {
    const clock = this.#options.clock ?? { now: Date.now }
    const monotonic = () => clock.monotonic?.() ?? performance.now()
    return new ExpiryJob(
      {
        clocks: { now: () => clock.now(), monotonic },
        collections: () => this.#collections.all(),
        onTrouble: (sentence) => this.#options.onNotice?.(sentence),
      },
      this.#parts.expiryEveryMs,
    )
  }

  #expiryStats(): EngineStats['expiry'] {
    let hidden = 0
    for (const { recovering, condition } of this.#collections.all())
      if (condition === 'ready') hidden += recovering?.expired?.count ?? 0
    return { hidden, ...(this.#expiry?.stats() ?? { deleted: 0, clockJumps: 0, isDeleting: false }) }
  }

  #newCatalog(): CatalogWrites {
    return new CatalogWrites({
      collections: this.#collections,
      backups: this.backups,
      checkpointer: this.#checkpointer,
      phase: () => this.#phase,
      committer: () => this.#committer as Committer,
      checkOpen: () => this.checkOpen(),
      onNames: (changed) => this.#hub?.announce({ kind: 'names', changed }),
      onTrouble: (sentence) => this.#notices.push(sentence),
    })
  }

  #replicaHost(seed: HashSeed): ReplicaHost {
    return { seed, pool: this.#pool as WorkerPool, originals: this.#originals }
  }

  #newCommitter(directory: DataDirectory): Committer {
    return new Committer({
      log: directory.log,
      clock: this.#options.clock ?? { now: Date.now },
      onBroken: (error) => this.#fail(error),
      onApplied: (event, bytes) => this.applied(event, bytes),
      onAdvanced: (lsn) => {
        this.#hub?.slots.advance(lsn, this.timeMs)
        this.feed.advance(lsn)
      },
      onAppended: (lsn, event) => this.#digests?.note(lsn, event),
      onRecord: (lsn, event, bytes) => {
        this.#recent.note(lsn, event.timeMs)
        this.feed.note(lsn, event, bytes)
      },
      refusal: this.#opener.refusal && (() => this.#opener.refusal?.()),
      keys: this.keys.table,
    })
  }

  #checkpointSource(): CheckpointSource {
    const committer = this.#committer as Committer
    return {
      lsn: committer.lsnApplied,
      timeMs: committer.timeMs,
      logPlace: this.#opener.placeBefore?.(committer.lsnApplied),
      catalog: this.catalog.state(),
      collections: [...this.#collections.all()],
      keys: this.keys.table,
    }
  }

  async #close(): Promise<void> {
    this.feed.close()
    // A running start and running rebuilds stop when they see that they are no longer wanted.
    if (this.#phase === 'recovering') this.#collections.shut()
    await this.#opening?.catch(() => undefined)
    await this.backups.jobs.close()
    await this.#pastStates.close()
    this.#recent.close()
    if (this.#phase === 'open' && !this.#failure) {
      await this.cursors.close()
      await this.#expiry?.close()
      this.#collections.shut()
      await this.#digests?.settled()
      await this.#catalog.hold(() => this.#collections.allApplied())
      await this.#checkpointer.end()
    }
    this.#phase = 'closed'
    this.#hub?.close()
    clearInterval(this.#trimTimer)
    await this.#expiry?.close()
    await this.backups.trimmed()
    await this.#release()
  }

  /** Releases what open acquired, in reverse order. */
  async #release(): Promise<void> {
    await this.#directory?.close()
    this.#hub?.close()
    await this.#collections.close()
    await this.#catalog.settled()
    if (!this.#parts.pool) await this.#pool?.close()
  }

  #fail(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.feed.close()
    this.#hub?.close()
    this.#options.onFailed?.(error)
  }

  #note(notice: LogNotice): void {
    const sentence = sentenceOf(notice)
    // A torn tail is a normal result of a crash, a slow disk is no damage, and read-only is the log's own state.
    if (notice.kind === 'tip-damaged' && notice.slots > 1) this.#notices.push(sentence)
    this.#options.onNotice?.(sentence)
  }
}

function isAnnounced(event: ControlEvent): event is Extract<ControlEvent, { readonly kind: ControlChange['kind'] }> {
  return 'databaseId' in event && event.kind !== 'cursor-put' && event.kind !== 'cursor-dropped'
}

/** Throws `unsupported_in_cluster`. */
function refuseInCluster(what: string): never {
  const message = `a node of a cluster does not support ${what} in this version`
  throw new EngineError('unsupported_in_cluster', message, { field: 'operation', value: what })
}
