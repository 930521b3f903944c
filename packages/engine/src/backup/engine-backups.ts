// The engine's side of backups: the store, the jobs, and collections that begin with an image.
import { join } from 'node:path'
import { WalError } from '@annal/wal'
import type { CatalogImport, CollectionEntry } from '../catalog/catalog-state.ts'
import type { CommitOptions } from '../commit.ts'
import { EngineError } from '../errors.ts'
import type { EngineStats, HistoryReach } from '../model/engine-stats.ts'
import type { Acknowledgement } from '../model/object.ts'
import { Replica } from '../replica/replica.ts'
import type { Taken } from '../snapshot/checkpointer.ts'
import {
  type ArchivedImage,
  type ArchiveLimits,
  currentReach,
  type Reach,
  sweepArchive,
  type Trimmed,
  trimArchive,
} from './archive.ts'
import { type DiskFile, filesOfImage } from './archive-size.ts'
import type { ReplicaToCome } from './arrival.ts'
import { BackupFolders } from './backup-store.ts'
import { Backups } from './backups.ts'
import type { BackupHost } from './host.ts'
import { imageBytes, readImage } from './image/image.ts'
import { type ImportHost, type RestoredDraft, releaseImports, replayRestored, sweepImports } from './restore-image.ts'
import { SharedBackupStore } from './shared-backup-store.ts'
import type { SharedFiles } from './shared-files.ts'
import { SharedImages } from './shared-images.ts'

/** From this share of a limit of the history on, its oldest records are about to be removed. */
const nearlyFull = 0.8

export interface EngineSide extends BackupHost {
  readonly archive: ArchiveLimits | undefined
  /** With the whole log kept, all of it can be replayed. */
  readonly keepLog: boolean
  /** Images of records after this LSN are not removed. */
  readonly retainAfter?: (() => number) | undefined
  /** Files that other engines on the same log can read. */
  readonly shared?: SharedFiles | undefined
  readonly backupMsMax: number
  /** Whether the clock may decide that history of this age is removed. */
  agesBy(ageMs: number): boolean
  /** Called with a sentence for the log. */
  readonly onNotice: (sentence: string) => void
  nextCollectionId(): number
  commit(makeDraft: () => RestoredDraft, options?: CommitOptions): Promise<Acknowledgement>
}

export class EngineBackups {
  readonly jobs: Backups
  readonly host: ImportHost
  readonly #side: EngineSide
  /** Undefined where no history is kept. */
  readonly #archive: ArchiveLimits | undefined
  #reach: Reach | undefined
  #trimmed: Trimmed | undefined
  /** Recovery needs no record up to this LSN. */
  #lsnNotNeeded = 0
  #trimming: Promise<void> = Promise.resolve()
  /** Why history younger than the wanted age was last removed. */
  #shortened: 'size' | 'disk' | undefined
  /** Bytes of images that only the history needs. */
  readonly #files = new Map<string, readonly DiskFile[]>()
  /** Images whose collections are being created. */
  readonly #made = new Map<string, Replica | ReplicaToCome>()
  /** Undefined where no other engine reads the images of this one. */
  readonly #images: SharedImages | undefined
  readonly #sharedBackups: SharedBackupStore | undefined
  /** Collections that are built and have no record yet, by id. */
  #alone: Promise<unknown> = Promise.resolve()
  readonly #building = new Map<number, Promise<unknown>>()

