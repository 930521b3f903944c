// What the engine has of backups: the store, the jobs, and collections that begin with an image instead of with nothing.
import { join } from 'node:path'
import { historySegments } from '@annal/wal'
import type { EngineStats } from '../api.ts'
import type { ReplicaToCome } from '../arrival.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { LogBook } from '../history/log-book.ts'
import type { Acknowledgement } from '../object.ts'
import { Replica } from '../replica/replica.ts'
import { type ArchiveLimits, currentReach, historyOf, type Reach, trimArchive } from './archive.ts'
import { BackupStore } from './backup-store.ts'
import { Backups } from './backups.ts'
import type { BackupHost } from './host.ts'
import { imageBytes } from './image.ts'
import { type ImportHost, type RestoredDraft, releaseImports, replayRestored, sweepImports } from './restore-image.ts'

export interface EngineSide extends BackupHost {
  readonly archive: ArchiveLimits | undefined
  readonly backupMsMax: number
  nextCollectionId(): number
  commit(makeDraft: () => RestoredDraft): Promise<Acknowledgement>
}

export class EngineBackups {
  readonly jobs: Backups
  readonly host: ImportHost
  readonly book: LogBook
  readonly #side: EngineSide
  #reach: Reach | undefined
  /** What is on its way into the catalog, by the image it is made of. */
  readonly #made = new Map<string, Replica | ReplicaToCome>()

  constructor(side: EngineSide) {
    this.#side = side
    this.jobs = new Backups(side, new BackupStore(side.vfs, join(side.dataDir, 'backups')), {
      msMax: side.backupMsMax,
    })
    this.book = new LogBook(side)
    this.host = {
      side,
      commitRestored: (draft, replica, checkThere) => this.#commitRestored(draft, replica, checkThere),
    }
  }

  /** Removes what a crash left of backups, and says which of those there are cannot be read. */
  async open(): Promise<string[]> {
    const { archive } = this.#side
    if (archive) this.#reach = await currentReach(this.#side)
    return this.jobs.store.open()
  }

  /** Removes the backups of a dropped database. What the disk refuses to give up is nobody's any more, and is said. */
  async forget(database: string): Promise<string[]> {
    const told = (error: Error) => [`backups of the dropped database "${database}" remain: ${error.message}`]
    return this.jobs.forget(database).then(() => [], told)
  }

  /**
   * A collection as its first record leaves it, or how to come by it; the error when the image it was restored from does not
   * give it any more.
   */
  async firstReplica(entry: CollectionEntry): Promise<Replica | ReplicaToCome | EngineError> {
    const { id, definition, hashSeed, restored, lsnCreated: lsn } = entry
    if (!restored) return Replica.empty(id, definition, { ...this.#side.replicaHost(hashSeed), lsn, generation: 0 })
    try {
      const facts = { collectionId: id, name: definition.name, hashSeed, ...restored }
      const found = this.#made.get(restored.importId) ?? (await replayRestored(this.#side, facts))
      if (!(found instanceof Replica)) return found
      found.adoptedAt(lsn)
      return found
    } catch (error) {
      if (error instanceof EngineError) return error
      throw error
    }
  }

  /** After a checkpoint: gives up what is archived beyond the limits, and images that no record leads to any more. */
  async checkpointTaken(): Promise<void> {
    const { archive } = this.#side
    if (archive) this.#reach = await trimArchive(this.#side, archive, this.#side.clock.now())
    const [first] = await historySegments(historyOf(this.#side, this.#side.identity()))
    await releaseImports(this.#side, first?.lsnFirst ?? 0)
  }

  stats(): Pick<EngineStats, 'reach' | 'backups'> {
    const all = this.jobs.store.all()
    const newestAt = all.at(-1)?.image.takenAtMs
    const bytes = all.reduce((sum, { image }) => sum + imageBytes(image), 0)
    return {
      ...(this.#reach && { reach: this.#reach }),
      backups: { count: all.length, bytes, ...(newestAt !== undefined && { newestAt }) },
    }
  }

  /** Once the log is replayed: what restores that never came to their records left behind. */
  async sweepImports(): Promise<void> {
    await sweepImports(this.#side.vfs, this.#side.dataDir, this.#side.catalog().imports)
  }

  async #commitRestored(
    draft: RestoredDraft,
    beginning: Replica | ReplicaToCome,
    checkThere: () => void,
  ): Promise<Acknowledgement> {
    this.#made.set(draft.importId, beginning)
    try {
      return await this.#side.commit(() => {
        checkThere()
        return draft
      })
    } finally {
      this.#made.delete(draft.importId)
    }
  }
}
