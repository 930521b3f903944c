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

/** Other graph parameters for a dense field; what is not given stays. */
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
      throw new AnnalError('invalid_argument', 'the name of a collection is a non-empty string', { field, value: name })
    }
    this.name = name
    this.#transport = transport
  }

  describe(options?: CallOptions): Promise<CollectionDescription> {
    return this.#transport.call('describeCollection', { collection: this.name }, options)
  }

  /**
   * Stores objects, replacing those whose id is there. When it returns they are on disk and in every search that starts
   * afterwards. Up to 1,000 are one call, all or none; more are sent in calls of 1,000, one after another, and when one fails
   * those before it stay stored and the error names the objects concerned. `timeoutMs` is for each call. The reply is that of
   * the last call.
   */
  upsert(objects: readonly ObjectRecord[], options?: CallOptions): Promise<Acknowledgement> {
    return storeAll(objects, (batch) => this.#put(batch, options), options?.signal)
  }

  #put(objects: readonly ObjectRecord[], options?: CallOptions): Promise<Acknowledgement> {
    return this.#transport.call('upsertObjects', { collection: this.name, objects }, options)
  }

  /**
   * Stores as many objects as the source gives, batch by batch, and takes no more from it than is on its way.
   *
   * ```ts
   * await films.load(linesOf('films.jsonl'), { onProgress: ({ stored }) => console.log(stored) })
   * ```
   */
  load(source: Iterable<ObjectRecord> | AsyncIterable<ObjectRecord>, options: LoadOptions = {}): Promise<LoadProgress> {
    const { signal, timeoutMs } = options
    return bulkLoad(source, (objects) => this.#put(objects, { signal, timeoutMs }), options)
  }

  /** The nearest neighbours in each of the fields asked, and on request one list of them all. */
  search(request: SearchRequest, options?: CallOptions): Promise<SearchResult> {
    return this.#transport.call('search', { collection: this.name, request }, options)
  }

  /** Several searches, all of the collection as it is at one moment. */
  searchBatch(requests: readonly SearchRequest[], options?: CallOptions): Promise<readonly SearchResult[]> {
    return this.#transport.call('searchBatch', { collection: this.name, requests }, options)
  }

  /** The objects found, in the order asked; unknown ids are left out. */
  getMany(ids: readonly string[], options?: CallOptions): Promise<readonly StoredObject[]> {
    return this.#transport.call('getObjects', { collection: this.name, ids }, options)
  }

  /** The object of that id, or undefined where there is none. */
  async get(id: string, options?: CallOptions): Promise<StoredObject | undefined> {
    return (await this.getMany([id], options))[0]
  }

  /** True when the object was there. */
  delete(id: string, options?: CallOptions): Promise<boolean> {
    return this.#transport.call('deleteObject', { collection: this.name, id }, options)
  }

  /** Deletes every object that the filter matches and says how many they were; an empty filter deletes nothing. */
  deleteWhere(filter: Filter, options?: CallOptions): Promise<number> {
    return this.#transport.call('deleteObjectsWhere', { collection: this.name, filter }, options)
  }

  /** Replaces the whole filter of each object named; unknown ids are left out of the count. */
  updateFilters(updates: readonly FilterUpdate[], options?: CallOptions): Promise<number> {
    return this.#transport.call('updateObjectFilters', { collection: this.name, updates }, options)
  }

  /** How many objects match; all of them without a filter. */
  count(filter?: Filter, options?: CallOptions): Promise<number> {
    return this.#transport.call('countObjects', { collection: this.name, filter }, options)
  }

  /** How many objects have which values under a filter key. */
  facets(request: FacetRequest, options?: CallOptions): Promise<Facets> {
    return this.#transport.call('facets', { collection: this.name, request }, options)
  }

  /** One page of the objects that match. */
  scroll(request: ScrollRequest = {}, options?: CallOptions): Promise<ScrollPage> {
    return this.#transport.call('scroll', { collection: this.name, request }, options)
  }

  /** All objects that match, page by page. One that is not written meanwhile comes exactly once. */
  async *objects(request: Omit<ScrollRequest, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<StoredObject> {
    let cursor: string | undefined
    do {
      const page = await this.scroll({ ...request, cursor }, options)
      yield* page.objects
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** Compares the index with exact answers: a number to watch. */
  recall(request: RecallRequest = {}, options?: CallOptions): Promise<RecallReport> {
    return this.#transport.call('recall', { collection: this.name, request }, options)
  }

  /** Begins to build everything anew; searches go on, writes wait. `rebuildStatus` tells how far it is. */
  async rebuild(changes: readonly RebuildChange[] = [], options?: CallOptions): Promise<void> {
    await this.#transport.call('rebuild', { collection: this.name, changes }, options)
  }

  rebuildStatus(options?: CallOptions): Promise<RebuildStatus> {
    return this.#transport.call('rebuildStatus', { collection: this.name }, options)
  }

  /** Gives back what deleted and replaced objects took, and says how many bytes of memory that was. */
  shrink(options?: CallOptions): Promise<number> {
    return this.#transport.call('shrink', { collection: this.name }, options)
  }

  /** Makes a new collection with what this one holds now. */
  async clone(target: string, options?: CallOptions): Promise<Collection> {
    await this.#transport.call('clone', { collection: this.name, target }, options)
    return new Collection(this.#transport, target)
  }

  /**
   * Begins a backup and gives its name, which is made of the collection's and the time when none is given;
   * `client.backups.completed(name)` waits until it is there.
   */
  createBackup(name?: string, options?: CallOptions): Promise<string> {
    return this.#transport.call('createBackup', { collection: this.name, name }, options)
  }
}
