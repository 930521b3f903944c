// The backups of one database, as its users see them.

import { codeDiskErrors, codingDiskErrorsOf } from '../disk-errors.ts'
import { EngineError } from '../errors.ts'
import { parseMoment } from '../input/moment.ts'
import type { BackupInfo, Backups as BackupsOfDatabase, JobStatus, Moment } from '../model/backups.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import type { BranchRequest } from '../model/names.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { RestoreOptions, WriteOptions } from '../model/requests.ts'
import { keyed } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { auditReplica } from './audit-replica.ts'
import { type Backups, infoOf } from './backups.ts'
import { checkSpace } from './check-space.ts'
import { cloneCollection } from './clone.ts'
import { type Imaged, withoutReports } from './host.ts'
import { clearExpiries } from './image/clear-expiries.ts'
import { containerBytes, readContainer, writeContainer } from './image/container.ts'
import { imageBytes, type StoredImage, writeImageManifest } from './image/image.ts'
import { verifyImage } from './image/verify-image.ts'
import type { Job } from './job.ts'
import { namingMoment, type PastOf, pastOfBackup } from './past.ts'
import { imageOfPast } from './past-image.ts'
import {
  buildChecked,
  fillFrom,
  type ImportHost,
  type Restored,
  type RestoreTarget,
  type RestoreWatch,
  restoreImage,
} from './restore-image.ts'

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
  reserving<T>(name: unknown, field: string, action: (name: string) => Promise<T>): Promise<T>
  /** Throws when the engine is closed, the database was deleted, or backups are not possible here. */
  checkOpen(): void
  /** Throws while this engine appends nothing. */
  checkWritable(): void
}

/** What belongs to a collection that is being made. */
interface Making {
  readonly claim: Claim | undefined
  /** The collection that it is a branch of, which must still exist when its record is written. */
  readonly parent?: Imaged | undefined
  /** Its objects do not expire. */
  readonly keeps?: boolean
}

export class DatabaseBackups implements BackupsOfDatabase {
  readonly #door: BackupDoor
  readonly #name: string

  constructor(door: BackupDoor) {
    this.#door = door
    this.#name = door.database.name
  }

