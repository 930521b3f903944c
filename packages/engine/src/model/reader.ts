// The types of readers: threads besides the owner of an engine that search its collections in shared memory.

import type { MessagePort } from 'node:worker_threads'
import type { SearchRecall } from './calibration.ts'
import type { Filter } from './filter.ts'
import type { StoredObject } from './object.ts'
import type { SearchRequest, TextOperator } from './query.ts'
import type { CollectionSchema } from './schema.ts'
import type { SearchResult } from './search-result.ts'

/**
 * Connects one thread to an engine. Send it to the thread with `port` in the list of transferred objects; only one thread can use it.
 *
 * @example
 * ```ts
 * const reader = engine.readerHandle()
 * new Worker('./search-thread.js', { workerData: { reader }, transferList: [reader.port] })
 * ```
 */
export interface ReaderHandle {
  readonly protocol: number
  /** Number of the reader, which selects its slot. */
  readonly reader: number
  /** Number of readers of the engine. */
  readonly readers: number
  /** Number of the thread in every arena. */
  readonly thread: number
  readonly slots: Int32Array<SharedArrayBuffer>
  /** The compiled kernel of dense fields. */
  readonly module: WebAssembly.Module
  readonly port: MessagePort
}

/** A search of one dense field by a vector, or of one text field by words. Omitted options have the defaults of a search. */
export interface ReaderSearch {
  /** Name of the field. */
  readonly field: string
  /** `dimension` components, or words. */
  readonly query: Float32Array | string
  readonly limit: number
  /** Of a text field. */
  readonly operator?: TextOperator
  readonly k1?: number
  readonly b?: number
  /** At most one of `ef` and `recall`, as in a search. Without them, the recall of the field counts, if it has one. */
  readonly ef?: number
  readonly recall?: number
  /** The search sees the record with this LSN. It is left to the owner, which waits, if it is not applied yet. */
  readonly minLsn?: number
  readonly filter?: Filter
  readonly exact?: boolean
  readonly boostPercentage?: number
  readonly prefilterThreshold?: number
  readonly scoreThreshold?: number
}

/** The hits of a search, best first, as bytes in shared memory. Valid only during the call that receives them. */
export interface HitBytes {
  readonly count: number
  /** LSN of the state that was searched. */
  readonly lsn: number
  /** Whether all requested hits were found, or all that exist. */
  readonly complete: boolean
  /** How ef was chosen, if it was. */
  readonly recall: SearchRecall | undefined
  /** Numbers of hits begin with 0. Similarity, distance, and norm are those of a `SearchHit`. */
  similarity(hit: number): number
  /** Lower means nearer. */
  distance(hit: number): number
  /** Length of the vector as given. */
  norm(hit: number): number
  /** Bytes of the id in UTF-8. */
  idBytes(hit: number): number
  /** Bytes of the packed meta, as the client sent it. */
  metaBytes(hit: number): number
  /** Bytes of the JSON text of the filter in UTF-8. 0: the object has no filter, which is the same as `{}`. */
  filterBytes(hit: number): number
  /** Copies the id to `target` from `offset` on; the space must have `idBytes`. The others do the same for meta and filter. */
  copyId(hit: number, target: Uint8Array, offset: number): void
  /** Copies the packed meta to `target` from `offset` on; the space must have `metaBytes`. */
  copyMeta(hit: number, target: Uint8Array, offset: number): void
  /** Copies the JSON text of the filter to `target` from `offset` on; the space must have `filterBytes`. */
  copyFilter(hit: number, target: Uint8Array, offset: number): void
  /** When the object expires, in milliseconds since 1970; undefined: never. */
  expiresAt(hit: number): number | undefined
}

