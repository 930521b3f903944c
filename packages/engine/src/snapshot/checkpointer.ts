// Decides when checkpoints are taken, takes them one at a time, lets the log go up to them, and finds the newest one that
// loads when the engine opens.

import type { Log, Lsn } from '@annal/wal'
import { SteadyPace } from '@annal/wal'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import type { Event } from '../events/event.ts'
import type { Progress } from '../model/api.ts'
import type { Replica } from '../replica/replica.ts'
import type { WorkerPool } from '../vector/threads/worker-pool.ts'
import {
  type Checkpoint,
  type CheckpointPlace,
  type CheckpointSource,
  Damage,
  findCheckpoints,
  loadCollection,
  removeDropped,
  sweepTemporary,
  writeCheckpoint,
} from './checkpoint.ts'
import { CheckpointPolicy } from './checkpoint-policy.ts'
import type { Manifest } from './manifest.ts'

/** Nobody writes for so long: a good moment for a checkpoint. */
const idleMs = 5_000
/** What a dropped collection holds on the disk at least, in blocks and directory entries. */
const dropBytes = 64 * 1024

/** A checkpoint that was just taken. */
export interface Taken {
  readonly manifest: Manifest
  /** Recovery needs no record up to this one: an older checkpoint holds everything too. 0 when there is none. */
  readonly lsnNotNeeded: number
}

export interface CheckpointerHost {
  /** Never lets the log give anything up. */
  readonly keepLog: boolean
  readonly onProgress: (progress: Progress | undefined) => void
  /** Called when a checkpoint is there and the log went up to what is needed. */
  readonly onTaken: (taken: Taken) => Promise<void>
  /** Something an operator should know, though nothing is lost: the log still holds it. */
  readonly onTrouble: (sentence: string) => void
}

export class Checkpointer {
  readonly #place: CheckpointPlace
  readonly #host: CheckpointerHost
  readonly #policy = new CheckpointPolicy()
  #newest: Checkpoint | undefined
  readonly #damage = new Damage()
  /** Something that a start would need was found damaged: the next checkpoint is taken even when nothing was written since. */
  #isRenewalDue = false
  #lsnLoaded = 0
  #running: Promise<{ readonly lsn: number }> | undefined
  #removing: Promise<boolean> | undefined
  /** Since checkpoints were looked through for them; also before the engine was opened. */
  #hasDropped = true
  #pace = new SteadyPace({ hurried: false })
  readonly #stats = { taken: 0, failed: 0, ms: 0 }
  #idleTimer: NodeJS.Timeout | undefined
  #work: { readonly log: Log; readonly source: () => CheckpointSource } | undefined

  constructor(place: CheckpointPlace, host: CheckpointerHost) {
    this.#place = place
    this.#host = host
  }

  /** What the newest good checkpoint says, once one was loaded or taken. */
  get manifest(): Manifest | undefined {
    return this.#newest?.manifest
  }

  get newest(): Checkpoint | undefined {
    return this.#newest
  }

  /**
   * What was loaded reflects every record up to here: the LSN of the oldest checkpoint of which something was used. A
   * collection's own last record may be far older, when nobody writes to it.
   */
  get lsnLoaded(): number {
    return this.#lsnLoaded
  }

