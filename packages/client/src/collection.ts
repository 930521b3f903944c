// One collection of a database, by name. Holds no state besides that name.
import { bulkLoad, type LoadOptions, type LoadProgress, storeAll } from './bulk-load.ts'
import type { CollectionDescription } from './collection-definition.ts'
import { AnnalError } from './errors.ts'
import type { Filter } from './filter.ts'
import type { FilterUpdate } from './operations.ts'
import type {
  FacetRequest,
  Facets,
  RecallReport,
  RecallRequest,
  ScrollPage,
  ScrollRequest,
  SearchRequest,
  SearchResult,
} from './search.ts'
import type { Acknowledgement, ObjectRecord, StoredObject } from './stored-object.ts'
import type { CallOptions, Transport } from './transport.ts'

/** New graph parameters of a dense field; parameters that are not given do not change. */
export interface RebuildChange {
  readonly field: string
  readonly m?: number | undefined
  readonly efConstruction?: number | undefined
}

export interface RebuildStatus {
  readonly status: 'idle' | 'in_progress' | 'completed' | 'failed'
  readonly objectsDone: number
  readonly objects: number
  readonly error?: string | undefined
}

export class Collection {
  readonly name: string
  readonly #transport: Transport

  constructor(transport: Transport, name: string) {
    if (typeof name !== 'string' || name === '') {
      const field = 'name'
      throw new AnnalError('invalid_argument', 'the name of a collection must be a non-empty string', {
        field,
        value: name,
      })
    }
    this.name = name
    this.#transport = transport
  }

  describe(options?: CallOptions): Promise<CollectionDescription> {
    return this.#transport.call('describeCollection', { collection: this.name }, options)
  }

  /**
   * Stores objects and replaces objects with the same ids. When it resolves, they are durable and visible to every search that starts
   * afterwards. Up to 1,000 objects are stored in one atomic call. More are sent in calls of 1,000, one after another; if one fails,
   * the calls before it stay stored and the error names the affected objects. `timeoutMs` applies to each call. Resolves to the reply
   * of the last call.
   */
  upsert(objects: readonly ObjectRecord[], options?: CallOptions): Promise<Acknowledgement> {
    return storeAll(objects, (batch) => this.#put(batch, options), options?.signal)
  }

  #put(objects: readonly ObjectRecord[], options?: CallOptions): Promise<Acknowledgement> {
    return this.#transport.call('upsertObjects', { collection: this.name, objects }, options)
  }

  /**
   * Stores all objects of the source in batches. It reads no more than it can send.
   *
   * ```ts
   * await films.load(linesOf('films.jsonl'), { onProgress: ({ stored }) => console.log(stored) })
   * ```
   */
  load(source: Iterable<ObjectRecord> | AsyncIterable<ObjectRecord>, options: LoadOptions = {}): Promise<LoadProgress> {
    const { signal, timeoutMs } = options
    return bulkLoad(source, (objects) => this.#put(objects, { signal, timeoutMs }), options)
  }

  /** Returns the nearest neighbors in each queried field and, with `fusion`, one combined list. */
  search(request: SearchRequest, options?: CallOptions): Promise<SearchResult> {
    return this.#transport.call('search', { collection: this.name, request }, options)
  }

  /** Runs several searches on the same version of the collection. */
  searchBatch(requests: readonly SearchRequest[], options?: CallOptions): Promise<readonly SearchResult[]> {
    return this.#transport.call('searchBatch', { collection: this.name, requests }, options)
  }

  /** Returns the objects in the order of the ids; unknown ids are left out. */
  getMany(ids: readonly string[], options?: CallOptions): Promise<readonly StoredObject[]> {
    return this.#transport.call('getMany', { collection: this.name, ids }, options)
  }

  /** Returns the object, or undefined if the id is unknown. */
  async get(id: string, options?: CallOptions): Promise<StoredObject | undefined> {
    return (await this.getMany([id], options))[0]
  }

  /** Returns true if the object existed. */
  delete(id: string, options?: CallOptions): Promise<boolean> {
    return this.#transport.call('deleteObject', { collection: this.name, id }, options)
  }

  /** Deletes all objects that match the filter and returns their number. An empty filter deletes nothing. */
  deleteWhere(filter: Filter, options?: CallOptions): Promise<number> {
    return this.#transport.call('deleteObjectsWhere', { collection: this.name, filter }, options)
  }

  /** Replaces all filter values of each object. Unknown ids are not counted. */
  updateFilters(updates: readonly FilterUpdate[], options?: CallOptions): Promise<number> {
    return this.#transport.call('updateObjectFilters', { collection: this.name, updates }, options)
  }

  /** Counts the matching objects; without a filter, all objects. */
  count(filter?: Filter, options?: CallOptions): Promise<number> {
    return this.#transport.call('countObjects', { collection: this.name, filter }, options)
  }

  /** Counts the objects per value of a filter key. */
  facets(request: FacetRequest, options?: CallOptions): Promise<Facets> {
    return this.#transport.call('facets', { collection: this.name, request }, options)
  }

  /** One page of matching objects. */
  scroll(request: ScrollRequest = {}, options?: CallOptions): Promise<ScrollPage> {
    return this.#transport.call('scroll', { collection: this.name, request }, options)
  }

  /** All matching objects, page by page. An object that is not written during the iteration is returned exactly once. */
  async *objects(request: Omit<ScrollRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<StoredObject> {
    let cursor: string | undefined
    do {
      const page = await this.scroll({ ...request, cursor }, options)
      yield* page.objects
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** Measures recall: compares results of the index with exact results. */
  recall(request: RecallRequest = {}, options?: CallOptions): Promise<RecallReport> {
    return this.#transport.call('recall', { collection: this.name, request }, options)
  }

  /** Starts to recreate the graph and all memory structures. Searches continue; writes wait. `rebuildStatus` reports progress. */
  async rebuild(changes: readonly RebuildChange[] = [], options?: CallOptions): Promise<void> {
    await this.#transport.call('rebuild', { collection: this.name, changes }, options)
  }

  rebuildStatus(options?: CallOptions): Promise<RebuildStatus> {
    return this.#transport.call('rebuildStatus', { collection: this.name }, options)
  }

  /** Frees the memory of deleted and replaced objects, and returns the number of freed bytes. */
  vacuum(options?: CallOptions): Promise<number> {
    return this.#transport.call('vacuum', { collection: this.name }, options)
  }

  /** @deprecated Use `vacuum`. */
  shrink(options?: CallOptions): Promise<number> {
    return this.vacuum(options)
  }

  /** Creates a new collection with the current content of this one. */
  async clone(target: string, options?: CallOptions): Promise<Collection> {
    await this.#transport.call('clone', { collection: this.name, target }, options)
    return new Collection(this.#transport, target)
  }

  /** Starts a backup and returns its name, by default the collection and the time. `client.backups.completed(name)` waits for it. */
  createBackup(name?: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('createBackup', { collection: this.name, name }, options)
  }
}
