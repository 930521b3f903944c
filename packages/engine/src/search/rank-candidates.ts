// Orders the candidates of a search by their original vectors, and reads only those that can be among the best k. The reads are a batch of
// the thread that searches, because a read from the page cache takes less time than handing it to another thread. If the disk is slow, they
// are handed over, so that the thread waits for a few reads and half a millisecond in every few searches. Handed-over reads share buffers.
import { yieldToOthers } from '@annal/wal'
import { assert, type EngineError } from '../errors.ts'
import type { GivenRow } from '../originals/originals.ts'
import { refuseWhenLeft } from '../vector/caller.ts'
import type { OriginalComparer } from '../vector/dense/original-comparer.ts'
import { CandidateRanking, type RankedCandidates } from './candidate-ranking.ts'
import { similarityOf } from './max-sim.ts'
import type { RankOptions } from './rank-originals.ts'
import type { Best } from './ranking.ts'
import { ReadBuffers } from './read-buffers.ts'

/** Candidates that are read in one turn of the event loop. */
const directMax = 512
/**
 * A read that takes longer waits for a disk, or for the core. The second one of a search shows that it is the disk: then the rest is handed
 * over.
 */
const slowReadMs = 0.1
const slowReadsMax = 2
/** Searches whose reads are handed over after a slow one. */
const handedOver = 16
/** Bytes of the rows that a search hands over at a time, and the least number of them. They keep the threads that read busy. */
const handedOverBytes = 2 ** 17
const handedOverMin = 8

/** Original vectors on disk by ordinal. Each of the ordinals has one. */
export interface OriginalRows {
  /**
   * Reads a row in the calling thread into `bytes`: the checksum before it, the vector, and its checksum. Returns the checksum of the header
   * of its file; undefined if only `readGiven` can read the row, which then reports why.
   */
  readNow(ordinal: number, bytes: Uint8Array): bigint | undefined
  /** Like `readNow`, without waiting. Nothing else may use the bytes until the promise is settled. */
  readLater(ordinal: number, bytes: Uint8Array): Promise<bigint | undefined>
  /** The error of a row that does not match its checksum. */
  damaged(ordinal: number): EngineError
  /** Reads vectors without waiting. Throws snapshot_damaged if a row is wrong. */
  readGiven(ordinals: readonly number[]): Promise<readonly (GivenRow | undefined)[]>
}

/** Rows of a slow disk, with the number of searches that still hand their reads over. */
const slow = new WeakMap<OriginalRows, number>()

/**
 * The best k of the candidates, which are in the order of their estimated similarities. `CandidateRanking` decides which are compared, by
 * values alone: a slow disk does not change the result. Throws snapshot_damaged if a row on disk is wrong.
 */
export async function rankCandidates(
  candidates: Best,
  rows: OriginalRows,
  options: RankOptions,
  query: Float32Array,
  comparer: OriginalComparer,
): Promise<RankedCandidates> {
  const ranking = new CandidateRanking(candidates, options)
  const batch = { candidates, rows, query, spaceType: options.definition.params.spaceType, comparer }
  while (!isSlow(rows)) {
    if (rankSome(ranking, batch)) return ranking.result()
    if (slow.has(rows)) break
    await yieldToOthers()
    refuseWhenLeft(options.caller)
  }
  await rankHandedOver(ranking, batch)
  return ranking.result()
}

interface Batch {
  readonly candidates: Best
  readonly rows: OriginalRows
  readonly query: Float32Array
  readonly spaceType: RankOptions['definition']['params']['spaceType']
  readonly comparer: OriginalComparer
}

/**
 * Compares candidates in the calling thread, at most `directMax`. Returns whether all that may be among the best are compared. If the disk is
 * slow, or a row can only be read otherwise, the rows are marked as slow.
 */