  constructor(side: EngineSide) {
    this.#side = side
    this.#archive = side.archive?.maxAgeMs ? side.archive : undefined
    const { shared, vfs, catalog } = side
    const dir = join(side.dataDir, 'backups')
    this.#images = shared && new SharedImages(side, shared)
    this.#sharedBackups = shared && new SharedBackupStore(vfs, dir, { shared: shared.backups, catalog })
    this.jobs = new Backups(side, this.#sharedBackups ?? new BackupFolders(vfs, dir), { msMax: side.backupMsMax })
    this.host = {
      side,
      isShared: shared !== undefined,
      nextCollectionId: () => side.nextCollectionId(),
      building: (build) => this.#build(build),
      commitRestored: (...restored) => this.#commitRestored(...restored),
    }
  }

  /** Runs one action at a time: each may take as much memory as a collection. */
  alone<T>(action: () => Promise<T>): Promise<T> {
    const done = this.#alone.then(action)
    this.#alone = done.catch(() => undefined)
    return done
  }

  /** Removes unfinished backups that a crash left; returns the faults of unreadable ones, and of the history. */
  async open(): Promise<string[]> {
    await sweepArchive(this.#side)
    const faults = this.#archive ? await this.#openHistory() : []
    return [...faults, ...(await this.jobs.store.open())]
  }

  /** Collections do not need the history, so damage to it does not prevent a start. */
  async #openHistory(): Promise<string[]> {
    try {
      this.#reach = await currentReach(this.#side)
      return []
    } catch (error) {
      if (!(error instanceof WalError && error.code === 'log_damaged')) throw error
      return [`the history cannot be used: ${error.message}`]
    }
  }

  /** Removes the backups of a deleted database. Files that the disk refuses to remove are reported. */
  async forget(database: string): Promise<string[]> {
    const describeFailure = (error: Error) => [
      `backups of the deleted database "${database}" could not be removed: ${error.message}`,
    ]
    return this.jobs.forget(database).then(() => [], describeFailure)
  }

  /**
   * A collection in the state of its first record, or the way to load it; an error when the image of its restore can no
   * longer provide it.
   */
  async firstReplica(entry: CollectionEntry): Promise<Replica | ReplicaToCome | EngineError> {
    const { id, definition, hashSeed, restored, lsnCreated: lsn } = entry
    const made = restored && this.#made.get(restored.importId)
    // A restore of this engine that another node overtook may have files of its own under this id. It ends when it notices.
    if (!made) await this.#building.get(id)?.catch(() => undefined)
    if (!restored) return Replica.empty(id, definition, { ...this.#side.replicaHost(hashSeed), lsn, generation: 0 })
    if (!made) await this.#images?.fetch(restored)
    try {
      const facts = { collectionId: id, name: definition.name, hashSeed, ...restored }
      const found = made ?? (await replayRestored(this.#side, facts))
      if (!(found instanceof Replica)) return found
      found.createdAt(lsn)
      return found
    } catch (error) {
      if (error instanceof EngineError) return error
      throw error
    }
  }

  /** After a checkpoint: removes archived data beyond the limits, and images that are no longer needed. */
  async checkpointTaken({ lsnNotNeeded }: Taken): Promise<void> {
    this.#lsnNotNeeded = lsnNotNeeded
    await this.trim()
  }

  /** Without history the images of deleted collections are removed at once. */
  async dropped(): Promise<void> {
    if (!this.#archive) await this.trim()
  }

  /** Removes history beyond the limits; one removal runs at a time. */
  trim(limits = this.#archive): Promise<void> {
    const trimmed = this.#trimming.catch(() => undefined).then(() => this.#trim(limits))
    this.#trimming = trimmed
    return trimmed
  }

  /** Notices for the operator about the history. */
  reasons(): readonly string[] {
    if (this.#begins() !== 'disk') return []
    return [`history was shortened because the disk was nearly full; ${this.#beginning()}`]
  }

  #begins(): HistoryReach['begins'] {
    const { lsn = 0, timeMs = 0 } = this.#reach ?? {}
    if (lsn === 0) return 'first-record'
    if (timeMs <= this.#side.clock.now() - (this.#archive?.maxAgeMs ?? 0)) return 'age'
    return this.#shortened ?? 'start'
  }

  /** Records up to this LSN are the next to be removed; 0 while the limits are far. */
  removedNextLsn(): number {
    const { keepLog, clock, newestCheckpoint, retainAfter } = this.#side
    if (keepLog) return 0
    const retained = retainAfter?.() ?? Number.POSITIVE_INFINITY
    const archive = this.#archive
    if (!archive) return Math.min(newestCheckpoint()?.manifest.lsn ?? 0, retained)
    const { next, bytes = 0, bytesMax = 0 } = this.#trimmed ?? {}
    if (next === undefined) return 0
    const isOld = this.#side.agesBy(archive.maxAgeMs) && next.timeMs <= clock.now() - nearlyFull * archive.maxAgeMs
    return isOld || bytes >= nearlyFull * bytesMax ? Math.min(next.lsn, retained) : 0
  }

  /** Resolves when no removal is running. */
  async trimmed(): Promise<void> {
    await this.#trimming.catch(() => undefined)
  }

  /**
   * Called when the disk is nearly full: removes history, oldest first, about this many bytes. Returns whether there
   * was any.
   */
  async giveWay(bytes: number): Promise<boolean> {
    const archive = this.#archive
    const before = this.#reach?.bytes ?? 0
    if (!archive || before === 0) return false
    await this.trim({ ...archive, maxBytes: Math.max(0, before - bytes) })
    const after = this.#reach?.bytes ?? 0
    if (after >= before) return false
    this.#shortened = 'disk'
    this.#side.onNotice(
      `the disk is nearly full: ${before - after} bytes of history were removed; ${this.#beginning()}`,
    )
    return true
  }

  /**
   * A start needs the image of a live collection until two checkpoints hold the collection, and no image of a deleted
   * one, which it does not build. A restore to a moment needs an image as long as it may begin before the image's
   * record, unless the collection was deleted before all moments that are kept.
   */
  async #trim(limits: ArchiveLimits | undefined): Promise<void> {
    const { catalog, clock, keepLog, log } = this.#side
    const { collections, imports, lsn: lsnCatalog } = catalog()
    const living = new Set(collections.flatMap(({ restored }) => restored?.importId ?? []))
    const areDropsDurable = lsnCatalog <= log().state().lsnDurable
    const isForStart = ({ id, lsn }: CatalogImport) =>
      keepLog || (living.has(id) ? lsn > this.#lsnNotNeeded : !areDropsDurable)
    // A clock that is wrong makes nothing old.
    const nowMs = !limits || this.#side.agesBy(limits.maxAgeMs) ? clock.now() : Number.NEGATIVE_INFINITY
    const startMs = nowMs - (limits?.maxAgeMs ?? 0)
    const isForMoment = ({ deletedAtMs = Number.POSITIVE_INFINITY }: CatalogImport) => deletedAtMs > startMs
    let lsnNotNeeded = Number.POSITIVE_INFINITY
    if (limits) {
      const images: ArchivedImage[] = []
      for (const image of imports)
        if (!isForStart(image) && isForMoment(image)) images.push({ ...image, files: await this.#filesOf(image.id) })
      const trimmed = await trimArchive(this.#side, limits, nowMs, images)
      this.#reach = trimmed
      this.#trimmed = trimmed
      if (trimmed.isShortened) this.#shortened = 'size'
      lsnNotNeeded = trimmed.lsnNotNeeded
    }
    if (this.#side.archive && !this.#archive)
      await trimArchive(this.#side, { maxBytes: 0, maxAgeMs: 0 }, Number.POSITIVE_INFINITY)
    const retainAfter = this.#side.retainAfter?.() ?? Number.POSITIVE_INFINITY
    await releaseImports(
      this.#side,
      (image) => isForStart(image) || image.lsn > retainAfter || (image.lsn > lsnNotNeeded && isForMoment(image)),
      (image) => this.#images?.isInLog(image.lsn) ?? false,
    )
    for (const id of this.#files.keys()) if (!catalog().imports.some((image) => image.id === id)) this.#files.delete(id)
  }

  async #filesOf(id: string): Promise<readonly DiskFile[]> {
    const known = this.#files.get(id)
    if (known) return known
    const { vfs, dataDir, identity } = this.#side
    // The size of an unreadable image is unknown.
    const stored = await readImage(vfs, join(dataDir, 'imports', id)).catch(() => undefined)
    const files = stored ? filesOfImage(id, stored.image, identity().uuid) : []
    this.#files.set(id, files)
    return files
  }

  #beginning(): string {
    const { lsn = 0, timeMs = 0 } = this.#reach ?? {}
    return lsn === 0 ? 'history begins with the first record' : `history begins at ${new Date(timeMs).toISOString()}`
  }

  stats(): Pick<EngineStats, 'reach' | 'backups'> {
    const all = this.jobs.store.all()
    const nowMs = this.#side.clock.now()
    // One that was made while the clock was ahead does not stay the newest until the clock has caught up.
    const newest = all.findLast(({ image }) => image.takenAtMs <= nowMs) ?? all[0]
    const newestAt = newest && Math.min(newest.image.takenAtMs, nowMs)
    const bytes = all.reduce((sum, { image }) => sum + imageBytes(image), 0)
    return {
      ...(this.#reach && { reach: this.#reachNow(this.#reach) }),
      backups: { count: all.length, bytes, ...(newestAt !== undefined && { newestAt }) },
    }
  }

  #reachNow({ lsn, timeMs, bytes, segments }: Reach): HistoryReach {
    return { lsn, timeMs, bytes, segments, begins: this.#begins(), maxAgeMs: this.#archive?.maxAgeMs ?? 0 }
  }

  /** After the log is replayed: removes the leftovers of restores that never appended their record. */
  async sweepImports(): Promise<void> {
    await sweepImports(this.#side.vfs, this.#side.dataDir, this.#side.catalog().imports)
  }

  async #commitRestored(
    draft: RestoredDraft,
    beginning: Replica | ReplicaToCome,
    checkThere: () => void,
    options?: CommitOptions,
  ): Promise<Acknowledgement> {
    this.#made.set(draft.importId, beginning)
    const makeDraft = () => {
      checkThere()
      return draft
    }
    const commit = () => this.#side.commit(makeDraft, options)
    try {
      return await (this.#images?.naming(draft.importId, commit) ?? commit())
    } finally {
      this.#made.delete(draft.importId)
    }
  }

  /** Removes what no record and no database needs any more from the shared files. */
  async collectShared(confirm: () => Promise<unknown>): Promise<void> {
    await this.#images?.collect(confirm)
    await this.#sharedBackups?.removeDeleted()
  }

  async #build<T>(build: (id: number) => Promise<T>): Promise<T> {
    const id = this.#side.nextCollectionId()
    const built = build(id)
    this.#building.set(id, built)
    try {
      return await built
    } finally {
      this.#building.delete(id)
    }
  }
}
