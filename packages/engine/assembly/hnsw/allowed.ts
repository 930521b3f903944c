// The walk of a selective filter, over allowed rows only. From a row it goes to the allowed neighbors, and past neighbors that are not
// allowed to their neighbors, until it has met enough allowed rows (the idea of ACORN, arXiv 2403.04871). It computes distances of allowed
// rows only. If one row in ten is allowed, a walk through hidden rows would compute ten distances for each useful one.
import { IP, M, M0, MARKED, NONE, baseLinksOf, metric } from '../layout'
import { ids, poolMax, ranked, visited } from '../scratch'
import { keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, entryAt, idOf, keyOfEntry, setEntry, reseed, setSize, size } from './pool'
import { isMarkedFollower, leaderOf } from './copies'
import { allowedWords, countHop, firstAllowed, hasCopies, isAllowedNode, isHidden, insertListed, screenListed } from './search'
import { widen } from './widen'

/** Allowed rows to meet around one row before the walk stops reading lists of rows that are not allowed. */
const ALLOWED_ENOUGH: i32 = 12
/** Maximum number of lists read around one row, or the sparsity of the filter if that is more. */
const LISTS_MAX: u32 = 64
let listsMax: i32 = 0
/**
 * Allowed rows, spread over the field, that a walk starts from in addition to those that the upper levels lead to: a filter may exclude the
 * neighborhood of the query.
 */
const SEEDS: u32 = 32

/** Rows of level 1 that the walk starts from. */
const STARTS: i32 = 8

/** Number of expanded rows after which the walk checks whether the filter excludes the neighborhood of the query. */
const CHECK_AFTER: i32 = 32
/**
 * The filter excludes the neighborhood if the nearest allowed rows are this many times as far, in squared distances, as the nearest rows of
 * level 1.
 */
const FAR: f32 = 1.5
/** Growth of the pool in that case. Rows far from a query have similar distances, so more candidates are needed. */
const POOL_GROWTH: i32 = 4

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/** Radius of the neighborhood of the query: the key of the last row of level 1 that the walk starts from. */
let neighborhood: f32 = 0

/**
 * Widens the beam of `approach` and keeps its best rows as seeds. Few allowed rows connect clusters, and a walk over allowed rows stays in
 * the clusters that it starts in. `ef` rows are kept at level 0.
 */
export function approachAllowed(ef: i32): void {
  widen(ef)
  // Keys of inner products are not distances.
  neighborhood = size < STARTS || metric == IP ? f32.MAX_VALUE : keyOfEntry(entryAt(STARTS - 1))
  setSize(min(size, STARTS))
}

/**
 * Whether the nearest allowed rows are outside the neighborhood of the query, farther than they would be only because they are fewer than
 * the rows of level 1.
 */
function excludesNeighborhood(sparsity: u32): bool {
  const fewer = max<f32>(1, <f32>sparsity / <f32>M)
  const reach = FAR * neighborhood * sqrt(sqrt(fewer))
  let startsLeft = STARTS
  for (let i: i32 = 0; i < size; ++i) {
    if ((entryAt(i) & HIDDEN) != 0 || --startsLeft > 0) continue
    return keyOfEntry(entryAt(i)) > reach
  }
  return false
}

/**
 * Best-first walk of level 0 over allowed rows, from the entries of the pool and additional seeds. One row in `sparsity` is allowed. The
 * pool keeps `ef` rows, or more if the filter excludes the neighborhood of the query.
 */
export function walkAllowed(ef: i32, sparsity: u32, mark: u32): void {
  listsMax = <i32>max(LISTS_MAX, sparsity)
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(entryAt(i))
    store<u8>(visited + <usize>id, <u8>mark)
    setEntry(i, (entryAt(i) & ~(EXPANDED | HIDDEN)) | (isHidden(id) ? HIDDEN : 0))
  }
  reseed(ef)
  compareAndInsert(listSeeds(mark))
  let current: i32 = 0
  let expanded: i32 = 0
  while (current < size) {
    const entry = entryAt(current)
    if (entry & EXPANDED) {
      current++
      continue
    }
    setEntry(current, entry | EXPANDED)
    if (++expanded == CHECK_AFTER && excludesNeighborhood(sparsity)) reseed(ef * POOL_GROWTH)
    const first = compareAndInsert(listAround(idOf(entry), mark))
    current = first <= current ? first : current + 1
  }
}

/** Inserts the listed rows into the pool. Returns the first position that changed. */
function compareAndInsert(count: i32): i32 {
  const near = screenListed(count)
  keysOfIds(near)
  return insertListed(near, true)
}

/** Lists allowed rows at regular distances in the bitmap. Returns the number of rows. */
function listSeeds(mark: u32): i32 {
  const words = allowedWords()
  const step = max<u32>(1, words / SEEDS)
  let count: i32 = 0
  for (let from: u32 = 0; from < words; from += step) {
    let id = firstAllowed(from, min(words, from + step))
    if (hasCopies && id != NONE && isMarkedFollower(id)) id = leaderOf(id)
    // The bit of an object without this field is set, too, and it may have no row in the arena.
    if (id != NONE && !isHidden(id)) count = listNode(id, mark, count)
  }
  return count
}

@inline
function listNode(id: u32, mark: u32, count: i32): i32 {
  if (<u32>load<u8>(visited + <usize>id) == mark) return count
  store<u8>(visited + <usize>id, <u8>mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

/** Number of lists that are prefetched ahead. */
const TOUCHED: usize = 3
/** Where the next row to pass is written: a queue in the scratch space `ranked`, which walks do not use. */
let queueEnd: usize = 0
/** Number of allowed rows met around the expanded row, visited before or not. */
let met: i32 = 0

/**
 * Lists the allowed rows around `id` that are not visited yet: all its allowed neighbors, then breadth-first past rows that are not allowed
 * until there are enough. A passed row is marked when its list is read, not when it is met.
 */
function listAround(id: u32, mark: u32): i32 {
  queueEnd = ranked
  met = 0
  let count = readList(id, mark, 0)
  if (met < ALLOWED_ENOUGH) for (let p = ranked; p < min(queueEnd, ranked + (TOUCHED << 2)); p += 4) touchList(load<u32>(p))
  let read: i32 = 0
  for (let head = ranked; head < queueEnd && met < ALLOWED_ENOUGH && read < listsMax; head += 4) {
    const node = load<u32>(head)
    const seen = visited + <usize>node
    if (<u32>load<u8>(seen) == mark) continue
    store<u8>(seen, <u8>mark)
    if (head + (TOUCHED << 2) < queueEnd) touchList(load<u32>(head + (TOUCHED << 2)))
    count = readList(node, mark, count)
    read++
  }
  return count
}

@inline
function touchList(id: u32): void {
  const list = baseLinksOf(id)
  sink ^= load<u32>(list) ^ load<u32>(list, 64)
}

/** Reads the list of a node: appends allowed neighbors to the scratch list, and queues the others. Returns the number of listed rows. */
function readList(node: u32, mark: u32, listed: i32): i32 {
  countHop()
  const full = ranked + (<usize>poolMax << 3)
  const from = baseLinksOf(node)
  const end = from + (<usize>M0 << 2)
  let count = listed
  for (let p = from; p < end; p += 4) {
    const next = load<u32>(p)
    if (next >= MARKED) break
    if (isAllowedNode(next)) {
      met++
      count = listNode(next, mark, count)
    } else if (queueEnd < full) {
      store<u32>(queueEnd, next)
      queueEnd += 4
    }
  }
  return count
}
