// One collection of a database, by name: its objects. Holds no state besides that name. The fields and the type of metadata are known to the compiler
// only: what a call refuses at run time does not depend on them.
import { asOfRequest } from './as-of-request.ts'

import { bulkLoad, type LoadOptions, type LoadProgress, storeAll } from './bulk-load.ts'
import type { CollectionDescription } from './collection-definition.ts'
import { CollectionGraphs } from './collection-graphs.ts'
import { AnnalError } from './errors.ts'
import type { DiffRequest, ObjectChange, Undone, UndoRequest, VersionPage, VersionsRequest } from './history-info.ts'
import type {
  Acknowledgement,
  BatchedRequest,
  CountRequest,
  FacetRequest,
  Facets,
  FieldName,
  Fields,
  Filter,
  FilterUpdate,
  JsonObject,
  ObjectPatch,
  ScrollRequest,
  SearchRequest,
  WriteConditions,
} from './model.ts'
import type { BranchInfo, BranchMoment } from './name-info.ts'
import type { BatchedResult, ScrollPage, SearchResult } from './search.ts'
import type { ObjectInput, ObjectResults, StoredObject } from './stored-object.ts'
import type {
  CallOptions,
  ConditionalOptions,
  CopyOptions,
  DeleteOptions,
  GetOptions,
  ReadOptions,
  Transport,
  WriteOptions,
} from './transport.ts'

/**
 * A collection with fields `F` and metadata of type `Meta`. `Collection` alone is a collection known only by name: any field name and
 * any kind of value compile, and the server checks them. Calls fail with `AnnalError`, whose `code` is stable.
 */
export class Collection<
  F extends Fields = Fields,
  Meta extends object | undefined = JsonObject | undefined,
