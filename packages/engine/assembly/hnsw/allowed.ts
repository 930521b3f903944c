// The walk of a filter. If rows near the query are allowed and most rows are, it is the walk of a search without a filter, which passes
// through hidden rows. Otherwise it is over allowed rows only: from a row it goes to the allowed neighbors, and past neighbors that are not
// allowed to their neighbors, until it has met enough allowed rows (the idea of ACORN, arXiv 2403.04871). It computes distances of allowed
// rows only. If one row in ten is allowed, a walk through hidden rows would compute ten distances for each useful one, and if a filter
// excludes the neighborhood of the query, it would compute those of the whole neighborhood.
import { IP, M, M0, MARKED, NONE, ROWS, baseLinksOf, metric } from '../layout'
import { answers, ids, nextWalk, poolMax, ranked, visited } from '../scratch'
import { keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, entryAt, idOf, keyOfEntry, setEntry, reseed, setSize, size } from './pool'
import { isMarkedFollower, leaderOf } from './copies'
import { allowedAt, allowedBits, allowedWords, hasCopies, isAllowed, isAllowedNode, isHidden } from './view'
import { countHop, insertListed } from './visit'
import { screenListed, walkLevel } from './search'
import { widen, widenIfLost } from './widen'

/** Allowed rows to meet around one row before the walk stops reading lists of rows that are not allowed. */
const ALLOWED_ENOUGH: i32 = 12
/**
 * If few rows near the query are allowed, at least this many times the number that one list has on average, and at most ALLOWED_MOST. The
 * allowed neighbors of a row are then on the side that leads away from the query, and only rows that are not allowed lead to the others.
 */
const ALLOWED_LISTS: f32 = 1.5
const ALLOWED_MOST: i32 = 24
let enough: i32 = 0
/** Maximum number of lists read around one row, or the sparsity of the filter if that is more. */
const LISTS_MAX: u32 = 64
let listsMax: i32 = 0
/**
 * Allowed rows, spread over all allowed rows, that a walk starts from in addition to those that the upper levels lead to. If the filter
 * excludes the neighborhood of the query, the upper levels lead nowhere, and the walk starts from FAR_RUN rows at each of as many places as it
 * keeps rows, within these bounds.
 */
const SEEDS: u32 = 32
const FAR_RUN: u32 = 8
const FAR_PLACES_MIN: i32 = 64
const FAR_PLACES_MAX: i32 = 1024
/** Growth of the pool in that case, at most. Rows far from a query have similar distances, so more candidates are needed. */
const POOL_GROWTH: i32 = 8
/** In that case a round expands this share of the rows that the walk keeps, and the walk ends after at least so many rounds in vain. */
const FAR_SHARE: i32 = 2
const VAIN_ROUNDS: i32 = 2
/** A round is in vain if it finds no row that is nearer than the last of the best `k` by this share. Codes are not that exact. */
const NEARER: f32 = 1.0 / 1024.0
/**
 * In that case every allowed row is compared instead if there are at most `comparedMin`, and `comparedPerEntry` more for each row that the
 * pool keeps. That takes up to about twice as long as the walk, and misses nothing.
 */
let comparedMin: u32 = 10_000
let comparedPerEntry: u32 = 120
/** Sets how many allowed rows are compared instead of walking far from the query. Tests do, because their fields are small. */
export function setFarComparison(least: u32, perEntry: u32): void {
  comparedMin = least
  comparedPerEntry = perEntry
}

/** If at most one row in this many is allowed, the walk is over allowed rows only, wherever they are. */
const SPARSITY_MIN: u32 = 2
/** Rows of level 1 that the walk starts from. */
const STARTS: i32 = 8
/** Number of rows of level 1 among which at least one is allowed, on average, before it means something that none is. */
const EXPECTED_MIN: f32 = 3

/** Few of these rows are allowed if it is less than this share of the average. */
const THIN: f32 = 0.25

/** Number of expanded rows after which the walk checks whether the filter excludes the neighborhood of the query. */
const CHECK_AFTER: i32 = 16
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

/**
 * Walks level 0 from the pool of `approach` to the rows that the filter allows, `matches` in number. The pool keeps `ef` rows or more. Returns
 * false if the filter excludes the neighborhood of the query, and comparing every allowed row is the better way to find them.
 */
