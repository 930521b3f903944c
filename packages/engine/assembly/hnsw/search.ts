// Walking the graph: greedy above, a small beam at level 1 that seeds level 0 with several entries (one alone is now and
// then trapped in a wrong cluster), then best-first over level 0.
import { ENTRY, FOLLOWING, MARKED, NONE, degreeAt, followers, hiddenAt, linksOf, rowOf, tailOf } from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, visited } from '../scratch'
import { keyOf, keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, at, clear, entryOf, idOf, insert, keyOfEntry, put, reseed, size, worst } from './pool'
import { firstFollower, followerAfter, isMarkedFollower, isMarkedLeader, leaderOf, lookAgain, mayLook } from './copies'
import { ignoreSubBatch } from './sub-batch'

/** Entries carried from level 1 into level 0 while building. */
const BEAM: i32 = 8
/** The same for a query: a graph built with the wider beam traps no more of them with the narrower. */
const QUERY_BEAM: i32 = 4

/** Nodes expanded since the count was taken. */
let hops: u32 = 0
export function takeHops(): u32 {
  const n = hops
  hops = 0
  return n
}

/** Keeps loads whose only purpose is to bring a line near from being dropped. */
let sink: u32 = 0

let version: u32 = 0
let allowed: usize = 0
let allowedEnd: u32 = 0
/** Whether any row follows another: most arenas have none, and nothing is looked up. */
export let hasCopies: bool = false

/** Which rows a walk may return: those visible at a version and, where there is a bitmap, with their bit set below `end`. */
export function setView(asOf: u32, bitmap: usize, end: u32): void {
  version = asOf
  allowed = bitmap
  allowedEnd = end
  hasCopies = load<u32>(FOLLOWING) != 0
  lookAgain()
}

@inline
export function isHiddenRow(id: u32): bool {
  return !isAllowed(id) || hiddenAt(tailOf(id), version)
}

/** The same of a node, which stands for the rows that follow it. A row that follows is found through its leader alone. */
@inline
export function isHidden(id: u32): bool {
  return hasCopies ? isHiddenNode(id) : isHiddenRow(id)
}
function isHiddenNode(id: u32): bool {
  if (isMarkedFollower(id)) return true
  if (!isHiddenRow(id)) return false
  return !isMarkedLeader(id) || !leadsToShown(id)
}
/** The first follower of a leader that the bitmap allows, where there is one; whether it can be seen is another matter. */
export function firstAllowedFollower(leader: u32): u32 {
  const first = firstFollower(leader)
  return allowed == 0 || first == NONE ? first : allowedFollowerFrom(leader, first)
}
export function allowedFollowerAfter(leader: u32, id: u32): u32 {
  return allowed == 0 ? followerAfter(leader, id) : allowedFollowerFrom(leader, id + 1)
}
/** Through the bits of the bitmap and of followers, 32 rows at a time: few of a hundred thousand copies may be allowed. */
function allowedFollowerFrom(leader: u32, from: u32): u32 {
  const words = allowedWords()
  let below: u32 = ~((1 << (from & 31)) - 1)
  for (let i = from >> 5; i < words; ++i) {
    const at = <usize>i << 2
    let word = load<u32>(allowed + at) & load<u32>(followers + at) & below
    below = 0xffffffff
    for (; word != 0; word &= word - 1) {
      const id = (i << 5) | ctz(word)
      if (isAllowed(id) && leaderOf(id) == leader) return id
    }
  }
  return NONE
}

/** Whether a follower may be returned; also where that would take too long to find out. */
function leadsToShown(leader: u32): bool {
  if (!mayLookFrom(leader)) return true
  for (let id = firstAllowedFollower(leader); id != NONE; id = allowedFollowerAfter(leader, id))
    if (!mayLook(1) || !hiddenAt(tailOf(id), version)) return true
  return false
}
/** Eight words of bits are read as fast as one follower. */
function mayLookFrom(leader: u32): bool {
  const first = firstFollower(leader) >> 5
  const words = allowedWords()
  return allowed == 0 || mayLook(words > first ? <i32>((words - first) >> 3) : 0)
}

/** What the bitmap says of a node. */
@inline
export function isAllowedNode(id: u32): bool {
  return isAllowed(id) || (hasCopies && isMarkedLeader(id) && leadsToAllowed(id))
}
function leadsToAllowed(leader: u32): bool {
  return !mayLookFrom(leader) || firstAllowedFollower(leader) != NONE
}

/** What the bitmap says of a row; unlike its versions, which stand beside the code, that is always at hand. */
@inline
export function isAllowed(id: u32): bool {
  if (allowed == 0) return true
  return id < allowedEnd && ((load<u32>(allowed + (<usize>(id >> 5) << 2)) >> (id & 31)) & 1) != 0
}

/** The lowest ordinal with its bit set in the words from `from` below `to` of the bitmap; NONE where there is none. It may have no row. */
export function firstAllowed(from: u32, to: u32): u32 {
  for (let i = from; i < to; ++i) {
    const word = load<u32>(allowed + (<usize>i << 2))
    if (word != 0) return (i << 5) | ctz(word)
  }
  return NONE
}

/** Words of the bitmap. */
export function allowedWords(): u32 {
  return (allowedEnd + 31) >> 5
}

export function countHop(): void {
  hops++
}

let nearest: f32 = 0
/**
 * Follows the nearest neighbor until none is nearer, past whatever bears the mark: what was compared before is no nearer.
 * Leaves the key in `nearest`.
 */
