// The backups of all databases: created in the background, one at a time for each database, with their progress.

import { codingDiskErrors } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import type { BackupInfo, JobStatus } from '../model/backups.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { BackupStore } from './backup-store.ts'
import { checkSpace } from './check-space.ts'
import type { BackupHost, Imaged } from './host.ts'
import { imageBytes, type StoredImage } from './image/image.ts'
import { imageCollection } from './image-collection.ts'
import { Job } from './job.ts'

const nameForm = /^[A-Za-z0-9_-]{1,200}(?![\s\S])/
const namesRefused: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
/** With less free space than this, no backup begins, so that a backup never fills the disk. */
const freeBytesMin = 256 * 1024 * 1024

export class Backups {
  readonly store: BackupStore
  readonly #host: BackupHost
  readonly #freeBytesMin: number
  readonly #msMax: number
  /** The newest job of each database. */
  readonly #jobs = new Map<string, Job>()
  readonly #done = new Map<string, Promise<void>>()
  readonly #restores = new Map<string, Job>()

  constructor(
    host: BackupHost,
    store: BackupStore,
    limits: { readonly msMax: number; readonly freeBytesMin?: number },
  ) {
    this.#host = host
    this.store = store
    this.#msMax = limits.msMax
    this.#freeBytesMin = limits.freeBytesMin ?? freeBytesMin
  }

