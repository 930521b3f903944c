// One collection as its users see it: validates input, passes the write gate, reserves memory and commits.
import { runInTurns } from '@annal/wal'
import { Calibrator } from '../calibration/calibrator.ts'
import { parseCalibrate } from '../calibration/parse-calibrate.ts'
import type { CalibrationQueue } from '../calibration/queue.ts'
import type { CalibrationStore } from '../calibration/store.ts'
import type { Committer } from '../commit.ts'
import { type Embedder, hasTextQuery } from '../embed/embedder.ts'
import { EngineError } from '../errors.ts'
import { withActor, writtenBy } from '../events/author.ts'
import type { ObjectEvent } from '../events/event.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import type { RestoredContent } from '../history/undo.ts'
import { changedFields, parseDefaults, rebuiltFields } from '../input/definition.ts'
import type { FilterUpdatesInput } from '../input/filter-updates.ts'
import type { ObjectsInput } from '../input/objects.ts'
import type { PatchesInput } from '../input/patches.ts'
import { expiredIdsMax, type Limits, minLsnWaitMs, searchesMax } from '../limits.ts'
import type { PastCollection } from '../model/as-of.ts'
import type { CalibrateRequest, CalibrationTable, FieldCalibration, ReceivedQueries } from '../model/calibration.ts'
import type { Collection, DefaultChanges, FieldChanges, RebuildChanges, RebuildStatus } from '../model/collection.ts'
import type { ReceivedSearch } from '../model/engine.ts'
import type { Fields } from '../model/fields.ts'
import type { Filter } from '../model/filter.ts'
import { checkBatch, parseIds } from '../model/ids.ts'
import type { AsOf, AsOfOptions } from '../model/moment.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { Acknowledgement, CollectionDescription, ConditionalReply, StoredObject } from '../model/object.ts'
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
  SearchRequest,
  SearchResult,
} from '../model/query.ts'
import type { ConditionalOptions, DeleteOptions, RequestFacts, WriteOptions } from '../model/requests.ts'
import { type FieldSchema, ttlOf } from '../model/schema.ts'
import { asOfBatch, asOfPage } from '../past/parse-as-of.ts'
import type { Replica, ReplicaHost } from '../replica/replica.ts'
import { claimOf } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { objectBytes, RepeatableRoom } from '../search/answer-room.ts'
import { countMatching, isCountRequest } from '../search/count.ts'
import { countFacets, countFacetsAtOnce, parseFacets } from '../search/facets.ts'
import { VersionMoved } from '../search/field-groups.ts'
import { parseConditions, withMatches } from '../search/match-texts.ts'
import { neighborsOf } from '../search/neighbors.ts'
import { parseContents } from '../search/parse-contents.ts'
import { measureRecall, parseRecall } from '../search/recall.ts'
import { needsWholeVersion, parseSearch, type SearchPlanInput } from '../search/request.ts'
import { parseScroll, scroll } from '../search/scroll.ts'
import { searchAll } from '../search/search.ts'
import { searchAtOnce } from '../search/search-at-once.ts'
import { storedObjects } from '../search/stored.ts'
import { type CollectionBirth, CollectionLife } from './life.ts'
import { ObjectWrites } from './object-writes.ts'
import { Rebuilder, type Rebuilt } from './rebuilder.ts'
import type { StateDigests } from './state-digests.ts'
import { noRoom } from './write-memory.ts'
import { CollectionWriter, type Draft, needsOf, noFilters, roomOf } from './writer.ts'

/** Opens the collection at an earlier moment. */
export type OpenPast = (asOf: AsOf, options: AsOfOptions | undefined) => Promise<PastCollection>

export class LocalCollection extends CollectionLife implements Collection {
  readonly #limits: Limits
  readonly #embedder: Embedder
  readonly #writer: CollectionWriter
  readonly #writes: ObjectWrites
  readonly #onSearch: ((search: ReceivedSearch) => void) | undefined
  readonly #openPast: OpenPast
  readonly #rebuilder: Rebuilder
  readonly #calibrator: Calibrator
  readonly #digests: StateDigests | undefined
  #repeating: Promise<unknown> = Promise.resolve()