function descend(from: u32, key: f32, level: i32, mark: u32): u32 {
  let best = from
  nearest = key
  let moved = true
  while (moved) {
    moved = false
    const count = gather(linksOf(best, level), degreeAt(level), mark, 0)
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

/** Touches the list of the entry that is likely to be expanded next, while distances are being computed. */
@inline
function touchNext(current: i32, level: i32): void {
  let next = current + 1
  if (next >= size) return
  let entry = at(next)
  if (entry & EXPANDED) {
    next++
    if (next >= size) return
    entry = at(next)
  }
  const list = linksOf(idOf(entry), level)
  sink = load<u32>(list) ^ load<u32>(list, 64)
}

/** Expands the first entry after `current` that is not yet: where its list is, or 0 where there is none. */
@inline
function expandAfter(current: i32, level: i32): usize {
  let next = current + 1
  while (next < size && at(next) & EXPANDED) next++
  if (next == size) return 0
  put(next, at(next) | EXPANDED)
  hops++
  return linksOf(idOf(at(next)), level)
}

/** Lists the neighbors not seen yet behind the `count` ordinals already listed; returns how many are listed then. */
@inline
function gather(from: usize, degree: i32, mark: u32, listed: i32): i32 {
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

/**
 * Puts the listed rows into the pool; returns the first place that changed. Most are beyond the pool's last and are left out
 * four at a time; where keys are equal the ordinal decides.
 */
export function offer(count: i32, viewed: bool): i32 {
  let first = size
  for (let from: i32 = 0; from < count; from += 4) {
    const beyond = f32x4.gt(v128.load(keys + (<usize>from << 2)), f32x4.splat(keyOfEntry(worst)))
    let near = ~i32x4.bitmask(beyond) & ((1 << min(4, count - from)) - 1)
    for (; near != 0; near &= near - 1) {
      const place = <usize>(from + ctz(near)) << 2
      const id = load<u32>(ids + place)
      let found = entryOf(load<f32>(keys + place), id)
      if (found >= worst) continue
      if (viewed && isHidden(id)) found |= HIDDEN
      first = min(first, insert(found))
    }
  }
  return first
}

/**
 * Best-first walk of one level from the entries in the pool, until every entry kept is expanded. `wanted` shown entries
 * are kept; at level 0 rows outside the view are hidden. With `pairs` the two best entries are expanded at a time: their
 * lists and rows are fetched together, which saves more time than the few rows cost that one at a time would not look at.
 */
export function walkLevel(wanted: i32, level: i32, viewed: bool, pairs: bool, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(at(i))
    store<u8>(visited + <usize>id, <u8>mark)
    put(i, (at(i) & ~(EXPANDED | HIDDEN)) | (viewed && isHidden(id) ? HIDDEN : 0))
  }
  reseed(wanted)
  expandAll(level, viewed, pairs, mark)
}

/** Expands every entry of the pool that is not yet, and those that come into it meanwhile. */
function expandAll(level: i32, viewed: bool, pairs: bool, mark: u32): void {
  const degree = degreeAt(level)
  let current: i32 = 0
  while (current < size) {
    const entry = at(current)
    if (entry & EXPANDED) {
      current++
      continue
    }
    put(current, entry | EXPANDED)
    hops++
    const list = linksOf(idOf(entry), level)
    const second = pairs ? expandAfter(current, level) : 0
    // Both lists are on their way before the first is read: where its end is cannot be foreseen, so the second would be late.
    if (second != 0) sink = load<u32>(list) ^ load<u32>(list, 64) ^ load<u32>(second) ^ load<u32>(second, 64)
    let count = gather(list, degree, mark, 0)
    if (second != 0) count = gather(second, degree, mark, count)
    if (count == 0) {
      current++
      continue
    }
    if (level == 0) touchNext(current, level)
    keysOfIds(count)
    const first = offer(count, viewed)
    current = first <= current ? first : current + 1
  }
}

/**
 * Goes on with a walk of level 0 that is over, from the `count` seeds listed: as many as are nearer than the last of the pool are
 * expanded, and what they lead to.
 */
export function walkFrom(seeds: usize, count: i32, wanted: i32, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) store<u8>(visited + <usize>idOf(at(i)), <u8>mark)
  reseed(wanted)
  for (let i: i32 = 0; i < count; ++i) {
    const seed = load<u64>(seeds + (<usize>i << 3)) & ~(EXPANDED | HIDDEN)
    const seen = visited + <usize>idOf(seed)
    if (<u32>load<u8>(seen) == mark || seed >= worst) continue
    store<u8>(seen, <u8>mark)
    insert(isHidden(idOf(seed)) ? seed | HIDDEN : seed)
  }
  expandAll(0, true, true, mark)
}

/**
 * Brings the pool from the entry point to the seeds of a walk of `level`: greedy above, the beam where the walk is of
 * level 0. With `frozen` the sub-batch being linked is passed by. Returns false where the graph is empty.
 */
export function approach(level: i32, frozen: bool): bool {
  const entry = atomic.load<u32>(ENTRY)
  clear(1)
  if (entry == NONE) return false
  const top = levelOf(entry)
  const stop = level == 0 ? 1 : level
  let node = entry
  nearest = keyOf(rowOf(node))
  let l = top
  const compared = nextWalk()
  if (frozen) ignoreSubBatch(compared)
  for (; l > stop; --l) node = descend(node, nearest, l, compared)
  insert(entryOf(nearest, node))
  if (level == 0 && l == 1) {
    const mark = nextWalk()
    if (frozen) ignoreSubBatch(mark)
    walkLevel(frozen ? BEAM : QUERY_BEAM, 1, false, false, mark)
  }
  return true
}
