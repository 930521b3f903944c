// Walks the graph: greedy search above level 1, a small beam at level 1 that provides several entries for level 0 (a single one sometimes
// leads to the wrong cluster), then best-first search of level 0 (Algorithms 2 and 5 of HNSW, arXiv 1603.09320).
import {
  ENTRY,
  FOLLOWER_COUNT,
  MARKED,
  NONE,
  degreeAt,
  followers,
  hiddenAt,
  linksOf,
  rowOf,
  tailOf,
} from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, visited } from '../scratch'
import { screen } from '../heads/head'
import { keyOf, keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, entryAt, clear, entryOf, idOf, insert, keyOfEntry, setEntry, reseed, size, worst } from './pool'
import { firstFollower, followerAfter, isMarkedFollower, isMarkedLeader, leaderOf, resetChecks, takeChecks } from './copies'
import { approachByHeads, expandByHeads } from './screened'
import { expandBest, listExpanded, stopped, touchNext, widthFor } from './expand'
import { keepFour } from './keep'
import { ignoreSubBatch } from './sub-batch'

/** Width of the beam at level 1 during a build. */
const BEAM: i32 = 8
/** Width of the beam at level 1 for a query. In a graph that was built with the wider beam, the narrower one is sufficient. */
const QUERY_BEAM: i32 = 4

/** Number of nodes expanded since `takeHops` was last called. */
let hops: u32 = 0
/** Returns the number of nodes expanded since the last call. */
export function takeHops(): u32 {
  const n = hops
  hops = 0
  return n
}

let version: u32 = 0
let allowed: usize = 0
let allowedEnd: u32 = 0
/** Whether any row follows another. Most arenas have no followers, and then nothing is looked up. */
export let hasCopies: bool = false

/**
 * Sets which rows a walk may return: those visible as of a version and, if `bitmap` is not 0, with an ordinal below `end` whose bit is set.
 */
export function setView(asOfVersion: u32, bitmap: usize, end: u32): void {
  version = asOfVersion
  allowed = bitmap
  allowedEnd = end
  hasCopies = load<u32>(FOLLOWER_COUNT) != 0
  resetChecks()
}

/** Whether a row, not counting its followers, is outside the view. */
@inline
export function isHiddenRow(id: u32): bool {
  return !isAllowed(id) || hiddenAt(tailOf(id), version)
}

/** Whether no row of a node may be returned. A follower is returned through its leader only. */
@inline
export function isHidden(id: u32): bool {
  return hasCopies ? isHiddenNode(id) : isHiddenRow(id)
}
function isHiddenNode(id: u32): bool {
  if (isMarkedFollower(id)) return true
  if (!isHiddenRow(id)) return false
  return !isMarkedLeader(id) || !hasVisibleFollower(id)
}
/** The first follower of a leader that the bitmap allows, or NONE. It may be invisible as of the version. */
export function firstAllowedFollower(leader: u32): u32 {
  const first = firstFollower(leader)
  return allowed == 0 || first == NONE ? first : allowedFollowerFrom(leader, first)
}
/** The next follower of the leader after `id` that the bitmap allows, or NONE. */
export function allowedFollowerAfter(leader: u32, id: u32): u32 {
  return allowed == 0 ? followerAfter(leader, id) : allowedFollowerFrom(leader, id + 1)
}
/** Combines the words of the bitmap and of `followers`, 32 rows at a time: few of a hundred thousand copies may be allowed. */
function allowedFollowerFrom(leader: u32, from: u32): u32 {
  const words = allowedWords()
  let mask: u32 = ~((1 << (from & 31)) - 1)
  for (let i = from >> 5; i < words; ++i) {
    const offset = <usize>i << 2
    let word = load<u32>(allowed + offset) & load<u32>(followers + offset) & mask
    mask = 0xffffffff
    for (; word != 0; word &= word - 1) {
      const id = (i << 5) | ctz(word)
      if (isAllowed(id) && leaderOf(id) == leader) return id
    }
  }
  return NONE
}

