// A connection to one Annal server or engine: its collections, indexes, health and administration. Created by `connect`; it holds no
// state besides its transport.
import { Databases, License, Tokens } from './admin.ts'
import { Backups } from './backups.ts'
import { Collection } from './collection.ts'
import type { CollectionDefinition, CollectionDescription } from './collection-definition.ts'
import type { IndexDefinition, IndexSummary } from './definition.ts'
import type { Health } from './operations.ts'
import type { JsonObject } from './record.ts'
import type { CallOptions, Transport } from './transport.ts'
import { VectorIndex } from './vector-index.ts'

export class Client {
  readonly #transport: Transport
  readonly backups: Backups
  /** These require the root token. */
  readonly databases: Databases
  /** Tokens of the database of this client's token. */
  readonly tokens: Tokens
  readonly license: License

  constructor(transport: Transport) {
    this.#transport = transport
    this.backups = new Backups(transport)
    this.databases = new Databases(transport)
    this.tokens = new Tokens(transport, undefined)
    this.license = new License(transport)
  }

  /** Fails with `collection_exists` if the name is taken. Resolves when the collection is durable. */
  async createCollection(definition: CollectionDefinition, options?: CallOptions): Promise<Collection> {
    await this.#transport.call('createCollection', definition, options)
    return this.collection(definition.name)
  }

  /** Sends no request; a missing collection is reported by the first call. */
  collection(name: string): Collection {
    return new Collection(this.#transport, name)
  }

  listCollections(options?: CallOptions): Promise<readonly CollectionDescription[]> {
    return this.#transport.call('listCollections', undefined, options)
  }

  /** Deletes the collection and all its objects. */
  async deleteCollection(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteCollection', { collection: name }, options)
  }

  /**
   * An index is a collection with one dense vector per object. Fails with `collection_exists` if the name is taken. Resolves when the
   * index is durable.
   */
  async createIndex(definition: IndexDefinition, options?: CallOptions): Promise<VectorIndex> {
    await this.#transport.call('createIndex', definition, options)
    return this.index(definition.name)
  }

  /** Sends no request; a missing index is reported by the first call. */
  index(name: string): VectorIndex {
    return new VectorIndex(this.#transport, name)
  }

  listIndexes(options?: CallOptions): Promise<readonly IndexSummary[]> {
    return this.#transport.call('listIndexes', undefined, options)
  }

  /** Deletes the index and all its vectors. */
  async deleteIndex(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteIndex', { index: name }, options)
  }

  /** Also succeeds while the server is starting. Never retried. */
  health(options?: CallOptions): Promise<Health> {
    return this.#transport.call('health', undefined, options)
  }

  stats(options?: CallOptions): Promise<JsonObject> {
    return this.#transport.call('stats', undefined, options)
  }

  /** Version, mode and limits of the server. */
  info(options?: CallOptions): Promise<JsonObject> {
    return this.#transport.call('info', undefined, options)
  }

  /** The newest requests, one line each, oldest first. */
  logs(limit?: number, options?: CallOptions): Promise<readonly string[]> {
    return this.#transport.call('logs', { limit }, options)
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
