// The seam between a replica and the memory that holds one of its fields. Rows are addressed by ordinal; time is counted
// in versions: the replica applies version 1, 2, 3 ..., and a search sees a field exactly as of one version.
import type { DenseFieldSchema, SparseFieldSchema } from '../model/schema.ts'

/** Small integer of an object inside its collection. */
export type Ordinal = number

/** One bit per ordinal, 32 to a word; shared so that workers read it without a copy. */
export interface OrdinalBitmap {
  readonly words: Uint32Array<SharedArrayBuffer>
}

/** Rows given to a field by one event, in ordinal order as the log gave them out. */
export interface DenseRows {
  readonly ordinals: Uint32Array
  /** ordinals.length x dimension, row-major; for cosine of unit length (or zero). The field copies what it keeps. */
  readonly vectors: Float32Array
  /** Lengths of the vectors before they were made unit; returned with results. */
  readonly norms: Float32Array
}

export interface DenseSearch {
  readonly k: number
  /** Pool of the walk, at least k. */
  readonly ef: number
  /** Only rows inserted at or before this version and not removed at or before it are returned. */
  readonly version: number
  /** Only these ordinals are returned. */
  readonly allowed?: OrdinalBitmap
  /** How many rows may be returned, where all of them are to be compared, each by its code, instead of walking to the nearest. */
  readonly compared?: number
}

/** Best first; ties by ordinal. Similarity: cosine; inner product; minus the squared distance for l2. */
export interface DenseHits {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  /** What it cost, for explain. */
  readonly visited: number
  readonly distances: number
}

/** The bytes of a field as of one moment, while writers go on. Must be released. */
export interface FieldCut {
  /** May lie in memory that others write to: each is to be copied in the turn in which it is given. */
  readonly pieces: Iterable<Uint8Array>
  release(): void
}

/** Lets others have their turn after work on so many bytes. */
export type Rest = (bytes: number) => Promise<void>

/** A cut of which as much is copied beforehand as can be, so that taking it is short. Must be released. */
export interface PreparedCut {
  /** Copies what must be copied for `take`, a little at a time: `rest` is awaited after so many bytes. Called once. */
  copyAhead(rest: Rest): Promise<void>
  /** The field as it is now. Nothing may be applied meanwhile. */
  take(): FieldCut
  release(): void
}

export interface DenseField {
  readonly definition: DenseFieldSchema
  /** Makes room for ordinals below `end`. Throws EngineError `memory_exhausted` and changes nothing. After it, apply cannot fail for want of room. */
  reserve(end: Ordinal): void
  /**
   * Applies one event: inserts `rows` as of `version`, then removes `removed` as of the same version. A pure function of the
   * calls so far: the same calls give the same bytes, whatever the number of workers. Calls do not overlap.
   */
  apply(version: number, rows: DenseRows | undefined, removed: Uint32Array): Promise<void>
  search(query: Float32Array, options: DenseSearch): Promise<DenseHits>
  /** Exact over the given ordinals, or over all rows, at the field's precision. */
  scan(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals?: Uint32Array },
  ): Promise<DenseHits>
  /** Whether a search as of `version` sees a row of the ordinal. */
  has(ordinal: Ordinal, version: number): boolean
  /** The stored row, de-quantised, of length dimension; of an ordinal that had a row at some time also the last one it had. */
  row(ordinal: Ordinal): Float32Array | undefined
  norm(ordinal: Ordinal): number
  /** Ordinals the row is linked to at the base of the graph, some of them removed by now. */
  links(ordinal: Ordinal): readonly Ordinal[]
  /** Begins a cut. Nothing may be applied in the turn of the call; then writers go on until it is taken, and afterwards. */
  prepareCut(): PreparedCut
  /** Hash of everything a replay must reproduce. */
  digest(): bigint
  /** The same with rests in between; what comes out counts only when nothing was applied meanwhile. */
  digesting(): Generator<void, bigint>
  /** Memory by part; the sum is what the field takes from the process. */
  bytes(): { readonly [part: string]: number }
  readonly rows: number
  close(): Promise<void>
}

/** Rows of a sparse field, one after another, in ordinal order. */
export interface SparseRows {
  readonly ordinals: Uint32Array
  /** Terms of each row. */
  readonly counts: Uint32Array
  /** Ascending within a row. */
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** Indices ascending, each once. */
export interface SparseQuery {
  readonly indices: Uint32Array
  readonly values: Float32Array
}

export interface SparseSearch {
  readonly k: number
  readonly version: number
  readonly allowed?: OrdinalBitmap
}

export interface SparseField {
  readonly definition: SparseFieldSchema
  /** Makes room for ordinals below `end` and `postings` more terms in all. Throws EngineError `memory_exhausted` and changes nothing. */
  reserve(end: Ordinal, postings: number): void
  /** As a dense field does; `removed` are the rows as they were given. */
  apply(version: number, rows: SparseRows | undefined, removed: SparseRows): Promise<void>
  /** Takes removed rows out of the lists, as they were given, before their ordinals are used again. Nobody may see them any more. */
  purge(rows: SparseRows): Promise<void>
  /** Exact: the k best of the rows that share an index with the query, by dot product. `visited` counts postings, `distances` rows looked at whole. */
  search(query: SparseQuery, options: SparseSearch): Promise<DenseHits>
  /** As of a dense field. */
  prepareCut(): PreparedCut
  digest(): bigint
  digesting(): Generator<void, bigint>
  bytes(): { readonly [part: string]: number }
  readonly rows: number
  close(): Promise<void>
}
