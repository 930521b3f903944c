// One collection as its users see it: validates input, passes the write gate, reserves memory and commits.
import { collectInSlices, freeBuffer, runInTurns, TimeSlice } from '@annal/wal'
import { Calibrator } from '../calibration/calibrator.ts'
import { parseCalibrate } from '../calibration/parse-calibrate.ts'
import type { CalibrationQueue } from '../calibration/queue.ts'
import type { CalibrationStore } from '../calibration/store.ts'
import type { CommitOptions, Committer, EventDraft } from '../commit.ts'
import { EngineError } from '../errors.ts'
import type { ObjectEvent } from '../events/event.ts'
import { columnBytes, upsertPieces, upsertPiecesFrom } from '../events/upsert-pieces.ts'
import { FilterNeeds } from '../filter/filter-needs.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { parseFilterValues } from '../filter/values.ts'
import { changedFields, rebuiltFields } from '../input/definition.ts'
import { type FilterTexts, type FilterUpdatesInput, parseFilterUpdates } from '../input/filter-updates.ts'
import { type ObjectsInput, parseObjects } from '../input/objects.ts'
import { type Limits, minLsnWaitMs, searchesMax } from '../limits.ts'
import type { CalibrateRequest, CalibrationTable, FieldCalibration, ReceivedQueries } from '../model/calibration.ts'
import type { Collection, FieldChanges, RebuildChanges, RebuildStatus } from '../model/collection.ts'
import type { ReceivedSearch } from '../model/engine.ts'
import type { Fields } from '../model/fields.ts'
import type { Filter } from '../model/filter.ts'
import { checkBatch, parseIds } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { Acknowledgement, CollectionDescription, StoredObject } from '../model/object.ts'
import type {
  AnswerRoom,
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
  SearchRequest,
  SearchResult,
} from '../model/query.ts'
import type { RecordedRequest, WriteOptions } from '../model/requests.ts'
import type { FieldSchema } from '../model/schema.ts'
import type { Applied, Replica, ReplicaHost } from '../replica/replica.ts'
import { choiceOf, chosen } from '../requests/choice.ts'
import { claimOf, keyed } from '../requests/keyed.ts'
import type { Claim, KeptRequests } from '../requests/request-keys.ts'
import { objectBytes } from '../search/answer-room.ts'
import { countFacets, parseFacets } from '../search/facets.ts'
import { neighborsOf } from '../search/neighbors.ts'
import { measureRecall, parseRecall } from '../search/recall.ts'
import { needsWholeVersion, parseSearch } from '../search/request.ts'
import { parseScroll, scroll } from '../search/scroll.ts'
import { search } from '../search/search.ts'
import { storedObjects } from '../search/stored.ts'
import { type CollectionBirth, CollectionLife } from './life.ts'
import { Rebuilder, type Rebuilt } from './rebuilder.ts'
import { added, noRoom, type Room, roomFor, roomForFilters } from './write-memory.ts'

const noFilters = new FilterNeeds()

type Draft = Extract<EventDraft, { kind: ObjectEvent['kind'] }>

export class LocalCollection extends CollectionLife implements Collection {
  readonly #committer: Committer
  readonly #limits: Limits
  readonly #keys: KeptRequests
  readonly #onSearch: ((search: ReceivedSearch) => void) | undefined
  readonly #rebuilder: Rebuilder
  readonly #calibrator: Calibrator
  #reserved: Room = noRoom
  #repeating: Promise<unknown> = Promise.resolve()

