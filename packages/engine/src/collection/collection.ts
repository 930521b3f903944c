// One collection as its users see it: validates input, passes the write gate, reserves memory and commits.

import type { MemoryGuard } from '../admission/memory-guard.ts'
import { Calibrator } from '../calibration/calibrator.ts'
import { parseCalibrate } from '../calibration/parse-calibrate.ts'
import type { CalibrationQueue } from '../calibration/queue.ts'
import type { CalibrationStore } from '../calibration/store.ts'
import { codeDiskErrors } from '../disk-errors.ts'
import { withActor, writtenBy } from '../events/author.ts'
import type { RestoredContent } from '../history/undo.ts'
import { changedFields, parseDefaults, rebuiltFields } from '../input/definition.ts'
import type { FilterUpdatesInput } from '../input/filter-updates.ts'
import type { ObjectsInput } from '../input/objects.ts'
import type { PatchesInput } from '../input/patches.ts'
import { expiredIdsMax, type Limits } from '../limits.ts'
import type { PastCollection } from '../model/as-of.ts'
import type { CalibrateRequest, CalibrationTable, FieldCalibration, ReceivedQueries } from '../model/calibration.ts'
import type { Collection, DefaultChanges, FieldChanges, RebuildChanges, RebuildStatus } from '../model/collection.ts'
import type { ObjectEvent } from '../model/event.ts'
import type { Fields } from '../model/fields.ts'
import type { Filter } from '../model/filter.ts'
import type { AsOf, AsOfOptions } from '../model/moment.ts'
import type { Acknowledgement, CollectionDescription, ConditionalReply, StoredObject } from '../model/object.ts'
import type { SearchRequest } from '../model/query.ts'
import type {
  AnswerRoom,
  ContentOptions,
  CountRequest,
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
} from '../model/reads.ts'
import type { ConditionalOptions, DeleteOptions, RequestFacts, WriteOptions } from '../model/requests.ts'
import { type FieldSchema, ttlOf } from '../model/schema.ts'
import type { SearchResult } from '../model/search-result.ts'
import type { Replica, ReplicaHost } from '../replica/replica.ts'
import { claimOf } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { isCountRequest } from '../search/count.ts'
import { CollectionReads, type ReadsOptions } from './collection-reads.ts'
import { type CollectionBirth, CollectionLife } from './life.ts'
import { ObjectWrites } from './object-writes.ts'
import { memoryOfRebuild, Rebuilder, type Rebuilt } from './rebuilder.ts'
import type { StateDigests } from './state-digests.ts'
import { memoryNeedOf, noRoom } from './write-memory.ts'
import { CollectionWriter, type Draft, needsOf, noFilters, roomOf } from './writer.ts'

export class LocalCollection extends CollectionLife implements Collection {
  readonly #limits: Limits
  readonly #writer: CollectionWriter
  readonly #writes: ObjectWrites
  readonly #reads: CollectionReads
  readonly #rebuilder: Rebuilder
  readonly #calibrator: Calibrator
  readonly #digests: StateDigests | undefined
  readonly #memory: MemoryGuard
  #repeating: Promise<unknown> = Promise.resolve()

