// The backups of one database, as its users see them.

import { EngineError } from '../errors.ts'
import type { BackupInfo, Backups as BackupsOfDatabase, JobStatus, Moment } from '../model/backups.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { WriteOptions } from '../model/requests.ts'
import { keyed } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { auditReplica } from './audit-replica.ts'
import { type Backups, infoOf } from './backups.ts'
import { cloneCollection } from './clone.ts'
import { containerBytes, readContainer, writeContainer } from './container.ts'
import type { Imaged } from './host.ts'
import { imageBytes, type StoredImage, writeImageManifest } from './image.ts'
import { checkSpace } from './image-collection.ts'
import type { Job } from './job.ts'
import { imageOfPast, type PastOf, pastOfBackup } from './past.ts'
import { buildChecked, fillFrom, type ImportHost, type RestoreWatch, restoreImage } from './restore-image.ts'
import { verifyImage } from './verify-image.ts'

/** Free disk space that an upload must leave. */
const freeBytesMin = 256 * 1024 * 1024

/** The functions of the database that backups use. */
export interface BackupDoor {
  readonly database: { readonly id: number; readonly name: string }
  readonly host: ImportHost
  readonly backups: Backups
  readonly keys: KeptRequests
  /** Throws collection_not_found. */
  collection(name: string): Imaged
  /** Finds a collection, including deleted ones. Throws collection_not_found. */
  collectionIdAt(name: string, lsn: number): Promise<number>
  /** Reserves a name for a new collection while `action` runs. Throws collection_exists. */
  reserving<T>(name: unknown, action: (name: string) => Promise<T>): Promise<T>
  /** Throws when the engine is closed, the database was deleted, or backups are not possible here. */
  checkOpen(): void
}

export class DatabaseBackups implements BackupsOfDatabase {
  readonly #door: BackupDoor
  readonly #name: string

  constructor(door: BackupDoor) {
    this.#door = door
    this.#name = door.database.name
  }

