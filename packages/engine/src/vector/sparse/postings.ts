// Converts rows to postings: what a batch of rows adds to each list.
import { yieldToOthers } from '@annal/wal'
import { elementAt } from '../element-at.ts'
import type { SparseRows } from '../field.ts'

/** Postings sorted at a time. */
const slicePostings = 2 ** 16
/** Postings written in one turn of the event loop, so that searches and other collections can run. */
const turnPostings = 2 ** 13
/** More than any slice has: a row has at most 2^16 terms. */
const positions = 2 ** 20

/** The postings that rows add to one list. */
export interface AddedPostings {
  readonly index: number
  /** Ascending. */
  readonly ordinals: Uint32Array
  readonly weights: Float32Array
}

/** Passes the postings of the rows to `take`, list by list, one part of a large batch at a time. */
export async function forEachPosting(rows: SparseRows, take: (postings: AddedPostings) => void): Promise<void> {
  let taken = 0
  for (const slice of slicesOf(rows)) {
    for (const postings of postingsByIndex(slice)) {
      take(postings)
      taken += postings.ordinals.length
      if (taken < turnPostings) continue
      taken = 0
      await yieldToOthers()
    }
  }
}

/** Rows in order, in parts that are sorted at a time. */
function* slicesOf(rows: SparseRows): Generator<SparseRows> {
  let row = 0
  let posting = 0
  while (row < rows.ordinals.length) {
    const [firstRow, firstPosting] = [row, posting]
    while (row < rows.ordinals.length && posting - firstPosting < slicePostings)
      posting += elementAt(rows.counts, row++)
    yield {
      ordinals: rows.ordinals.subarray(firstRow, row),
      counts: rows.counts.subarray(firstRow, row),
      indices: rows.indices.subarray(firstPosting, posting),
      values: rows.values.subarray(firstPosting, posting),
    }
  }
}

/** The postings of each index, with indices and ordinals ascending. */
function* postingsByIndex(rows: SparseRows): Generator<AddedPostings> {
  const count = rows.indices.length
  const rowOf = new Uint32Array(count)
  let next = 0
  rows.counts.forEach((terms, row) => {
    rowOf.fill(row, next, next + terms)
    next += terms
  })
  // Sort key: the index, then the position, which is in the order of ordinals.
  const keys = Float64Array.from({ length: count }, (_, i) => elementAt(rows.indices, i) * positions + i).sort()
  for (let from = 0; from < count; ) {
    const index = Math.floor(elementAt(keys, from) / positions)
    let to = from + 1
    while (to < count && elementAt(keys, to) < (index + 1) * positions) to++
    const places = keys.subarray(from, to)
    const ordinals = new Uint32Array(places.length)
    const weights = new Float32Array(places.length)
    places.forEach((key, i) => {
      const place = key - index * positions
      ordinals[i] = elementAt(rows.ordinals, elementAt(rowOf, place))
      weights[i] = elementAt(rows.values, place)
    })
    yield { index, ordinals, weights }
    from = to
  }
}
