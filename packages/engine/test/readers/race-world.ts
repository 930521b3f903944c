// What the race of readers and writers agrees on: the vector of an object depends on its number and its stamp, so a reader can check each
// hit alone, and the shared words say what was acknowledged.
import type { SparseRecord } from './race-terms.ts'

export const dimension = 16
export const limit = 8

export const sharedWords = {
  /** 1: the readers stop. */
  stop: 0,
  /** LSN of the newest acknowledged write of `things`. */
  acknowledged: 1,
  /** Number of collections `temporary` that were acknowledged as deleted. Each holds its own number. */
  deleted: 2,
  /** Objects of the newest `temporary` that were acknowledged: 0 to these. Written after `deleted`. */
  grown: 3,
  /** Odd while there may be a collection `copy`, and even once its deletion was acknowledged. */
  copies: 4,
} as const

/** A mixture of the bits, the same in every thread. */
function mix(n: number): number {
  let h = Math.imul(n ^ (n >>> 16), 0x7feb352d)
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b)
  return (h ^ (h >>> 16)) >>> 0
}

export function vectorOf(object: number, stamp: number): Float32Array {
  return Float32Array.from({ length: dimension }, (_, i) => mix(object * 7919 + stamp * 104_729 + i * 31) / 2 ** 32)
}

/** Length of the text in the meta of an object of `temporary`. */
export function textLengthOf(object: number): number {
  return mix(object) % 900
}

/** A read of `things` by id, and what it returned. */
export interface GetRecord {
  /** LSNs that were acknowledged before the read and after it: it shows a state between `from` and the write after `to`. */
  readonly from: number
  readonly to: number
  readonly object: number
  /** Undefined: there was no object. */
  readonly found: { readonly stamp: number; readonly serial: number; readonly third: number } | undefined
}

/** A search of `things` and its hits. */
export interface Record {
  readonly acknowledged: number
  readonly lsn: number
  readonly third: number | undefined
  /** The query is the vector of this object with this stamp. */
  readonly object: number
  readonly stamp: number
  readonly hits: readonly {
    readonly object: number
    readonly stamp: number
    readonly serial: number
    readonly third: number
    readonly similarity: number
  }[]
}

export interface ReaderReport {
  /** Every later record has at least this LSN. */
  readonly floor: number
  readonly records: readonly Record[]
  readonly gets: readonly GetRecord[]
  readonly sparse: readonly SparseRecord[]
  readonly faults: readonly string[]
  readonly searches: number
  /** Searches that the reader left to the owner. */
  readonly left: number
  /** Batches that the reader ran, and reads by id. */
  readonly batches: number
  readonly reads: number
  /** Searches of sparse fields, alone and with others, that the reader ran, and those that it left to the owner. */
  readonly sparseRan: number
  readonly sparseLeft: number
  /** Searches for the newest object of `temporary` while it grew, those that found it, and searches that found hits in `copy`. */
  readonly grown: { readonly searches: number; readonly found: number; readonly copies: number }
}
