// Decides when checkpoints are taken, takes them one at a time, truncates the log up to them, and finds the newest
// loadable one when the engine opens.
import type { Log, Lsn } from '@annal/wal'
import { SteadyPace } from '@annal/wal'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { codedDiskError } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import type { Progress } from '../model/engine-stats.ts'
import type { Event } from '../model/event.ts'
import type { Replica } from '../replica/replica.ts'
import type { KeyTable } from '../requests/key-table.ts'
import type { WorkerPool } from '../vector/pool.ts'
import { type Checkpoint, type CheckpointPlace, type CheckpointSource, Damage, requestKeysPart } from './checkpoint.ts'
import { CheckpointPolicy, type Held, linkWork } from './checkpoint-policy.ts'
import { type DeltaLimits, isNextWhole, usualDeltaLimits } from './delta-limits.ts'
import { findCheckpoints } from './find-checkpoints.ts'
import { loadCollection } from './load-collection.ts'
import { lsnHeldOf, type Manifest } from './manifest.ts'
import { removeDropped, sweepTemporary } from './remove-checkpoints.ts'
import { loadRequestKeys } from './request-key-files.ts'
import { RequestKeysCut } from './request-keys-cut.ts'
import { writeCheckpoint } from './write-checkpoint.ts'

/** A checkpoint that writers overtake goes on at this multiple of its rate: what they write meanwhile is replayed after a crash. */
const lateRate = 4
/** Writers must be idle for this long before an idle checkpoint. */
const idleMs = 5_000
/** Minimum disk space of a deleted collection, in blocks and directory entries. */
const dropBytes = 64 * 1024

/** A checkpoint that was just taken. */
export interface Taken {
  readonly manifest: Manifest
  /** Recovery needs no record up to this LSN, because an older checkpoint holds them too. 0 when there is none. */
  readonly lsnNotNeeded: number
}

export interface CheckpointerHost {
  /** Never truncate the log. */
  readonly keepLog: boolean
  /** Records after this LSN are not truncated. */
  readonly retainAfter?: (() => number) | undefined
  /** When only changes are written; the usual limits by default. */
  readonly deltas?: DeltaLimits
  /** Takes no checkpoint before the end unless `take` is called. */
  readonly onlyOnDemand?: boolean
  readonly onProgress: (progress: Progress | undefined) => void
  /** Called when a checkpoint exists and the log was truncated as far as possible. */
  readonly onTaken: (taken: Taken) => Promise<void>
  /** Called with the bytes of each read of a collection; what it throws keeps the collection out of service. */
  readonly onRead: (bytes: number) => void
  /** Reports damage to the operator. */
  readonly onTrouble: (sentence: string) => void
  /** Reports why this work fails, and without a sentence that it succeeded. Nothing is lost: the log still holds the data. */
  readonly onFailing: (work: 'checkpoint' | 'removal', sentence: string | undefined) => void
}

export class Checkpointer {
  readonly #place: CheckpointPlace
  readonly #host: CheckpointerHost
  readonly #policy = new CheckpointPolicy()
  #newest: Checkpoint | undefined
  readonly #damage = new Damage()
  /** Something that a start needs was found damaged: take the next checkpoint even when nothing was written since. */
  #isRenewalDue = false
  /**
   * The next checkpoint takes long, because it writes parts whole. It is taken early: a replay after a crash meanwhile then has only the
   * records that come while it is written, and not those that made it due as well.
   */
  #isNextWhole = false
  #lsnLoaded = 0
  #running: Promise<{ readonly lsn: number }> | undefined
  #removing: Promise<boolean> | undefined
  /**
   * Whether a collection was deleted since the last cleanup of checkpoints; initially true, for deletions before the
   * start.
   */
  #hasDropped = true
  #pace = new SteadyPace({ hurried: false })
  readonly #stats = { taken: 0, failed: 0, ms: 0 }
  #idleTimer: NodeJS.Timeout | undefined
  #work: { readonly log: Log; readonly source: () => CheckpointSource } | undefined

