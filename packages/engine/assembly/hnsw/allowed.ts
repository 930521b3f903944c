// The walk of a filter. If rows near the query are allowed and most rows are, it is the walk of a search without a filter, which passes
// through hidden rows. Otherwise it is over allowed rows only: from a row it goes to the allowed neighbors, and past neighbors that are not
// allowed to their neighbors, until it has met enough allowed rows (the idea of ACORN, arXiv 2403.04871). It computes distances of allowed
// rows only. If one row in ten is allowed, a walk through hidden rows would compute ten distances for each useful one, and if a filter
// excludes the neighborhood of the query, it would compute those of the whole neighborhood.
import { IP, M, M0, MARKED, NONE, ROWS, baseLinksOf, metric } from '../layout'
import { ids, nextWalk, poolMax, ranked, visited } from '../scratch'
import { keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, entryAt, idOf, keyOfEntry, setEntry, reseed, setSize, size } from './pool'
import { isMarkedFollower, leaderOf } from './copies'
import {
  allowedBits,
  allowedWords,
  countHop,
  hasCopies,
  isAllowed,
  isAllowedNode,
  isHidden,
  insertListed,
  screenListed,
  walkLevel,
} from './search'
import { widen, widenIfLost } from './widen'

/** Allowed rows to meet around one row before the walk stops reading lists of rows that are not allowed. */
const ALLOWED_ENOUGH: i32 = 12
/** Maximum number of lists read around one row, or the sparsity of the filter if that is more. */
const LISTS_MAX: u32 = 64
let listsMax: i32 = 0
/**
 * Allowed rows, spread over all allowed rows, that a walk starts from in addition to those that the upper levels lead to; more if the
 * filter excludes the neighborhood of the query, because then the upper levels lead nowhere.
 */
const SEEDS: u32 = 32
const FAR_SEEDS: u32 = 256
/** Growth of the pool in that case, at most. Rows far from a query have similar distances, so more candidates are needed. */
const POOL_GROWTH: i32 = 4

/** If at most one row in this many is allowed, the walk is over allowed rows only, wherever they are. */
const SPARSITY_MIN: u32 = 2
/** Rows of level 1 that the walk starts from. */
const STARTS: i32 = 8
/** Number of rows of level 1 among which at least one is allowed, on average, before it means something that none is. */
const EXPECTED_MIN: f32 = 4

/** Number of expanded rows after which the walk checks whether the filter excludes the neighborhood of the query. */
const CHECK_AFTER: i32 = 32
/**
 * The filter excludes the neighborhood if the nearest allowed rows are this many times as far, in squared distances, as the nearest rows of
 * level 1.
 */
const FAR: f32 = 1.5

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/** Radius of the neighborhood of the query: the key of the last row of level 1 that the walk starts from. */
let neighborhood: f32 = 0
/** Whether no row of level 1 near the query is allowed, although some should be. */
let isExcluded: bool = false

/** Walks level 0 from the pool of `approach` to the rows that the filter allows, `matches` in number. The pool keeps `ef` rows or more. */
export function walkFiltered(k: i32, ef: i32, matches: u32): void {
  const rows = load<u32>(ROWS)
  const sparsity = rows / max<u32>(1, matches)
  if (sparsity < SPARSITY_MIN && isAllowedNear(ef)) {
    walkLevel(ef, 0, true, true, nextWalk())
    return
  }
  approachAllowed(ef, <f32>matches / <f32>max<u32>(1, rows))
  walkAllowed(k, ef, sparsity, matches, nextWalk())
}

/** Number of entries of the pool that are allowed. */
function countAllowed(): i32 {
  let count: i32 = 0
  for (let i: i32 = 0; i < size; ++i) count += <i32>!isHidden(idOf(entryAt(i)))
  return count
}

/** Whether at least half of the rows of level 1 near the query are allowed. Widens the beam if that is not obvious. */
function isAllowedNear(ef: i32): bool {
  if (countAllowed() > 0) {
    widenIfLost(ef)
    return true
  }
  widen(ef)
  return countAllowed() > 0
}

/**
 * Widens the beam of `approach` and keeps its best rows as seeds. Few allowed rows connect clusters, and a walk over allowed rows stays in
 * the clusters that it starts in. `ef` rows are kept at level 0, and `share` of all rows is allowed.
 */