  async create(collection: string, name?: string): Promise<{ readonly name: string }> {
    const { backups } = this.#opened()
    return backups.create(this.#name, await this.#serving(collection), name)
  }

  status(): JobStatus {
    return this.#door.backups.status(this.#name)
  }

  async cancel(): Promise<boolean> {
    return this.#opened().backups.cancel(this.#name)
  }

  cancelRestore(): boolean {
    return this.#opened().backups.cancelRestore(this.#name)
  }

  restoreStatus(): JobStatus {
    return this.#door.backups.restoreStatus(this.#name)
  }

  list(): readonly BackupInfo[] {
    return this.#door.backups.list(this.#name)
  }

  info(name: string): BackupInfo {
    return infoOf(this.#stored(name))
  }

  async remove(name: string): Promise<void> {
    await this.#opened().backups.store.remove(this.#name, name)
  }

  async restore(name: string, target: string, moment?: Moment, options?: WriteOptions): Promise<Acknowledgement> {
    const parts = ['restore', name, target, JSON.stringify(moment ?? null)]
    return this.#keyed(options, parts, (claim) => this.#restore(name, target, moment, claim))
  }

  async #restore(
    name: string,
    target: string,
    moment: Moment | undefined,
    claim: Claim | undefined,
  ): Promise<Acknowledgement> {
    const { host, backups } = this.#opened()
    const { image } = this.#stored(name)
    return this.#door.reserving(target, (free) =>
      backups.restoring(this.#name, { name, collection: free, bytes: imageBytes(image) }, (job) => {
        const watch = this.#watchOf(job)
        return restoreImage(host, this.#target(free, claim), watch, (dir) =>
          backups.store.reading(this.#name, name, (stored) =>
            moment
              ? imageOfPast(host.side, pastOfBackup(host.side, stored), moment, dir, watch.checkWanted)
              : fillFrom(host.side, stored, dir, watch),
          ),
        )
      }),
    )
  }

  async restorePast(
    collection: string,
    target: string,
    moment: Moment,
    options?: WriteOptions,
  ): Promise<Acknowledgement> {
    const parts = ['restorePast', collection, target, JSON.stringify(moment)]
    return this.#keyed(options, parts, (claim) => this.#restorePast(collection, target, moment, claim))
  }

  async #restorePast(
    collection: string,
    target: string,
    moment: Moment,
    claim: Claim | undefined,
  ): Promise<Acknowledgement> {
    const { host, backups, database } = this.#opened()
    const past: PastOf = {
      database: database.name,
      collection,
      collectionIdAt: (lsn) => this.#door.collectionIdAt(collection, lsn),
    }
    return this.#door.reserving(target, (free) =>
      backups.restoring(this.#name, { collection: free, bytes: 0 }, (job) => {
        const watch = this.#watchOf(job)
        return restoreImage(host, this.#target(free, claim), watch, (dir) =>
          imageOfPast(host.side, past, moment, dir, watch.checkWanted),
        )
      }),
    )
  }

  async clone(
    collection: string,
    target: string,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    return this.#keyed(options, ['clone', collection, target], (claim) => this.#clone(collection, target, claim))
  }

  async #clone(
    collection: string,
    target: string,
    claim: Claim | undefined,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    const { host, backups } = this.#opened()
    return this.#door.reserving(target, async (free) => {
      const source = await this.#serving(collection)
      let onRead: (bytes: number) => void = () => undefined
      const { acknowledged, contentLsn, bytes, loaded } = await cloneCollection(
        host,
        source,
        this.#target(free, claim),
        {
          checkWanted: () => this.#door.checkOpen(),
          onRead: (read) => onRead(read),
        },
      )
      const load = (job: Job) => {
        onRead = countingFor(job, 1)
        return loaded
      }
      const loading = backups.restoring(this.#name, { collection: free, bytes }, load, { canEnd: false })
      // Its status and the clone's status report the outcome.
      loading.catch(() => undefined)
      return { ...acknowledged, contentLsn }
    })
  }

  async verify(name: string, { deep = false }: { readonly deep?: boolean } = {}): Promise<readonly string[]> {
    const { host, backups } = this.#opened()
    return backups.store.reading(this.#name, name, async (stored) => {
      const faults = await verifyImage(host.side.vfs, stored)
      if (faults.length > 0 || !deep) return faults
      try {
        await this.#buildAside(stored)
        return []
      } catch (error) {
        if (error instanceof EngineError && error.code === 'backup_damaged') return [error.message]
        throw error
      }
    })
  }

  download(name: string): { readonly bytes: number; readonly stream: AsyncIterable<Uint8Array> } {
    const stored = this.#stored(name)
    return { bytes: containerBytes(stored), stream: writeContainer(this.#door.host.side.vfs, stored) }
  }

  async upload(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo> {
    const { host, backups } = this.#opened()
    const { side } = host
    backups.checkFree(this.#name, name)
    const { store } = backups
    const temporary = await store.begin()
    try {
      const admit = (_: unknown, bytes: number) => checkSpace(side, bytes + freeBytesMin)
      const came = await readContainer(side.vfs, temporary, stream, admit)
      const image = { ...came, name, database: this.#name }
      const sha256 = await writeImageManifest(side.vfs, temporary, image)
      const digest = await this.#buildAside({ dir: temporary, image, sha256 })
      // Another upload may have taken the name in the meantime.
      backups.checkFree(this.#name, name)
      return infoOf(await store.add(temporary, { ...image, digest }))
    } catch (error) {
      await store.abandon(temporary).catch(() => undefined)
      throw error
    }
  }

  settled(): Promise<void> {
    return this.#door.backups.settled(this.#name)
  }

  /** Returns the digest. Throws backup_damaged. */
  async #buildAside(stored: StoredImage): Promise<string> {
    const { side } = this.#door.host
    const { replica, digest } = await buildChecked(side, stored, {
      id: side.nextCollectionId(),
      name: stored.image.collection,
    })
    try {
      await auditReplica(replica)
      return digest
    } finally {
      await replica.remove()
    }
  }

  #watchOf(job: Job): RestoreWatch {
    const checkWanted = () => {
      job.check()
      this.#door.checkOpen()
    }
    // Everything is read twice: once to compare it and once to load it.
    return { checkWanted, onRead: countingFor(job, 2) }
  }

  #opened(): BackupDoor {
    this.#door.checkOpen()
    return this.#door
  }

  async #serving(name: string): Promise<Imaged> {
    const collection = this.#door.collection(name)
    await collection.served()
    // Throws unless it serves.
    void collection.replica
    return collection
  }

  #stored(name: string): StoredImage {
    return this.#opened().backups.store.get(this.#name, name)
  }

  /** Runs a write once if the call has a request key; `parts` are the input of the call. */
  #keyed<R extends Acknowledgement>(
    options: WriteOptions | undefined,
    parts: readonly string[],
    write: (claim: Claim | undefined) => Promise<R>,
  ): Promise<R> {
    const { keys, database } = this.#door
    return keyed(keys, options, { databaseId: database.id, parts: () => parts.map(String) }, write)
  }

  #target(name: string, claim: Claim | undefined) {
    return { databaseId: this.#door.database.id, name, claim, checkThere: () => this.#door.checkOpen() }
  }
}

/** Reports read bytes to the job, when everything is read this many times. */
function countingFor(job: Job, times: number): (bytes: number) => void {
  let read = 0
  return (bytes) => {
    read += bytes
    job.progress({ bytesDone: Math.floor(read / times) })
  }
}