  constructor(
    options: CollectionBirth & {
      readonly committer: Committer
      readonly limits: Limits
      readonly embedder: Embedder
      readonly keys: KeptRequests
      readonly host: ReplicaHost
      /** Absent where nobody compares digests. */
      readonly digests?: StateDigests | undefined
      readonly openPast: OpenPast
      readonly calibrations: CalibrationQueue
      readonly calibrationStore: CalibrationStore
      readonly onSearch?: ((search: ReceivedSearch) => void) | undefined
      /** Called when `calibrationTable` returns another table. */
      readonly onCalibrated?: ((collection: LocalCollection) => void) | undefined
    },
  ) {
    super(options)
    this.#limits = options.limits
    this.#embedder = options.embedder
    this.#digests = options.digests
    this.#writer = new CollectionWriter(this, {
      committer: options.committer,
      keys: options.keys,
      before: (lsn) => this.#digests?.before(lsn, this),
      onChanged: (objects) => this.#calibrator.addChanges(objects),
    })
    this.#writes = new ObjectWrites(this, this.#writer, options)
    this.#onSearch = options.onSearch
    this.#openPast = options.openPast
    this.#rebuilder = new Rebuilder(options.host, options.committer)
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

  async getMany(ids: readonly string[], options?: ContentOptions, room?: AnswerRoom): Promise<readonly StoredObject[]> {
    await this.served()
    const contents = parseContents(options)
    const { replica } = this
    const found = parseIds(ids)
      .map((id) => replica.find(id))
      .filter((ordinal) => ordinal >= 0)
    if (room) room.take(found.reduce((sum, ordinal) => sum + objectBytes(replica, ordinal, contents), 0))
    return storedObjects(replica, found, { contents })
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

  async waitFor(lsn: number, timeoutMs = minLsnWaitMs): Promise<void> {
    this.checkOpen()
    const wanted = wholeNumber(lsn, 'min_lsn', 0, Number.MAX_SAFE_INTEGER)
    // Usually a write of this collection, which was applied before it was acknowledged.
    if ((this.recovering?.lsnApplied ?? 0) >= wanted || (await this.#writer.committer.whenApplied(wanted, timeoutMs)))
      return
    const message = `record ${wanted} is not applied; the newest one is ${this.#writer.committer.lsnApplied}`
    const details = { field: 'min_lsn', value: wanted, limit: this.#writer.committer.lsnApplied }
    throw new EngineError(this.#writer.committer.isWritable ? 'lsn_not_reached' : 'replica_behind', message, details)
  }

  async search<Name extends string>(
    given: SearchRequest<Fields, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<Fields, Name>> {
    if (given?.asOf !== undefined) return (await this.asOf(given.asOf)).search(given, room)
    // Most searches wait for nothing, so they are not put off.
    if (!this.isReady) await this.loaded()
    const request = hasTextQuery(given) ? await this.#embedQuery(given) : given
    const input = parseSearch(request, this.definition, this.#limits)
    if (request.minLsn !== undefined) await this.waitFor(request.minLsn)
    if (needsWholeVersion(input) || this.replica.expiry.isDue) await this.published()
    this.#onSearch?.({ collectionId: this.entry.id, lsn: this.replica.lsnApplied, request })
    const result = searchAtOnce(this.replica, input, room) ?? (await this.#runSearches([request], [input], room))[0]
    // The result has the fields that were parsed from the request.
    return result as SearchResult<Fields, Name>
  }

  async #embedQuery<R extends SearchRequest>(given: R): Promise<R> {
    const [request = given] = await this.#embedder.embedQueries([given], this.definition, this.#limits)
    return request
  }

  /** Runs searches that begin in this turn, and so at the same version. If the version moved, they run again between two applies. */
  async #runSearches(
    requests: readonly SearchRequest[],
    inputs: readonly SearchPlanInput[],
    room: AnswerRoom | undefined,
  ): Promise<readonly SearchResult[]> {
    const repeatable = room && inputs.some(({ groups }) => groups) ? new RepeatableRoom(room) : undefined
    const caller = { room: repeatable ?? room, calibrator: this.#calibrator }
    try {
      return await searchAll(this.replica, inputs, caller)
    } catch (error) {
      if (!(error instanceof VersionMoved)) throw error
    }
    repeatable?.repeat()
    // Writers go on appending; what they append is applied afterwards.
    return this.gate.queue(0, async () => {
      this.checkOpen()
      const again = requests.map((request) => parseSearch(request, this.definition, this.#limits))
      return searchAll(this.replica, again, caller)
    })
  }

  async searchBatch(given: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]> {
    checkBatch(given, 'searches', searchesMax)
    const asOf = asOfBatch(given)
    if (asOf !== undefined) return (await this.asOf(asOf)).searchBatch(given, room)
    await this.loaded()
    const requests = await this.#embedder.embedQueries(given, this.definition, this.#limits)
    const searches = requests.map((request) => parseSearch(request, this.definition, this.#limits))
    for (const { minLsn } of requests) if (minLsn !== undefined) await this.waitFor(minLsn)
    if (searches.some(needsWholeVersion) || this.replica.expiry.isDue) {
      await this.published()
      // Not awaited for the second search, when the first one already has its version.
      this.replica.publish()
    }
    for (const request of requests)
      this.#onSearch?.({ collectionId: this.entry.id, lsn: this.replica.lsnApplied, request })
    return this.#runSearches(requests, searches, room)
  }

  count(filter?: Filter): { readonly count: number; readonly lsn: number }
  count(request: CountRequest): Promise<{ readonly count: number; readonly lsn: number }>
  count(given: Filter | CountRequest = []) {
    if (isCountRequest(given)) return this.#countMatching(given)
    this.checkOpen()
    const { replica } = this
    const { count } = replica.filters.evaluate(parseFilter(given))
    return { count, lsn: replica.lsnApplied }
  }

  async #countMatching(request: CountRequest): Promise<{ readonly count: number; readonly lsn: number }> {
    await this.served()
    return countMatching(this.replica, parseConditions(request, this.definition))
  }

  async facets(request: FacetRequest): Promise<Facets> {
    if (request?.asOf !== undefined) return (await this.asOf(request.asOf)).facets(request)
    await this.served()
    const input = parseFacets(request, this.definition)
    const quick = await countFacetsAtOnce(this.replica, input)
    if (quick) return quick
    // Between two applies the filters stay those of one version, however many turns it takes. Writers go on appending.
    return this.gate.queue(0, async () => {
      this.checkOpen()
      const { replica } = this
      if (input.texts.length === 0) return runInTurns(countFacets(replica, input))
      return withMatches(replica, input, ({ bitmap }) => runInTurns(countFacets(replica, input, bitmap)))
    })
  }

  async scroll(request: ScrollRequest = {}, room?: AnswerRoom): Promise<ScrollPage> {
    // The parser of requests refuses null.
    const asOf = asOfPage(request ?? {})
    if (asOf !== undefined) return (await this.asOf(asOf)).scroll(request, room)
    await this.served()
    return scroll(this.replica, parseScroll(request, this.definition, this.#limits), room)
  }

  async asOf(asOf: AsOf, options?: AsOfOptions): Promise<PastCollection> {
    this.checkOpen()
    return this.#openPast(asOf, options)
  }

  async recall(request: RecallRequest = {}): Promise<RecallReport> {
    if (request?.asOf !== undefined) return (await this.asOf(request.asOf)).recall(request)
    await this.served()
    return measureRecall(this.replica, parseRecall(request, this.definition, this.#limits))
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
    this.checkOpen()
    return neighborsOf(this.replica, field, id)
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
    if (room.objects > 0) await replica.prepare(room)
    replica.reserve(room, needsOf(event))
    await replica.apply(lsn, event)
    if (event.kind === 'objects-upserted' || event.kind === 'objects-deleted' || event.kind === 'objects-expired')
      this.#calibrator.addChanges(event.ids.length)
    if (event.kind === 'objects-restored') this.#calibrator.addChanges(event.ids.length + event.deleted.length)
  }

  /** Applies the record of a rebuild, during a replay or of another node. */
  async replayRebuild(lsn: number, fields: readonly FieldSchema[]): Promise<void> {
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

function acknowledgementOf({ lsn, durable }: Acknowledgement): Acknowledgement {
  return { lsn, durable }
}