export function walkFiltered(k: i32, ef: i32, matches: u32): bool {
  const rows = load<u32>(ROWS)
  const sparsity = rows / max<u32>(1, matches)
  if (sparsity < SPARSITY_MIN && isAllowedNear(ef)) {
    walkLevel(ef, 0, true, true, nextWalk())
    return true
  }
  approachAllowed(ef, <f32>matches / <f32>max<u32>(1, rows))
  return walkAllowed(k, ef, sparsity, matches, nextWalk())
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
  const near = countAllowed()
  const expected = share * <f32>size
  isExcluded = expected >= EXPECTED_MIN && near == 0
  const isThin = expected >= EXPECTED_MIN && <f32>near < expected * THIN
  enough = isThin ? max(ALLOWED_ENOUGH, min(ALLOWED_MOST, <i32>(ALLOWED_LISTS * share * <f32>M0))) : ALLOWED_ENOUGH
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
 * pool keeps `ef` rows. If the filter excludes the neighborhood of the query, the walk goes on in rounds; or it ends at once, and the result
 * is false, because there are so few allowed rows that all of them can be compared.
 */
function walkAllowed(k: i32, ef: i32, sparsity: u32, matches: u32, mark: u32): bool {
  listsMax = <i32>max(LISTS_MAX, sparsity)
  touched = <i32>min(TOUCHED_MAX, max<u32>(2, sparsity / 3))
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(entryAt(i))
    store<u8>(visited + <usize>id, <u8>mark)
    setEntry(i, (entryAt(i) & ~(EXPANDED | HIDDEN)) | (isHidden(id) ? HIDDEN : 0))
  }
  if (isExcluded || !walkNear(ef, sparsity, matches, mark)) {
    if (matches <= comparedMin + comparedPerEntry * <u32>ef) return false
    walkFar(k, ef, matches, mark)
  }
  return true
}

/** Expands every entry of the pool. Returns false as soon as it finds that the filter excludes the neighborhood of the query. */
function walkNear(ef: i32, sparsity: u32, matches: u32, mark: u32): bool {
  reseed(ef)
  compareAndInsert(listSeeds(SEEDS, 1, matches, mark))
  let isChecked = false
  let current: i32 = 0
  let expanded: i32 = 0
  while (current < size) {
    if (entryAt(current) & EXPANDED) {
      current++
      continue
    }
    if (!isChecked && expanded >= CHECK_AFTER) {
      isChecked = true
      if (excludesNeighborhood(sparsity)) return false
    }
    const taken = takeBest(current, WIDTH)
    expanded += taken
    const first = expandTaken(taken, current, mark)
    current = first <= current ? first : current + 1
  }
  return true
}

/**
 * Continues in rounds, from many more seeds. A round expands many entries before it inserts what it finds: the nearest allowed rows are in
 * several clusters, and a walk that continues from the best few finds the rows of one cluster, which displace the entries that lead to the
 * others. The walk ends when as many rounds in a row were in vain as there were before.
 */
function walkFar(k: i32, ef: i32, matches: u32, mark: u32): void {
  const width = max(WIDTH, ef / FAR_SHARE)
  const places = max(FAR_PLACES_MIN, min(FAR_PLACES_MAX, ef))
  reseed(keptAfter(0, ef, width))
  compareAndInsert(listSeeds(<u32>places, FAR_RUN, matches, mark))
  let rounds: i32 = 0
  let useful: i32 = 0
  while (rounds - useful < max(VAIN_ROUNDS, useful)) {
    const taken = takeBest(0, width)
    if (taken == 0) return
    rounds++
    reseed(keptAfter(rounds * width, ef, width))
    const last = keyOfLast(k)
    const first = expandTaken(taken, 0, mark)
    if (first < size && keyOfEntry(entryAt(first)) < last - NEARER * abs(last)) useful = rounds
  }
}

/** Key of the last of the best `k` allowed rows; the largest number if there are fewer. */
function keyOfLast(k: i32): f32 {
  let left = k
  for (let i: i32 = 0; i < size; ++i) if ((entryAt(i) & HIDDEN) == 0 && --left == 0) return keyOfEntry(entryAt(i))
  return f32.MAX_VALUE
}

/** Number of rows that the pool keeps after `expanded` entries were: one that is never expanded would only have to be moved. */
function keptAfter(expanded: i32, ef: i32, width: i32): i32 {
  return max(ef, min(ef + expanded + width, min(ef * POOL_GROWTH, poolMax >> 1)))
}

/** Entries that are expanded at a time: their lists are loaded together, and so are the rows of all of them. */
const WIDTH: i32 = 4

/** Marks the best `width` entries from `current` on as expanded, and lists their rows in the scratch space `answers`. Returns their number. */
function takeBest(current: i32, width: i32): i32 {
  let taken: i32 = 0
  for (let i = current; i < size && taken < width; ++i) {
    const entry = entryAt(i)
    if (entry & EXPANDED) continue
    setEntry(i, entry | EXPANDED)
    touchList(idOf(entry))
    store<u32>(answers + (<usize>taken << 2), idOf(entry))
    taken++
  }
  return taken
}

/** Rows that are listed before they are compared, at least if there are as many. */
const LISTED: i32 = 1024

/** Inserts the allowed rows around the `taken` rows of `answers`. Returns the first position that changed. */
function expandTaken(taken: i32, current: i32, mark: u32): i32 {
  let first = i32.MAX_VALUE
  let listed: i32 = 0
  for (let i: i32 = 0; i < taken; ++i) {
    listed = listAround(load<u32>(answers + (<usize>i << 2)), mark, listed)
    if (listed < LISTED) continue
    first = min(first, compareAndInsert(listed))
    listed = 0
  }
  touchNext(current)
  return min(first, compareAndInsert(listed))
}

