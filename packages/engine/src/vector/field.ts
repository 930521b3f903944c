// The interface between a replica and the memory of one of its fields. Rows are addressed by ordinal. Time is counted in versions: the
// replica applies version 1, 2, 3, ..., and a search sees a field exactly as of one version.

import type { SharedBytes } from '../memory/chunks.ts'
import type { SharedLookup } from '../memory/shared-lookup.ts'
import type { DenseFieldSchema } from '../model/schema.ts'
import type { Caller } from './caller.ts'
import type { ArenaHandle } from './dense/attached.ts'
import type { SparseHandle } from './sparse/attached.ts'
import type { OtherReads, ReaderAreas } from './sparse/memory.ts'

/** Small integer of an object in its collection. */
export type Ordinal = number

/** One bit for each ordinal, 32 in a word; shared so that workers read it without copying. */
export interface OrdinalBitmap {
  readonly words: Uint32Array<SharedArrayBuffer>
}

/** Rows that one event adds to a field, by ordinal as the log assigned them. */
export interface DenseRows {
  readonly ordinals: Uint32Array
  /** ordinals.length x dimension, row-major; for cosine of unit length (or zero). The field copies what it keeps. */
  readonly vectors: Float32Array
  /** Lengths of the vectors before normalization; returned with results. */
  readonly norms: Float32Array
}

export interface DenseSearch {
  readonly k: number
  /** Size of the pool of the walk, at least k. */
  readonly ef: number
  /** Only rows inserted at or before this version and not removed at or before it are returned. */
  readonly version: number
  /** Only these ordinals are returned. */
  readonly allowed?: OrdinalBitmap
  /** Number of rows that may be returned, if all of them are compared by code instead of walking. */
  readonly compared?: number
  /** Whether the walk may miss rows that were removed since the version, because the caller compares them. */
  readonly mayMissRemoved?: boolean
  readonly caller?: Caller | undefined
}

/** Copies of rows whose ordinals are about to be reused. A handle leads to each. */
export interface HeldRows {
  /** Copies the last row of an ordinal; undefined if it has none. */
  take(ordinal: Ordinal): number | undefined
  free(handle: number): void
  /** Exact search over copies, in the calling thread. Their handles are the ordinals of the hits. */
  scan(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly handles: Uint32Array },
  ): DenseHits
  row(handle: number): Float32Array
  norm(handle: number): number
  bytes(): number
  close(): void
}

/** Best first; ties by ordinal. Similarity: cosine; inner product; the negative squared distance for l2. */
export interface DenseHits {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  /** Number of visited nodes, for explain. */
  readonly visited: number
  readonly distances: number
  /** Whether rows differ by less than the errors of their codes, so that other rows may be nearer: originals tell. Default: false. */
  readonly isUnresolved?: boolean
}

/** Nothing was found. */
export const noHits: DenseHits = {
  ordinals: new Uint32Array(0),
  similarities: new Float32Array(0),
  visited: 0,
  distances: 0,
}

/** The bytes of a field as of one moment, while writers continue. Must be released. */
export interface FieldCut {
  /** Whether the pieces are only what changed since the snapshot that `prepareCut` named. */
  readonly isDelta: boolean
  /** May be views of memory that others write: each must be copied in the turn in which it is yielded. */
  readonly pieces: Iterable<Uint8Array>
  /** The pieces were written, and `id` names the snapshot that they are, or that they end: a later cut may contain only the changes. */
  written(id: string): void
  release(): void
}

/** A snapshot of a field for which a cut may contain only what changed since. */
export interface EarlierCut {
  readonly id: string
  /** More bytes than this are not worth it; 0 if no changes are. */
  readonly bytesMax: number
}

/** Yields to other work after this many bytes were processed. */
export type Rest = (bytes: number) => Promise<void>