function rankSome(ranking: CandidateRanking, { candidates, rows, query, spaceType, comparer }: Batch): boolean {
  comparer.begin(query, spaceType)
  const end = ranking.next + directMax
  let slowReads = 0
  let before = performance.now()
  while (!ranking.isDone && ranking.next < end) {
    const ordinal = candidates.ordinals[ranking.next] as number
    const headSum = rows.readNow(ordinal, comparer.row)
    if (headSum === undefined) {
      slow.set(rows, 0)
      return false
    }
    const similarity = comparer.compare(headSum)
    if (Number.isNaN(similarity)) throw rows.damaged(ordinal)
    ranking.put(similarity)
    const now = performance.now()
    if (now - before > slowReadMs && ++slowReads === slowReadsMax) {
      slow.set(rows, handedOver)
      return ranking.isDone
    }
    before = now
  }
  return ranking.isDone
}

const buffers = new ReadBuffers()

/** Compares candidates with reads that are handed over, as many at a time as one buffer holds. */
async function rankHandedOver(ranking: CandidateRanking, batch: Batch): Promise<void> {
  if (ranking.isDone) return
  const { comparer, query, spaceType } = batch
  comparer.begin(query, spaceType)
  const rowBytes = comparer.row.length
  const most = Math.max(handedOverMin, Math.floor(handedOverBytes / rowBytes))
  const buffer = buffers.take(most * rowBytes)
  while (!ranking.isDone) {
    const ordinals = batch.candidates.ordinals.subarray(ranking.next, ranking.end(most))
    const read = await readAll(batch.rows, ordinals, buffer, rowBytes)
    if (read === undefined) await rankGiven(ranking, batch, ordinals)
    else putAll(ranking, batch, ordinals, read)
  }
  // Not after an error: other reads may still write to it.
  buffers.putBack(buffer)
}

interface ReadRow {
  readonly headSum: bigint
  readonly bytes: Uint8Array
}

/** Reads rows into `buffer`, one after another. Undefined if one can only be read otherwise. */
async function readAll(
  rows: OriginalRows,
  ordinals: Uint32Array,
  buffer: Uint8Array,
  rowBytes: number,
): Promise<readonly ReadRow[] | undefined> {
  const read = await Promise.all(
    Array.from(ordinals, async (ordinal, i) => {
      const bytes = buffer.subarray(i * rowBytes, (i + 1) * rowBytes)
      const headSum = await rows.readLater(ordinal, bytes)
      return headSum === undefined ? undefined : { headSum, bytes }
    }),
  )
  return read.every((row) => row !== undefined) ? read : undefined
}

function putAll(
  ranking: CandidateRanking,
  { rows, query, spaceType, comparer }: Batch,
  ordinals: Uint32Array,
  read: readonly ReadRow[],
): void {
  // Another search may have used the comparer meanwhile.
  comparer.begin(query, spaceType)
  const first = ranking.next
  for (const [i, { headSum, bytes }] of read.entries()) {
    if (ranking.isDone) return
    if (ranking.next !== first + i) continue
    comparer.row.set(bytes)
    const similarity = comparer.compare(headSum)
    if (Number.isNaN(similarity)) throw rows.damaged(ordinals[i] as number)
    ranking.put(similarity)
  }
}

async function rankGiven(
  ranking: CandidateRanking,
  { rows, query, spaceType }: Batch,
  ordinals: Uint32Array,
): Promise<void> {
  const first = ranking.next
  for (const [i, row] of (await rows.readGiven([...ordinals])).entries()) {
    assert(row, `ordinal ${ordinals[i]} has an original`)
    if (!ranking.isDone && ranking.next === first + i) ranking.put(similarityOf(query, row.vector, spaceType))
  }
}

/** Whether this search hands its reads over, which is counted. */
function isSlow(rows: OriginalRows): boolean {
  const left = slow.get(rows)
  if (left === undefined) return false
  if (left > 0) slow.set(rows, left - 1)
  else slow.delete(rows)
  return left > 0
}
