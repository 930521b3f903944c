// The walk of a selective filter: over allowed rows alone. From an allowed row it goes to its allowed neighbors, and past
// neighbors that are not to theirs, until enough allowed ones are found; distances are computed for allowed rows only. A walk
// through rows that are not allowed would compute ten distances for one that counts where one row in ten is allowed.
import { IP, M, M0, MARKED, NONE, baseLinksOf, metric } from '../layout'
import { ids, poolMax, ranked, visited } from '../scratch'
import { keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, at, idOf, keyOfEntry, put, reseed, setSize, size } from './pool'
import { isMarkedFollower, leaderOf } from './copies'
import { allowedWords, countHop, firstAllowed, hasCopies, isAllowedNode, isHidden, offer } from './search'
import { widen } from './widen'

/** Allowed rows looked for around one row, beyond those beside it. */
const ENOUGH: i32 = 12
/** Lists read for them at most where not even one row in so many is allowed: then as many as it takes to meet enough. */
const LISTS_MAX: u32 = 64
let listsMax: i32 = 0
/** Allowed rows from all over the collection that a walk begins at besides those it came to from above: a filter may go against the query. */
const SEEDS: u32 = 32

/** Rows that the upper levels led to at which it begins too. */
const FROM: i32 = 8

/** Rows expanded before the walk looks at where it came to. */
const LOOK_AT: i32 = 32
/** A filter against the query: the nearest allowed rows are so many times farther, in squared distances, than the nearest of level 1. */
const AGAINST: f32 = 1.5
/** Rows far from a query are all nearly as far: only a larger pool tells them apart. */
const WIDER: i32 = 4

/** Keeps loads whose only purpose is to bring a line near from being dropped. */
let sink: u32 = 0

/** How far the query's own surroundings reach: the key of the last row of level 1 that the walk begins at. */
let around: f32 = 0

/**
 * Widens the beam that an approach to level 0 ended with, wherever it came to: few allowed rows lead from one cluster to another,
 * and a walk over them alone stays in the one it begins in. `wanted` are kept at level 0.
 */
export function approachAllowed(wanted: i32): void {
  widen(wanted)
  // Keys of inner products say nothing of distances.
  around = size < FROM || metric == IP ? f32.MAX_VALUE : keyOfEntry(at(FROM - 1))
  setSize(min(size, FROM))
}

/**
 * Whether the nearest allowed rows are out of the query's surroundings, farther than they would be because they are fewer than
 * those of level 1.
 */
function isAgainst(sparsity: u32): bool {
  const fewer = max<f32>(1, <f32>sparsity / <f32>M)
  const reach = AGAINST * around * sqrt(sqrt(fewer))
  let left = FROM
  for (let i: i32 = 0; i < size; ++i) {
    if ((at(i) & HIDDEN) != 0 || --left > 0) continue
    return keyOfEntry(at(i)) > reach
  }
  return false
}

/**
 * Best-first walk of level 0 over allowed rows, of which there is one in `sparsity`, from the entries in the pool and some
 * more; `wanted` are kept, or more where the filter turns out to go against the query.
 */
export function walkAllowed(wanted: i32, sparsity: u32, mark: u32): void {
  listsMax = <i32>max(LISTS_MAX, sparsity)
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(at(i))
    store<u8>(visited + <usize>id, <u8>mark)
    put(i, (at(i) & ~(EXPANDED | HIDDEN)) | (isHidden(id) ? HIDDEN : 0))
  }
  reseed(wanted)
  offerListed(listSeeds(mark))
  let current: i32 = 0
  let expanded: i32 = 0
  while (current < size) {
    const entry = at(current)
    if (entry & EXPANDED) {
      current++
      continue
    }
    put(current, entry | EXPANDED)
    if (++expanded == LOOK_AT && isAgainst(sparsity)) reseed(wanted * WIDER)
    const first = offerListed(listAround(idOf(entry), mark))
    current = first <= current ? first : current + 1
  }
}

/** Puts the listed rows into the pool; returns the first place that changed. */
function offerListed(count: i32): i32 {
  keysOfIds(count)
  return offer(count, true)
}

/** Lists allowed rows at even distances in the bitmap. */
function listSeeds(mark: u32): i32 {
  const words = allowedWords()
  const step = max<u32>(1, words / SEEDS)
  let count: i32 = 0
  for (let from: u32 = 0; from < words; from += step) {
    let id = firstAllowed(from, min(words, from + step))
    if (hasCopies && id != NONE && isMarkedFollower(id)) id = leaderOf(id)
    // An object without this field has its bit set too, and perhaps no place in the arena.
    if (id != NONE && !isHidden(id)) count = list(id, mark, count)
  }
  return count
}

@inline
function list(id: u32, mark: u32, count: i32): i32 {
  if (<u32>load<u8>(visited + <usize>id) == mark) return count
  store<u8>(visited + <usize>id, <u8>mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

/** Lists that are on their way while one is read. */
const TOUCHED: usize = 3
/** Where the next row to pass over is written: a queue in the list that pruning ranks in, which no walk needs. */
let waiting: usize = 0
/** Allowed rows met around the row being expanded, seen before or not. */
let met: i32 = 0

/**
 * Lists the allowed rows around one that are not seen yet: all beside it, then breadth-first past rows that are not allowed until
 * there are enough. A row passed over is marked when its list is read, not when it is met, so that another way may lead to it.
 */
function listAround(id: u32, mark: u32): i32 {
  waiting = ranked
  met = 0
  let count = readList(id, mark, 0)
  if (met < ENOUGH) for (let p = ranked; p < min(waiting, ranked + (TOUCHED << 2)); p += 4) touchList(load<u32>(p))
  let read: i32 = 0
  for (let head = ranked; head < waiting && met < ENOUGH && read < listsMax; head += 4) {
    const node = load<u32>(head)
    const seen = visited + <usize>node
    if (<u32>load<u8>(seen) == mark) continue
    store<u8>(seen, <u8>mark)
    if (head + (TOUCHED << 2) < waiting) touchList(load<u32>(head + (TOUCHED << 2)))
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

/** Reads a row's list: allowed neighbors are listed, the others wait to be passed over. */
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
      count = list(next, mark, count)
    } else if (waiting < full) {
      store<u32>(waiting, next)
      waiting += 4
    }
  }
  return count
}
