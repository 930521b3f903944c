// Rows that a walk cannot distinguish are one node of the graph, however many there are. Otherwise they would fill pools and lists and cut the
// graph in two. One of them, the leader, has lists. The others follow it: no list contains them, and the words of their own lists order them by
// ordinal, as a skip list whose shape depends only on its members.
//   list of a leader      neighbors | its first follower, marked, in the last word
//   list of a follower    leader, marked | next follower | next follower of height 1 or more | ...
//   list of a removed row that follows no row any more    DETACHED
// One thread changes lists, between the phases of a job, while other threads read them. Content is written before the word that leads to it,
// and a reader that goes from follower to follower checks that each still follows the same leader.
import {
  END,
  FOLLOWER_COUNT,
  HANDOVERS,
  M,
  M0,
  MARKED,
  NONE,
  baseLinksOf,
  followers,
  leaders,
  linksOf,
  tailOf,
  touch,
  upperOf,
} from '../layout'
import { levelOf } from './level'
import { reportProgress } from '../scratch'
import { isAlive } from './alive'

/** The first word of a removed row that follows no row any more. */
export const DETACHED: u32 = 0xfffffffe
const HEIGHT_MAX: i32 = 7

@inline
function firstFollowerWord(id: u32): usize {
  return baseLinksOf(id) + (<usize>(M0 - 1) << 2)
}
@inline
function nextWord(id: u32, height: i32): usize {
  return baseLinksOf(id) + (<usize>(1 + height) << 2)
}
@inline
function isMarked(word: u32): bool {
  return word >= MARKED && word != NONE
}
function heightMax(): i32 {
  return min(HEIGHT_MAX, M0 - 1)
}
function scatter(id: u32): u32 {
  const h = (id + 0x9e3779b9) * 0x21f0aaad
  return h ^ (h >> 15)
}
/** Number of heights of a follower: one in four reaches the next height. The first follower reaches every height. */
function heightOf(id: u32): i32 {
  return min(heightMax(), 1 + (<i32>ctz(scatter(id) | 0x1000) >> 1))
}

/** Whether the row has no lists of its own: it follows another row, or is detached. */
@inline
export function isFollower(id: u32): bool {
  return isMarked(load<u32>(baseLinksOf(id)))
}
/** Whether the row has followers. */
@inline
export function isLeader(id: u32): bool {
  return isMarked(load<u32>(firstFollowerWord(id))) && !isFollower(id)
}
/** The leader of a follower, NONE for a detached row. */
export function leaderOf(id: u32): u32 {
  const word = load<u32>(baseLinksOf(id))
  return isMarked(word) && word != DETACHED ? word & ~MARKED : NONE
}
/** The follower with the lowest ordinal, or NONE. */
export function firstFollower(leader: u32): u32 {
  const word = load<u32>(firstFollowerWord(leader))
  return isMarked(word) ? ifFollowing(leader, word & ~MARKED) : NONE
}
/** The next follower of the leader by ordinal, or NONE. */
export function followerAfter(leader: u32, id: u32): u32 {
  return ifFollowing(leader, load<u32>(nextWord(id, 0)))
}
/** `id` if it still follows the leader, else NONE: a reader may be at a follower whose ordinal was reused. */
@inline
function ifFollowing(leader: u32, id: u32): u32 {
  return id < MARKED && load<u32>(baseLinksOf(id)) == (MARKED | leader) ? id : NONE
}

// The same facts as bitmaps, which walks have in the cache.
@inline
function getBit(map: usize, id: u32): bool {
  return ((load<u8>(map + <usize>(id >> 3)) >> <u8>(id & 7)) & 1) != 0
}
function setBit(map: usize, id: u32, on: bool): void {
  const address = map + <usize>(id >> 3)
  const mask = <u8>(1 << <u8>(id & 7))
  store<u8>(address, on ? load<u8>(address) | mask : load<u8>(address) & ~mask)
}
/** `isFollower`, read from the bitmap. */
@inline
export function isMarkedFollower(id: u32): bool {
  return getBit(followers, id)
}
/** `isLeader`, read from the bitmap. */
@inline
export function isMarkedLeader(id: u32): bool {
  return getBit(leaders, id)
}
function setFollower(id: u32, on: bool): void {
  if (getBit(followers, id) == on) return
  setBit(followers, id, on)
  store<u32>(FOLLOWER_COUNT, on ? load<u32>(FOLLOWER_COUNT) + 1 : load<u32>(FOLLOWER_COUNT) - 1)
}