  async create(collection: string, name?: string): Promise<{ readonly name: string }> {
    const { backups } = this.#writing()
    return backups.create(this.#name, await this.#serving(collection), name)
  }

  status(): JobStatus {
    return this.#door.backups.status(this.#name)
  }

  async cancel(): Promise<boolean> {
    return this.#writing().backups.cancel(this.#name)
  }

  cancelRestore(): boolean {
    return this.#writing().backups.cancelRestore(this.#name)
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
    await this.#writing().backups.store.remove(this.#name, name)
  }

  async restore(name: string, target: string, moment?: Moment, options?: RestoreOptions): Promise<Acknowledgement> {
    const keeps = keepsExpired(options)
    if (moment !== undefined) parseMoment(moment, 'moment')
    const parts = ['restore', name, target, JSON.stringify(moment ?? null), ...keptPart(keeps)]
    return this.#keyed(options, parts, (claim) => this.#restore(name, target, moment, { claim, keeps }))
  }

  async #restore(
    name: string,
    target: string,
    moment: Moment | undefined,
    { claim, keeps }: Making,
  ): Promise<Acknowledgement> {
    const { host, backups } = this.#writing()
    const { image } = this.#stored(name)
    const restored = await this.#door.reserving(target, 'target', (free) =>
      backups.restoring(this.#name, { name, collection: free, bytes: imageBytes(image) }, (job) => {
        const watch = this.#watchOf(job)
        return restoreImage(host, this.#target(free, { claim }), watch, (dir) =>
          backups.store.reading(this.#name, name, async (stored) => {
            const filled = await (moment
              ? namingMoment('moment', moment, async () =>
                  imageOfPast(host.side, pastOfBackup(host.side, stored), moment, dir, watch.checkWanted),
                )
              : fillFrom(host.side, stored, dir, watch))
            return keeps ? clearExpiries(host.side.vfs, dir, filled) : filled
          }),
        )
      }),
    )
    return restored.acknowledged
  }

  async restorePast(
    collection: string,
    target: string,
    moment: Moment,
    options?: RestoreOptions,
  ): Promise<Acknowledgement> {
    const keeps = keepsExpired(options)
    parseMoment(moment, 'moment')
    const parts = ['restorePast', collection, target, JSON.stringify(moment), ...keptPart(keeps)]
    return this.#keyed(options, parts, (claim) => this.#restorePast(collection, target, moment, { claim, keeps }))
  }

  async #restorePast(collection: string, target: string, moment: Moment, making: Making): Promise<Acknowledgement> {
    const past: PastOf = {
      database: this.#name,
      collection,
      collectionIdAt: (lsn) => this.#door.collectionIdAt(collection, lsn),
    }
    const { acknowledged } = await this.#restoreMoment(past, target, moment, making)
    return acknowledged
  }

  async #restoreMoment(
    past: PastOf,
    target: string,
    moment: Moment,
    { claim, parent, keeps }: Making,
  ): Promise<Restored> {
    const { host, backups } = this.#writing()
    return this.#door.reserving(target, parent ? 'name' : 'target', (free) =>
      backups.restoring(this.#name, { collection: free, bytes: 0 }, (job) => {
        const watch = this.#watchOf(job)
        return restoreImage(host, this.#target(free, { claim, parent }), watch, async (dir) => {
          const filled = await namingMoment(parent ? 'asOf' : 'moment', moment, () =>
            imageOfPast(host.side, past, moment, dir, watch.checkWanted),
          )
          return keeps ? clearExpiries(host.side.vfs, dir, filled) : filled
        })
      }),
    )
  }

  /** A clone or an earlier state of the collection that remembers its parent. Throws as `clone` and `restorePast` do. */
  async branch(
    collection: string,
    request: BranchRequest,
    options?: RestoreOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    checkObject(request, 'request')
    const { name, asOf } = request
    const keeps = keepsExpired(options)
    if (asOf !== undefined) parseMoment(asOf, 'asOf')
    const parts = ['branch', collection, name, JSON.stringify(asOf ?? null), ...keptPart(keeps)]
    return this.#keyed(options, parts, async (claim) => {
      if (asOf === undefined) return this.#clone(collection, name, { claim, keeps }, true)
      const parent = await this.#serving(collection)
      const past: PastOf = {
        database: this.#name,
        collection: parent.entry.definition.name,
        collectionIdAt: async () => parent.entry.id,
      }
      const { acknowledged, contentLsn } = await this.#restoreMoment(past, name, asOf, { claim, parent, keeps })
      return { ...acknowledged, contentLsn }
    })
  }

  async clone(
    collection: string,
    target: string,
    options?: RestoreOptions,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    const keeps = keepsExpired(options)
    const parts = ['clone', collection, target, ...keptPart(keeps)]
    return this.#keyed(options, parts, (claim) => this.#clone(collection, target, { claim, keeps }))
  }

  async #clone(
    collection: string,
    target: string,
    { claim, keeps }: Making,
    isBranch = false,
  ): Promise<Acknowledgement & { readonly contentLsn: number }> {
    const { host, backups } = this.#writing()
    return this.#door.reserving(target, isBranch ? 'name' : 'target', async (free) => {
      const source = await this.#serving(collection)
      let onRead: (bytes: number) => void = () => undefined
      const { acknowledged, contentLsn, bytes, loaded } = await cloneCollection(
        host,
        source,
        { ...this.#target(free, { claim, parent: isBranch ? source : undefined }), keepExpired: keeps === true },
        {
          checkWanted: () => this.#checkWritable(),
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

  async verify(name: string, options: { readonly deep?: boolean } = {}): Promise<readonly string[]> {
    checkObject(options, 'options')
    const { deep = false } = options
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
    const { host, backups } = this.#door
    const stream = backups.store.streaming(stored, (files) => writeContainer(host.side.vfs, files))
    return { bytes: containerBytes(stored), stream: codingDiskErrorsOf(stream) }
  }

  async upload(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo> {
    this.#writing().backups.checkFree(this.#name, name)
    const given: unknown = stream
    if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given))
      throw new EngineError('invalid_argument', 'stream must be an async iterable of bytes', { field: 'stream' })
    return this.#receive(name, stream)
  }

  async #receive(name: string, stream: AsyncIterable<Uint8Array>): Promise<BackupInfo> {
    const { host, backups } = this.#door
    const { side } = host
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
    const { host } = this.#door
    return host.building(async (id) => {
      const as = { id, name: stored.image.collection }
      const checkWanted = () => this.#checkWritable()
      const side = withoutReports(host.side)
      const { replica, digest } = await buildChecked(side, stored, as, { checkWanted, onRead: () => undefined })
      try {
        await auditReplica(replica)
        return digest
      } finally {
        await replica.remove()
      }
    })
  }

  #watchOf(job: Job): RestoreWatch {
    const checkWanted = () => {
      job.check()
      this.#checkWritable()
    }
    // Everything is read twice: once to compare it and once to load it.
    return { checkWanted, onRead: countingFor(job, 2) }
  }

  #opened(): BackupDoor {
    this.#door.checkOpen()
    return this.#door
  }

  /** For what changes backups or creates collections. */
  #writing(): BackupDoor {
    this.#checkWritable()
    return this.#door
  }

  #checkWritable(): void {
    this.#door.checkOpen()
    this.#door.checkWritable()
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

  #target(name: string, { claim, parent }: Making): RestoreTarget {
    const checkThere = () => {
      this.#checkWritable()
      parent?.checkOpen()
    }
    return { databaseId: this.#door.database.id, name, claim, parentId: parent?.entry.id, checkThere }
  }
}

codeDiskErrors(DatabaseBackups)

/** Throws invalid_argument. */
function keepsExpired(options: RestoreOptions | undefined): boolean {
  const keeps: unknown = options?.keepExpired ?? false
  if (typeof keeps === 'boolean') return keeps
  const message = `keepExpired must be true or false, got ${printed(keeps)}`
  throw new EngineError('invalid_argument', message, { field: 'keepExpired', value: shownValue(keeps) })
}

/** A request key stands for it as well. */
function keptPart(keeps: boolean): readonly string[] {
  return keeps ? ['keepExpired'] : []
}

/** Reports read bytes to the job, when everything is read this many times. */
function countingFor(job: Job, times: number): (bytes: number) => void {
  let read = 0
  return (bytes) => {
    read += bytes
    job.progress({ bytesDone: Math.floor(read / times) })
  }
}
