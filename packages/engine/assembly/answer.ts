// Answers one query in the calling thread: with a walk of the graph, with a scan of codes, or with an exact scan of rows that the host
// lists. The query vector is in the query buffer of scratch. Results are in `answers` (ordinals, u32) and `similarities` (f32), best first.
import { END, HANDOVERS, NONE, ROWS, hasHeads, hiddenAt, rotated, tailOf } from './layout'
import { answers, reportProgress, ids, keys, nextWalk, pool as poolBytes, poolMax, ranked, similarities, visited } from './scratch'
import { exactKeyFrom, exactKeysOf, exactKeysOfScan, toWalkKey, touchCold } from './distance/exact'
import { keysOfIds } from './distance/walk'
import { maxf } from './lanes'
import { prepareQuery, prepareQueryBound } from './prepare-query'
import * as pool from './hnsw/pool'
import { walkFiltered } from './hnsw/allowed'
import { isMarkedFollower, isMarkedLeader, leaderOf } from './hnsw/copies'
import { allowedFollowerAfter, firstAllowedFollower, hasCopies, isHidden, isHiddenRow, setView } from './hnsw/view'
import { approach, setScreening, walkLevel } from './hnsw/search'
import { resumeIfLost } from './hnsw/lost'
import { widenIfLost } from './hnsw/widen'

let scanVersion: u32 = 0

/**
 * Finds the `k` nearest rows as of `version` with a walk whose pool keeps `ef` rows. The best max(`k`, `rerank`) of the pool are re-ranked
 * at the field's precision. If `bitmap` is not 0, only ordinals below `bits` whose bit is set are returned. Returns the number of results,
 * at most `k`. A walk that is unresolved is repeated with a larger pool.
 */
export function search(k: i32, ef: i32, rerank: i32, version: u32, bitmap: usize, bits: u32): i32 {
  prepareQuery()
  if (hasHeads) prepareQueryBound(ef)
  for (let i: i32 = 0; i < TRIES; ++i) {
    const handovers = atomic.load<u32>(HANDOVERS)
    const found = searchOnce(k, ef, rerank, version, bitmap, bits)
    if (isConsistent(handovers)) return found
  }
  return scanAll(k)
}

/** Attempts of a search before it falls back to an exact scan. An attempt fails if followers changed their leader while it ran. */
const TRIES: i32 = 3

/** Whether the followers read since `handovers` was loaded are consistent: no handover is running, and none ran meanwhile. */
function isConsistent(handovers: u32): bool {
  return (handovers & 1) == 0 && atomic.load<u32>(HANDOVERS) == handovers
}

function searchOnce(k: i32, ef: i32, rerank: i32, version: u32, bitmap: usize, bits: u32): i32 {
  setView(version, bitmap, bits)
  const copies = max(k, rerank)
  let found: i32 = 0
  wasUnresolved = false
  let kept = ef
  let reranked = copies
  let isFirst = true
  setScreening(hasHeads)
  while (approach(0, false)) {
    if (bitmap == 0) {
      widenIfLost(kept)
      walkLevel(kept, 0, true, true, nextWalk())
      resumeIfLost(kept)
    } else if (!walkFiltered(k, kept, countBits(bitmap, bits))) {
      setScreening(false)
      return compareOnce(k, ef, version, bitmap, bits)
    }
    const most = pool.dropHidden()
    rerankPool(min(most, reranked), k, copies)
    found = pool.size
    wasUnresolved = wasUnresolved || isUnresolved
    if (!isUnresolved || !(isFirst || isOpen) || most < kept || kept >= UNRESOLVED_EF_MAX) break
    isFirst = false
    kept = min(UNRESOLVED_EF_MAX, kept * UNRESOLVED_GROWTH)
    reranked = kept
  }
  setScreening(false)
  // A walk can miss rows that it cannot reach, or can fill its pool with hidden rows. If more rows may exist than were found, scan all.
  if (found < k && <u32>found < countPossible(bitmap, bits)) return scanAll(k)
  return writeResults(k)
}

/** A walk is unresolved if the exact keys of its rows differ by less than this many times the largest error of a walk key. */
const UNRESOLVED_ERRORS: f32 = 2
/** Fewer rows may be as near to each other by chance. */
const UNRESOLVED_ROWS_MIN: i32 = 8

/**
 * An unresolved walk is repeated with a pool this many times as large, up to the maximum, and the whole pool is re-ranked: once, because links
 * between such rows lead where errors do, and again as long as re-ranking leaves no row out. The walk passes through the cluster of the query,
 * whatever the order of its rows (docs/lab/2026-11-27-tight-clusters.md).
 */
