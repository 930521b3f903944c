// Messages between the owner of an engine and its readers, and the handle that connects them. What changes with every write is in shared
// words (version-header.ts); messages carry the shared memories themselves, which cannot be sent in another way.
import type { ChangedNames } from '../catalog/changed-names.ts'
import type { EngineErrorCode, ErrorDetails } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import type { PagesShape } from '../memory/hash-pages.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { SharedTerms, TermNamesList } from '../memory/term-table.ts'
import type { CalibrationTable, ReceivedQueries } from '../model/calibration.ts'
import type { Filter } from '../model/filter.ts'
import type { DenseRow, SparseRow } from '../model/object.ts'
import type { Highlight, SearchRequest } from '../model/query.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { HitLists, SearchReport } from '../model/search-result.ts'
import { type OriginalsList, originalsLists, type SharedOriginals } from '../originals/originals-rows.ts'
import { type FieldSegment, type SharedLists, type TermsList, termsLists } from '../vector/field.ts'

/** Number of this protocol: of the messages, and of the layout of the shared words. A reader of another number is refused. */
export const readerProtocol = 9

/** Numbers of the chunk lists of a replica that its readers read. Those of the terms of texts and those of each field follow. */
export const chunkList = { idAddresses: 0, ids: 1, recordAddresses: 2, records: 3, idPages: 4, lsns: 5 } as const
/** Those of the terms of texts. */
export const termNamesList: { readonly [list in TermNamesList]: number } = { nameAddresses: 6, names: 7, namePages: 8 }
const fieldListsFirst = 9
/** Of its original vectors, and of the terms of its lists. */
const fieldLists: readonly (OriginalsList | TermsList)[] = [...originalsLists, ...termsLists]

/** The number of a list of a field. */
export function fieldListOf(field: number, list: OriginalsList | TermsList): number {
  return fieldListsFirst + field * fieldLists.length + fieldLists.indexOf(list)
}

/** One field of a replica. */
export interface SharedField {
  /** Ordinals of one segment. */
  readonly segmentRows: number
  /** Empty unless it is a dense field with rows. */
  readonly segments: readonly FieldSegment[]
  /** Whether the original vectors of all objects are on disk: exact searches compare those. */
  readonly hasOriginals: boolean
  /** Where its original vectors are, if any are kept. */
  readonly originals: SharedOriginals | undefined
  /** Its inverted lists, if it is a sparse field with rows. */
  readonly lists: SharedLists | undefined
}

/** A replica that serves a collection. */
export interface SharedReplicaFacts {
  readonly header: number
  readonly words: Int32Array<SharedArrayBuffer>
  readonly collectionId: number
  readonly definition: CollectionSchema
  readonly fields: readonly SharedField[]
  /** By number of the list. */
  readonly chunks: readonly (readonly SharedBytes[])[]
  readonly idSeed: HashSeed
  readonly idShape: PagesShape
  /** Undefined in a collection without text fields. */
  readonly terms: SharedTerms | undefined
  /** Of the record that created the collection: its objects have no lower LSN. */
  readonly lsnCreated: number
  /** Undefined: nothing is measured. */
  readonly calibration: CalibrationTable | undefined
}

/** From the owner to every reader, in the order in which it happened. */
export type ReaderNews =
  /** Replaces the replica that served the collection before. */
  | { readonly kind: 'serve'; readonly replica: SharedReplicaFacts }
  | { readonly kind: 'withdraw'; readonly header: number }
  /** Names lead to other collections. */
  | { readonly kind: 'names'; readonly changed: ChangedNames }
  /** Chunks of a list, from position `from` on. */
  | {
      readonly kind: 'chunks'
      readonly header: number
      readonly list: number
      readonly from: number
      readonly chunks: readonly SharedBytes[]
    }
  | {
      readonly kind: 'segments'
      readonly header: number
      readonly field: number
      readonly segments: readonly FieldSegment[]
    }
  | {
      readonly kind: 'lists'
      readonly header: number
      readonly field: number
      readonly lists: SharedLists | undefined
    }
  /** Ids lead to pages in another way. */
  | { readonly kind: 'ids'; readonly header: number; readonly shape: PagesShape }
  /** Terms of texts lead to pages in another way. */
  | { readonly kind: 'terms'; readonly header: number; readonly terms: SharedTerms | undefined }
  /** Fields have other defaults. */
  | { readonly kind: 'definition'; readonly header: number; readonly definition: CollectionSchema }
  /** Measurements have ended or become untrue. */
  | { readonly kind: 'calibration'; readonly header: number; readonly table: CalibrationTable }
  /** Memories of the replica have another size. */
  | { readonly kind: 'grown'; readonly header: number }
  /** Return the memories dropped so far to the operating system. */
  | { readonly kind: 'collect' }
  | { readonly kind: 'closed' }

/** The matches of a filter as of a version, without objects that had expired at a time from `fromMs` on and before `untilMs`. */
export interface SharedMatches {
  /** Of the replica. Another one can have the same versions. */
  readonly header: number
  readonly version: number
  readonly words: Uint32Array<SharedArrayBuffer>
  readonly count: number
  readonly fromMs: number
  readonly untilMs: number
}

/** An EngineError between threads. */
export interface SentError {
  readonly code: EngineErrorCode
  readonly message: string
  readonly details: ErrorDetails
}

/** What only the owner can do. */
export type OwnerCall =
  | { readonly kind: 'matches'; readonly header: number; readonly filter: Filter }
  | { readonly kind: 'search'; readonly database: string; readonly collection: string; readonly request: SearchRequest }
  | { readonly kind: 'get'; readonly database: string; readonly collection: string; readonly ids: readonly string[] }

/** The queries of a collection that a reader ran and that stated a recall. */
export interface SentQueries extends ReceivedQueries {
  readonly collectionId: number
}

/** From a reader to the owner. */
export type ReaderMessage =
  | { readonly kind: 'hello' }
  | { readonly kind: 'queries'; readonly list: readonly SentQueries[] }
  | { readonly kind: 'call'; readonly id: number; readonly call: OwnerCall }

/** From the owner to one reader. */
export type OwnerMessage =
  | ReaderNews
  /** The reader has every replica that serves. */
  | { readonly kind: 'welcome'; readonly limits: Limits }
  | { readonly kind: 'reply'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly error: SentError }

/** A hit between threads. */
export interface SentHit {
  readonly id: string
  readonly similarity: number
  readonly distance: number
  readonly norm: number
  readonly metaBytes: Uint8Array
  /** With the expiry, as it is stored. */
  readonly storedText: string
  readonly row: DenseRow | undefined
  readonly members: readonly DenseRow[] | undefined
  readonly texts: { readonly [field: string]: string } | undefined
  readonly highlight: Highlight | undefined
}

/** The result of a search between threads. */
export interface SentResult extends SearchReport, HitLists<SentHit> {}

/** An object between threads. */
export interface SentObject {
  readonly id: string
  readonly lsn: number
  readonly metaBytes: Uint8Array
  /** With the expiry, as it is stored. */
  readonly storedText: string
  readonly dense: { readonly [field: string]: DenseRow }
  readonly sparse: { readonly [field: string]: SparseRow }
  readonly text: { readonly [field: string]: string }
  readonly multi: { readonly [field: string]: readonly DenseRow[] }
}
