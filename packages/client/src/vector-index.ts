// One index of a server, by name. Holds no state besides that name.
import { bulkLoad, type LoadOptions, type LoadProgress, storeAll } from './bulk-load.ts'
import type { IndexDescription } from './definition.ts'
import { AnnalError } from './errors.ts'
import type { Filter } from './filter.ts'
import type { FilterUpdate } from './operations.ts'
import type { Hit, Query, StoredVector, VectorRecord } from './record.ts'
import type { CallOptions, Transport } from './transport.ts'

export class VectorIndex {
  readonly name: string
  readonly #transport: Transport

  constructor(transport: Transport, name: string) {
    if (typeof name !== 'string' || name === '') {
      throw new AnnalError('invalid_argument', 'the name of an index is a non-empty string', {
        field: 'name',
        value: name,
      })
    }
    this.name = name
    this.#transport = transport
  }

  describe(options?: CallOptions): Promise<IndexDescription> {
    return this.#transport.call('describeIndex', { index: this.name }, options)
  }

  /**
   * Stores records, replacing those whose id is there. When it returns they are on disk and in every search that starts
   * afterwards. Up to 1,000 are one call, all or none; more are sent in calls of 1,000, one after another, and when one fails
   * those before it stay stored and the error names the records concerned. `timeoutMs` is for each call.
   */
  upsert(records: readonly VectorRecord[], options?: CallOptions): Promise<void> {
    return storeAll(records, (batch) => this.#put(batch, options), options?.signal)
  }

  async #put(records: readonly VectorRecord[], options?: CallOptions): Promise<void> {
    await this.#transport.call('upsert', { index: this.name, records }, options)
  }

  /** Stores as many records as the source gives, batch by batch, and takes no more from it than is on its way. */
  load(source: Iterable<VectorRecord> | AsyncIterable<VectorRecord>, options: LoadOptions = {}): Promise<LoadProgress> {
    const { signal, timeoutMs } = options
    return bulkLoad(source, (records) => this.#put(records, { signal, timeoutMs }), options)
  }

  /** The nearest neighbours, best first. */
  query(query: Query, options?: CallOptions): Promise<readonly Hit[]> {
    return this.#transport.call('query', { index: this.name, query }, options)
  }

  /** The vector of that id, or undefined where there is none. */
  get(id: string, options?: CallOptions): Promise<StoredVector | undefined> {
    return this.#transport.call('get', { index: this.name, id }, options)
  }

  /** True when the vector was there. */
  delete(id: string, options?: CallOptions): Promise<boolean> {
    return this.#transport.call('delete', { index: this.name, id }, options)
  }

  /** Deletes every vector that the filter matches and says how many they were; an empty filter deletes nothing. */
  deleteWhere(filter: Filter, options?: CallOptions): Promise<number> {
    return this.#transport.call('deleteWhere', { index: this.name, filter }, options)
  }

  /** Replaces the whole filter of each vector named; unknown ids are left out of the count. */
  updateFilters(updates: readonly FilterUpdate[], options?: CallOptions): Promise<number> {
    return this.#transport.call('updateFilters', { index: this.name, updates }, options)
  }
}