  /** Begins a backup and returns its name; the backup exists when its status says so. */
  async create(database: string, collection: Imaged, wantedName?: unknown): Promise<{ readonly name: string }> {
    const name = this.#newName(database, collection, wantedName)
    const before = this.#jobs.get(database)
    if (before?.isRunning) {
      throw new EngineError('backup_running', `backup ${printed(before.status.name)} of this database is running`, {
        field: 'database',
        value: database,
      })
    }
    // Set in the turn of the check, so that one of two concurrent calls is refused.
    const job = this.#newJob({ name, collection: collection.entry.definition.name, bytes: 0 }, this.#msMax)
    this.#jobs.set(database, job)
    try {
      await checkSpace(this.#host, this.#freeBytesMin)
    } catch (error) {
      if (before) this.#jobs.set(database, before)
      else this.#jobs.delete(database)
      throw error
    }
    const now = () => this.#host.clock.now()
    const done = codingDiskErrors(() => this.#make(database, collection, name, job)).then(
      () => job.finish(now()),
      (error: Error) => job.finish(now(), error),
    )
    this.#done.set(database, done)
    return { name }
  }

  /** The running backup, or the last one since the engine was opened. */
  status(database: string): JobStatus {
    return this.#jobs.get(database)?.status ?? { status: 'idle' }
  }

  /** The running restore, or the last one since the engine was opened. */
  restoreStatus(database: string): JobStatus {
    return this.#restores.get(database)?.status ?? { status: 'idle' }
  }

  /** Cancels the running backup and removes its files; returns whether there was one, after it is removed. */
  async cancel(database: string): Promise<boolean> {
    const isOne = endIfRunning(this.#jobs.get(database), 'the backup was canceled')
    await this.settled(database)
    return isOne && this.#jobs.get(database)?.status.status !== 'completed'
  }

  /** Cancels the last restore if it is still running. */
  cancelRestore(database: string): boolean {
    return endIfRunning(this.#restores.get(database), 'the restore was canceled')
  }

  /** Tracks a restore. */
  async restoring<T>(
    database: string,
    about: { readonly name?: string; readonly collection: string; readonly bytes: number },
    restore: (job: Job) => Promise<T>,
    { canEnd = true }: { readonly canEnd?: boolean } = {},
  ): Promise<T> {
    const job = this.#newJob(about, canEnd ? this.#msMax : undefined)
    this.#restores.set(database, job)
    try {
      const result = await codingDiskErrors(() => restore(job))
      job.finish(this.#host.clock.now())
      return result
    } catch (error) {
      job.finish(this.#host.clock.now(), error as Error)
      throw error
    }
  }

  /** Resolves when no backup of the database is running. */
  async settled(database: string): Promise<void> {
    await this.#done.get(database)
  }

  list(database: string): readonly BackupInfo[] {
    return this.store.list(database).map(infoOf)
  }

  /** Throws unless a new backup may have the name. */
  checkFree(database: string, name: unknown): string {
    if (typeof name !== 'string' || !nameForm.test(name) || namesRefused.has(name)) {
      throw new EngineError(
        'invalid_argument',
        `name ${printed(name)} must have 1 to 200 characters, only letters, digits, "_" and "-"`,
        { field: 'name', value: shownValue(name) },
      )
    }
    const { status } = this.#jobs.get(database) ?? {}
    const beingMade = status?.status === 'running' && status.name === name
    if (!this.store.find(database, name) && !beingMade) return name
    throw new EngineError('backup_exists', `a backup ${printed(name)} already exists`, { field: 'name', value: name })
  }

  /** Removes all backups of a deleted database; a later database of the same name is a different one. */
  async forget(database: string): Promise<void> {
    await this.settled(database)
    this.#jobs.delete(database)
    this.#restores.delete(database)
    await this.store.forget(database)
  }

  /** Cancels the running jobs and removes their files. */
  async close(): Promise<void> {
    const closed = new EngineError('closed', 'the engine was closed during the backup')
    for (const job of this.#jobs.values()) job.end(closed)
    await Promise.all(this.#done.values())
  }

  async #make(database: string, collection: Imaged, name: string, job: Job): Promise<void> {
    const { store } = this
    const temporary = await store.begin()
    try {
      const older = this.#olderOf(collection)
      const image = await imageCollection(
        this.#host,
        collection,
        temporary,
        { name, database, ...this.#aliasesOf(collection) },
        { older },
        {
          checkWanted: () => {
            job.check()
            collection.checkOpen()
          },
          onProgress: (bytesDone, bytes) => job.progress({ bytesDone, bytes }),
          onHeld: (heldMs) => job.progress({ heldMs }),
        },
      )
      await store.add(temporary, image)
    } catch (error) {
      // The disk may refuse this too; then the next start removes it.
      await store.abandon(temporary).catch(() => undefined)
      throw error
    }
  }

  #aliasesOf({ entry }: Imaged): { readonly aliases?: readonly string[] } {
    const leading = this.#host.catalog().aliasesOf(entry.databaseId)
    const aliases = leading.filter(({ collectionId }) => collectionId === entry.id).map(({ name }) => name)
    return aliases.length > 0 ? { aliases } : {}
  }

  /** Only a backup of this directory: ids have no meaning elsewhere. */
  #olderOf({ entry }: Imaged): StoredImage | undefined {
    const uuid = this.#host.identity().uuid
    return this.store
      .all()
      .findLast(({ image: { source } }) => source.uuid === uuid && source.collectionId === entry.id)
  }

  #newJob(about: Pick<JobStatus, 'name' | 'collection' | 'bytes'>, msMax: number | undefined): Job {
    return new Job({ ...about, startedAt: this.#host.clock.now() }, msMax)
  }

  #newName(database: string, { entry }: Imaged, wanted: unknown): string {
    if (wanted !== undefined) return this.checkFree(database, wanted)
    const stamp = new Date(this.#host.clock.now()).toISOString().replaceAll(/[-:]|\..*/g, '')
    const name = `${entry.definition.name}-${stamp}`
    for (let i = 1; ; i++) {
      const candidate = i === 1 ? name : `${name}-${i}`
      if (!this.store.find(database, candidate)) return candidate
    }
  }
}

function endIfRunning(job: Job | undefined, why: string): boolean {
  if (!job?.isRunning || !job.canEnd) return false
  job.end(new EngineError('cancelled', why))
  return true
}

export function infoOf({ image }: StoredImage): BackupInfo {
  const { name, collection, database, takenAtMs, lsn, timeMs, objects, fieldsNow, digest } = image
  const bytes = imageBytes(image)
  const { aliases = [] } = image
  const moment = { takenAt: takenAtMs, lsn, timeMs }
  return { name, collection, aliases, database, ...moment, objects, fields: fieldsNow, digest, bytes }
}