  /**
   * Loads every collection of the newest checkpoint, each from the newest checkpoint in which it is whole. What is damaged is
   * said; a collection that is whole nowhere comes back as the error.
   */
  async load(pool: WorkerPool): Promise<Map<number, Replica | EngineError>> {
    await sweepTemporary(this.#place)
    const { good, damaged } = await findCheckpoints(this.#place)
    for (const error of damaged) this.#host.onTrouble(error.message)
    this.#newest = good[0]
    this.#lsnLoaded = good[0]?.manifest.lsn ?? 0
    const loaded = new Map<number, Replica | EngineError>()
    const entries = good[0]?.manifest.catalog.collections ?? []
    for (const entry of entries) {
      loaded.set(entry.id, await this.#loadCollection(entry, good, pool))
      this.#host.onProgress({ job: 'snapshot-load', done: loaded.size, total: entries.length, unit: 'collections' })
    }
    return loaded
  }

  async #loadCollection(
    entry: CollectionEntry,
    checkpoints: readonly Checkpoint[],
    pool: WorkerPool,
  ): Promise<Replica | EngineError> {
    let failure = new EngineError('snapshot_damaged', `no checkpoint holds collection ${entry.id}`)
    for (const checkpoint of checkpoints) {
      try {
        const replica = await loadCollection(this.#place, checkpoint, entry, { pool, onTrouble: this.#host.onTrouble })
        if (!replica) continue
        this.#lsnLoaded = Math.min(this.#lsnLoaded, checkpoint.manifest.lsn)
        this.#isRenewalDue ||= checkpoint !== checkpoints[0]
        return replica
      } catch (error) {
        // Nothing is wrong with the file: the collection is out of service and the others start.
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

  /** The next checkpoint writes this collection again: its files in the newest one are damaged. */
  renew(collectionId: number): void {
    if (this.#newest) this.#damage.add(this.#newest, collectionId)
    this.#isRenewalDue = true
  }

  /** From now on checkpoints are taken of `source` when they are due. */
  start(log: Log, source: () => CheckpointSource): void {
    this.#work = { log, source }
    if (this.#isRenewalDue) this.#takeInBackground()
    else this.#takeWhenDue()
  }

  /** Counts an applied event of `bytes` bytes, and begins a checkpoint when one is due. */
  applied(event: Event, bytes: number): void {
    this.#policy.applied(event.kind === 'objects-upserted' ? event.ids.length : 0, bytes)
    this.#takeWhenDue()
  }

  /** Counts the memory of a collection that was dropped: about as much of the disk comes back with the next checkpoint. */
  dropped(bytes: Readonly<Record<string, number>>): void {
    this.#hasDropped = true
    this.#policy.applied(
      0,
      Object.values(bytes).reduce((sum, size) => sum + size, dropBytes),
    )
  }

  /**
   * The disk is nearly full: gives up at once what checkpoints hold of collections that a durable record has dropped. Says whether
   * there was any. Never waits for a checkpoint, which waits for the log, which waits for this.
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
      const left = await removeDropped(this.#place.vfs, checkpoint, isDropped)
      if (left.manifest === checkpoint.manifest) continue
      hasRemoved = true
      if (this.#newest?.path === left.path) this.#newest = left
    }
    return hasRemoved
  }

  #takeWhenDue(): void {
    if (!this.#work) return
    clearTimeout(this.#idleTimer)
    if (this.#policy.due(() => held(this.#work?.source()))) this.#takeInBackground()
    else if (this.#policy.worthwhile()) this.#idleTimer = setTimeout(() => this.#takeInBackground(), idleMs).unref()
  }

  /** Since the engine was opened. */
  stats(): { readonly taken: number; readonly failed: number; readonly ms: number } {
    return { ...this.#stats }
  }

  /** Takes a checkpoint, or joins the one being taken. */
  take(): Promise<{ readonly lsn: number }> {
    this.#running ??= this.#take().finally(() => {
      this.#running = undefined
      this.#host.onProgress(undefined)
    })
    return this.#running
  }

  /** Resolves when none is being taken, whatever became of it. */
  async settled(): Promise<void> {
    await this.#running?.catch(() => undefined)
  }

  /** Takes the last checkpoint, so that the next start replays nothing. A failure is only said: the log has everything. */
  async end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    this.#pace.hurry()
    // One that is running may have begun before the last events.
    await this.settled()
    if (this.#work) await this.take().catch((error: Error) => this.#failed(error))
    this.#work = undefined
  }

  async #take(): Promise<{ readonly lsn: number }> {
    if (!this.#work) throw new EngineError('closed', 'the engine takes no checkpoints now')
    await this.#removing?.catch(() => undefined)
    if (!this.#work) throw new EngineError('closed', 'the engine takes no checkpoints now')
    const { log } = this.#work
    this.#policy.started()
    const source = this.#work.source()
    if (source.lsn === (this.#newest?.manifest.lsn ?? 0) && !this.#isRenewalDue) return { lsn: source.lsn }
    const begun = performance.now()
    try {
      return await this.#write(log, source)
    } catch (error) {
      this.#stats.failed++
      throw error
    } finally {
      this.#stats.taken++
      this.#stats.ms += performance.now() - begun
    }
  }

  async #write(log: Log, source: CheckpointSource): Promise<{ readonly lsn: number }> {
    // A snapshot must never be ahead of the log.
    await log.sync()
    const onProgress = (done: number, total: number) =>
      this.#host.onProgress({ job: 'checkpoint', done, total, unit: 'collections' })
    const isLogWhole = log.state().lsnFirst <= 1
    const work = { pace: this.#pace, damage: this.#damage, isLogWhole, onProgress }
    const { checkpoint, lsnNotNeeded } = await writeCheckpoint(this.#place, source, this.#newest, work)
    this.#newest = checkpoint
    this.#isRenewalDue = false
    if (lsnNotNeeded > 0 && !this.#host.keepLog) await log.truncateBefore((lsnNotNeeded + 1) as Lsn)
    const taken = { manifest: checkpoint.manifest, lsnNotNeeded }
    await this.#host
      .onTaken(taken)
      .catch((error: Error) => this.#host.onTrouble(`files that are not needed any more: ${error.message}`))
    return { lsn: source.lsn }
  }

  #takeInBackground(): void {
    if (this.#running || !this.#work) return
    this.take().catch((error: Error) => this.#failed(error))
  }

  #failed(error: Error): void {
    this.#host.onTrouble(`a checkpoint failed: ${error.message}`)
  }
}

function held(source: CheckpointSource | undefined): { readonly objects: number; readonly bytes: number } {
  let objects = 0
  let bytes = 0
  for (const { recovering: replica } of source?.collections ?? []) {
    objects += replica?.count ?? 0
    for (const size of Object.values(replica?.bytes() ?? {})) bytes += size
  }
  return { objects, bytes }
}