  constructor(
    options: CollectionBirth & {
      readonly committer: Committer
      readonly limits: Limits
      readonly keys: KeptRequests
      readonly host: ReplicaHost
      readonly calibrations: CalibrationQueue
      readonly calibrationStore: CalibrationStore
      readonly onSearch?: ((search: ReceivedSearch) => void) | undefined
      /** Called when `calibrationTable` returns another table. */
      readonly onCalibrated?: ((collection: LocalCollection) => void) | undefined
    },
  ) {
    super(options)
    this.#committer = options.committer
    this.#limits = options.limits
    this.#keys = options.keys
    this.#onSearch = options.onSearch
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
      name: definition.name,
      fields: definition.fields.map((field, index) => ({
        ...field,
        elements: replica?.rowsAt(index) ?? this.coming?.elements[index] ?? 0,
      })),
      objects: this.objects,
      createdAt: createdAtMs,
      lsn: replica?.lsnApplied ?? 0,
      memory: replica?.bytes() ?? {},
      condition: this.condition,
      ...(reason !== undefined && { reason }),
    }
  }

  async upsert(
    objects: ObjectsInput,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly upserted: number }> {
    await this.loaded()
    this.#committer.checkWritable()
    const { columns, filters } = await parseObjects(objects, this.definition, this.#limits)
    const isLarge = columnBytes(columns) >= upsertPiecesFrom || typeof options?.requestKey === 'string'
    const pieces = isLarge ? await collectInSlices(upsertPieces(columns)) : undefined
    return this.#keyed(
      options,
      () => ['upsert', ...(pieces ?? [])],
      async (claim) => {
        if (columns.ids.length === 0) return { ...this.#nothingToDo(), upserted: 0 }
        const facts = { upserted: columns.ids.length }
        const { lsn, durable, result } = await this.#write(
          { kind: 'objects-upserted', collectionId: this.entry.id, ...columns },
          roomFor(columns),
          filters,
          { pieces, claim, facts },
        )
        // Written and applied. Only this call knows these columns.
        for (const { vectors } of [...columns.dense, ...columns.multi]) freeBuffer(vectors.buffer)
        return { lsn, durable, upserted: result.touched.length }
      },
    )
  }

  get(id: string, room?: AnswerRoom): Promise<StoredObject | undefined>
  get(ids: readonly string[], room?: AnswerRoom): Promise<readonly StoredObject[]>
  async get(idOrIds: string | readonly string[], room?: AnswerRoom) {
    if (Array.isArray(idOrIds)) return this.getMany(idOrIds, room)
    return (await this.getMany([idOrIds as string], room))[0]
  }

  async getMany(ids: readonly string[], room?: AnswerRoom): Promise<readonly StoredObject[]> {
    await this.served()
    const { replica } = this
    const found = parseIds(ids)
      .map((id) => replica.find(id))
      .filter((ordinal) => ordinal >= 0)
    if (room) room.take(found.reduce((sum, ordinal) => sum + objectBytes(replica, ordinal, true), 0))
    return storedObjects(replica, found)
  }

  async delete(
    ids: readonly string[],
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly deleted: readonly string[] }> {
    await this.served()
    this.#committer.checkWritable()
    const wanted = [...new Set(parseIds(ids))]
    return this.#keyed(
      options,
      () => ['delete', ...wanted],
      (claim) => (claim ? this.#deleteKeyed(wanted, claim) : this.#delete(wanted)),
      ({ lsn, durable, facts }) => ({ lsn, durable, deleted: chosen(wanted, facts.deleted) }),
    )
  }

  async #delete(wanted: readonly string[]): Promise<Acknowledgement & { readonly deleted: readonly string[] }> {
    // When no write is pending, unknown ids need no record.
    const found = this.gate.pending.events > 0 ? wanted : wanted.filter((id) => this.replica.find(id) >= 0)
    if (found.length === 0) return { ...this.#nothingToDo(), deleted: [] }
    const { lsn, durable, result } = await this.#write(
      { kind: 'objects-deleted', collectionId: this.entry.id, ids: found },
      noRoom,
      noFilters,
    )
    return { lsn, durable, deleted: result.touched }
  }

  /** The record states which ids existed, so they are determined between two writes. */
  async #deleteKeyed(
    wanted: readonly string[],
    claim: Claim,
  ): Promise<Acknowledgement & { readonly deleted: readonly string[] }> {
    const { written } = await this.gate.hold(async () => {
      this.checkOpen()
      const found = wanted.filter((id) => this.replica.find(id) >= 0)
      const facts = { deleted: choiceOf(wanted, found) }
      const draft = { kind: 'objects-deleted', collectionId: this.entry.id, ids: found } as const
      return { written: found.length === 0 ? undefined : this.#commit(draft, noRoom, noFilters, { claim, facts }) }
    })
    if (!written) return { ...this.#nothingToDo(), deleted: [] }
    const { lsn, durable, result } = await written
    return { lsn, durable, deleted: result.touched }
  }

  async deleteWhere(filter: Filter, options?: WriteOptions): Promise<Acknowledgement & { readonly deleted: number }> {
    await this.served()
    this.#committer.checkWritable()
    const conditions = parseFilter(filter)
    return this.#keyed(
      options,
      () => ['deleteWhere', JSON.stringify(filter)],
      (claim) => this.#deleteWhere(filter, conditions, claim),
    )
  }

  async #deleteWhere(
    filter: Filter,
    conditions: ReturnType<typeof parseFilter>,
    claim: Claim | undefined,
  ): Promise<Acknowledgement & { readonly deleted: number }> {
    if (filter.length === 0) return { ...this.#nothingToDo(), deleted: 0 }
    // The matching ids are determined after every earlier write is applied and before any later one is appended; the
    // log stores the ids.
    const { written } = await this.gate.hold(async () => {
      this.checkOpen()
      const ids = Array.from(this.replica.filters.evaluate(conditions).bitmap.toOrdinals(), (ordinal) =>
        this.replica.objects.idAt(ordinal),
      )
      const draft = { kind: 'objects-deleted', collectionId: this.entry.id, ids } as const
      const facts = { deleted: ids.length }
      return { written: ids.length === 0 ? undefined : this.#commit(draft, noRoom, noFilters, { claim, facts }) }
    })
    if (!written) return { ...this.#nothingToDo(), deleted: 0 }
    const { lsn, durable, result } = await written
    return { lsn, durable, deleted: result.touched.length }
  }

  async updateFilters(
    updates: FilterUpdatesInput,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    await this.served()
    this.#committer.checkWritable()
    const filters = await parseFilterUpdates(updates, this.#limits)
    return this.#keyed(
      options,
      () => ['updateFilters', ...[...filters].flat()],
      (claim) => (claim ? this.#updateFiltersKeyed(filters, claim) : this.#updateFilters(filters)),
    )
  }

  async #updateFilters(filters: FilterTexts): Promise<Acknowledgement & { readonly updated: number }> {
    const found: [string, string][] = []
    const needs = new FilterNeeds()
    const slice = new TimeSlice()
    for (const [id, text] of filters) {
      if (this.gate.pending.events === 0 && this.replica.find(id) < 0) continue
      found.push([id, text])
      if (text !== '') needs.add(parseFilterValues(text).values)
      if (slice.isOver) await slice.renew()
    }
    if (found.length === 0) return { ...this.#nothingToDo(), updated: 0 }
    const ids = found.map(([id]) => id)
    const texts = found.map(([, text]) => text)
    const draft: Draft = { kind: 'filters-replaced', collectionId: this.entry.id, ids, filters: texts }
    const { lsn, durable, result } = await this.#write(draft, roomForFilters(this.replica, ids, texts), needs)
    return { lsn, durable, updated: result.touched.length }
  }

  /** The record states how many ids existed, so they are determined between two writes. Space is reserved for all of them before. */
  async #updateFiltersKeyed(
    filters: FilterTexts,
    claim: Claim,
  ): Promise<Acknowledgement & { readonly updated: number }> {
    const needs = FilterNeeds.from(
      [...filters.values()].map((text) => (text === '' ? {} : parseFilterValues(text).values)),
    )
    for (;;) {
      const room = roomForFilters(this.replica, [...filters.keys()], [...filters.values()])
      await this.replica.prepare(added(this.#reserved, room, 1))
      const begun = await this.gate.hold(async () => {
        this.checkOpen()
        const found = [...filters].filter(([id]) => this.replica.find(id) >= 0)
        if (found.length === 0) return { written: undefined }
        const [ids, texts] = [found.map(([id]) => id), found.map(([, text]) => text)]
        const needed = roomForFilters(this.replica, ids, texts)
        // What an earlier write stored may need more space than was prepared.
        if (!this.replica.isPrepared(added(this.#reserved, needed, 1))) return undefined
        const draft: Draft = { kind: 'filters-replaced', collectionId: this.entry.id, ids, filters: texts }
        return { written: this.#commit(draft, needed, needs, { claim, facts: { updated: ids.length } }) }
      })
      if (begun === undefined) continue
      if (begun.written === undefined) return { ...this.#nothingToDo(), updated: 0 }
      const { lsn, durable, result } = await begun.written
      return { lsn, durable, updated: result.touched.length }
    }
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
      return this.#begin(draft, room, needs)
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
    if ((this.recovering?.lsnApplied ?? 0) >= wanted || (await this.#committer.whenApplied(wanted, timeoutMs))) return
    const message = `record ${wanted} is not applied; the newest one is ${this.#committer.lsnApplied}`
    const details = { field: 'min_lsn', value: wanted, limit: this.#committer.lsnApplied }
    throw new EngineError(this.#committer.isWritable ? 'lsn_not_reached' : 'replica_behind', message, details)
  }

  async search<Name extends string>(
    request: SearchRequest<Fields, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<Fields, Name>> {
    await this.loaded()
    const input = parseSearch(request, this.definition, this.#limits)
    if (request.minLsn !== undefined) await this.waitFor(request.minLsn)
    if (needsWholeVersion(input)) await this.published()
    this.#onSearch?.({ collectionId: this.entry.id, lsn: this.replica.lsnApplied, request })
    // The result has the fields that were parsed from the request.
    return (await search(this.replica, input, { room, calibrator: this.#calibrator })) as SearchResult<Fields, Name>
  }

  async searchBatch(requests: readonly SearchRequest[], room?: AnswerRoom): Promise<readonly SearchResult[]> {
    await this.loaded()
    checkBatch(requests, 'searches', searchesMax)
    const searches = requests.map((request) => parseSearch(request, this.definition, this.#limits))
    for (const { minLsn } of requests) if (minLsn !== undefined) await this.waitFor(minLsn)
    if (searches.some(needsWholeVersion)) {
      await this.published()
      // Not awaited for the second search, when the first one already has its version.
      this.replica.publish()
    }
    for (const request of requests)
      this.#onSearch?.({ collectionId: this.entry.id, lsn: this.replica.lsnApplied, request })
    // All searches begin in this turn, and so at the same version.
    const slice = new TimeSlice()
    return Promise.all(
      searches.map((input) => search(this.replica, input, { room, slice, calibrator: this.#calibrator })),
    )
  }

  count(filter: Filter = []): { readonly count: number; readonly lsn: number } {
    this.checkOpen()
    const { replica } = this
    const { count } = replica.filters.evaluate(parseFilter(filter))
    return { count, lsn: replica.lsnApplied }
  }

  async facets(request: FacetRequest): Promise<Facets> {
    await this.served()
    const input = parseFacets(request)
    const first = countFacets(this.replica, input).next()
    if (first.done) return first.value
    // Between two applies the filters stay those of one version, however many turns it takes. Writers go on appending.
    return this.gate.queue(0, () => {
      this.checkOpen()
      return runInTurns(countFacets(this.replica, input))
    })
  }

  async scroll(request: ScrollRequest = {}, room?: AnswerRoom): Promise<ScrollPage> {
    await this.served()
    return scroll(this.replica, parseScroll(request, this.#limits), room)
  }

  async recall(request: RecallRequest = {}): Promise<RecallReport> {
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
    this.#committer.checkWritable()
    changedFields(this.definition, changes)
    return this.#keyed(
      options,
      () => ['updateFields', JSON.stringify(changes)],
      (claim) => this.#updateFields(changes, claim),
    )
  }

  async #updateFields(changes: FieldChanges, claim: Claim | undefined): Promise<Acknowledgement> {
    // When every earlier change is applied: a rebuild may have changed the fields, and so may a call like this one.
    const { written } = await this.gate.hold(async () => {
      this.checkOpen()
      const fields = changedFields(this.replica.definition, changes)
      const draft = fields && ({ kind: 'fields-changed', collectionId: this.entry.id, fields } as const)
      return { written: draft && this.#commit(draft, noRoom, noFilters, { claim }) }
    })
    if (!written) return this.#nothingToDo()
    const { lsn, durable } = await written
    return { lsn, durable }
  }

  async rebuild(changes: RebuildChanges = {}, options?: WriteOptions): Promise<Acknowledgement> {
    if (typeof options?.requestKey !== 'string') return acknowledgementOf(await this.#rebuild(changes, options))
    const parts = () => ['rebuild', JSON.stringify(changes)]
    const write = async (claim: Claim | undefined) =>
      acknowledgementOf(await this.#rebuild(changes, { requestKey: claim }))
    return this.#keyed(options, parts, write, acknowledgementOf)
  }

  async #rebuild(changes: RebuildChanges, options: WriteOptions | undefined): Promise<Rebuilt> {
    const claim = claimOf(options)
    // Awaited only when it must wait: otherwise the status reports the running rebuild in the same turn.
    if (this.condition === 'loading') await this.served()
    this.checkOpen()
    this.#committer.checkWritable()
    const fields = () => rebuiltFields(this.replica.definition, changes)
    // Refuses wrong changes at once.
    fields()
    return this.#rebuilder.run(fields, this, claim)
  }

  async vacuum(options?: WriteOptions): Promise<Rebuilt> {
    if (typeof options?.requestKey !== 'string') return this.#rebuild({}, options)
    return this.#keyed(
      options,
      () => ['vacuum'],
      (claim) => this.#rebuild({}, { requestKey: claim }),
    )
  }

  /** Starts a vacuum when most of the collection is dead. Its status reports the outcome. */
  vacuumWhenDue(): void {
    if (this.isClosed || !this.recovering || !this.#rebuilder.isDue(this.recovering)) return
    // A refusal is in the status; a later write checks again.
    this.rebuild().catch(() => undefined)
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
    const room = roomOf(event, replica)
    if (room.objects > 0) await replica.prepare(room)
    replica.reserve(room, needsOf(event))
    await replica.apply(lsn, event)
    if (event.kind === 'objects-upserted' || event.kind === 'objects-deleted')
      this.#calibrator.addChanges(event.ids.length)
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

  /** Runs a write once if the call has a request key; `parts` are the input of the call. */
  #keyed<R extends Acknowledgement>(
    options: WriteOptions | undefined,
    parts: () => readonly (string | Uint8Array)[],
    write: (claim: Claim | undefined) => Promise<R>,
    repeated?: (recorded: RecordedRequest) => R,
  ): Promise<R> {
    const { id, databaseId } = this.entry
    const call = { databaseId, parts: () => [String(id), ...parts()] }
    return keyed(this.#keys, options, call, write, repeated)
  }

  async #write(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: CommitOptions,
  ): Promise<Acknowledgement & { readonly result: Applied }> {
    const { written } = await this.#begin(draft, room, filters, options)
    return written
  }

  /** Resolves when the change is appended; `written` resolves when it is durable and applied. */
  async #begin(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: CommitOptions,
  ): Promise<{ readonly written: Promise<Acknowledgement & { readonly result: Applied }> }> {
    for (;;) {
      if (room.objects > 0) await this.replica.prepare(added(this.#reserved, room, 1))
      const begun = await this.gate.write(async () => {
        this.checkOpen()
        // Other writers may have taken the disk space while this one waited; then the check is repeated. Writes that
        // need no space skip it: an event that is being applied counts twice for a short time, and no space would be
        // freed for that.
        if (room.objects > 0 && !this.replica.isPrepared(added(this.#reserved, room, 1))) return undefined
        return { written: this.#commit(draft, room, filters, options) }
      })
      if (begun) return begun
    }
  }

  /** Reserves and appends in one turn, so that the reserved memory covers all pending writes. */
  #commit(
    draft: Draft,
    room: Room,
    filters: FilterNeeds,
    options?: CommitOptions,
  ): Promise<Acknowledgement & { readonly result: Applied }> {
    const wanted = added(this.#reserved, room, 1)
    this.replica.reserve(wanted, filters)
    this.#reserved = wanted
    return this.#committer
      .commit(
        draft,
        this.gate,
        (lsn, event) => this.replica.apply(lsn, event as Parameters<Replica['apply']>[1]),
        options,
      )
      .then((written) => {
        if (draft.kind === 'objects-upserted' || draft.kind === 'objects-deleted')
          this.#calibrator.addChanges(draft.ids.length)
        return written
      })
      .finally(() => {
        this.#reserved = added(this.#reserved, room, -1)
      })
  }

  #nothingToDo(): Acknowledgement {
    return { lsn: this.replica.lsnApplied, durable: true }
  }
}

/** The memory and disk space that a change needs. */
function roomOf(draft: Draft, replica: Replica): Room {
  if (draft.kind === 'objects-upserted') return roomFor(draft)
  return draft.kind === 'filters-replaced' ? roomForFilters(replica, draft.ids, draft.filters) : noRoom
}

function needsOf(draft: Draft): FilterNeeds {
  if (draft.kind === 'objects-deleted' || draft.kind === 'fields-changed') return noFilters
  return FilterNeeds.from(draft.filters.map((text) => (text === '' ? {} : parseFilterValues(text).values)))
}

function acknowledgementOf({ lsn, durable }: Acknowledgement): Acknowledgement {
  return { lsn, durable }
}