/** Whether a follower may be returned. Also true if that would take too long to find out. */
function hasVisibleFollower(leader: u32): bool {
  if (!takeBitmapChecks(leader)) return true
  for (let id = firstAllowedFollower(leader); id != NONE; id = allowedFollowerAfter(leader, id))
    if (!takeChecks(1) || !hiddenAt(tailOf(id), version)) return true
  return false
}
/** Takes the cost of reading the bitmap words from the budget: eight words cost as much as one follower. */
function takeBitmapChecks(leader: u32): bool {
  const first = firstFollower(leader) >> 5
  const words = allowedWords()
  return allowed == 0 || takeChecks(words > first ? <i32>((words - first) >> 3) : 0)
}

/** Whether the bitmap allows a node, itself or a follower. */
@inline
export function isAllowedNode(id: u32): bool {
  return isAllowed(id) || (hasCopies && isMarkedLeader(id) && hasAllowedFollower(id))
}
function hasAllowedFollower(leader: u32): bool {
  return !takeBitmapChecks(leader) || firstAllowedFollower(leader) != NONE
}

/** Whether the bitmap allows a row. Unlike versions, which are stored after the code, the bitmap is usually in the cache. */
@inline
export function isAllowed(id: u32): bool {
  if (allowed == 0) return true
  return id < allowedEnd && ((load<u32>(allowed + (<usize>(id >> 5) << 2)) >> (id & 31)) & 1) != 0
}

/** Word `i` of the bitmap, up to its end: bits of ordinals 32 i to 32 i + 31. */
@inline
export function allowedBits(i: u32): u32 {
  const word = load<u32>(allowed + (<usize>i << 2))
  const left = allowedEnd - (i << 5)
  return left < 32 ? word & ((1 << left) - 1) : word
}

/** Address of word `i` of the bitmap. */
@inline
export function allowedAt(i: u32): usize {
  return allowed + (<usize>i << 2)
}

/** Number of u32 words of the bitmap. */
export function allowedWords(): u32 {
  return (allowedEnd + 31) >> 5
}

/** Counts an expanded node. */
export function countHop(): void {
  hops++
}
/** Counts `count` expanded nodes. */
export function countHops(count: u32): void {
  hops += count
}

/** Whether the walk of this thread compares heads before codes. Builds do not, so graphs are the same with and without heads. */
let screens: bool = false
/** Makes walks compare heads first: every row has one, and their bound is prepared for the query. */
export function setScreening(on: bool): void {
  screens = on
}

/** Removes listed rows whose heads show that they cannot enter the pool. Returns the number of the others. */
export function screenListed(count: i32): i32 {
  return screens && worst != u64.MAX_VALUE ? screen(count, keyOfEntry(worst)) : count
}

let nearest: f32 = 0
/**
 * Greedy search of one level: moves to the nearest neighbor until no neighbor is nearer. Rows with the mark were compared before and are
 * skipped. Leaves the key of the result in `nearest`.
 */
function descend(from: u32, key: f32, level: i32, mark: u32): u32 {
  let best = from
  nearest = key
  let moved = true
  while (moved) {
    moved = false
    const count = listUnvisited(linksOf(best, level), degreeAt(level), mark, 0)
    hops++
    keysOfIds(count)
    for (let i: i32 = 0; i < count; ++i) {
      const k = load<f32>(keys + (<usize>i << 2))
      if (k < nearest) {
        nearest = k
        best = load<u32>(ids + (<usize>i << 2))
        moved = true
      }
    }
  }
  return best
}

/** Appends the unvisited neighbors of the list at `from` to the `listed` ordinals of `ids`. Returns the new number of ordinals. */
@inline
export function listUnvisited(from: usize, degree: i32, mark: u32, listed: i32): i32 {
  let list = from
  const end = list + (<usize>degree << 2)
  let count = listed
  while (list < end) {
    const id = load<u32>(list)
    if (id >= MARKED) break
    list += 4
    const seen = visited + <usize>id
    store<u32>(ids + (<usize>count << 2), id)
    count += <i32>(<u32>load<u8>(seen) != mark)
    store<u8>(seen, <u8>mark)
  }
  return count
}

