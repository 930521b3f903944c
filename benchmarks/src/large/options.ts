// What a run of the large set is about.
import { join } from 'node:path'
import type { Precision } from '@annal/engine'

export interface LargeOptions {
  /** Has the data directory and the exact results of this set. */
  readonly dir: string
  readonly precision: Precision
  readonly rows: number
  readonly dimension: number
  readonly seed: number
  /** Queries whose exact results are known. */
  readonly queries: number
  readonly ef: number
}

/** Results of a query. */
export const k = 10
/** The number of the first batch of queries: no batch of rows has it. */
export const queryBatch = 1e9

/** The number of queries of each kind: with known results, timed with a warm and with a cold page cache, by one caller and by eight. */
export function queryCounts(known: number): readonly number[] {
  return [known, 1_000, 400, 400]
}

export function queriesFile(dir: string, kind: number): string {
  return join(dir, `queries-${kind}.f32`)
}

export const fieldName = 'v'
export const collectionName = 'large'
