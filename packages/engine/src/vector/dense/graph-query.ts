// The query that searches one segment of a dense field, the same in every thread.
import type { DenseSearch } from '../field.ts'
import type { GraphQuery } from '../pool.ts'
import { walkEntriesMax } from './scratch.ts'

/** What a query must know of its segment. */
export interface QueriedSegment {
  /** Id of the arena. */
  readonly memory: number
  readonly rows: number
  /** Whether walks miss some of the rows. */
  readonly isCutOff: boolean
}

export function graphQuery(
  segment: QueriedSegment,
  query: Float32Array,
  options: Omit<DenseSearch, 'allowed'>,
  lent: { readonly address: number; readonly bits: number } | undefined,
): GraphQuery {
  const { k, version, caller } = options
  const ef = Math.min(walkEntriesMax, Math.max(options.ef, k))
  return {
    kind: 'search',
    memory: segment.memory,
    query,
    k,
    version,
    ef,
    rerank: rerankOf(ef, k),
    compared: comparedIn(segment, options),
    bitmap: lent?.address ?? 0,
    bits: lent?.bits ?? 0,
    caller,
  }
}

/** Number of rows to compare in a segment instead of walking: that of the search, or all rows if a walk would miss some. */
function comparedIn({ isCutOff, rows }: QueriedSegment, { compared = 0 }: Pick<DenseSearch, 'compared'>): number {
  return compared === 0 && isCutOff ? rows : compared
}

/**
 * Number of the walk's best rows that are re-ranked: enough that the error of codes does not matter, also for the last of k results. Rows that
 * cannot be among the best k are not read, because re-ranking stops early.
 */
function rerankOf(ef: number, k: number): number {
  return Math.max(24, ef >>> 2, k + (k >>> 1))
}
