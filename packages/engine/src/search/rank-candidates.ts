// Orders the candidates of a search by their original vectors, and reads only those that can be among the best k. The reads are a batch of
// the thread that searches, because a read from the page cache takes less time than handing it to another thread. If the disk is slow, they
// are handed over, so that the thread waits for at most one read and half a millisecond in every few searches.
import { assert } from '../errors.ts'
import type { Originals } from '../replica/originals.ts'
import { similarityOf } from './max-sim.ts'
import { type Best, type RankOptions, rankOriginals, vectorsOf } from './rank-originals.ts'

/** Candidates that are read in one turn of the event loop. More are read in pieces. */
const directMax = 512
/** Time that a batch may take before the rest is handed over, in milliseconds: this, and this for each row. */
const batchMs = 0.5
const rowMs = 0.01
/** Searches whose reads are handed over after a slow one. */
const handedOver = 16
/** Least number of rows whose errors bound those of the others. */
const firstMin = 10

/** Originals of a slow disk, with the number of searches that still hand their reads over. */
const slow = new WeakMap<Originals, number>()

/**
 * The best k of the candidates, which are in the order of their estimated similarities. The first max(k, 10) are compared exactly. Estimates
 * have no bias, so the largest error of these bounds that of the others: a candidate is compared if it would be among the best k with
 * an error of twice that. Returns the number of compared candidates, too. Throws snapshot_damaged if a row on disk is wrong.
 */
export async function rankCandidates(
  candidates: Best,
  originals: Originals,
  options: RankOptions,
  query: Float32Array,
): Promise<Best & { readonly compared: number }> {
  const { ordinals, similarities: estimates } = candidates
  const { k, scoreThreshold = Number.NEGATIVE_INFINITY, definition } = options
  if (ordinals.length > directMax) {
    const source = vectorsOf(originals, definition.params.dimension)
    return { ...(await rankOriginals(ordinals, source, options, query)), compared: ordinals.length }
  }
  const exact = new Float64Array(ordinals.length)
  const first = Math.min(ordinals.length, Math.max(k, firstMin))
  const compare = (vector: Float32Array) => similarityOf(query, vector, definition.params.spaceType)
  await compareRows(originals, ordinals, { exact, from: 0, to: first, compare })
  let error = 0
  for (let i = 0; i < first; i++) error = Math.max(error, Math.abs((exact[i] as number) - (estimates[i] as number)))
  const kth = Math.max(
    scoreThreshold,
    first < k ? Number.NEGATIVE_INFINITY : (exact.slice(0, first).sort()[first - k] as number),
  )
  let to = first
  while (to < ordinals.length && (estimates[to] as number) + 2 * error >= kth) to++
  if (to > first) await compareRows(originals, ordinals, { exact, from: first, to, compare })
  const best = Array.from({ length: to }, (_, i) => i)
    .filter((i) => (exact[i] as number) >= scoreThreshold)
    .sort((a, b) => (exact[b] as number) - (exact[a] as number) || (ordinals[a] as number) - (ordinals[b] as number))
    .slice(0, k)
  return {
    ordinals: Uint32Array.from(best, (i) => ordinals[i] as number),
    similarities: Float32Array.from(best, (i) => exact[i] as number),
    compared: to,
  }
}

interface Batch {
  readonly exact: Float64Array
  readonly from: number
  readonly to: number
  compare(vector: Float32Array): number
}

/** Compares the rows `from` up to but not including `to`. */
async function compareRows(originals: Originals, ordinals: Uint32Array, batch: Batch): Promise<void> {
  const { exact, to, compare } = batch
  const next = compareNow(originals, ordinals, batch)
  if (next === to) return
  const rows = await originals.readGiven([...ordinals.subarray(next, to)])
  for (const [i, row] of rows.entries()) {
    assert(row, `ordinal ${ordinals[next + i]} has an original`)
    exact[next + i] = compare(row.vector)
  }
}

/** Compares rows while the disk is fast. Returns the first that is left. */
function compareNow(originals: Originals, ordinals: Uint32Array, { exact, from, to, compare }: Batch): number {
  const waiting = slow.get(originals) ?? 0
  if (waiting > 0) {
    slow.set(originals, waiting - 1)
    return from
  }
  const until = performance.now() + batchMs + rowMs * (to - from)
  for (let i = from; i < to; i++) {
    const vector = originals.readNow(ordinals[i] as number)
    if (vector === undefined) return i
    exact[i] = compare(vector)
    if (performance.now() > until) {
      slow.set(originals, handedOver)
      return i + 1
    }
  }
  return to
}
