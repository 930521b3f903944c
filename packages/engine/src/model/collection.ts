// One collection as programs use it. `collection/collection.ts` implements it. The fields and the type of metadata are known to the
// compiler only: what a call refuses at run time does not depend on them.
import type { PastCollection } from './as-of.ts'
import type { CalibrateRequest, FieldCalibration } from './calibration.ts'
import type { ByField, FieldName, Fields, GraphFieldName } from './fields.ts'
import type { Filter } from './filter.ts'
import type { JsonObject } from './json.ts'
import type { AsOf, AsOfOptions } from './moment.ts'
import type {
  Acknowledgement,
  CollectionDescription,
  ConditionalReply,
  FilterUpdate,
  ObjectInput,
  ObjectPatch,
  StoredObject,
} from './object.ts'
import type { BatchedRequest, SearchRequest } from './query.ts'
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
} from './reads.ts'
import type { ConditionalOptions, DeleteOptions, WriteOptions } from './requests.ts'
import type { BatchedResult, SearchResult } from './search-result.ts'

/** New graph parameters by field; a parameter that is left out stays as it is. */
export type RebuildChanges<F extends Fields = Fields> = ByField<F, 'vector' | 'multi_vector', GraphChange>

/** New parameters of one graph. */
export interface GraphChange {
  readonly M?: number
  readonly efConstruction?: number
}

/** New defaults of searches by field; one that is left out stays as it is. */
export type FieldChanges<F extends Fields = Fields> = ByField<F, 'vector', FieldChange>

/** New defaults of the searches of one field. */
export interface FieldChange {
  /** Recall of searches that state neither `ef` nor `recall`, 0.01 to 0.999; `null`: they use the default ef. */
  readonly recall?: number | null | undefined
}

/** New defaults of a collection; one that is left out stays as it is. */
export interface DefaultChanges {
  /** Objects written from now on expire after this many seconds, unless the write says otherwise: 1 to 3,155,760,000; `null`: never. */
  readonly ttlSeconds?: number | null | undefined
}

/** The state of the newest rebuild of the collection. */
export interface RebuildStatus {
  readonly status: 'idle' | 'running' | 'completed' | 'failed'
  readonly objectsDone: number
  readonly objects: number
  /** Milliseconds since 1970. */
  readonly startedAt?: number
  readonly completedAt?: number
  readonly error?: string
}

/**
 * A collection with fields `F` and metadata of type `Meta`. `Collection` alone is a collection known only by name: any field name and
 * any kind of value compile, and the engine checks them.
 */
