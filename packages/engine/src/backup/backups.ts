// The backups of all databases: makes them in the background, one at a time for each database, and tells how far they are.

import type { BackupInfo, JobStatus } from '../backups-api.ts'
import { EngineError } from '../errors.ts'
import { printed } from '../ids.ts'
import type { BackupStore } from './backup-store.ts'
import type { BackupHost, Imaged } from './host.ts'
import { imageBytes, type StoredImage } from './image.ts'
import { checkSpace, imageCollection } from './image-collection.ts'

const nameForm = /^[A-Za-z0-9_-]{1,200}(?![\s\S])/
const namesRefused: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])
/** Less than this free, and no backup is begun: it must not be what fills the disk. */
const freeBytesMin = 256 * 1024 * 1024

interface Job {
  status: JobStatus
  done: Promise<void>
}

export class Backups {
  readonly store: BackupStore
  readonly #host: BackupHost
  readonly #freeBytesMin: number
  readonly #jobs = new Map<string, Job>()
  readonly #restores = new Map<string, JobStatus>()
  #closing = false

  constructor(host: BackupHost, store: BackupStore, limits: { readonly freeBytesMin?: number } = {}) {
    this.#host = host
    this.store = store
    this.#freeBytesMin = limits.freeBytesMin ?? freeBytesMin
  }

  /** Begins a backup and gives its name; it exists when its status says so. */
  async create(database: string, collection: Imaged, wantedName?: unknown): Promise<{ readonly name: string }> {
    const name = this.#newName(database, collection, wantedName)
    const before = this.#jobs.get(database)
    if (before?.status.status === 'running') {
      throw new EngineError('backup_running', `backup ${printed(before.status.name)} of this database is being made`, {
        field: 'database',
        value: database,
      })
    }
    // Set in the turn of the check: of two who ask at once one is refused.
    const startedAt = this.#host.clock.now()
    const status = { status: 'running', name, collection: collection.entry.definition.name, startedAt } as const
    const job: Job = { status: { ...status, bytesDone: 0, bytes: 0 }, done: Promise.resolve() }
    this.#jobs.set(database, job)
    try {
      await checkSpace(this.#host, this.#freeBytesMin)
    } catch (error) {
      if (before) this.#jobs.set(database, before)
      else this.#jobs.delete(database)
      throw error
    }
    job.done = this.#make(database, collection, name, job).then(
      () => this.#ended(job, 'completed'),
      (error: Error) => this.#ended(job, 'failed', error.message),
    )
    return { name }
  }

  /** The backup that runs, or the last one since the engine was opened. */
  status(database: string): JobStatus {
    return this.#jobs.get(database)?.status ?? { status: 'idle' }
  }

  /** The restore that runs, or the last one since the engine was opened. */
  restoreStatus(database: string): JobStatus {
    return this.#restores.get(database) ?? { status: 'idle' }
  }

  /** Keeps account of a restore. */
  async restoring<T>(
    database: string,
    of: { readonly name?: string; readonly collection: string; readonly bytes: number },
    restore: (onProgress: (bytesDone: number) => void) => Promise<T>,
  ): Promise<T> {
    const begun: JobStatus = { status: 'running', ...of, startedAt: this.#host.clock.now() }
    this.#restores.set(database, begun)
    try {
      const result = await restore((bytesDone) => this.#restores.set(database, { ...begun, bytesDone }))
      const completedAt = this.#host.clock.now()
      this.#restores.set(database, { ...begun, status: 'completed', bytesDone: of.bytes, completedAt })
      return result
    } catch (error) {
      const completedAt = this.#host.clock.now()
      this.#restores.set(database, { ...begun, status: 'failed', completedAt, error: (error as Error).message })
      throw error
    }
  }

  /** Resolves when no backup of the database runs. */
  async settled(database: string): Promise<void> {
    await this.#jobs.get(database)?.done
  }

  list(database: string): readonly BackupInfo[] {
    return this.store.list(database).map(infoOf)
  }

  /** Throws unless a new backup may have the name. */
  checkFree(database: string, name: unknown): string {
    if (typeof name !== 'string' || !nameForm.test(name) || namesRefused.has(name)) {
      throw new EngineError(
        'invalid_argument',
        `name ${printed(name)} must have 1 to 200 letters, digits, "_" and "-", and nothing else`,
        { field: 'name', value: printed(name) },
      )
    }
    const { status } = this.#jobs.get(database) ?? {}
    const beingMade = status?.status === 'running' && status.name === name
    if (!this.store.find(database, name) && !beingMade) return name
    throw new EngineError('backup_exists', `a backup ${printed(name)} exists already`, { field: 'name', value: name })
  }

  /** Removes all backups of a database that was dropped: one made under its name later is another. */
  async forget(database: string): Promise<void> {
    await this.settled(database)
    this.#jobs.delete(database)
    this.#restores.delete(database)
    for (const { image } of this.store.list(database)) await this.store.remove(database, image.name)
  }

  /** Ends what is being made, leaving nothing of it. */
  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.#jobs.values()].map(({ done }) => done))
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
        { name, database },
        { older },
        {
          checkWanted: () => {
            if (this.#closing) throw new EngineError('closed', 'the engine was closed while the backup was made')
            collection.checkOpen()
          },
          onProgress: (bytesDone, bytes) => {
            job.status = { ...job.status, bytesDone, bytes }
          },
          onHeld: (heldMs) => {
            job.status = { ...job.status, heldMs }
          },
        },
      )
      await store.add(temporary, image)
    } catch (error) {
      // The disk may refuse this too; the next start removes it then.
      await store.abandon(temporary).catch(() => undefined)
      throw error
    }
  }

  /** Only one made in this directory: ids mean nothing elsewhere. */
  #olderOf({ entry }: Imaged): StoredImage | undefined {
    const uuid = this.#host.identity().uuid
    return this.store
      .all()
      .findLast(({ image: { source } }) => source.uuid === uuid && source.collectionId === entry.id)
  }

  #ended(job: Job, status: 'completed' | 'failed', error?: string): void {
    const completedAt = this.#host.clock.now()
    job.status = { ...job.status, status, completedAt, ...(error !== undefined && { error }) }
  }

  #newName(database: string, { entry }: Imaged, wanted: unknown): string {
    if (wanted !== undefined) return this.checkFree(database, wanted)
    const at = new Date(this.#host.clock.now()).toISOString().replaceAll(/[-:]|\..*/g, '')
    const name = `${entry.definition.name}-${at}`
    for (let i = 1; ; i++) {
      const candidate = i === 1 ? name : `${name}-${i}`
      if (!this.store.find(database, candidate)) return candidate
    }
  }
}

export function infoOf({ image }: StoredImage): BackupInfo {
  const { name, collection, database, takenAtMs, lsn, timeMs, objects, fieldsNow, digest } = image
  const bytes = imageBytes(image)
  return { name, collection, database, takenAt: takenAtMs, lsn, timeMs, objects, fields: fieldsNow, digest, bytes }
}