const UNRESOLVED_GROWTH: i32 = 8
const UNRESOLVED_EF_MAX: i32 = 2048

/**
 * Like `search`, but compares the code of every row that may be returned instead of walking. It misses nothing, and is cheaper than a walk
 * if few rows may be returned. If the result is unresolved, the rows themselves are compared.
 */
export function compare(k: i32, ef: i32, version: u32, bitmap: usize, bits: u32): i32 {
  prepareQuery()
  for (let i: i32 = 0; i < TRIES; ++i) {
    const handovers = atomic.load<u32>(HANDOVERS)
    const found = compareOnce(k, ef, version, bitmap, bits)
    if (isConsistent(handovers)) return found
  }
  return scanAll(k)
}

function compareOnce(k: i32, ef: i32, version: u32, bitmap: usize, bits: u32): i32 {
  setView(version, bitmap, bits)
  pool.clear(ef)
  const mark = nextWalk()
  const end = bitmap == 0 ? load<u32>(END) : min(bits, load<u32>(END))
  let count: i32 = 0
  for (let first: u32 = 0; first < end; first += 32) {
    let word: u32 = bitmap == 0 ? 0xffffffff : load<u32>(bitmap + <usize>(first >> 3))
    if (end - first < 32) word &= (1 << (end - first)) - 1
    for (; word != 0; word &= word - 1) {
      const id = hasCopies ? nodeOf(first | ctz(word), mark) : first | ctz(word)
      store<u32>(ids + (<usize>count << 2), id)
      count += <i32>(id != NONE)
    }
    if (count < ROWS_PER_STEP && first + 32 < end) continue
    insertByCode(count)
    count = 0
  }
  const isFull = pool.size == ef
  rerankPool(pool.size, k, max(k, COPIES_MIN))
  wasUnresolved = isUnresolved
  return isFull && isUnresolved && isOpen ? scanAll(k) : writeResults(k)
}

/**
 * The node of a row when the scan meets it first, NONE afterwards. A removed row that no longer follows a node is its own node, because
 * searches as of an earlier version may see it. A node without followers is marked as well, because a row that is written meanwhile may
 * follow it, and be met later.
 */
function nodeOf(row: u32, mark: u32): u32 {
  const leader = isMarkedFollower(row) ? leaderOf(row) : NONE
  const id = leader == NONE ? row : leader
  const visit = visited + <usize>id
  if (<u32>load<u8>(visit) == mark) return NONE
  store<u8>(visit, <u8>mark)
  return id
}

/** Minimum number of rows of one node that are re-ranked. */
const COPIES_MIN: i32 = 24

/** Number of rows of a scan that are compared before the pool is updated. */
const ROWS_PER_STEP: i32 = 256

function insertByCode(count: i32): void {
  keysOfIds(count)
  for (let i: i32 = 0; i < count; ++i) {
    const id = load<u32>(ids + (<usize>i << 2))
    const entry = pool.entryOf(load<f32>(keys + (<usize>i << 2)), id)
    if (entry < pool.worst && !isHiddenFromScan(id)) pool.insert(entry)
  }
}

function isHiddenFromScan(id: u32): bool {
  return hasCopies && !isMarkedFollower(id) ? isHidden(id) : isHiddenRow(id)
}

/** Upper bound of the number of rows that could be returned. */
function countPossible(bitmap: usize, bits: u32): u32 {
  return bitmap == 0 ? load<u32>(ROWS) : countBits(bitmap, bits)
}

function countBits(bitmap: usize, bits: u32): u32 {
  let n: u64 = 0
  const end = bitmap + <usize>(((bits + 31) >> 5) << 2)
  let p = bitmap
  for (; p + 8 <= end; p += 8) n += popcnt(load<u64>(p))
  if (p < end) n += popcnt(load<u32>(p))
  return <u32>n
}

/**
 * Re-ranks the first `nodes` entries of the pool by exact key and keeps the best `k` rows. At most `copies` rows of each node are
 * re-ranked. Stops early once the walk key of the next row is worse than the k-th exact key by more than twice the largest error of a walk
 * key seen so far.
 */