/** A cut that copies as much as possible in advance, so that taking it is fast. Must be released. */
export interface PreparedCut {
  /** Whether the cut contains only changes. */
  readonly isDelta: boolean
  /** Copies what `take` needs, a little at a time; `rest` is awaited after a number of bytes. Called once. */
  copyAhead(rest: Rest): Promise<void>
  /** Whether the field has other memory than when this began, so that a new cut must be prepared. */
  isStale(): boolean
  /** The field as of now. Nothing may be applied meanwhile. */
  take(): FieldCut
  release(): void
}

/** One segment of a dense field, for a thread that searches it. */
export interface FieldSegment {
  readonly arena: ArenaHandle
  /** Whether walks miss some of its rows. */
  readonly isCutOff: boolean
}

/** Walks in a field that other threads do. */
export interface OtherWalks {
  /** Resolves when all that run now have ended. */
  untilLeft(): Promise<void>
}

export interface DenseField {
  readonly definition: DenseFieldSchema
  /** The kernel, compiled. Comparisons of original vectors run in it, too. */
  readonly kernel: WebAssembly.Module
  /**
   * Reserves memory for ordinals below `end`. Throws EngineError `memory_exhausted` and changes nothing. Afterwards, apply cannot fail for
   * lack of memory.
   */
  reserve(end: Ordinal): void
  /**
   * Applies one event: inserts `rows` as of `version`, then removes `removed` as of the same version. A pure function of the calls so far:
   * the same calls give the same bytes with any number of workers. Calls must not overlap.
   */
  apply(version: number, rows: DenseRows | undefined, removed: Uint32Array): Promise<void>
  /**
   * Removes removed rows from the graph if there are many. Called after each `apply`, when new searches are as of `version`, because walks
   * as of an earlier one would miss the rows: those that run end first, and later ones compare instead.
   */
  sweep(version: number): Promise<void>
  search(query: Float32Array, options: DenseSearch): Promise<DenseHits>
  /** Exact search over the given ordinals, or over all rows, at the field's precision. */
  scan(
    query: Float32Array,
    options: {
      readonly k: number
      readonly version: number
      readonly ordinals?: Uint32Array
      readonly caller?: Caller | undefined
    },
  ): Promise<DenseHits>
  /** The same over a few ordinals, in the calling thread. */
  scanHere(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals: Uint32Array },
  ): DenseHits
  /** Whether a search as of `version` sees a row of the ordinal. */
  has(ordinal: Ordinal, version: number): boolean
  /** The stored row, decoded to float32, of length dimension. Returns the last row of an ordinal also after its removal. */
  row(ordinal: Ordinal): Float32Array | undefined
  norm(ordinal: Ordinal): number
  /** Ordinals that the row is linked to at level 0; some of them may be removed. */
  links(ordinal: Ordinal): readonly Ordinal[]
  /**
   * Starts a cut. Nothing may be applied in the turn of the call. Writers continue until it is taken, and afterwards. The cut contains only
   * what changed since `earlier`, if the field knows that.
   */
  prepareCut(earlier?: EarlierCut): PreparedCut
  /** The field was just loaded and is what the snapshot with this name is, until the next event is applied. */
  loadedAs(id: string): void
  /** Hash of everything that a replay must reproduce. */
  digest(): bigint
  /** Like digest, in steps. The result is valid only if nothing was applied meanwhile. */
  digestInSteps(): Generator<void, bigint>
  /** Memory by part; the sum is the memory of the field. */
  bytes(): { readonly [part: string]: number }
  readonly rows: number
  /** The walks of reader threads. */
  others: OtherWalks | undefined
  /** A place for copies of rows of the current segments. */
  holdRows(): HeldRows
  /** Ordinals of one segment. */
  readonly segmentRows: number
  /** The segments as of now. */
  readonly segments: readonly FieldSegment[]
  close(): Promise<void>
}