function approachAllowed(ef: i32, share: f32): void {
  widen(ef)
  isExcluded = share * <f32>size >= EXPECTED_MIN && countAllowed() == 0
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
 * pool keeps `ef` rows. If the filter excludes the neighborhood of the query, the pool keeps more, and the walk expands its best `ef` and
 * then goes on in stages, until a stage finds none of the best `k` rows.
 */
function walkAllowed(k: i32, ef: i32, sparsity: u32, matches: u32, mark: u32): void {
  listsMax = <i32>max(LISTS_MAX, sparsity)
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(entryAt(i))
    store<u8>(visited + <usize>id, <u8>mark)
    setEntry(i, (entryAt(i) & ~(EXPANDED | HIDDEN)) | (isHidden(id) ? HIDDEN : 0))
  }
  let isFar = isExcluded
  reseed(isFar ? growthOf(ef) : ef)
  compareAndInsert(listSeeds(isFar ? FAR_SEEDS : SEEDS, matches, mark))
  let end = isFar ? ef : i32.MAX_VALUE
  let best = end
  let current: i32 = 0
  let expanded: i32 = 0
  while (current < size) {
    const entry = entryAt(current)
    if (entry & EXPANDED) {
      current++
      continue
    }
    if (current >= end) {
      if (best >= k) return
      end += ef
      best = end
    }
    setEntry(current, entry | EXPANDED)
    if (++expanded == CHECK_AFTER && !isFar && excludesNeighborhood(sparsity)) {
      isFar = true
      reseed(growthOf(ef))
      end = ef
      current = min(current, compareAndInsert(listSeeds(FAR_SEEDS, matches, mark)))
    }
    const listed = listAround(idOf(entry), mark)
    touchNext(current)
    const first = compareAndInsert(listed)
    best = min(best, first)
    current = first <= current ? first : current + 1
  }
}

/** Number of rows that the pool keeps if the filter excludes the neighborhood of the query. */
function growthOf(ef: i32): i32 {
  return max(ef, min(ef * POOL_GROWTH, poolMax >> 1))
}

/** Inserts the listed rows into the pool. Returns the first position that changed. */
function compareAndInsert(count: i32): i32 {
  const near = screenListed(count)
  keysOfIds(near)
  return insertListed(near, true)
}

/**
 * Lists `seeds` allowed rows, spread evenly over the allowed rows in the order of their ordinals: a filter may exclude the neighborhood of
 * the query, and allow only rows that were stored one after another. Returns the number of rows.
 */
function listSeeds(seeds: u32, matches: u32, mark: u32): i32 {
  const step = max<u32>(1, matches / seeds)
  const words = allowedWords()
  let count: i32 = 0
  let before: u32 = 0
  let next: u32 = step >> 1
  for (let i: u32 = 0; i < words; ++i) {
    let word = allowedBits(i)
    const after = before + popcnt(word)
    if (next < after) {
      for (let skipped = next - before; skipped > 0; --skipped) word &= word - 1
      count = listSeed((i << 5) | ctz(word), mark, count)
      next = max(next + step, after)
    }
    before = after
  }
  return count
}

function listSeed(seed: u32, mark: u32, count: i32): i32 {
  const id = hasCopies && isMarkedFollower(seed) ? leaderOf(seed) : seed
  // The bit of an object without this field is set, too, and it may have no row in the arena.
  return id != NONE && !isHidden(id) ? listNode(id, mark, count) : count
}

@inline
function listNode(id: u32, mark: u32, count: i32): i32 {
  if (<u32>load<u8>(visited + <usize>id) == mark) return count
  store<u8>(visited + <usize>id, <u8>mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

/** Number of lists that are prefetched ahead. */
const TOUCHED: usize = 6
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

/** Touches the list of the entry that is probably expanded next, while distances are computed. */
@inline
function touchNext(current: i32): void {
  let next = current + 1
  while (next < size && entryAt(next) & EXPANDED) next++
  if (next < size) touchList(idOf(entryAt(next)))
}

@inline
function touchList(id: u32): void {
  const list = baseLinksOf(id)
  sink ^= load<u32>(list) ^ load<u32>(list, 64)
}

/** Reads the list of a node: appends allowed neighbors to the scratch list, and queues the others. Returns the number of listed rows. */
function readList(node: u32, mark: u32, listed: i32): i32 {
  countHop()
  const from = baseLinksOf(node)
  const end = from + (<usize>M0 << 2)
  // The queue may be full.
  const step: usize = queueEnd + (<usize>M0 << 2) <= ranked + (<usize>poolMax << 3) ? 4 : 0
  return hasCopies ? readNodes(from, end, step, mark, listed) : readRows(from, end, step, mark, listed)
}

/** Which neighbors are allowed is unpredictable, so nothing depends on it but numbers. */
@inline
function readRows(from: usize, end: usize, step: usize, mark: u32, listed: i32): i32 {
  let count = listed
  let queue = queueEnd
  let all = met
  for (let p = from; p < end; p += 4) {
    const next = load<u32>(p)
    if (next >= MARKED) break
    const seen = visited + <usize>next
    const before = <u32>load<u8>(seen)
    const isNew = <u32>(before != mark)
    const isIn = <u32>isAllowed(next)
    store<u32>(ids + (<usize>count << 2), next)
    count += <i32>(isIn & isNew)
    store<u8>(seen, <u8>select<u32>(mark, before, isIn != 0))
    store<u32>(queue, next)
    queue += step * <usize>(isNew & (isIn ^ 1))
    all += <i32>isIn
  }
  queueEnd = queue
  met = all
  return count
}

function readNodes(from: usize, end: usize, step: usize, mark: u32, listed: i32): i32 {
  let count = listed
  for (let p = from; p < end; p += 4) {
    const next = load<u32>(p)
    if (next >= MARKED) break
    if (isAllowedNode(next)) {
      met++
      count = listNode(next, mark, count)
    } else {
      store<u32>(queueEnd, next)
      queueEnd += step
    }
  }
  return count
}
