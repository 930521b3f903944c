// The core of an engine: makes each part once, and has the calls of databases, the control plane, and recovery. The calls of users are in
// ../engine.ts.
import type { LogRecord } from '@annal/wal'
import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { EngineBackups } from '../backup/engine-backups.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogWrites } from '../catalog-writes.ts'
import type { LocalCollection } from '../collection/collection.ts'
import type { Collections } from '../collection/collections.ts'
import type { ExpiryJob } from '../collection/expiry-job.ts'
import { StateDigests } from '../collection/state-digests.ts'
import type { CatalogDraft, CommitOptions, Committer } from '../commit.ts'
import { LocalControl, refuseDatabase } from '../control.ts'
import { LocalDatabase } from '../database.ts'
import { codedDiskError } from '../disk-errors.ts'
import type { Embedder } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { isControlEvent } from '../events/control-codec.ts'
import type { ChangeFeed } from '../feed/change-feed.ts'
import type { FeedCursors } from '../feed/feed-cursors.ts'
import { LogBook } from '../history/log-book.ts'
import type { Limits } from '../limits.ts'
import type { ControlChange } from '../model/control.ts'
import type { Database } from '../model/database.ts'
import type { CatalogEvent, ControlEvent, Event } from '../model/event.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { PastDoor } from '../past/past-collection.ts'
import type { PastStates } from '../past/past-states.ts'
import type { RecentPast } from '../past/recent-past.ts'
import type { KeptRequests } from '../requests/request-keys.ts'
import type { Checkpointer } from '../snapshot/checkpointer.ts'
import { TailApplier, type TailTarget } from '../tail-applier.ts'
import { createBackups } from './backups.ts'
import { createCursors, createFeed } from './changes.ts'
import { createCheckpointer } from './checkpoints.ts'
import { createCollections } from './collections.ts'
import { createCatalogWrites, createRequestKeys } from './commits.ts'
import type { Foundation } from './foundation.ts'
import type { EngineHost } from './host.ts'
import { createMemoryGuard } from './memory.ts'
import { createPast, createPastStates, createRecentPast } from './past.ts'

export class EngineCore implements EngineHost, TailTarget {
  readonly base: Foundation
  readonly limits: Limits
  readonly embedder: Embedder
  readonly memory: MemoryGuard
  readonly control: LocalControl
  readonly creating = new Set<string>()
  readonly naming = new Map<string, number>()
  readonly keys: KeptRequests
  readonly checkpointer: Checkpointer
  readonly backups: EngineBackups
  readonly book: LogBook
  readonly feed: ChangeFeed
  readonly cursors: FeedCursors
  readonly recent: RecentPast
  readonly pastStates: PastStates
  readonly past: PastDoor
  readonly digests: StateDigests | undefined
  readonly collections: Collections
  readonly catalogWrites: CatalogWrites
  expiry: ExpiryJob | undefined
  #tail: TailApplier | undefined

  /** The order matters: a part that is made here may use those made after it only later, when it is called. */
  constructor(base: Foundation) {
    const { digestEvery } = base.parts
    this.base = base
    this.limits = base.limits
    this.embedder = base.embedder
    this.memory = createMemoryGuard(this)
    this.control = new LocalControl(this)
    this.keys = createRequestKeys(this)
    this.checkpointer = createCheckpointer(this)
    this.backups = createBackups(this)
    this.book = new LogBook(this.backups.host.side)
    this.feed = createFeed(this)
    this.cursors = createCursors(this)
    this.recent = createRecentPast(base)
    this.pastStates = createPastStates(this)
    this.past = createPast(this)
    this.digests = digestEvery === undefined ? undefined : new StateDigests(digestEvery)
    this.collections = createCollections(this)
    this.catalogWrites = createCatalogWrites(this)
  }

  get catalog(): Catalog {
    return this.catalogWrites.now
  }

  get catalogAhead(): Catalog {
    return this.catalogWrites.ahead
  }

  get hasFiles(): boolean {
    return this.base.hasFiles
  }

  database(name: string): Database {
    this.checkOpen()
    return new LocalDatabase(this.catalogAhead.database(name) ?? refuseDatabase(name), this)
  }

  loaded(id: number): LocalCollection | undefined {
    return this.collections.get(id)
  }

  nextCollectionId(): number {
    return this.catalogWrites.nextCollectionId()
  }

  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.catalogWrites.commit(makeDraft, options)
  }

  commitAlone(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement> {
    return this.catalogWrites.commitAlone(makeDraft, options)
  }

  checkOpen(): void {
    this.base.checkOpen()
  }

  checkBackups(): void {
    this.base.checkBackups()
  }

  checkHistory(): void {
    this.base.checkHistory()
  }

  checkWritable(): void {
    this.base.checkWritable()
  }

  applyCatalog(lsn: number, event: CatalogEvent): Promise<void> {
    this.digests?.note(lsn, event)
    return this.catalogWrites.apply(lsn, event)
  }

  applied(event: Event, bytes: number): void {
    this.checkpointer.recordApplied(event, bytes)
    if (this.base.phase !== 'open' || !('collectionId' in event)) return
    // Its record comes from the node that leads.
    if (this.base.committer?.isWritable) this.collections.get(event.collectionId)?.vacuumWhenDue()
  }

  async applyTailed(records: readonly LogRecord[]): Promise<void> {
    this.checkOpen()
    // An engine that closes stops where it is; the rest is applied when it is opened again.
    this.#tail ??= new TailApplier(this, this.base.committer as Committer, (error) => {
      const isClosed = error instanceof EngineError && error.code === 'closed'
      if (!this.base.isClosing && !isClosed) this.fail(error)
    })
    for (const record of records) {
      await this.#tail.apply(record)
      if (this.base.isClosing) throw new EngineError('closed', 'the engine is closing')
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

  fail(error: Error): void {
    const { base } = this
    if (base.failure) return
    const failure = codedDiskError(error) as Error
    base.failure = failure
    this.feed.close()
    base.hub?.close()
    base.options.onFailed?.(failure)
  }
}

function isAnnounced(event: ControlEvent): event is Extract<ControlEvent, { readonly kind: ControlChange['kind'] }> {
  return 'databaseId' in event && event.kind !== 'cursor-put' && event.kind !== 'cursor-dropped'
}