/** Whether the row is a node that leads to a live row, itself or a follower. */
export function isLiveNode(id: u32): bool {
  if (isFollower(id)) return false
  return isAlive(id) || hasLiveFollower(id)
}
function hasLiveFollower(leader: u32): bool {
  for (let id = firstFollower(leader); id != NONE; id = followerAfter(leader, id)) if (isAlive(id)) return true
  return false
}

function clearList(id: u32): void {
  memory.fill(baseLinksOf(id), 0xff, <usize>M0 << 2)
  touch(id)
}

/** Makes a row that is in no list a follower. If the list of the leader is full, its last neighbor is dropped. */
export function attachFollower(leader: u32, id: u32): void {
  if (levelOf(id) > 0 && load<u32>(upperOf(id)) != NONE)
    for (let l = levelOf(id); l > 0; --l) memory.fill(linksOf(id, l), 0xff, <usize>M << 2)
  clearList(id)
  store<u32>(baseLinksOf(id), MARKED | leader)
  const word = load<u32>(firstFollowerWord(leader))
  if (!isMarked(word)) setFirstFollower(leader, id)
  else if (id < (word & ~MARKED)) insertFirst(leader, word & ~MARKED, id)
  else insertBehind(word & ~MARKED, id)
  setFollower(id, true)
}

/** Sets the first follower of a leader, NONE for none. */
function setFirstFollower(leader: u32, first: u32): void {
  atomic.store<u32>(firstFollowerWord(leader), first == NONE ? NONE : MARKED | first)
  setBit(leaders, leader, first != NONE)
  touch(leader)
}

function insertFirst(leader: u32, first: u32, id: u32): void {
  const height = heightOf(first)
  for (let h: i32 = 0; h < heightMax(); ++h) {
    store<u32>(nextWord(id, h), h < height ? first : load<u32>(nextWord(first, h)))
    if (h >= height) store<u32>(nextWord(first, h), NONE)
  }
  touch(first)
  setFirstFollower(leader, id)
}

function insertBehind(first: u32, id: u32): void {
  const height = heightOf(id)
  let previous = first
  for (let h = heightMax() - 1; h >= 0; --h) {
    let next = load<u32>(nextWord(previous, h))
    while (next < id) {
      previous = next
      next = load<u32>(nextWord(previous, h))
    }
    if (h >= height) continue
    store<u32>(nextWord(id, h), next)
    atomic.store<u32>(nextWord(previous, h), id)
    touch(previous)
  }
}

/** Removes a follower from the followers of its leader. */
function detachFollower(leader: u32, id: u32): void {
  const first = load<u32>(firstFollowerWord(leader)) & ~MARKED
  if (id == first) {
    const next = load<u32>(nextWord(id, 0))
    if (next != NONE) {
      for (let h = heightOf(next); h < heightMax(); ++h) store<u32>(nextWord(next, h), load<u32>(nextWord(id, h)))
      touch(next)
    }
    setFirstFollower(leader, next)
    return
  }
  let previous = first
  for (let h = heightMax() - 1; h >= 0; --h) {
    let next = load<u32>(nextWord(previous, h))
    while (next < id) {
      previous = next
      next = load<u32>(nextWord(previous, h))
    }
    if (next != id) continue
    atomic.store<u32>(nextWord(previous, h), load<u32>(nextWord(id, h)))
    touch(previous)
  }
}

/** Removes a removed follower completely, before its ordinal is reused. */
export function removeFollower(id: u32): void {
  const leader = leaderOf(id)
  if (leader != NONE) detachFollower(leader, id)
  clearList(id)
  setFollower(id, false)
}

