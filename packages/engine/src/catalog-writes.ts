// The catalog of an open engine: commits its changes, and applies them, those of a replay and of other nodes as well. Collections begin and end
// with them.
import type { EngineBackups } from './backup/engine-backups.ts'
import { Catalog, entryOf } from './catalog/catalog.ts'
import type { CatalogState } from './catalog/catalog-state.ts'
import { type ChangedNames, watchNames } from './catalog/changed-names.ts'
import type { LocalCollection } from './collection/collection.ts'
import type { Collections } from './collection/collections.ts'
import type { CatalogDraft, CommitOptions, Committer } from './commit.ts'
import { EngineError } from './errors.ts'
import type { Phase } from './health.ts'
import type { CatalogEvent, CollectionCreated, CollectionPromoted, CollectionRestored } from './model/event.ts'
import type { Acknowledgement } from './model/object.ts'
import { Discards } from './replica/discards.ts'
import { WriteGate } from './replica/write-gate.ts'
import type { Checkpointer } from './snapshot/checkpointer.ts'

/** What changes with the catalog. */
export interface CatalogWritesHost {
  readonly collections: Collections
  readonly backups: EngineBackups
  readonly checkpointer: Checkpointer
  phase(): Phase
  committer(): Committer
  /** Throws unless the engine is open. */
  checkOpen(): void
  /** Called before the change is acknowledged. Not called during a replay, when `ahead` has the names. */
  onNames(changed: ChangedNames): void
  /** Takes what an operator should know, in a sentence. */
  onTrouble(sentence: string): void
}

export class CatalogWrites {
  readonly #host: CatalogWritesHost
  readonly #gate = new WriteGate()
  readonly #discards: Discards
  #now = new Catalog()
  #ahead: Catalog | undefined
  #nextCollectionId = 1

  constructor(host: CatalogWritesHost) {
    this.#host = host
    this.#discards = new Discards((error) =>
      host.onTrouble(`cannot remove files of a deleted collection: ${error.message}`),
    )
  }

  /** As of the newest applied event. */
  get now(): Catalog {
    return this.#now
  }

  /** The state at the end of the log, also while the log is replayed. */
  get ahead(): Catalog {
    return this.#ahead ?? this.#now
  }

  /** Continues with the catalog of a checkpoint. */
  begin(state: CatalogState | undefined): void {
    this.#now = new Catalog(state)
    this.#nextCollectionId = this.#now.nextCollectionId
  }

  /** A replay leads to this catalog, until `reached`. */
  leadTo(ahead: Catalog): void {
    this.#ahead = ahead
  }

  reached(): void {
    this.#ahead = undefined
  }

  /** Returns an id that was never used before. */
  nextCollectionId(): number {
    return this.#nextCollectionId++
  }

  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.#gate.write(async () => this.#commitNow(makeDraft, options))
  }

  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commitAlone(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.#gate.hold(() => this.#commitNow(makeDraft, options))
  }

  /** Runs `action` when every earlier change is applied, and admits no other until it has ended. */
  hold<T>(action: () => Promise<T>): Promise<T> {
    return this.#gate.hold(action)
  }

  async #commitNow(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    this.#host.checkOpen()
    if (this.#host.phase() === 'recovering')
      throw new EngineError('collection_loading', 'nothing can be created or deleted while the log is replayed')
    const committer = this.#host.committer()
    committer.checkWritable()
    const { lsn, durable } = await committer.commit(
      makeDraft(),
      this.#gate,
      (eventLsn, event) => this.apply(eventLsn, event as CatalogEvent),
      options,
    )
    return { lsn, durable }
  }

  async apply(lsn: number, event: CatalogEvent): Promise<void> {
    const changed = watchNames(this.#now, event)
    await this.#apply(lsn, event)
    const names = this.#ahead === undefined ? changed() : undefined
    if (names !== undefined) this.#host.onNames(names)
  }

  async #apply(lsn: number, event: CatalogEvent): Promise<void> {
    if (event.kind === 'collection-created' || event.kind === 'collection-restored') return this.#create(lsn, event)
    const { collections, backups, checkpointer } = this.#host
    const ids = 'collectionIds' in event ? event.collectionIds : 'collectionId' in event ? [event.collectionId] : []
    const dropped = ids.flatMap((id) => collections.get(id) ?? [])
    // Everything appended before the deletion is applied before it.
    for (const collection of dropped) await collection.gate.hold(async () => collection.shut('dropped'))
    const database = event.kind === 'database-dropped' ? this.#now.databaseById(event.databaseId)?.name : undefined
    this.#now.apply(lsn, event)
    for (const id of ids) collections.forget(id)
    if (event.kind === 'collection-promoted') this.#rename(event)
    // Unless the log creates the database again later: then its backups may be newer than this record.
    if (database !== undefined && !this.ahead.database(database))
      for (const sentence of await backups.forget(database)) this.#host.onTrouble(sentence)
    // A checkpoint that began before the deletion writes the collection as it existed then.
    for (const collection of dropped) {
      const { recovering } = collection
      if (recovering) this.#discards.add(recovering, checkpointer.whenIdle(), () => collection.letGo())
    }
    for (const id of ids) this.#discards.after(() => collections.removeCalibrations(id))
    if (this.#host.phase() === 'open') this.#releaseDropped(dropped)
  }

  #rename({ promotedId, replacedId }: CollectionPromoted): void {
    for (const id of [promotedId, replacedId]) {
      const entry = this.#now.byId(id)
      if (entry) this.#host.collections.get(id)?.rename(entry)
    }
  }

  async #create(lsn: number, event: CollectionCreated | CollectionRestored): Promise<void> {
    const { collections, backups } = this.#host
    const entry = entryOf(lsn, event)
    // A replay does not build a collection that the log deletes later: its image may be gone.
    const replica =
      this.#ahead === undefined || this.#ahead.byId(entry.id) ? await backups.firstReplica(entry) : undefined
    this.#now.apply(lsn, event)
    this.#nextCollectionId = Math.max(this.#nextCollectionId, this.#now.nextCollectionId)
    // During a replay, more records of the collection may follow.
    if (replica) collections.begin(entry, replica, this.#host.phase() === 'open' ? 'ready' : 'loading')
  }

  /**
   * Frees the disk space of deleted collections: their images now, their parts of checkpoints with the next checkpoint.
   */
  #releaseDropped(dropped: readonly LocalCollection[]): void {
    const { backups, checkpointer } = this.#host
    for (const { recovering } of dropped) checkpointer.recordDeletion(recovering?.bytes() ?? {})
    if (dropped.some(({ entry }) => entry.restored)) this.#discards.after(() => backups.dropped())
  }

  /** Resolves when the files of deleted collections are removed. */
  settled(): Promise<void> {
    return this.#discards.settled()
  }
}