/** Rows of a sparse field, one after another, by ordinal. */
export interface SparseRows {
  readonly ordinals: Uint32Array
  /** Number of terms of each row. */
  readonly counts: Uint32Array
  /** Ascending within a row. */
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** Distinct indices, ascending. */
export interface SparseQuery {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** The number of live rows of a text field, and the total of their lengths, as of a version. */
export interface FieldTotals {
  readonly rows: number
  /** Total number of tokens of their texts; may exceed 2^32. */
  readonly length: number
}

/** A query of a text field, scored by BM25 (sparse/text-lists.ts). */
export interface TextQuery {
  /** Distinct terms. */
  readonly terms: readonly TextQueryTerm[]
  /** As of the version, where they were read before; so must be the rows of each term. */
  readonly totals?: FieldTotals
  /** At least 0: how much further occurrences of a term in a text count. */
  readonly k1: number
  /** 0 to 1: how much long texts count less. */
  readonly b: number
}

export interface TextQueryTerm {
  readonly index: number
  /** Multiplies what the term adds to a score. A term whose boost is not above 0 adds nothing. */
  readonly boost: number
  /** Whether every hit has the term. */
  readonly isRequired: boolean
  /** Number of live rows with the term, if the query has totals. */
  readonly rows?: number
}

export interface SparseSearch {
  readonly k: number
  readonly version: number
  readonly allowed?: OrdinalBitmap
  readonly caller?: Caller | undefined
}

/** Chunks of a field: its terms, and the pages of their hash table. */
export const termsLists = ['terms', 'termPages'] as const
export type TermsList = (typeof termsLists)[number]

/** The inverted lists of a field, for a thread that searches them. */
export interface SharedLists {
  readonly handle: SparseHandle
  readonly areas: ReaderAreas
  readonly vocabulary: SharedLookup
}

/** A sparse field, or a text field: its values are packed counts (sparse/packed-counts.ts), and its queries are those of texts. */
export interface SparseField {
  readonly definition: { readonly name: string }
  /**
   * Reserves memory for ordinals below `end` and for `postings` more terms in total. Throws EngineError `memory_exhausted` and changes
   * nothing.
   */
  reserve(end: Ordinal, postings: number): void
  /** Like apply of a dense field; `removed` are the rows as added. */
  apply(version: number, rows: SparseRows | undefined, removed: SparseRows): Promise<void>
  /**
   * Removes the given rows from the lists before their ordinals are reused. No search may see them any more. `version` is that of the event
   * that reuses the ordinals.
   */
  purge(version: number, rows: SparseRows): Promise<void>
  /**
   * Exact search: the k best of the rows that share an index with the query, by dot product or BM25. `visited` counts postings, `distances`
   * scored rows.
   */
  search(query: SparseQuery | TextQuery, options: SparseSearch): Promise<DenseHits>
  /** The same in the calling thread and in this turn. Undefined: the lists are so long that a worker should read them. */
  searchAtOnce(query: TextQuery, options: SparseSearch): DenseHits | undefined
  /**
   * Sets the bit of each row that has the index and that a search as of `version` sees. The bitmap has 32 rows in a word; rows that it has no
   * space for are left out.
   */
  markRows(index: number, version: number, bitmap: Uint32Array): void
  /** Number of rows with the index as of `version`, which is the newest version or the one before it. */
  rowsHaving(index: number, version: number): number
  /** Of a text field, as of `version`, which is the newest version or the one before it. */
  totals(version: number): FieldTotals
  /** All rows have ordinals below this. */
  readonly end: Ordinal
  /** Like prepareCut of a dense field. */
  prepareCut(): PreparedCut
  digest(): bigint
  digestInSteps(): Generator<void, bigint>
  bytes(): { readonly [part: string]: number }
  readonly rows: number
  /** The reads of reader threads. */
  others: OtherReads | undefined
  /** The memory of its terms. */
  readonly chunks: { readonly [list in TermsList]: readonly SharedBytes[] }
  /** Undefined: it has no lists, or there are no reader threads. */
  readonly shared: SharedLists | undefined
  close(): Promise<void>
}