/** Marks a removed row that keeps its ordinal: it follows no row any more. */
function markDetached(id: u32): void {
  clearList(id)
  store<u32>(baseLinksOf(id), DETACHED)
}

/**
 * Brackets changes after which a follower may not lead to the next one. A reader at that follower would miss the rest, so it searches again
 * if the counter is odd or has changed.
 */
export function beginHandover(): void {
  atomic.add<u32>(HANDOVERS, 1)
}
/** Ends the bracket of `beginHandover`. */
export function endHandover(): void {
  atomic.add<u32>(HANDOVERS, 1)
}

/** Detaches the removed followers, as part of a sweep. */
export function detachDeadFollowers(): void {
  const end = load<u32>(END)
  beginHandover()
  for (let id: u32 = 0; id < end; ++id) {
    const leader = isMarkedFollower(id) && !isAlive(id) ? leaderOf(id) : NONE
    if (leader == NONE) continue
    reportProgress()
    detachFollower(leader, id)
    markDetached(id)
  }
  endHandover()
}

/**
 * Selects the live follower that succeeds a removed leader, and makes the others its followers. Returns NONE if no follower is live. The
 * successor is selected by a hash. If it were the oldest, leaders would be removed one after another when many copies are replaced in their
 * order.
 */
export function selectSuccessor(leader: u32): u32 {
  let best = NONE
  for (let id = firstFollower(leader); id != NONE; id = followerAfter(leader, id)) {
    reportProgress()
    if (isAlive(id) && (best == NONE || scatter(id) > scatter(best))) best = id
  }
  if (best != NONE) detachFollower(leader, best)
  const first = firstFollower(leader)
  setFirstFollower(leader, NONE)
  for (let id = first; id != NONE; ) {
    const next = load<u32>(nextWord(id, 0))
    if (best == NONE) markDetached(id)
    else store<u32>(baseLinksOf(id), MARKED | best)
    touch(id)
    id = next
  }
  if (best == NONE) return NONE
  clearList(best)
  setFollower(best, false)
  setFirstFollower(best, first)
  return best
}

/** Builds the bitmaps of an arena that was loaded. */
export function buildFollowerBitmaps(): void {
  const end = load<u32>(END)
  for (let id: u32 = 0; id < end; ++id) {
    if (load<u32>(tailOf(id), 8) == NONE) continue
    if (isFollower(id)) setFollower(id, true)
    else if (isLeader(id)) setBit(leaders, id, true)
  }
}

/** Whether the list of a loaded row can be followed without leaving the arena, and ends. */
export function isSoundFollower(id: u32, end: u32): bool {
  const word = load<u32>(baseLinksOf(id))
  if (word == DETACHED) return true
  const leader = word & ~MARKED
  if (leader >= end || load<u32>(tailOf(leader), 8) == NONE || !isLeader(leader)) return false
  for (let h: i32 = 0; h < heightMax(); ++h) {
    const next = load<u32>(nextWord(id, h))
    if (next == NONE) continue
    if (next <= id || next >= end || load<u32>(baseLinksOf(next)) != word) return false
  }
  return true
}
/** Whether the first follower of a loaded leader exists and follows it. */
export function isSoundLeader(id: u32, end: u32): bool {
  const first = load<u32>(firstFollowerWord(id)) & ~MARKED
  return first < end && load<u32>(baseLinksOf(first)) == (MARKED | id)
}

/**
 * Followers that a walk checks for visibility. Beyond that it assumes that one of the rest may be returned, which costs at most a place in
 * its pool.
 */
const CHECKS_MAX: i32 = 4096
let checksLeft: i32 = 0
/** Starts the budget of checks of one search. */
export function resetChecks(): void {
  checksLeft = CHECKS_MAX
}
/** Takes `count` checks from the budget. Returns false if the budget is used up. */
@inline
export function takeChecks(count: i32): bool {
  checksLeft -= count
  return checksLeft >= 0
}