> extends CollectionGraphs<F> {
  readonly #transport: Transport

  constructor(transport: Transport, name: string) {
    super(transport, name)
    this.#transport = transport
  }

  /**
   * Returns this collection with the type of its metadata: `upsert` then needs metadata of that type, and hits and stored objects have
   * it. Only the compiler uses the type; nothing checks it at run time. Give a type that fits every object of the collection, such as
   * `Film | undefined` where some objects have no metadata.
   *
   * @example
   * ```ts
   * const films = client.collection('films').withMetadata<{ title: string }>()
   * const film = await films.get('alien')
   * console.log(film?.meta.title)
   * ```
   */
  withMetadata<M extends object | undefined>(): Collection<F, M> {
    // The same collection: the types of metadata do not exist at run time.
    return this as unknown as Collection<F, M>
  }

  /**
   * Fields, counts and state of the collection.
   *
   * @example
   * ```ts
   * const { fields, count } = await films.describe()
   * ```
   */
  describe(options?: ReadOptions): Promise<CollectionDescription> {
    return this.#transport.call('describeCollection', { collection: this.name }, options)
  }

  /**
   * Stores objects and replaces objects with the same ids. When it resolves, they are durable and visible to every search that starts
   * afterwards. Up to 1,000 objects are stored in one atomic call. More are sent in calls of 1,000, one after another; if one fails,
   * the calls before it stay stored and the error names the affected objects. `timeoutMs` applies to each call. Each
   * call has its own request key: `idempotencyKey` and its number. Resolves to the reply
   * of the last call and the number of objects in all of them.
   *
   * An object may have conditions: `ifAbsent`, `ifLsn`, and `ifMatch`. Objects whose conditions do not hold are left out, and `results`
   * says which. With `atomic` nothing is written then, and the call fails with `conflict`. Such calls take at most 1,000 objects.
   *
   * @example
   * ```ts
   * await films.upsert([{ id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979 }, fields: { plot: [0.9, 0.1, 0.2] } }])
   * ```
   */
  upsert(
    objects: readonly ObjectInput<F, Meta>[] | AsyncIterable<ObjectInput<F, Meta>>,
    { atomic, ...options }: ConditionalOptions = {},
  ): Promise<Acknowledgement & ObjectResults & { readonly upserted: number }> {
    if (atomic || (Array.isArray(objects) && objects.some(hasConditions))) return this.#putIf(objects, atomic, options)
    return storeAll(objects, (batch, idempotencyKey) => this.#put(batch, { ...options, idempotencyKey }), options)
  }

  /** One call, because the results belong together. */
  async #putIf(
    objects: readonly ObjectInput<F, Meta>[] | AsyncIterable<ObjectInput<F, Meta>>,
    atomic: boolean | undefined,
    options: WriteOptions,
  ): Promise<Acknowledgement & ObjectResults & { readonly upserted: number }> {
    const all: ObjectInput<F, Meta>[] = []
    for await (const object of objects) all.push(object)
    const input = { collection: this.name, objects: untyped<readonly ObjectInput[]>(all), atomic }
    const written = await this.#transport.call('upsertObjects', input, options)
    return { ...written, upserted: written.results?.filter(({ status }) => status === 'ok').length ?? all.length }
  }

  #put(objects: readonly ObjectInput<F, Meta>[], options?: WriteOptions): Promise<Acknowledgement> {
    const input = { collection: this.name, objects: untyped<readonly ObjectInput[]>(objects) }
    return this.#transport.call('upsertObjects', input, options)
  }

  /**
   * Stores all objects of the source in batches. It reads no more than it can send.
   *
   * @example
   * ```ts
   * async function* source() {
   *   for (let i = 0; i < 100_000; i++) yield { id: `film-${i}`, fields: { plot: [i, 1, 2] } }
   * }
   * await films.load(source(), { onProgress: ({ stored }) => console.log(stored) })
   * ```
   */
  load(
    source: Iterable<ObjectInput<F, Meta>> | AsyncIterable<ObjectInput<F, Meta>>,
    options: LoadOptions = {},
  ): Promise<LoadProgress> {
    const { signal, timeoutMs, actor } = options
    return bulkLoad(
      source,
      (objects, idempotencyKey) => this.#put(objects, { signal, timeoutMs, actor, idempotencyKey }),
      options,
    )
  }

  /**
   * Returns the nearest neighbors in each queried field and, with `fusion`, one combined list.
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
    options?: ReadOptions,
  ): Promise<SearchResult<F, Name, Meta>> {
    const input = { collection: this.name, request: asOfRequest(untyped<SearchRequest>(request), options) }
    return typed(this.#transport.call('search', input, options))
  }

  /**
   * Runs several searches on the same version of the collection.
   *
   * @example
   * ```ts
   * const [near, far] = await films.searchBatch([
   *   { fields: { plot: { query: [1, 0, 0] } } },
   *   { fields: { plot: { query: [0, 0, 1] } } },
   * ])
   * ```
   */
  searchBatch(
    requests: readonly BatchedRequest<F>[],
    options?: ReadOptions,
  ): Promise<readonly BatchedResult<F, Meta>[]> {
    const batch = untyped<readonly BatchedRequest[]>(requests)
    const input = { collection: this.name, requests: batch.map((request) => asOfRequest(request, options)) }
    return typed(this.#transport.call('searchBatch', input, options))
  }

  /**
   * Returns the objects in the order of the ids; unknown ids are left out. `includeVectors` and `includeTexts` leave out contents.
   *
   * @example
   * ```ts
   * const found = await films.getMany(['alien', 'solaris'], { includeVectors: false })
   * for (const { id, meta } of found) console.log(id, meta)
   * ```
   */
  getMany(ids: readonly string[], options: GetOptions = {}): Promise<readonly StoredObject<F, Meta>[]> {
    const { includeVectors, includeTexts, ...read } = options
    const contents = { includeVectors, includeTexts }
    const input = { collection: this.name, ids, minLsn: read.minLsn, contents, asOf: read.asOf }
    return typed(this.#transport.call('getMany', input, read))
  }

  /**
   * Returns the object, or undefined if the id is unknown.
   *
   * @example
   * ```ts
   * const film = await films.get('alien')
   * console.log(film?.meta, film?.dense.plot?.vector)
   * ```
   */
  async get(id: string, options?: GetOptions): Promise<StoredObject<F, Meta> | undefined> {
    return (await this.getMany([id], options))[0]
  }

  /**
   * Changes the meta and filter values of objects, at most 1,000, and leaves their vectors. Keys are merged; null removes one. `increment`
   * adds to filter values. Each object has its own result; with `atomic` all are changed or none, and the call fails with `conflict`.
   *
   * @example
   * ```ts
   * const { results } = await films.patch([{ id: 'alien', meta: { rating: 8.5 }, increment: { views: 1 } }])
   * ```
   */
  patch(
    patches: readonly ObjectPatch[],
    { atomic, ...options }: ConditionalOptions = {},
  ): Promise<Acknowledgement & ObjectResults & { readonly updated: number }> {
    return this.#transport.call('patchObjects', { collection: this.name, patches, atomic }, options)
  }

  /**
   * Returns true if the object existed. With `ifLsn` it is deleted only if it has this `lsn`; otherwise the call fails with `conflict`.
   *
   * @example
   * ```ts
   * const existed = await films.delete('alien')
   * ```
   */
  delete(id: string, { ifLsn, ...options }: DeleteOptions = {}): Promise<boolean> {
    return this.#transport.call('deleteObject', { collection: this.name, id, ifLsn }, options)
  }

  /**
   * Pages through the versions of an object, oldest first: what each write changed, when, and who wrote it. Waits until the server has read its
   * log.
   *
   * @example
   * ```ts
   * const { versions } = await films.history('alien')
   * for (const { lsn, kind, author, changes } of versions) console.log(lsn, kind, author?.actor, changes)
   * ```
   */
  async history(id: string, request: VersionsRequest = {}, options?: ReadOptions): Promise<VersionPage> {
    for (;;) {
      const page = await this.#transport.call('versions', { ...request, collection: this.name, id }, options)
      if (page.complete) return page
    }
  }

  /**
   * Yields the objects that differ between two moments, in the order in which they were first written after the first one. Those with the
   * same content at both are left out. The server builds the collection as of both moments, so the first one may take long.
   *
   * @example
   * ```ts
   * const { lsn } = await films.upsert([{ id: 'brazil', fields: { plot: [0.1, 0.5, 0.5] } }])
   * for await (const { id, change } of films.diff({ from: { lsn: lsn - 1 }, to: { lsn } })) console.log(change, id)
   * ```
   */
  async *diff(request: DiffRequest, options?: ReadOptions): AsyncGenerator<ObjectChange> {
    const input = { ...request, collection: this.name, signal: options?.signal }
    try {
      yield* await this.#transport.call('diff', input, options)
    } catch (error) {
      if (!options?.signal?.aborted) throw error
      throw new AnnalError('aborted', 'the caller aborted diff', { cause: error })
    }
  }

  /**
   * Restores the content that objects had at a moment, all or none, and deletes objects that did not exist then.
   *
   * @example
   * ```ts
   * const { restored, deleted } = await films.undo({ ids: ['alien'], asOf: { time: new Date(Date.now() - 1) }, dryRun: true })
   * console.log(restored, deleted)
   * ```
   */
  undo(request: UndoRequest, options?: WriteOptions): Promise<Undone> {
    return this.#transport.call('undo', { ...request, collection: this.name }, options)
  }

  /**
   * Deletes all objects that match the filter and returns their number. An empty filter deletes nothing.
   *
   * @example
   * ```ts
   * const deleted = await films.deleteWhere([{ year: { $lt: 1950 } }])
   * ```
   */
  deleteWhere(filter: Filter, options?: WriteOptions): Promise<number> {
    return this.#transport.call('deleteObjectsWhere', { collection: this.name, filter }, options)
  }

  /**
   * Replaces all filter values of each object. Unknown ids are not counted.
   *
   * @example
   * ```ts
   * const updated = await films.updateFilters([{ id: 'alien', filter: { year: 1979, genre: 'horror' } }])
   * ```
   */
  updateFilters(updates: readonly FilterUpdate[], options?: WriteOptions): Promise<number> {
    return this.#transport.call('updateObjectFilters', { collection: this.name, updates }, options)
  }

  /**
   * Counts the matching objects; without a filter, all objects. `match` has conditions on texts.
   *
   * @example
   * ```ts
   * const count = await films.count([{ genre: { $eq: 'horror' } }])
   * const named = await films.count({ match: { plot: { query: 'space ship', operator: 'and' } }, filter: [{ genre: { $eq: 'horror' } }] })
   * ```
   */
  count(request?: Filter | CountRequest, options?: ReadOptions): Promise<number> {
    // A filter is a list.
    const { filter, match }: Partial<CountRequest> =
      request !== undefined && 'match' in request ? request : { filter: request }
    const input = { collection: this.name, filter, match, asOf: options?.asOf }
    return this.#transport.call('countObjects', input, options)
  }

  /**
   * Counts the objects per value of a filter key.
   *
   * @example
   * ```ts
   * const { values } = await films.facets({ key: 'genre' })
   * for (const { value, count } of values) console.log(value, count)
   * ```
   */
  facets(request: FacetRequest, options?: ReadOptions): Promise<Facets> {
    return this.#transport.call('facets', { collection: this.name, request: asOfRequest(request, options) }, options)
  }

  /**
   * One page of matching objects.
   *
   * @example
   * ```ts
   * const { objects, cursor } = await films.scroll({ limit: 500, includeVectors: false })
   * ```
   */
  scroll(request: ScrollRequest = {}, options?: ReadOptions): Promise<ScrollPage<F, Meta>> {
    const input = { collection: this.name, request: asOfRequest(request, options) }
    return typed(this.#transport.call('scroll', input, options))
  }

  /**
   * All matching objects, page by page. An object that is not written during the iteration is returned exactly once.
   *
   * @example
   * ```ts
   * for await (const { id, meta } of films.objects({ filter: [{ year: { $gte: 1970 } }] })) console.log(id, meta)
   * ```
   */
  async *objects(
    request: Omit<ScrollRequest, 'cursor'> = {},
    options?: ReadOptions,
  ): AsyncGenerator<StoredObject<F, Meta>> {
    let cursor: string | undefined
    do {
      const page: ScrollPage<F, Meta> = await this.scroll({ ...request, cursor }, options)
      yield* page.objects
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /**
   * Creates a new collection with the current content of this one.
   *
   * @example
   * ```ts
   * const copy = await films.clone('films_copy')
   * ```
   */
  async clone(target: string, { keepExpired, ...options }: CopyOptions = {}): Promise<Collection<F, Meta>> {
    await this.#transport.call('clone', { collection: this.name, target, keepExpired }, options)
    return new Collection<F, Meta>(this.#transport, target)
  }

  /**
   * Creates a collection with the content of this one as of now or of an earlier moment, and keeps where it comes from.
   *
   * @example
   * ```ts
   * const trial = await films.branch('films_trial')
   * const before = await films.branch('films_before', { lsn: 1200 })
   * ```
   */
  async branch(
    target: string,
    asOf?: BranchMoment,
    { keepExpired, ...options }: CopyOptions = {},
  ): Promise<Collection<F, Meta>> {
    await this.#transport.call('branch', { collection: this.name, target, asOf, keepExpired }, options)
    return new Collection<F, Meta>(this.#transport, target)
  }

  /**
   * Lists this collection with everything that has a common ancestor with it, in the order of creation.
   *
   * @example
   * ```ts
   * for (const { name, parentId, parentLsn } of await films.branches()) console.log(name, parentId, parentLsn)
   * ```
   */
  branches(options?: ReadOptions): Promise<readonly BranchInfo[]> {
    return this.#transport.call('branches', { collection: this.name }, options)
  }

  /**
   * Gives this collection the name and the aliases of another one, which is named `keepAs` afterwards, all at once. Returns this
   * collection under its new name.
   *
   * @example
   * ```ts
   * const trial = await films.branch('films_trial')
   * const live = await trial.promote({ over: 'films', keepAs: 'films_old' })
   * ```
   */
  async promote(
    promotion: { readonly over: string; readonly keepAs: string },
    options?: WriteOptions,
  ): Promise<Collection<F, Meta>> {
    await this.#transport.call('promote', { collection: this.name, ...promotion }, options)
    return new Collection<F, Meta>(this.#transport, promotion.over)
  }

  /**
   * Starts a backup and returns its name, by default the collection and the time. `client.backups.completed(name)` waits for it.
   *
   * @example
   * ```ts
   * const name = await films.createBackup()
   * await client.backups.completed(name)
   * ```
   */
  createBackup(name?: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('createBackup', { collection: this.name, name }, options)
  }
}

function hasConditions(object: WriteConditions): boolean {
  return object?.ifAbsent !== undefined || object?.ifLsn !== undefined || object?.ifMatch !== undefined
}

/** An input without the types of its fields, which a transport does not know. It is the same value. */
function untyped<T>(input: unknown): T {
  return input as T
}

/** A result with the types of its fields. The server returns the fields of the collection, which the types name. */
function typed<T>(result: Promise<unknown>): Promise<T> {
  return result as Promise<T>
}