/** Inserts the listed rows into the pool. Returns the first position that changed. */
function compareAndInsert(count: i32): i32 {
  const near = screenListed(count)
  keysOfIds(near)
  return insertListed(near, true)
}

/**
 * Lists allowed rows at `places` places, spread evenly over the allowed rows in the order of their ordinals, and `run` of them at each: a
 * filter may exclude the neighborhood of the query, and allow only rows that were stored one after another. Rows next to each other are
 * loaded sooner. Returns the number of rows.
 */
function listSeeds(places: u32, run: u32, matches: u32, mark: u32): i32 {
  const step = max<u32>(1, matches / places)
  const words = allowedWords()
  let count: i32 = 0
  /** Rank of the first row of the next word, of the next row to list, and of the end of its run. */
  let rank: u32 = 0
  let next: u32 = step >> 1
  let end = next + run
  for (let first: u32 = 0; first < words; first += WORDS_COUNTED) {
    const last = min(words, first + WORDS_COUNTED)
    const after = rank + countAllowedBits(first, last)
    for (let i = first; i < last && next < after; ++i) {
      let word = allowedBits(i)
      const wordEnd = rank + popcnt(word)
      if (next < wordEnd) for (; word != 0; word &= word - 1, ++rank) {
        if (rank < next) continue
        count = listSeed((i << 5) | ctz(word), mark, count)
        if (++next < end) continue
        next = max(next, end - run + step)
        end = next + run
      }
      rank = wordEnd
    }
    rank = after
  }
  return count
}

/** Words of the bitmap that are counted before it is known whether one of them has a seed. */
const WORDS_COUNTED: u32 = 16

/** Number of allowed rows of words of the bitmap. */
@inline
function countAllowedBits(first: u32, last: u32): u32 {
  if (last - first < WORDS_COUNTED || last == allowedWords()) {
    let count: u32 = 0
    for (let i = first; i < last; ++i) count += popcnt(allowedBits(i))
    return count
  }
  const from = allowedAt(first)
  let count: u64 = 0
  for (let p = from; p < from + (WORDS_COUNTED << 2); p += 8) count += popcnt(load<u64>(p))
  return <u32>count
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

/**
 * Lists that are loaded together before the first is read: a load that waits for memory holds up everything after it, so loads that wait must
 * be next to each other. The sparser the filter, the more lists are read.
 */
const TOUCHED_MAX: u32 = 8
let touched: i32 = 0
/** Where the next row to pass is written: a queue in the scratch space `ranked`, which walks do not use. */
let queueEnd: usize = 0
/** Number of allowed rows met around the expanded row, visited before or not. */
let met: i32 = 0

/**
 * Lists the allowed rows around `id` that are not visited yet: all its allowed neighbors, then breadth-first past rows that are not allowed
 * until there are enough. A passed row is marked when its list is read, not when it is met.
 */
function listAround(id: u32, mark: u32, listed: i32): i32 {
  queueEnd = ranked
  met = 0
  let count = readList(id, mark, listed)
  let read: i32 = 0
  let head = ranked
  while (head < queueEnd && met < enough && read < listsMax) {
    const first = head
    let left = touched
    for (; head < queueEnd && left > 0; head += 4) {
      const node = load<u32>(head)
      if (<u32>load<u8>(visited + <usize>node) == mark) continue
      touchList(node)
      left--
    }
    for (let p = first; p < head && met < enough && read < listsMax; p += 4) {
      const node = load<u32>(p)
      const seen = visited + <usize>node
      if (<u32>load<u8>(seen) == mark) continue
      store<u8>(seen, <u8>mark)
      count = readList(node, mark, count)
      read++
    }
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

/**
 * Which neighbors are allowed is unpredictable, so nothing depends on it but numbers. Marks are read for allowed rows only, because they are
 * eight times as large as the bitmap: a queued row is looked up when it is its turn.
 */
@inline
function readRows(from: usize, end: usize, step: usize, mark: u32, listed: i32): i32 {
  const first = ids + (<usize>listed << 2)
  let to = first
  let queue = queueEnd
  for (let p = from; p < end; p += 4) {
    const next = load<u32>(p)
    if (next >= MARKED) break
    const isIn = <usize>isAllowed(next)
    store<u32>(to, next)
    to += isIn << 2
    store<u32>(queue, next)
    queue += step * (isIn ^ 1)
  }
  queueEnd = queue
  met += <i32>((to - first) >> 2)
  let kept = first
  for (let p = first; p < to; p += 4) {
    const id = load<u32>(p)
    const seen = visited + <usize>id
    store<u32>(kept, id)
    kept += <usize>(<u32>load<u8>(seen) != mark) << 2
    store<u8>(seen, <u8>mark)
  }
  return <i32>((kept - ids) >> 2)
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