function rerankPool(nodes: i32, k: i32, copies: i32): void {
  if (rotated && !hasCopies) {
    isUnresolved = false
    isOpen = false
    convertPool(min(nodes, k))
    return
  }
  const count = hasCopies ? listRows(nodes, copies) : nodes
  if (!hasCopies) {
    memory.copy(ranked, poolBytes, <usize>count << 3)
    for (let i: i32 = 0; i < count; ++i) store<u32>(ids + (<usize>i << 2), pool.idOf(pool.entryAt(i)))
  }
  // The rows that are read in any case. Whether others are read is known only when those before them were.
  const sure = min(count, (k + ROWS_PER_BATCH - 1) & ~(ROWS_PER_BATCH - 1))
  touchCold(ids, min(sure, ROWS_TOUCHED))
  pool.clear(k)
  let error: f32 = 0
  let farthest = f32x4.splat(-f32.MAX_VALUE)
  let latest = farthest
  let read: i32 = 0
  isOpen = true
  for (; read < count; read += ROWS_PER_BATCH) {
    const from = read
    if (from >= k && pool.keyOfEntry(load<u64>(ranked + (<usize>from << 3))) > lastNeeded(error)) {
      isOpen = false
      break
    }
    farthest = f32x4.max(farthest, latest)
    const n = min(ROWS_PER_BATCH, count - from)
    const ahead = from + ROWS_TOUCHED
    if (ahead < sure) touchCold(ids + (<usize>ahead << 2), min(ROWS_PER_BATCH, sure - ahead))
    exactKeysOf(ids + (<usize>from << 2), n, keys)
    latest = v128.load(keys)
    for (let i: i32 = 0; i < n; ++i) {
      const key = load<f32>(keys + (<usize>i << 2))
      const walked = load<u64>(ranked + (<usize>(from + i) << 3))
      error = max(error, abs(toWalkKey(key) - pool.keyOfEntry(walked)))
      const entry = pool.entryOf(key, pool.idOf(walked))
      if (entry < pool.worst) pool.insert(entry)
    }
  }
  isUnresolved = pool.size > 0 && areNear(maxf(farthest), min(read, count), error)
}

/** Walk key from which on rows cannot be among the best `k`, which are in the pool. */
@inline
function lastNeeded(error: f32): f32 {
  return toWalkKey(pool.keyOfEntry(pool.entryAt(pool.size - 1))) + 2 * error
}

/**
 * Whether the exact keys of the first `read` rows differ by less than errors. `farthest` is the largest key of the batches before the last, whose
 * keys are in `keys`. Of the last batch, only rows that may be among the best count: the others are read because it is a batch.
 */
function areNear(farthest: f32, read: i32, error: f32): bool {
  const limit = lastNeeded(error)
  const first = (read - 1) & ~(ROWS_PER_BATCH - 1)
  let near = first
  for (let i = first; i < read; ++i) {
    if (pool.keyOfEntry(load<u64>(ranked + (<usize>i << 3))) > limit) break
    farthest = max(farthest, load<f32>(keys + (<usize>(i - first) << 2)))
    near += 1
  }
  const spread = toWalkKey(farthest) - toWalkKey(pool.keyOfEntry(pool.entryAt(0)))
  // Equal rows have no order.
  return near >= UNRESOLVED_ROWS_MIN && spread > 0 && spread < UNRESOLVED_ERRORS * error
}

/** Whether `rerankPool` read all rows that it could: others may have been among the best. */
let isOpen: bool = false
/**
 * Whether the exact keys of the rows that `rerankPool` read differ by less than twice the largest error of their walk keys: then their order
 * in the walk was that of the errors, and rows that the walk left out may be nearer. Codes are too coarse for rows in a cluster much smaller than the
 * distance to the center of the field.
 */
let isUnresolved: bool = false
/** Whether the last search was unresolved at its own ef. */
let wasUnresolved: bool = false

/** Whether the last `search` or `compare` was unresolved at its own ef, 1 or 0. Then coarse rows do not order its results, but originals do. */
export function isLastUnresolved(): i32 {
  return <i32>wasUnresolved
}

/** Keeps the first `count` entries of the pool with their exact keys, where those are the estimates by which the walk has ordered them. */
function convertPool(count: i32): void {
  memory.copy(ranked, poolBytes, <usize>count << 3)
  pool.clear(max(1, count))
  for (let i: i32 = 0; i < count; ++i) {
    const entry = load<u64>(ranked + (<usize>i << 3))
    const id = pool.idOf(entry)
    pool.insert(pool.entryOf(exactKeyFrom(pool.keyOfEntry(entry), id), id))
  }
}

/**
 * Lists the rows of the first `nodes` entries of the pool: at most `copies` rows of each node, by ascending ordinal. Returns the number of
 * rows.
 */
