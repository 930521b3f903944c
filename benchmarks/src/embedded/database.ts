// An embedded database that is measured: objects with an id, a vector, and a number to filter by.
import type { Dataset } from '../sets/dataset.ts'

export const k = 10

/** Every object has a part from 0 to 99; a filter keeps the parts below a bound. */
export const parts = 100

export interface Search {
  readonly query: Float32Array
  readonly ef: number
  /** Parts below it match; `parts` if there is no filter. */
  readonly bound: number
}

export interface Database {
  /** Stores all rows as objects `0`, `1`, ..., in batches, and builds what searches need. */
  fill(base: Float32Array): Promise<void>
  /** The ids of the `k` nearest objects that match. */
  search(search: Search): Promise<readonly number[]>
  close(): Promise<void>
}

export type OpenDatabase = (
  set: Pick<Dataset, 'dimension' | 'metric'>,
  folder: string,
  variant: string,
) => Promise<Database>

/** Calls `store` with consecutive rows and the ordinal of the first of them. */
export async function inBatches(
  base: Float32Array,
  dimension: number,
  store: (rows: readonly Float32Array[], first: number) => Promise<unknown> | unknown,
): Promise<void> {
  const count = base.length / dimension
  const batch = 1_000
  for (let first = 0; first < count; first += batch) {
    const rows = Array.from({ length: Math.min(batch, count - first) }, (_, i) =>
      base.subarray((first + i) * dimension, (first + i + 1) * dimension),
    )
    await store(rows, first)
  }
}
