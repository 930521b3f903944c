// Reads of a collection other than searches: counts, pages, facets, recall.

import type { Fields } from './fields.ts'
import type { Filter } from './filter.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { AsOf, AsOfMoment } from './moment.ts'
import type { StoredObject } from './object.ts'
import type { TextMatch } from './query.ts'

/** A count of objects with conditions on texts. */
export interface CountRequest {
  readonly filter?: Filter | undefined
  readonly match: TextMatch
}

/** Which contents of their fields objects are returned with. */
export interface ContentOptions {
  /** Default true; ids, meta and filters alone are much less data. Sparse terms count as vectors. */
  readonly includeVectors?: boolean | undefined
  /** Whether objects have their texts; default: as `includeVectors`. */
  readonly includeTexts?: boolean | undefined
}

/** Which objects a page has; by default all. */
export interface ScrollRequest extends ContentOptions {
  readonly filter?: Filter | undefined
  readonly match?: TextMatch | undefined
  /** Maximum number of objects; default 100. */
  readonly limit?: number | undefined
  /** From the previous page. */
  readonly cursor?: string | undefined
  /** Pages through the collection as of a moment, which the cursor keeps. */
  readonly asOf?: AsOf | undefined
}

/** A page of objects in the order of their ordinals. */
export interface ScrollPage<F extends Fields = Fields, Meta extends object | undefined = JsonObject | undefined> {
  readonly objects: readonly StoredObject<F, Meta>[]
  /** For the next page; undefined on the last. */
  readonly cursor: string | undefined
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

/** The filter key whose values are counted, and the objects that count; by default all. */
export interface FacetRequest {
  /** A filter key. */
  readonly key: string
  readonly filter?: Filter | undefined
  readonly match?: TextMatch | undefined
  /** Maximum number of values; default 10. */
  readonly limit?: number | undefined
  /** Counts in the collection as of a moment. */
  readonly asOf?: AsOf | undefined
}

/** The values of a filter key, with the number of objects that have each. */
export interface Facets {
  /** Strings, numbers and booleans stored under the key, most frequent first, equal counts by value. */
  readonly values: readonly { readonly value: JsonValue; readonly count: number }[]
  /** Number of distinct values. */
  readonly distinct: number
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

/** Which searches are compared with exact ones. */
export interface RecallRequest<Name extends string = string> {
  /** A field with a graph; default: the first one. For a multi-vector field the pooled vectors are used. */
  readonly field?: Name | undefined
  /** Number of stored vectors used as queries; default 100, at most 1,000. */
  readonly sample?: number | undefined
  /** Results compared; default 10. */
  readonly limit?: number | undefined
  readonly ef?: number | undefined
  /** Measures the collection as of a moment. */
  readonly asOf?: AsOf | undefined
}

/** The recall of the sample, 0 to 1. */
export interface RecallReport {
  readonly field: string
  readonly sample: number
  /**
   * Share of the exact result that a search with default settings finds, ties counted as found; 1 when there are no queries. The
   * exact result of a field that is rescored by default compares the original vectors, that of other precisions the rows in memory.
   */
  readonly recall: number
  readonly recallWorst: number
  readonly lsn: number
  /** The moment, if the request has one. */
  readonly asOf?: AsOfMoment
}

/** The response size that a caller accepts. */
export interface AnswerRoom {
  /** A page ends before it exceeds this many bytes; it always has at least one object. */
  readonly pageBytesMax: number
  /** Whether the caller has left. A search whose caller has left rejects with `closed` before it begins another part of its work. */
  readonly hasLeft?: boolean | undefined
  /** Called with the bytes of a response, or of a part of it, before they are allocated. Throws to refuse them. */
  take(bytes: number): void
}
