// A connection to one Annal server or engine: its collections, indexes, health and administration. Created by `connect`; it holds no
// state besides its transport.
import { Databases, License, Tokens } from './admin.ts'
import { Aliases } from './aliases.ts'
import { Backups } from './backups.ts'
import type { Change, ChangesRequest } from './change-info.ts'
import { Cursors, followChanges } from './changes.ts'
import { Collection } from './collection.ts'
import type { CollectionDescription } from './collection-definition.ts'
import type { IndexDefinition, IndexSummary } from './definition.ts'
import { History } from './history.ts'
import type { CollectionDefinition, ExactDefinition, FieldsOf, JsonObject } from './model.ts'
import type { Health, ProviderInfo, SettingInfo } from './operations.ts'
import { Schedules } from './schedules.ts'
import type { CallOptions, ReadOptions, Transport, WriteOptions } from './transport.ts'
import { VectorIndex } from './vector-index.ts'

/** A connection to a server, or to the nodes of a cluster. `connect` creates one. Calls fail with `AnnalError`, whose `code` is stable. */
export class Client {
  readonly #transport: Transport
  readonly backups: Backups
  /** These require the root token. */
  readonly databases: Databases
  /** Tokens of the database of this client's token. */
  readonly tokens: Tokens
  readonly license: License
  /** The events of the database of this client's token. */
  readonly history: History
  /** Places of consumers of its change feed. */
  readonly cursors: Cursors
  /** Its aliases. */
  readonly aliases: Aliases
  /** Its backup schedules. */
  readonly schedules: Schedules

  constructor(transport: Transport) {
    this.#transport = transport
    this.backups = new Backups(transport)
    this.databases = new Databases(transport)
    this.tokens = new Tokens(transport, undefined)
    this.license = new License(transport)
    this.history = new History(transport)
    this.cursors = new Cursors(transport)
    this.aliases = new Aliases(transport)
    this.schedules = new Schedules(transport)
  }