/** A collection as a reader sees it. */
export interface ReaderCollection {
  readonly definition: CollectionSchema
  /** The number of the collection in the log. */
  readonly collectionId: number
  /** The newest record of the collection that searches of this thread see. */
  readonly lsn: number
  /**
   * Resolves when searches of this thread see the record with this LSN, of this collection or another one: at once after a write of the same
   * process was acknowledged. Resolves to false after `timeoutMs`, or when the collection does not exist any more.
   *
   * @example
   * ```ts
   * const isThere = await reader.collection('default', 'photos')?.waitFor(42, 1000)
   * ```
   */
  waitFor(lsn: number, timeoutMs: number): Promise<boolean>
  /**
   * Searches in this thread, and calls `write` with the hits while they cannot change: it copies what it needs, and returns quickly,
   * because the owner waits for it before it reuses memory. It may be called again if filters were replaced meanwhile; only the last
   * result is returned. Undefined: only the owner can run this search, or refuse it. A promise if the matches of the filter have to be fetched
   * from the owner, and the first time that a text field is searched.
   *
   * @example
   * ```ts
   * const query = new Float32Array(768)
   * const ids = await reader.collection('default', 'photos')?.searchHere({ field: 'image', query, limit: 10, ef: 64 }, (hits) =>
   *   Array.from({ length: hits.count }, (_, hit) => {
   *     const id = Buffer.alloc(hits.idBytes(hit))
   *     hits.copyId(hit, id, 0)
   *     return id.toString()
   *   }),
   * )
   * ```
   */
  searchHere<T>(search: ReaderSearch, write: (hits: HitBytes) => T): T | undefined | Promise<T | undefined>
  /**
   * The same results as `searchBatch` of the collection, run in this thread, all on one version: also of several fields, by stored objects,
   * reordered by original vectors, and with vectors. Undefined: only the owner can run these searches, or refuse one; for example because
   * the results take more than `bytesMax` bytes, or the searches more than the work of about one millisecond, or a `minLsn` is not applied
   * yet. A promise if the matches of a filter have to be fetched from the owner, and the first time.
   *
   * @example
   * ```ts
   * const photos = reader.collection('default', 'photos')
   * const requests = [{ fields: { image: { query: { id: 'p1' } } }, includeVectors: true }]
   * const results = await photos?.searchBatchHere(requests, { bytesMax: 65_536 })
   * ```
   */
  searchBatchHere(
    requests: readonly SearchRequest[],
    options: { readonly bytesMax: number },
  ): readonly SearchResult[] | undefined | Promise<readonly SearchResult[] | undefined>
  /**
   * The same objects as `getMany` of the collection, read in this thread: in the order of the ids, without unknown ids. Undefined: only
   * the owner can read them, or refuse; also if they take more than `bytesMax` bytes, or if the record `minLsn` is not applied yet. A
   * promise only if vectors are read from disk.
   *
   * @example
   * ```ts
   * const objects = await reader.collection('default', 'photos')?.getHere(['p1'], { bytesMax: 65_536 })
   * ```
   */
  getHere(
    ids: readonly string[],
    options: { readonly bytesMax: number; readonly minLsn?: number | undefined },
  ): readonly StoredObject[] | undefined | Promise<readonly StoredObject[] | undefined>
}

/** Which collection of an engine. */
export interface ReaderPlace {
  /** Default: `default`. */
  readonly database?: string
}

/** The collections of an engine in a thread besides its owner's. */
export interface Reader {
  /**
   * The collection with this name as of now. Undefined: there is none that serves, or the engine is closed.
   *
   * @example
   * ```ts
   * const photos = reader.collection('default', 'photos')
   * ```
   */
  collection(database: string, name: string): ReaderCollection | undefined
  /**
   * The same result as `search` of the collection. Searches that take little time run in this thread, all others on
   * the owner's. Throws the errors of the search, and `closed` when the engine is closed or its thread has exited.
   *
   * @example
   * ```ts
   * const { results } = await reader.search('photos', { fields: { image: { query: new Float32Array(768) } } })
   * ```
   */
  search(collection: string, request: SearchRequest, place?: ReaderPlace): Promise<SearchResult>
  /**
   * The same objects as `getMany` of the collection, read in this thread, or by the owner if they are many or being written.
   *
   * @example
   * ```ts
   * const [photo] = await reader.getMany('photos', ['p1'])
   * ```
   */
  getMany(collection: string, ids: readonly string[], place?: ReaderPlace): Promise<readonly StoredObject[]>
  /**
   * Whether graph threads are building: for a write that has not been acknowledged, a rebuild, or a vacuum. A thread that searches without a
   * break may then leave them some of its time, because they have a lower priority.
   *
   * @example
   * ```ts
   * const pauseMs = reader.isBuilding ? 0.2 : 0
   * ```
   */
  readonly isBuilding: boolean
  /**
   * Releases the handle. The thread may exit without it. Idempotent.
   *
   * @example
   * ```ts
   * reader.close()
   * ```
   */
  close(): void
}
