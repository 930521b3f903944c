// One index of a server, by name. Holds no state besides that name.
import { bulkLoad, type LoadOptions, type LoadProgress, storeAll } from './bulk-load.ts'
import type { IndexDescription } from './definition.ts'
import { AnnalError } from './errors.ts'
import type { Filter, FilterUpdate } from './model.ts'
import type { Hit, Query, StoredVector, VectorRecord } from './record.ts'
import type { ReadOptions, Transport, WriteOptions } from './transport.ts'

/** An index of the published API (`/api/v1`): one vector for each id, and sparse terms if it is hybrid. `client.index` creates one without a request. */
export class VectorIndex {
  readonly name: string
  readonly #transport: Transport

  constructor(transport: Transport, name: string) {
    if (typeof name !== 'string' || name === '') {
      throw new AnnalError('invalid_argument', 'the name of an index must be a non-empty string', {
        field: 'name',
        value: name,
      })
    }
    this.name = name
    this.#transport = transport
  }

  /**
   * Parameters and counts of the index.
   *
   * @example
   * ```ts
   * const { dimension, count } = await songs.describe()
   * ```
   */
  describe(options?: ReadOptions): Promise<IndexDescription> {
    return this.#transport.call('describeIndex', { index: this.name }, options)
  }

  /**
   * Stores records and replaces records with the same ids. When it resolves, they are durable and visible to every search that starts
   * afterwards. Up to 1,000 records are stored in one atomic call. More are sent in calls of 1,000, one after another; if one fails,
   * the calls before it stay stored and the error names the affected records. `timeoutMs` applies to each call.
   * Each call has its own request key: `idempotencyKey` and its number.
   *
   * @example
   * ```ts
   * await songs.upsert([{ id: 'so-what', vector: [0.2, 0.9, 0.1], meta: { by: 'Miles Davis' }, filter: { year: 1959 } }])
   * ```
   */
  async upsert(records: readonly VectorRecord[] | AsyncIterable<VectorRecord>, options?: WriteOptions): Promise<void> {
    await storeAll(records, (batch, idempotencyKey) => this.#put(batch, { ...options, idempotencyKey }), options)
  }

  async #put(records: readonly VectorRecord[], options?: WriteOptions): Promise<void> {
    await this.#transport.call('upsert', { index: this.name, records }, options)
  }

  /**
   * Stores all records of the source in batches. It reads no more than it can send.
   *
   * @example
   * ```ts
   * async function* source() {
   *   for (let i = 0; i < 100_000; i++) yield { id: `song-${i}`, vector: [i, 1, 2] }
   * }
   * await songs.load(source(), { onProgress: ({ stored }) => console.log(stored) })
   * ```
   */
  load(source: Iterable<VectorRecord> | AsyncIterable<VectorRecord>, options: LoadOptions = {}): Promise<LoadProgress> {
    const { signal, timeoutMs, actor } = options
    return bulkLoad(
      source,
      (records, idempotencyKey) => this.#put(records, { signal, timeoutMs, actor, idempotencyKey }),
      options,
    )
  }

  /**
   * Returns the nearest neighbors, best first.
   *
   * @example
   * ```ts
   * for (const { id, similarity } of await songs.query({ vector: [0.3, 1, 0], topK: 3 })) console.log(id, similarity)
   * ```
   */
  query(query: Query, options?: ReadOptions): Promise<readonly Hit[]> {
    return this.#transport.call('query', { index: this.name, query }, options)
  }

  /**
   * Returns the vector, or undefined if the id is unknown.
   *
   * @example
   * ```ts
   * const song = await songs.get('so-what')
   * console.log(song?.vector, song?.meta)
   * ```
   */
  get(id: string, options?: ReadOptions): Promise<StoredVector | undefined> {
    return this.#transport.call('get', { index: this.name, id }, options)
  }

  /**
   * Returns true if the vector existed.
   *
   * @example
   * ```ts
   * const existed = await songs.delete('so-what')
   * ```
   */
  delete(id: string, options?: WriteOptions): Promise<boolean> {
    return this.#transport.call('delete', { index: this.name, id }, options)
  }

  /**
   * Deletes all vectors that match the filter and returns their number. An empty filter deletes nothing.
   *
   * @example
   * ```ts
   * const deleted = await songs.deleteWhere([{ year: { $lt: 1950 } }])
   * ```
   */
  deleteWhere(filter: Filter, options?: WriteOptions): Promise<number> {
    return this.#transport.call('deleteWhere', { index: this.name, filter }, options)
  }

  /**
   * Replaces all filter values of each vector. Unknown ids are not counted.
   *
   * @example
   * ```ts
   * const updated = await songs.updateFilters([{ id: 'so-what', filter: { year: 1959, genre: 'jazz' } }])
   * ```
   */
  updateFilters(updates: readonly FilterUpdate[], options?: WriteOptions): Promise<number> {
    return this.#transport.call('updateFilters', { index: this.name, updates }, options)
  }
}