  /**
   * Creates a collection and returns it with the types of its fields. A definition that is written out is checked by the compiler; the
   * server checks every definition. Fails with `collection_exists` if the name is taken. Resolves when the collection is durable.
   *
   * @example
   * ```ts
   * const films = await client.createCollection({
   *   name: 'films',
   *   fields: [{ name: 'plot', type: 'vector', params: { dimension: 3, spaceType: 'cosine' } }],
   * })
   * ```
   */
  async createCollection<const D extends CollectionDefinition>(
    definition: D & ExactDefinition<D>,
    options?: WriteOptions,
  ): Promise<Collection<FieldsOf<D>>> {
    await this.#transport.call('createCollection', definition, options)
    return new Collection<FieldsOf<D>>(this.#transport, definition.name)
  }

  /**
   * Returns a collection by name, with the types of its fields where its definition is given. Sends no request; a missing collection or
   * field is reported by the first call.
   *
   * @example
   * ```ts
   * const films = client.collection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
   * const any = client.collection('films')
   * ```
   */
  collection<const D extends string | CollectionDefinition>(
    nameOrDefinition: D & ExactDefinition<D>,
  ): Collection<FieldsOf<D>> {
    const given: string | CollectionDefinition = nameOrDefinition
    return new Collection<FieldsOf<D>>(this.#transport, typeof given === 'string' ? given : given?.name)
  }

  /**
   * Describes all collections.
   *
   * @example
   * ```ts
   * for (const { name, count } of await client.listCollections()) console.log(name, count)
   * ```
   */
  listCollections(options?: ReadOptions): Promise<readonly CollectionDescription[]> {
    return this.#transport.call('listCollections', undefined, options)
  }

  /**
   * Deletes the collection and all its objects.
   *
   * @example
   * ```ts
   * await client.deleteCollection('films')
   * ```
   */
  async deleteCollection(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteCollection', { collection: name }, options)
  }

  /**
   * Follows the changes of the database: first those that the log holds from an LSN on, then each new one. In the order of the log, each at
   * least once. Resumes after the last change when the connection breaks. Fails with `feed_position_lost` when the next changes are not held.
   *
   * @example
   * ```ts
   * for await (const { lsn, kind, collection } of client.changes({ from: 1, collections: ['films'] })) {
   *   console.log(lsn, kind, collection)
   * }
   * ```
   */
  changes(request: ChangesRequest = {}, options: Pick<CallOptions, 'signal'> = {}): AsyncGenerator<Change> {
    return followChanges(this.#transport, request, options)
  }

  /**
   * An index is a collection with one dense vector per object. Fails with `collection_exists` if the name is taken. Resolves when the
   * index is durable.
   *
   * @example
   * ```ts
   * const songs = await client.createIndex({ name: 'songs', dimension: 3, spaceType: 'cosine' })
   * ```
   */
  async createIndex(definition: IndexDefinition, options?: WriteOptions): Promise<VectorIndex> {
    await this.#transport.call('createIndex', definition, options)
    return this.index(definition.name)
  }

  /**
   * Returns an index by name. Sends no request; a missing index is reported by the first call.
   *
   * @example
   * ```ts
   * const songs = client.index('songs')
   * ```
   */
  index(name: string): VectorIndex {
    return new VectorIndex(this.#transport, name)
  }

  /**
   * Lists all indexes: every collection with one dense and at most one sparse field.
   *
   * @example
   * ```ts
   * for (const { name, count } of await client.listIndexes()) console.log(name, count)
   * ```
   */
  listIndexes(options?: ReadOptions): Promise<readonly IndexSummary[]> {
    return this.#transport.call('listIndexes', undefined, options)
  }

  /**
   * Deletes the index and all its vectors.
   *
   * @example
   * ```ts
   * await client.deleteIndex('songs')
   * ```
   */
  async deleteIndex(name: string, options?: WriteOptions): Promise<void> {
    await this.#transport.call('deleteIndex', { index: name }, options)
  }

  /**
   * State of the server. Also succeeds while the server is starting. Never retried.
   *
   * @example
   * ```ts
   * const { status } = await client.health()
   * ```
   */
  health(options?: CallOptions): Promise<Health> {
    return this.#transport.call('health', undefined, options)
  }

  /**
   * Counters of the server.
   *
   * @example
   * ```ts
   * console.log(await client.stats())
   * ```
   */
  stats(options?: CallOptions): Promise<JsonObject> {
    return this.#transport.call('stats', undefined, options)
  }

  /**
   * Version, mode and limits of the server.
   *
   * @example
   * ```ts
   * console.log(await client.info())
   * ```
   */
  info(options?: CallOptions): Promise<JsonObject> {
    return this.#transport.call('info', undefined, options)
  }

  /**
   * The providers of vectors on the server, for `embed` of a new collection, without addresses and keys.
   *
   * @example
   * ```ts
   * for (const { name, model, dimension } of await client.providers()) console.log(name, model, dimension)
   * ```
   */
  providers(options?: CallOptions): Promise<readonly ProviderInfo[]> {
    return this.#transport.call('providers', undefined, options)
  }

  /**
   * The settings in use. A server with a root token requires it.
   *
   * @example
   * ```ts
   * for (const { name, value } of await client.configuration()) console.log(name, value)
   * ```
   */
  configuration(options?: CallOptions): Promise<readonly SettingInfo[]> {
    return this.#transport.call('configuration', undefined, options)
  }

  /**
   * Metrics of the server in the text format of Prometheus. A server with a root token requires it.
   *
   * @example
   * ```ts
   * console.log(await client.metrics())
   * ```
   */
  metrics(options?: CallOptions): Promise<string> {
    return this.#transport.call('metrics', undefined, options)
  }

  /**
   * The newest requests, one line each, oldest first.
   *
   * @example
   * ```ts
   * for (const line of await client.logs(100)) console.log(line)
   * ```
   */
  logs(limit?: number, options?: CallOptions): Promise<readonly string[]> {
    return this.#transport.call('logs', { limit }, options)
  }

  /**
   * Closes an engine that `openEmbedded` opened. A client of a server holds nothing open.
   *
   * @example
   * ```ts
   * await client.close()
   * ```
   */
  close(): Promise<void> {
    return this.#transport.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