function listRows(nodes: i32, copies: i32): i32 {
  rowCount = 0
  for (let i: i32 = 0; i < nodes; ++i) {
    const entry = pool.entryAt(i)
    const node = pool.idOf(entry)
    if (!isMarkedLeader(node)) {
      appendRow(entry, node)
      continue
    }
    const most = rowCount + copies
    let isListed = isHiddenRow(node)
    for (let id = firstAllowedFollower(node); id != NONE && rowCount < most; id = allowedFollowerAfter(node, id)) {
      reportProgress()
      if (!isListed && node < id) {
        isListed = true
        appendRow(entry, node)
      }
      if (rowCount < most && !isHiddenRow(id)) appendRow(entry, id)
    }
    if (!isListed && rowCount < most) appendRow(entry, node)
  }
  return rowCount
}

let rowCount: i32 = 0
/** Appends one row with the walk key of its node. */
function appendRow(entry: u64, id: u32): void {
  if (rowCount >= poolMax) return
  store<u64>(ranked + (<usize>rowCount << 3), (entry & 0xffffffff00000000) | (<u64>id << 2))
  store<u32>(ids + (<usize>rowCount << 2), id)
  rowCount++
}

/** Rows that are re-ranked between two checks for an early stop: `exactKeysOf` computes four keys at a time. */
const ROWS_PER_BATCH: i32 = 4
/** Rows whose cold parts are prefetched ahead, a multiple of ROWS_PER_BATCH. */
const ROWS_TOUCHED: i32 = 12

/** Inserts the first `count` of `ids` into the pool by exact key. */
function insertExact(count: i32): void {
  for (let from: i32 = 0; from < count; from += ROWS_PER_STEP) {
    reportProgress()
    const first = ids + (<usize>from << 2)
    const end = min(ROWS_PER_STEP, count - from) << 2
    exactKeysOfScan(first, end >> 2, keys)
    for (let i: i32 = 0; i < end; i += 4) {
      const entry = pool.entryOf(load<f32>(keys + <usize>i), load<u32>(first + <usize>i))
      if (entry < pool.worst) pool.insert(entry)
    }
  }
}

function writeResults(k: i32): i32 {
  const n = min(k, pool.size)
  for (let i: i32 = 0; i < n; ++i) {
    const entry = pool.entryAt(i)
    store<u32>(answers + (<usize>i << 2), pool.idOf(entry))
    store<f32>(similarities + (<usize>i << 2), -pool.keyOfEntry(entry))
  }
  return n
}

function scanAll(k: i32): i32 {
  pool.clear(k)
  const end = load<u32>(END)
  let count: i32 = 0
  for (let id: u32 = 0; id < end; ++id) {
    store<u32>(ids + (<usize>count << 2), id)
    count += <i32>!isHiddenRow(id)
    if (count < ROWS_PER_STEP) continue
    insertExact(count)
    count = 0
  }
  insertExact(count)
  return writeResults(k)
}

/** Starts an exact scan as of `version` that keeps the best `k` rows. The host then calls `scanIds` or `scanRange`, and `endScan`. */
export function beginScan(k: i32, version: u32): void {
  prepareQuery()
  setView(version, 0, 0)
  scanVersion = version
  pool.clear(k)
}
/**
 * Adds the first `count` ordinals of the scratch list `ids` to the scan. Ordinals without a row that is visible to the scan are skipped.
 */
export function scanIds(count: i32): void {
  const end = load<u32>(END)
  let visible: i32 = 0
  for (let i: i32 = 0; i < count; ++i) {
    const id = load<u32>(ids + (<usize>i << 2))
    store<u32>(ids + (<usize>visible << 2), id)
    visible += <i32>(id < end && !hiddenAt(tailOf(id), scanVersion))
  }
  insertExact(visible)
}
/** Adds the ordinals `from` up to but not including `to` to the scan. `to` must not be above the end of the rows. */
export function scanRange(from: u32, to: u32): void {
  let count: i32 = 0
  for (let id = from; id < to; ++id) {
    store<u32>(ids + (<usize>count << 2), id)
    count += <i32>!hiddenAt(tailOf(id), scanVersion)
    if (count < ROWS_PER_STEP) continue
    insertExact(count)
    count = 0
  }
  insertExact(count)
}
/** Ends a scan: writes the best `k` rows to `answers` and `similarities`, and returns their number. */
export function endScan(k: i32): i32 {
  wasUnresolved = false
  return writeResults(k)
}