  constructor(
    options: CollectionBirth &
      ReadsOptions & {
        readonly keys: KeptRequests
        readonly host: ReplicaHost
        readonly memory: MemoryGuard
        /** Absent where nobody compares digests. */
        readonly digests?: StateDigests | undefined
        readonly calibrations: CalibrationQueue
        readonly calibrationStore: CalibrationStore
        /** Called when `calibrationTable` returns another table. */
        readonly onCalibrated?: ((collection: LocalCollection) => void) | undefined
      },
  ) {
    super(options)
    this.#limits = options.limits
    this.#digests = options.digests
    this.#memory = options.memory
    this.#writer = new CollectionWriter(this, {
      committer: options.committer,
      memory: options.memory,
      keys: options.keys,
      before: (lsn) => this.#digests?.before(lsn, this),
      onChanged: (objects) => this.#calibrator.addChanges(objects),
    })
    this.#writes = new ObjectWrites(this, this.#writer, options)
    this.#rebuilder = new Rebuilder(options.host, options)
    this.#calibrator = new Calibrator({
      queue: options.calibrations,
      store: options.calibrationStore,
      collectionId: this.entry.id,
      replica: () => {
        this.checkOpen()
        return this.replica
      },
      onTable: () => {
        if (this.condition === 'ready' && !this.isClosed) options.onCalibrated?.(this)
      },
    })
    this.#reads = new CollectionReads(this, this.#calibrator, options)
  }

  withMetadata<M extends object | undefined>(): Collection<Fields, M> {
    // The type of metadata is a claim of the caller; the collection that answers is the same.
    return this as unknown as Collection<Fields, M>
  }

  describe(): CollectionDescription {
    this.checkOpen()
    const { definition } = this
    const { createdAtMs } = this.entry
    const { reason, recovering: replica } = this
    return {
      name: this.name,
      fields: definition.fields.map((field, index) => ({
        ...field,
        elements: replica?.rowsAt(index) ?? this.coming?.elements[index] ?? 0,
      })),
      ...ttlOf(definition),
      objects: this.objects,
      createdAt: createdAtMs,
      lsn: replica?.lsnApplied ?? 0,
      memory: replica?.bytes() ?? {},
      condition: this.condition,
      ...(reason !== undefined && { reason }),
    }
  }

  upsert(
    objects: ObjectsInput,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly upserted: number }> {
    return this.#writes.upsert(objects, options)
  }

  patch(
    patches: PatchesInput,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly updated: number }> {
    return this.#writes.patch(patches, options)
  }

  get(id: string, options?: ContentOptions, room?: AnswerRoom): Promise<StoredObject | undefined>
  get(ids: readonly string[], options?: ContentOptions, room?: AnswerRoom): Promise<readonly StoredObject[]>
  async get(idOrIds: string | readonly string[], options?: ContentOptions, room?: AnswerRoom) {
    if (Array.isArray(idOrIds)) return this.getMany(idOrIds, options, room)
    return (await this.getMany([idOrIds as string], options, room))[0]
  }

  getMany(ids: readonly string[], options?: ContentOptions, room?: AnswerRoom): Promise<readonly StoredObject[]> {
    return this.#reads.getMany(ids, options, room)
  }

  delete(
    ids: readonly string[],
    options?: DeleteOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly deleted: readonly string[] }> {
    return this.#writes.delete(ids, options)
  }

  deleteWhere(filter: Filter, options?: WriteOptions): Promise<Acknowledgement & { readonly deleted: number }> {
    return this.#writes.deleteWhere(filter, options)
  }

  updateFilters(
    updates: FilterUpdatesInput,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    return this.#writes.updateFilters(updates, options)
  }

  replaceFilters(
    updates: FilterUpdatesInput,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    return this.updateFilters(updates, options)
  }

  /**
   * Commits the same change as a record of another log. Calls take effect in their order, without waiting for each
   * other.
   */
  repeat(event: ObjectEvent): Promise<Acknowledgement> {
    const begun = this.#repeating.then(async () => {
      await this.served()
      const { timeMs: _, ...same } = event
      const draft: Draft = { ...same, collectionId: this.entry.id }
      const room = roomOf(draft, this.replica)
      const needs = needsOf(draft)
      return this.#writer.begin(draft, room, needs)
    })
    this.#repeating = begun.catch(() => undefined)
    return begun.then(async ({ written }) => {
      const { lsn, durable } = await written
      return { lsn, durable }
    })
  }

  waitFor(lsn: number, timeoutMs?: number): Promise<void> {
    return this.#reads.waitFor(lsn, timeoutMs)
  }

  search<Name extends string>(
    request: SearchRequest<Fields, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<Fields, Name>> {
    return this.#reads.search(request, room)
  }

  searchBatch(requests: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]> {
    return this.#reads.searchBatch(requests, room)
  }

  count(filter?: Filter): { readonly count: number; readonly lsn: number }
  count(request: CountRequest): Promise<{ readonly count: number; readonly lsn: number }>
  count(given: Filter | CountRequest = []) {
    return isCountRequest(given) ? this.#reads.countMatching(given) : this.#reads.count(given)
  }

  facets(request: FacetRequest): Promise<Facets> {
    return this.#reads.facets(request)
  }

  scroll(request: ScrollRequest = {}, room?: AnswerRoom): Promise<ScrollPage> {
    return this.#reads.scroll(request, room)
  }

  asOf(asOf: AsOf, options?: AsOfOptions): Promise<PastCollection> {
    return this.#reads.asOf(asOf, options)
  }

  recall(request: RecallRequest = {}): Promise<RecallReport> {
    return this.#reads.recall(request)
  }

  async calibrate(request: CalibrateRequest = {}): Promise<FieldCalibration> {
    await this.served()
    return this.#calibrator.calibrate(parseCalibrate(request, this.definition, this.#limits))
  }

  calibrations(): readonly FieldCalibration[] {
    this.checkOpen()
    return this.#calibrator.describe()
  }

  /** For the counts of the engine; empty while the collection does not serve. */
  calibrationCounts(): {
    readonly states: readonly FieldCalibration['state'][]
    readonly searches: number
    readonly unreachable: number
  } {
    const serves = this.condition === 'ready' && !this.isClosed
    return {
      states: serves ? this.#calibrator.describe().map(({ state }) => state) : [],
      ...this.#calibrator.counts,
    }
  }

  /** The measurements from which other threads choose ef. */
  calibrationTable(): CalibrationTable {
    return this.#calibrator.table()
  }

  /** Takes the queries of searches that other threads ran. */
  receiveQueries(queries: ReceivedQueries): void {
    if (this.condition === 'ready' && !this.isClosed) this.#calibrator.receive(queries)
  }

  /** Continues with the calibrations that an earlier process kept. */
  async loadCalibrations(): Promise<void> {
    if (this.condition === 'ready') await this.#calibrator.load()
  }

  neighbors(field: string, id: string): readonly string[] {
    return this.#reads.neighbors(field, id)
  }

  neighbours(field: string, id: string): readonly string[] {
    return this.neighbors(field, id)
  }

  async updateFields(changes: FieldChanges, options?: WriteOptions): Promise<Acknowledgement> {
    await this.served()
    this.#writer.committer.checkWritable()
    changedFields(this.definition, changes)
    return this.#writer.once(
      options,
      () => ['updateFields', JSON.stringify(changes)],
      (claim) => this.#updateFields(changes, claim),
    )
  }

  async updateDefaults(changes: DefaultChanges, options?: WriteOptions): Promise<Acknowledgement> {
    await this.served()
    this.#writer.committer.checkWritable()
    const ttlSeconds = parseDefaults(changes)
    if (ttlSeconds === undefined) return this.#writer.nothingToDo()
    return this.#writer.once(
      options,
      () => ['updateDefaults', JSON.stringify({ ttlSeconds })],
      (claim) => this.#updateTtl(ttlSeconds ?? undefined, claim),
    )
  }

  async #updateTtl(ttlSeconds: number | undefined, claim: Claim | undefined): Promise<Acknowledgement> {
    const { written } = await this.gate.hold(async () => {
      this.checkOpen()
      const { definition } = this.replica
      if (definition.ttlSeconds === ttlSeconds) return { written: undefined }
      const { fields } = definition
      const draft = {
        kind: 'fields-changed',
        collectionId: this.entry.id,
        fields,
        ...ttlOf({ ttlSeconds }),
      } as const
      return { written: this.#writer.commit(draft, noRoom, noFilters, { claim }) }
    })
    if (!written) return this.#writer.nothingToDo()
    const { lsn, durable } = await written
    return { lsn, durable }
  }

  /**
   * Deletes objects for good that have expired by a time, as many as one record takes. Returns their number. Objects are chosen as of every
   * earlier write.
   */
  async deleteExpired(timeMs: number): Promise<number> {
    if (this.condition !== 'ready' || this.isClosed || !this.#writer.committer.isWritable) return 0
    if (this.replica.expiry.first > timeMs) return 0
    const { written, count } = await this.gate.hold(async () => {
      this.checkOpen()
      const { replica } = this
      const ordinals = replica.storedFilters.expiredBy(timeMs).bitmap.toOrdinals().subarray(0, expiredIdsMax)
      if (ordinals.length === 0) return { written: undefined, count: 0 }
      const ids = Array.from(ordinals, (ordinal) => replica.objects.idAt(ordinal))
      const draft = { kind: 'objects-expired', collectionId: this.entry.id, ids } as const
      return { written: this.#writer.commit(draft, noRoom, noFilters), count: ids.length }
    })
    await written
    return count
  }

  async #updateFields(changes: FieldChanges, claim: Claim | undefined): Promise<Acknowledgement> {
    // When every earlier change is applied: a rebuild may have changed the fields, and so may a call like this one.
    const { written } = await this.gate.hold(async () => {
      this.checkOpen()
      const fields = changedFields(this.replica.definition, changes)
      const kept = ttlOf(this.replica.definition)
      const draft = fields && ({ kind: 'fields-changed', collectionId: this.entry.id, fields, ...kept } as const)
      return { written: draft && this.#writer.commit(draft, noRoom, noFilters, { claim }) }
    })
    if (!written) return this.#writer.nothingToDo()
    const { lsn, durable } = await written
    return { lsn, durable }
  }

  async rebuild(changes: RebuildChanges = {}, options?: WriteOptions): Promise<Acknowledgement> {
    if (typeof options?.requestKey !== 'string')
      return acknowledgementOf(await withActor(options?.actor, () => this.#rebuild(changes, options)))
    const parts = () => ['rebuild', JSON.stringify(changes)]
    const write = async (claim: Claim | undefined) =>
      acknowledgementOf(await this.#rebuild(changes, { requestKey: claim }))
    return this.#writer.once(options, parts, write, acknowledgementOf)
  }

  async #rebuild(changes: RebuildChanges, options: WriteOptions | undefined): Promise<Rebuilt> {
    const claim = claimOf(options)
    // Awaited only when it must wait: otherwise the status reports the running rebuild in the same turn.
    if (this.condition === 'loading') await this.served()
    this.checkOpen()
    this.#writer.committer.checkWritable()
    const fields = () => rebuiltFields(this.replica.definition, changes)
    // Refuses wrong changes at once.
    fields()
    return this.#rebuilder.run(fields, this, claim)
  }

  async vacuum(options?: WriteOptions): Promise<Rebuilt> {
    if (typeof options?.requestKey !== 'string') return withActor(options?.actor, () => this.#rebuild({}, options))
    return this.#writer.once(
      options,
      () => ['vacuum'],
      (claim) => this.#rebuild({}, { requestKey: claim }),
    )
  }

  /** Commits what `plan` finds when every earlier write is applied; later ones wait for it. */
  async restoreObjects<Facts extends RequestFacts>(
    plan: (live: Replica) => Promise<{ readonly content: RestoredContent | undefined; readonly facts: Facts }>,
    claim: Claim | undefined,
  ): Promise<Acknowledgement & Facts> {
    this.#writer.committer.checkWritable()
    const { written, facts } = await this.gate.hold(async () => {
      this.checkOpen()
      const { content, facts } = await plan(this.replica)
      if (content === undefined) return { written: undefined, facts }
      const draft = { kind: 'objects-restored', collectionId: this.entry.id, ...content } as const
      const room = roomOf(draft, this.replica)
      await this.replica.prepare(this.#writer.roomWith(room))
      return { written: this.#writer.commit(draft, room, needsOf(draft), { claim, facts }), facts }
    })
    if (!written) return { ...this.#writer.nothingToDo(), ...facts }
    const { lsn, durable } = await written
    return { lsn, durable, ...facts }
  }

  /** Starts a vacuum when most of the collection is dead. Its status reports the outcome. */
  vacuumWhenDue(): void {
    if (this.isClosed || !this.recovering || !this.#rebuilder.isDue(this.recovering)) return
    // A refusal is in the status; a later write checks again.
    writtenBy(undefined, () => this.rebuild()).catch(() => undefined)
  }

  /** Runs a rebuild for a record of another log, after everything that was repeated before it. */
  repeatRebuild(fields: readonly FieldSchema[]): Promise<Acknowledgement> {
    const done = this.#repeating.then(async () => {
      await this.served()
      return acknowledgementOf(await this.#rebuilder.run(() => fields, this))
    })
    this.#repeating = done.catch(() => undefined)
    return done
  }

  rebuildStatus(): RebuildStatus {
    return this.#rebuilder.status
  }

  /**
   * Applies a change that another node appended, while this collection serves. Memory is reserved first, as that node did
   * before it appended: an error then leaves the replica unchanged.
   */
  async applyTailed(lsn: number, event: ObjectEvent): Promise<void> {
    const { recovering: replica } = this
    if (!replica) return
    await this.#digests?.before(lsn, this)
    const room = roomOf(event, replica)
    if (room.objects > 0) {
      this.#memory.checkUnavoidable('a record of another node', memoryNeedOf(room, replica).growth)
      await replica.prepare(room)
    }
    replica.reserve(room, needsOf(event))
    await replica.apply(lsn, event)
    if (event.kind === 'objects-upserted' || event.kind === 'objects-deleted' || event.kind === 'objects-expired')
      this.#calibrator.addChanges(event.ids.length)
    if (event.kind === 'objects-restored') this.#calibrator.addChanges(event.ids.length + event.deleted.length)
  }

  /** Applies the record of a rebuild, during a replay or of another node. */
  async replayRebuild(lsn: number, fields: readonly FieldSchema[]): Promise<void> {
    if (this.recovering) this.#memory.checkUnavoidable('a rebuild', memoryOfRebuild(this.recovering))
    if (this.recovering) this.replace(await this.#rebuilder.build(this.recovering, fields, () => this.checkOpen()), lsn)
  }

  /** Also when nothing from before a rebuild remains. */
  override async settled(): Promise<void> {
    await super.settled()
    await this.#rebuilder.settled()
    await this.#calibrator.settled()
  }

  replace(made: Replica, lsn: number): void {
    const old = this.exchange(made, lsn)
    if (old) this.#rebuilder.discard(old)
    this.#calibrator.changed()
  }

  stateDigest(): string {
    this.checkOpen()
    return this.replica.digest()
  }
}

// A search makes one promise. Its own code does the same.
codeDiskErrors(LocalCollection, { except: 'search' })

function acknowledgementOf({ lsn, durable }: Acknowledgement): Acknowledgement {
  return { lsn, durable }
}