  constructor(place: CheckpointPlace, host: CheckpointerHost) {
    this.#place = place
    this.#host = host
  }

  /** The manifest of the newest good checkpoint, once one was loaded or taken. */
  get manifest(): Manifest | undefined {
    return this.#newest?.manifest
  }

  get newest(): Checkpoint | undefined {
    return this.#newest
  }

  /**
   * Every record up to this LSN is reflected in the loaded data: the LSN of the oldest checkpoint that was used. A
   * collection's own last record may be much older, when nobody writes to it.
   */
  get lsnLoaded(): number {
    return this.#lsnLoaded
  }

  /**
   * Loads every collection of the newest checkpoint, each from the newest checkpoint in which it is intact. Damage is
   * reported. A collection that is intact in none is returned as an error.
   */
  async load(pool: WorkerPool, keys: KeyTable): Promise<Map<number, Replica | EngineError>> {
    await sweepTemporary(this.#place)
    const { good, damaged } = await findCheckpoints(this.#place)
    for (const error of damaged) this.#host.onTrouble(error.message)
    this.#newest = good[0]
    this.#isNextWhole = this.#willBeWhole(good[0])
    this.#lsnLoaded = good[0]?.manifest.lsn ?? 0
    const loaded = new Map<number, Replica | EngineError>()
    const entries = good[0]?.manifest.catalog.collections ?? []
    for (const entry of entries) {
      loaded.set(entry.id, await this.#loadCollection(entry, good, pool))
      this.#host.onProgress({ job: 'snapshot-load', done: loaded.size, total: entries.length, unit: 'collections' })
    }
    await this.#loadRequestKeys(good, keys)
    return loaded
  }

  /** Without intact files, the keys of the log after the checkpoint remain, and the others are lost. */
  async #loadRequestKeys(good: readonly Checkpoint[], keys: KeyTable): Promise<void> {
    const { lsn } = await loadRequestKeys(this.#place.vfs, good, keys, (sentence, checkpoint) => {
      this.#damage.add(checkpoint, requestKeysPart)
      this.#isRenewalDue = true
      this.#host.onTrouble(sentence)
    })
    this.#lsnLoaded = Math.min(this.#lsnLoaded, lsn)
    const isLost = good.length > 0 && good.every((checkpoint) => this.#damage.has(checkpoint, requestKeysPart))
    if (isLost)
      this.#host.onTrouble(
        `no checkpoint has intact request keys: writes before record ${lsn} may run again if repeated`,
      )
  }

  async #loadCollection(
    entry: CollectionEntry,
    checkpoints: readonly Checkpoint[],
    pool: WorkerPool,
  ): Promise<Replica | EngineError> {
    let failure = new EngineError('snapshot_damaged', `no checkpoint contains collection ${entry.id}`)
    for (const checkpoint of checkpoints) {
      try {
        const replica = await loadCollection(this.#place, checkpoint, entry, {
          pool,
          onTrouble: this.#host.onTrouble,
          onRead: this.#host.onRead,
        })
        if (!replica) continue
        const { manifest } = checkpoint
        const held = manifest.collections.find(({ id }) => id === entry.id)
        this.#lsnLoaded = Math.min(this.#lsnLoaded, held ? lsnHeldOf(manifest, held) : manifest.lsn)
        // The next checkpoint holds all of it.
        this.#isRenewalDue ||= held?.lsnHeld !== undefined
        this.#isRenewalDue ||= checkpoint !== checkpoints[0]
        return replica
      } catch (error) {
        // The file is intact: this collection stays out of service and the others start.
        if (error instanceof EngineError && error.code === 'memory_exhausted') return error
        if (!(error instanceof EngineError && error.code === 'snapshot_damaged')) throw error
        failure = error
        this.#damage.add(checkpoint, entry.id)
        this.#host.onTrouble(
          `collection "${entry.definition.name}" in checkpoint ${checkpoint.manifest.lsn}: ${error.message}`,
        )
      }
    }
    return failure
  }

  /** The next checkpoint writes this collection again, because its files in the newest one are damaged. */
  renew(collectionId: number): void {
    if (this.#newest) this.#damage.add(this.#newest, collectionId)
    this.#isRenewalDue = true
  }

  /** From now on checkpoints of `source` are taken when they are due. */
  start(log: Log, source: () => CheckpointSource): void {
    this.#work = { log, source }
    if (this.#isRenewalDue) this.#takeInBackground()
    else this.#takeIfDue()
  }

  /** Counts an applied event of `bytes` bytes, and begins a checkpoint when one is due. */
  recordApplied(event: Event, bytes: number): void {
    this.#policy.recordApplied(linkWork(event), bytes)
    if (this.#running && this.#policy.isLate) this.#pace.setRate(lateRate)
    this.#takeIfDue()
  }

  /** Counts the memory of a deleted collection: the next checkpoint frees about as much disk space. */
  recordDeletion(bytes: Readonly<Record<string, number>>): void {
    this.#hasDropped = true
    this.#policy.recordApplied(
      0,
      Object.values(bytes).reduce((sum, size) => sum + size, dropBytes),
    )
  }

  /**
   * Called when the disk is nearly full: removes the files of deleted collections from checkpoints immediately, as far
   * as their deletion is durable. Returns whether there were any. It never waits for a checkpoint, because that waits
   * for the log, which waits for this call.
   */
  async removeDropped(isLiving: (id: number) => boolean): Promise<boolean> {
    if (this.#running || this.#removing || !this.#hasDropped) return false
    this.#hasDropped = false
    const removing = this.#removeDropped((id) => !isLiving(id))
    this.#removing = removing
    try {
      return await removing
    } finally {
      this.#removing = undefined
    }
  }

  async #removeDropped(isDropped: (id: number) => boolean): Promise<boolean> {
    let hasRemoved = false
    for (const checkpoint of (await findCheckpoints(this.#place)).good) {
      const updated = await removeDropped(this.#place.vfs, checkpoint, isDropped)
      if (updated.manifest === checkpoint.manifest) continue
      hasRemoved = true
      if (this.#newest?.path === updated.path) this.#newest = updated
    }
    return hasRemoved
  }

  #takeIfDue(): void {
    if (!this.#work) return
    clearTimeout(this.#idleTimer)
    const isWorthwhile = this.#policy.isWorthwhile()
    if (this.#policy.isDue(() => this.#held()) || (isWorthwhile && this.#isNextWhole)) this.#takeInBackground()
    else if (isWorthwhile) this.#idleTimer = setTimeout(() => this.#takeInBackground(), idleMs).unref()
  }

  #willBeWhole(newest: Checkpoint | undefined): boolean {
    const limits = this.#host.deltas ?? usualDeltaLimits
    return newest?.manifest.collections.some(({ files }) => isNextWhole(files, limits)) ?? false
  }

  #held(): Held {
    const limits = this.#host.deltas ?? usualDeltaLimits
    return heldBy(this.#work?.source(), limits)
  }

  /** Counted since the engine was opened. */
  stats(): { readonly taken: number; readonly failed: number; readonly ms: number } {
    return { ...this.#stats }
  }

  /** Takes a checkpoint, or joins the running one. */
  take(): Promise<{ readonly lsn: number }> {
    this.#running ??= this.#take().finally(() => {
      this.#running = undefined
      this.#host.onProgress(undefined)
    })
    return this.#running
  }

  /** Resolves when no checkpoint is running, whatever its outcome. */
  async whenIdle(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  /** Takes the last checkpoint, so that the next start replays nothing. Does not reject if it fails: the log has everything. */
  async end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    this.#pace.hurry()
    // A running checkpoint may have begun before the last events.
    await this.whenIdle()
    if (this.#work) await this.take().catch(() => undefined)
    this.#work = undefined
  }

  async #take(): Promise<{ readonly lsn: number }> {
    if (!this.#work) throw new EngineError('closed', 'the engine is not writing checkpoints now')
    await this.#removing?.catch(() => undefined)
    if (!this.#work) throw new EngineError('closed', 'the engine is not writing checkpoints now')
    const { log } = this.#work
    this.#policy.reset()
    // Set again by one that succeeds: a failed one is not repeated early.
    this.#isNextWhole = false
    this.#pace.setRate(1)
    const source = this.#work.source()
    if (source.lsn === (this.#newest?.manifest.lsn ?? 0) && !this.#isRenewalDue) return { lsn: source.lsn }
    const begun = performance.now()
    try {
      const taken = await this.#write(log, source)
      this.#host.onFailing('checkpoint', undefined)
      return taken
    } catch (error) {
      this.#stats.failed++
      this.#host.onFailing('checkpoint', `the newest checkpoint failed: ${(codedDiskError(error) as Error).message}`)
      throw error
    } finally {
      this.#stats.taken++
      this.#stats.ms += performance.now() - begun
    }
  }

  async #write(log: Log, source: CheckpointSource): Promise<{ readonly lsn: number }> {
    const newest = this.#newest
    const isIntact = newest !== undefined && !this.#damage.has(newest, requestKeysPart)
    const keys = new RequestKeysCut(source.keys, isIntact ? newest.manifest : undefined)
    const syncLog = () => log.sync()
    // A snapshot must never be ahead of the log, and the keys are of this turn.
    await syncLog()
    const onProgress = (done: number, total: number) =>
      this.#host.onProgress({ job: 'checkpoint', done, total, unit: 'collections' })
    const isLogWhole = log.state().lsnFirst <= 1
    const deltas = this.#host.deltas ?? usualDeltaLimits
    const work = { pace: this.#pace, damage: this.#damage, isLogWhole, deltas, onProgress, syncLog }
    const { checkpoint, lsnNotNeeded } = await writeCheckpoint(this.#place, { ...source, keys }, newest, work)
    this.#newest = checkpoint
    this.#isRenewalDue = false
    this.#isNextWhole = this.#willBeWhole(checkpoint)
    const lsnGiven = Math.min(lsnNotNeeded, this.#host.retainAfter?.() ?? lsnNotNeeded)
    if (lsnGiven > 0 && !this.#host.keepLog) await log.truncateBefore((lsnGiven + 1) as Lsn)
    const taken = { manifest: checkpoint.manifest, lsnNotNeeded }
    const report = (error?: Error) =>
      this.#host.onFailing(
        'removal',
        error && `could not remove unused files: ${(codedDiskError(error) as Error).message}`,
      )
    await this.#host.onTaken(taken).then(() => report(), report)
    return { lsn: source.lsn }
  }

  #takeInBackground(): void {
    if (this.#running || !this.#work || this.#host.onlyOnDemand) return
    // A failure was reported.
    this.take().catch(() => undefined)
  }
}

function heldBy(source: CheckpointSource | undefined, { partBytesMin }: DeltaLimits): Held {
  const held = { objects: 0, bytes: 0, wholeBytes: 0 }
  for (const { recovering: replica } of source?.collections ?? []) {
    if (!replica) continue
    const bytes = total(replica.bytes())
    const bytesOf = (field: { bytes(): Readonly<Record<string, number>> } | undefined) =>
      field ? total(field.bytes()) : 0
    const [graphs, sparse] = [replica.dense.map(bytesOf), replica.sparse.map(bytesOf)]
    const objects = [...graphs, ...sparse].reduce((rest, size) => rest - size, bytes)
    // Of large graphs and of many objects, a checkpoint writes what changed.
    const changing = [...graphs, objects].filter((size) => size >= partBytesMin)
    held.objects += replica.count
    held.bytes += bytes
    held.wholeBytes += Math.max(0, bytes - changing.reduce((sum, size) => sum + size, 0))
  }
  return held
}

function total(sizes: Readonly<Record<string, number>>): number {
  return Object.values(sizes).reduce((sum, size) => sum + size, 0)
}
