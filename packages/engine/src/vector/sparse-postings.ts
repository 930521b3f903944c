// From rows to postings: what a batch of rows adds to each list.
import { at } from './arena.ts'
import type { SparseRows } from './field.ts'

/** Postings sorted in one go, and written between two turns of the event loop. */
const slicePostings = 2 ** 17
/** More than any slice has: a row has at most 2^16 terms. */
const positions = 2 ** 20

export interface RowSlice {
  readonly rows: SparseRows
  readonly last: boolean
}

/** Rows in their order, in parts that are written in one turn. */
export function* slicesOf(rows: SparseRows): Generator<RowSlice> {
  let row = 0
  let posting = 0
  while (row < rows.ordinals.length) {
    const [firstRow, firstPosting] = [row, posting]
    while (row < rows.ordinals.length && posting - firstPosting < slicePostings) posting += at(rows.counts, row++)
    const slice: SparseRows = {
      ordinals: rows.ordinals.subarray(firstRow, row),
      counts: rows.counts.subarray(firstRow, row),
      indices: rows.indices.subarray(firstPosting, posting),
      values: rows.values.subarray(firstPosting, posting),
    }
    yield { rows: slice, last: row === rows.ordinals.length }
  }
}

/** The postings of each index, indices and ordinals ascending. */
export function* postingsByIndex({ rows }: RowSlice): Generator<{
  readonly index: number
  readonly ordinals: Uint32Array
  readonly weights: Float32Array
}> {
  const count = rows.indices.length
  const rowOf = new Uint32Array(count)
  let next = 0
  rows.counts.forEach((terms, row) => {
    rowOf.fill(row, next, next + terms)
    next += terms
  })
  // One number to sort by: the index, then the place, which stands in the order of ordinals.
  const keys = Float64Array.from({ length: count }, (_, i) => at(rows.indices, i) * positions + i).sort()
  for (let from = 0; from < count; ) {
    const index = Math.floor(at(keys, from) / positions)
    let to = from + 1
    while (to < count && at(keys, to) < (index + 1) * positions) to++
    const places = keys.subarray(from, to)
    const ordinals = new Uint32Array(places.length)
    const weights = new Float32Array(places.length)
    places.forEach((key, i) => {
      const place = key - index * positions
      ordinals[i] = at(rows.ordinals, at(rowOf, place))
      weights[i] = at(rows.values, place)
    })
    yield { index, ordinals, weights }
    from = to
  }
}