export interface Collection<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined> {
  readonly name: string
  /**
   * Returns this collection with the type of its metadata: `upsert` then needs metadata of that type, and hits and stored objects have
   * it. Only the compiler uses the type; nothing checks it at run time. Give a type that fits every object of the collection, such as
   * `Film | undefined` where some objects have no metadata.
   *
   * @example
   * ```ts
   * const films = database.collection('films').withMetadata<{ title: string }>()
   * const film = await films.get('alien')
   * console.log(film?.meta.title)
   * ```
   */
  withMetadata<M extends object | undefined>(): Collection<F, M>
  /**
   * Fields, counts and memory of the collection.
   *
   * @example
   * ```ts
   * const { objects, memory } = films.describe()
   * ```
   */
  describe(): CollectionDescription
  /**
   * Resolves when the collection can answer: at once, except for a clone whose files are still being read (calls that return a
   * promise wait for them, half a minute at most; calls that return a value throw collection_loading) and while a large write
   * becomes visible. A call that returns a value does not wait for that write: it completes the write first, which can take
   * hundreds of milliseconds.
   *
   * @example
   * ```ts
   * await films.served()
   * const { count } = films.count()
   * ```
   */
  served(): Promise<void>
  /**
   * Inserts or replaces objects by id, all or nothing. An object may have conditions: those whose conditions do not hold are left out,
   * and `results` says which; with `atomic` nothing is written then, and the call throws `conflict`. Refuses duplicate ids in one call. With an async iterable nothing is written
   * before the last object has arrived, and an error of the iterable refuses them all.
   *
   * @example
   * ```ts
   * await films.upsert([{ id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979 }, fields: { plot: [0.9, 0.1, 0.2] } }])
   * ```
   */
  upsert(
    objects: readonly ObjectInput<F, Meta>[] | AsyncIterable<ObjectInput<F, Meta>>,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly upserted: number }>
  /**
   * Changes the meta and filter values of objects, and leaves their vectors. Keys are merged; null removes one. `increment` adds to
   * filter values. Each object has its own result: one that does not exist, or whose value is not a number, has an error, and the others
   * are written; with `atomic` nothing is written then, and the call throws `conflict`.
   *
   * @example
   * ```ts
   * const { results } = await films.patch([{ id: 'alien', meta: { rating: 8.5 }, increment: { views: 1 } }])
   * ```
   */
  patch(
    patches: readonly ObjectPatch[] | AsyncIterable<ObjectPatch>,
    options?: ConditionalOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly updated: number }>
  /**
   * Returns the object with this id, or undefined where there is none.
   *
   * @example
   * ```ts
   * const film = await films.get('alien')
   * console.log(film?.meta, film?.dense.plot?.vector)
   * ```
   */
  get(id: string, options?: ContentOptions, room?: AnswerRoom): Promise<StoredObject<F, Meta> | undefined>
  /** @deprecated Use getMany. */
  get(ids: readonly string[], options?: ContentOptions, room?: AnswerRoom): Promise<readonly StoredObject<F, Meta>[]>
  /**
   * Returns the objects with these ids in the order of `ids`; unknown ids are left out. The options leave out vectors or texts.
   *
   * @example
   * ```ts
   * const found = await films.getMany(['alien', 'solaris'], { includeVectors: false })
   * for (const { id, meta } of found) console.log(id, meta)
   * ```
   */
  getMany(
    ids: readonly string[],
    options?: ContentOptions,
    room?: AnswerRoom,
  ): Promise<readonly StoredObject<F, Meta>[]>
  /**
   * Deletes objects by id and returns the ids that existed.
   *
   * @example
   * ```ts
   * const { deleted } = await films.delete(['alien', 'solaris'])
   * ```
   */
  delete(
    ids: readonly string[],
    options?: DeleteOptions,
  ): Promise<Acknowledgement & ConditionalReply & { readonly deleted: readonly string[] }>
  /**
   * Deletes the objects that match. Logged as the ids it found. An empty filter deletes nothing.
   *
   * @example
   * ```ts
   * const { deleted } = await films.deleteWhere([{ year: { $lt: 1950 } }])
   * ```
   */
  deleteWhere(filter: Filter, options?: WriteOptions): Promise<Acknowledgement & { readonly deleted: number }>
  /**
   * Replaces whole filter objects; unknown ids are skipped. Takes an async iterable, as `upsert` does.
   *
   * @example
   * ```ts
   * await films.updateFilters([{ id: 'alien', filter: { year: 1979, genre: 'horror' } }])
   * ```
   */
  updateFilters(
    updates: readonly FilterUpdate[] | AsyncIterable<FilterUpdate>,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }>
  /** @deprecated Use updateFilters. */
  replaceFilters(
    updates: readonly FilterUpdate[] | AsyncIterable<FilterUpdate>,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly updated: number }>
  /**
   * Resolves when reads of the collection include the write with this LSN, of any collection: at once if the write was acknowledged to this
   * program. Rejects with `lsn_not_reached` after `timeoutMs`, 5,000 by default.
   *
   * @example
   * ```ts
   * const { lsn } = await films.upsert([{ id: 'alien', fields: { plot: [1, 0.2, 0.1] } }])
   * await films.waitFor(lsn)
   * ```
   */
  waitFor(lsn: number, timeoutMs?: number): Promise<void>
  /**
   * Returns the nearest objects for each field of the request. With a `room`, here and below, a reply that it refuses is not made: its
   * `take` throws, and so does the call.
   *
   * @example
   * ```ts
   * const { results } = await films.search({
   *   fields: { plot: { query: [1, 0.2, 0.2], limit: 3 } },
   *   filter: [{ year: { $range: [1970, 1989] } }],
   * })
   * for (const { id, similarity } of results.plot) console.log(id, similarity)
   * ```
   */
  search<Name extends FieldName<F>>(
    request: SearchRequest<F, Name>,
    room?: AnswerRoom,
  ): Promise<SearchResult<F, Name, Meta>>
  /**
   * Runs several searches over the same version of the collection; one that is refused refuses them all.
   *
   * @example
   * ```ts
   * const [near, far] = await films.searchBatch([
   *   { fields: { plot: { query: [1, 0, 0] } } },
   *   { fields: { plot: { query: [0, 0, 1] } } },
   * ])
   * ```
   */
  searchBatch(requests: readonly BatchedRequest<F>[], room?: AnswerRoom): Promise<readonly BatchedResult<F, Meta>[]>
  /**
   * Counts the objects that match; all objects without a filter.
   *
   * @example
   * ```ts
   * const { count } = films.count([{ genre: { $eq: 'horror' } }])
   * ```
   */
  count(filter?: Filter): { readonly count: number; readonly lsn: number }
  /**
   * The same with conditions on texts, as of one record.
   *
   * @example
   * ```ts
   * const { count } = await films.count({ match: { plot: { query: 'space ship', operator: 'and' } }, filter: [{ year: { $gte: 1970 } }] })
   * ```
   */
  count(request: CountRequest): Promise<{ readonly count: number; readonly lsn: number }>
  /**
   * Counts the objects for each value of a filter key. With more than a few thousand values, writes are applied when it is done.
   *
   * @example
   * ```ts
   * const { values } = await films.facets({ key: 'genre' })
   * for (const { value, count } of values) console.log(value, count)
   * ```
   */
  facets(request: FacetRequest): Promise<Facets>
  /**
   * Pages through all objects that match. An object that is not written meanwhile is returned exactly once.
   *
   * @example
   * ```ts
   * const { objects, cursor } = await films.scroll({ limit: 500, includeVectors: false })
   * ```
   */
  scroll(request?: ScrollRequest, room?: AnswerRoom): Promise<ScrollPage<F, Meta>>
  /**
   * Opens the collection as of a moment, for reads that have no `asOf` in their request: `get`, `getMany`, and `count`. Resolves when
   * the moment is loaded. Throws moment_unreachable, moment_loading, invalid_argument.
   *
   * @example
   * ```ts
   * const past = await films.asOf({ time: new Date(Date.now() - 60_000) })
   * const { count } = await past.count()
   * ```
   */
  asOf(asOf: AsOf, options?: AsOfOptions): Promise<PastCollection<F, Meta>>
  /**
   * Searches for a sample of stored vectors and compares the results with exact search.
   *
   * @example
   * ```ts
   * const { recall } = await films.recall({ field: 'plot', sample: 200 })
   * ```
   */
  recall(request?: RecallRequest<GraphFieldName<F>>): Promise<RecallReport>
  /**
   * Measures which ef reaches which recall, for searches that state a recall. Resolves after seconds to minutes; searches and writes
   * continue. Such searches also start it in the background. Rejects with `cancelled` if the collection is rebuilt or deleted meanwhile.
   *
   * @example
   * ```ts
   * const { curves } = await films.calibrate({ field: 'plot', limit: 10 })
   * ```
   */
  calibrate(request?: CalibrateRequest<GraphFieldName<F>>): Promise<FieldCalibration>
  /**
   * The measurements of recall by ef, running ones included, for searches that state a recall.
   *
   * @example
   * ```ts
   * for (const { field, state, progress } of films.calibrations()) console.log(field, state, progress)
   * ```
   */
  calibrations(): readonly FieldCalibration[]
  /**
   * Ids of the neighbors of an object in level 0 of a field's graph; none if it has no vector there. Throws
   * object_not_found, field_not_found or invalid_argument.
   *
   * @example
   * ```ts
   * const ids = films.neighbors('plot', 'alien')
   * ```
   */
  neighbors(field: GraphFieldName<F>, id: string): readonly string[]
  /** @deprecated Use neighbors. */
  neighbours(field: GraphFieldName<F>, id: string): readonly string[]
  /**
   * Changes defaults of the searches of fields, without a rebuild: the recall of searches that state neither `ef` nor `recall`. `null` removes
   * it.
   *
   * @example
   * ```ts
   * await films.updateFields({ plot: { recall: 0.95 } })
   * ```
   */
  updateFields(changes: FieldChanges<F>, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Changes the default expiry of the objects that are written from now on. Stored objects keep theirs.
   *
   * @example
   * ```ts
   * await films.updateDefaults({ ttlSeconds: 86_400 })
   * ```
   */
  updateDefaults(changes: DefaultChanges, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Recreates the graphs from the live objects, with other parameters where given. Searches continue; writers wait, and
   * those that wait longer than 30 s are refused with `overloaded`. Throws rebuild_running while another one runs.
   *
   * @example
   * ```ts
   * await films.rebuild({ plot: { M: 32, efConstruction: 256 } })
   * ```
   */
  rebuild(changes?: RebuildChanges<F>, options?: WriteOptions): Promise<Acknowledgement>
  /**
   * Frees the memory and the disk space of deleted and replaced objects: a rebuild without changes.
   *
   * @example
   * ```ts
   * const { reclaimedBytes } = await films.vacuum()
   * ```
   */
  vacuum(options?: WriteOptions): Promise<Acknowledgement & { readonly reclaimedBytes: number }>
  /**
   * The running rebuild, or the last one since the engine was opened.
   *
   * @example
   * ```ts
   * const { status, objectsDone, objects } = films.rebuildStatus()
   * ```
   */
  rebuildStatus(): RebuildStatus
  /**
   * Hash of everything a replay must reproduce, hexadecimal.
   *
   * @example
   * ```ts
   * const digest = films.stateDigest()
   * ```
   */
  stateDigest(): string
}