/** Inserts the listed rows into the pool. Returns the first position that changed. Rows with an equal key are compared by ordinal. */
export function insertListed(count: i32, viewed: bool): i32 {
  let first = size
  const kept = worst == u64.MAX_VALUE ? count : keepNear(count, keyOfEntry(worst))
  for (let place: usize = 0; place < <usize>kept << 2; place += 4) {
    const id = load<u32>(ids + place)
    let found = entryOf(load<f32>(keys + place), id)
    if (found >= worst) continue
    if (viewed && isHidden(id)) found |= HIDDEN
    first = min(first, insert(found))
  }
  return first
}

/** Removes the listed rows whose keys are above the limit, which are most. Returns the number of the others. */
function keepNear(count: i32, limit: f32): i32 {
  const limits = f32x4.splat(limit)
  let kept: usize = 0
  for (let i: i32 = 0; i < count; i += 4) {
    const from = <usize>i << 2
    const four = v128.load(keys + from)
    kept = keepFour(kept, from, four, ~i32x4.bitmask(f32x4.gt(four, limits)) & ((1 << min(4, count - i)) - 1))
  }
  return <i32>(kept >> 2)
}

/**
 * Best-first walk of one level from the entries of the pool, until every entry is expanded. The pool keeps `ef` visible entries. With
 * `viewed`, rows outside the view are hidden. With `together`, several entries are expanded at a time: loading their lists and rows together
 * saves more time than the few additional rows cost.
 */
export function walkLevel(ef: i32, level: i32, viewed: bool, together: bool, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(entryAt(i))
    store<u8>(visited + <usize>id, <u8>mark)
    setEntry(i, (entryAt(i) & ~(EXPANDED | HIDDEN)) | (viewed && isHidden(id) ? HIDDEN : 0))
  }
  reseed(ef)
  expandAll(level, viewed, together ? widthFor(ef) : 1, mark)
}

/** Expands every entry of the pool that is not expanded yet, including those that enter it meanwhile, `width` at a time. */
function expandAll(level: i32, viewed: bool, width: i32, mark: u32): void {
  if (screens) {
    expandByHeads(level, viewed, mark)
    return
  }
  let current: i32 = 0
  while (true) {
    const expanded = expandBest(current, width, level)
    if (expanded == 0) return
    current = stopped
    const count = listExpanded(expanded, level, mark)
    if (count == 0) continue
    if (level == 0) touchNext(width, level)
    keysOfIds(count)
    current = min(current, insertListed(count, viewed))
  }
}

/** Continues a finished walk of level 0 from the `count` entries at `seeds` that are nearer than the last of the pool. */
export function walkFrom(seeds: usize, count: i32, ef: i32, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) store<u8>(visited + <usize>idOf(entryAt(i)), <u8>mark)
  reseed(ef)
  for (let i: i32 = 0; i < count; ++i) {
    const seed = load<u64>(seeds + (<usize>i << 3)) & ~(EXPANDED | HIDDEN)
    const seen = visited + <usize>idOf(seed)
    if (<u32>load<u8>(seen) == mark || seed >= worst) continue
    store<u8>(seen, <u8>mark)
    insert(isHidden(idOf(seed)) ? seed | HIDDEN : seed)
  }
  expandAll(0, true, widthFor(ef), mark)
}

/**
 * Goes from the entry point to the seeds of a walk of `level`, which it leaves in the pool: greedy search above, and the beam at level 1 if
 * `level` is 0. With `frozen`, the sub-batch that is being linked is skipped. Returns false if the graph is empty.
 */
export function approach(level: i32, frozen: bool): bool {
  if (screens && level == 0) return approachByHeads()
  const entry = atomic.load<u32>(ENTRY)
  clear(1)
  if (entry == NONE) return false
  const top = levelOf(entry)
  const stop = level == 0 ? 1 : level
  let node = entry
  nearest = keyOf(rowOf(node))
  let l = top
  const descentMark = nextWalk()
  if (frozen) ignoreSubBatch(descentMark)
  for (; l > stop; --l) node = descend(node, nearest, l, descentMark)
  insert(entryOf(nearest, node))
  if (level == 0 && l == 1) {
    const mark = nextWalk()
    if (frozen) ignoreSubBatch(mark)
    walkLevel(frozen ? BEAM : QUERY_BEAM, 1, false, false, mark)
  }
  return true
}
