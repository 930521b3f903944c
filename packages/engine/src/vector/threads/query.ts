// What can be asked of the threads that search, and how much work it is.
import { payloadBytes } from './ring.ts'

interface QueryBase {
  readonly arena: number
  readonly query: Float32Array
  readonly k: number
  readonly version: number
}
export interface GraphQuery extends QueryBase {
  readonly kind: 'search'
  readonly ef: number
  readonly rerank: number
  /** As in SearchCall. */
  readonly compared: number
  /** Address of a bitmap in the arena, or 0. */
  readonly bitmap: number
  readonly bits: number
}
export interface ScanQuery extends QueryBase {
  readonly kind: 'scan'
  /** Ordinals to compare, at most `listedMax`; or all from `from` below `to`. */
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}
/** The query stands in a ticket in the field's memory, and so does the answer. */
export interface SparseQuery extends QueryBase {
  readonly kind: 'sparse'
  readonly ticket: number
}
export type Query = GraphQuery | ScanQuery | SparseQuery

/** Ordinals one question can list beside its query. */
export function listedMax(dimension: number): number {
  return payloadBytes / 4 - dimension
}

/** Rows whose codes are compared in the time that a walk takes for an entry of its pool. */
const comparedPerEntry = 16

/** What a walk costs at most, as its pool times the dimension; more than a small one takes, where it cannot be told. */
export function workOf(question: Query): number {
  if (question.kind !== 'search') return Number.POSITIVE_INFINITY
  const { compared, ef, query } = question
  return (compared > 0 ? compared / comparedPerEntry : ef) * query.length
}
