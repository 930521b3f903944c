// One collection of a database, by name: its objects. Holds no state besides that name. The fields and the type of metadata are known to the compiler
// only: what a call refuses at run time does not depend on them.
import { bulkLoad, type LoadOptions, type LoadProgress, storeAll } from './bulk-load.ts'
import type { CollectionDescription } from './collection-definition.ts'
import { CollectionGraphs } from './collection-graphs.ts'
import type {
  Acknowledgement,
  BatchedRequest,
  FacetRequest,
  Facets,
  FieldName,
  Fields,
  Filter,
  FilterUpdate,
  JsonObject,
  ScrollRequest,
  SearchRequest,
} from './model.ts'
import type { BatchedResult, ScrollPage, SearchResult } from './search.ts'
import type { ObjectInput, StoredObject } from './stored-object.ts'
import type { CallOptions, ReadOptions, Transport, WriteOptions } from './transport.ts'

/**
 * A collection with fields `F` and metadata of type `Meta`. `Collection` alone is a collection known only by name: any field name and
 * any kind of value compile, and the server checks them.
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
   * @example
   * ```ts
   * await films.upsert([{ id: 'alien', meta: { title: 'Alien' }, filter: { year: 1979 }, fields: { plot: [0.9, 0.1, 0.2] } }])
   * ```
   */
  upsert(
    objects: readonly ObjectInput<F, Meta>[] | AsyncIterable<ObjectInput<F, Meta>>,
    options?: WriteOptions,
  ): Promise<Acknowledgement & { readonly upserted: number }> {
    return storeAll(objects, (batch, idempotencyKey) => this.#put(batch, { ...options, idempotencyKey }), options)
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
    const { signal, timeoutMs } = options
    return bulkLoad(
      source,
      (objects, idempotencyKey) => this.#put(objects, { signal, timeoutMs, idempotencyKey }),
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
    const input = { collection: this.name, request: untyped<SearchRequest>(request) }
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
    const input = { collection: this.name, requests: untyped<readonly BatchedRequest[]>(requests) }
    return typed(this.#transport.call('searchBatch', input, options))
  }

  /**
   * Returns the objects in the order of the ids; unknown ids are left out.
   *
   * @example
   * ```ts
   * for (const { id, meta } of await films.getMany(['alien', 'solaris'])) console.log(id, meta)
   * ```
   */
  getMany(ids: readonly string[], options?: ReadOptions): Promise<readonly StoredObject<F, Meta>[]> {
    return typed(this.#transport.call('getMany', { collection: this.name, ids, minLsn: options?.minLsn }, options))
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
  async get(id: string, options?: ReadOptions): Promise<StoredObject<F, Meta> | undefined> {
    return (await this.getMany([id], options))[0]
  }

  /**
   * Returns true if the object existed.
   *
   * @example
   * ```ts
   * const existed = await films.delete('alien')
   * ```
   */
  delete(id: string, options?: WriteOptions): Promise<boolean> {
    return this.#transport.call('deleteObject', { collection: this.name, id }, options)
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
   * Counts the matching objects; without a filter, all objects.
   *
   * @example
   * ```ts
   * const count = await films.count([{ genre: { $eq: 'horror' } }])
   * ```
   */
  count(filter?: Filter, options?: ReadOptions): Promise<number> {
    return this.#transport.call('countObjects', { collection: this.name, filter }, options)
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
    return this.#transport.call('facets', { collection: this.name, request }, options)
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
    return typed(this.#transport.call('scroll', { collection: this.name, request }, options))
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
  async clone(target: string, options?: WriteOptions): Promise<Collection<F, Meta>> {
    await this.#transport.call('clone', { collection: this.name, target }, options)
    return new Collection<F, Meta>(this.#transport, target)
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

/** An input without the types of its fields, which a transport does not know. It is the same value. */
function untyped<T>(input: unknown): T {
  return input as T
}

/** A result with the types of its fields. The server returns the fields of the collection, which the types name. */
function typed<T>(result: Promise<unknown>): Promise<T> {
  return result as Promise<T>
}
