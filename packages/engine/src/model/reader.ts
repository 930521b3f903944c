// The types of readers: threads besides the owner of an engine that search its collections in shared memory.

import type { Filter } from './filter.ts'
import type { CollectionSchema } from './schema.ts'

/** A search of one dense field by a vector. Omitted options have the defaults of a search. */
export interface ReaderSearch {
  /** Name of the field. */
  readonly field: string
  /** `dimension` components. */
  readonly query: Float32Array
  readonly limit: number
  readonly ef: number
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
  similarity(hit: number): number
  distance(hit: number): number
  norm(hit: number): number
  /** Bytes of the id in UTF-8. */
  idBytes(hit: number): number
  /** Bytes of the packed meta, as the client sent it. */
  metaBytes(hit: number): number
  /** Bytes of the JSON text of the filter in UTF-8. */
  filterBytes(hit: number): number
  copyId(hit: number, target: Uint8Array, offset: number): void
  copyMeta(hit: number, target: Uint8Array, offset: number): void
  copyFilter(hit: number, target: Uint8Array, offset: number): void
}

/** A collection as a reader sees it. */
export interface ReaderCollection {
  readonly definition: CollectionSchema
  /**
   * Searches in this thread, and calls `write` with the hits while they cannot change; it may be called again if a filter changed meanwhile.
   * Undefined: only the owner can run this search. A promise only if the matches of the filter have to be fetched from the owner.
   */
  searchHere<T>(search: ReaderSearch, write: (hits: HitBytes) => T): T | undefined | Promise<T | undefined>
}
