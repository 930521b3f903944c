// A connection to one Annal: its indexes, its health. Made by `connect`; holds no state besides its transport.
import type { IndexDefinition, IndexSummary } from './definition.ts'
import type { JsonObject } from './record.ts'
import type { CallOptions, Health, Transport } from './transport.ts'
import { VectorIndex } from './vector-index.ts'

export class Client {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Fails with `index_exists` or the like when the name is taken; the reply comes when the index is durable. */
  async createIndex(definition: IndexDefinition, options?: CallOptions): Promise<VectorIndex> {
    await this.#transport.call('createIndex', definition, options)
    return this.index(definition.name)
  }

  /** Asks nothing of the server: a missing index shows at the first call. */
  index(name: string): VectorIndex {
    return new VectorIndex(this.#transport, name)
  }

  listIndexes(options?: CallOptions): Promise<readonly IndexSummary[]> {
    return this.#transport.call('listIndexes', undefined, options)
  }

  /** Deletes the index and every vector in it. */
  async deleteIndex(name: string, options?: CallOptions): Promise<void> {
    await this.#transport.call('deleteIndex', { index: name }, options)
  }

  /** Also answers while the server is starting; never retried. */
  health(options?: CallOptions): Promise<Health> {
    return this.#transport.call('health', undefined, options)
  }

  stats(options?: CallOptions): Promise<JsonObject> {
    return this.#transport.call('stats', undefined, options)
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
