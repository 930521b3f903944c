// Rows that a walk cannot tell apart are one node of the graph, however many there are: they would fill its pools and lists and
// cut it in two. One of them, the leader, has lists. The others follow it: no list names them, and what would be their own
// orders them by ordinal, as a skip list whose shape depends on nothing but who is in it.
//   list of a leader      neighbors | its first follower, marked, in the last word
//   list of a follower    leader, marked | next follower | next of those that reach height 1 | ...
//   list of a removed row that follows nobody any more    OUTSIDE
// Lists are changed by one thread, between the phases of a job, while others read them: what is new is written before the
// word that leads to it, and who goes from follower to follower looks whether it is still one of that leader.
import {
  END,
  FOLLOWING,
  HANDED,
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
import { beat } from '../scratch'
import { isAlive } from './repair'

export const OUTSIDE: u32 = 0xfffffffe
const HEIGHT_MAX: i32 = 7

@inline
function lastOf(id: u32): usize {
  return baseLinksOf(id) + (<usize>(M0 - 1) << 2)
}
@inline
function nextAt(id: u32, height: i32): usize {
  return baseLinksOf(id) + (<usize>(1 + height) << 2)
}
@inline
function isMarked(word: u32): bool {
  return word >= MARKED && word != NONE
}
function heights(): i32 {
  return min(HEIGHT_MAX, M0 - 1)
}
function scattered(id: u32): u32 {
  const h = (id + 0x9e3779b9) * 0x21f0aaad
  return h ^ (h >> 15)
}
/** One in four followers reaches the next height; the first of all reaches every one. */
function heightOf(id: u32): i32 {
  return min(heights(), 1 + (<i32>ctz(scattered(id) | 0x1000) >> 1))
}

/** True where the row has no lists: it follows another, or nobody any more. */
@inline
export function isFollower(id: u32): bool {
  return isMarked(load<u32>(baseLinksOf(id)))
}
@inline
export function isLeader(id: u32): bool {
  return isMarked(load<u32>(lastOf(id))) && !isFollower(id)
}
/** The leader of a follower, NONE for one that follows nobody. */
export function leaderOf(id: u32): u32 {
  const word = load<u32>(baseLinksOf(id))
  return isMarked(word) && word != OUTSIDE ? word & ~MARKED : NONE
}
/** The follower of the lowest ordinal, or NONE. */
export function firstFollower(leader: u32): u32 {
  const word = load<u32>(lastOf(leader))
  return isMarked(word) ? sameLeader(leader, word & ~MARKED) : NONE
}
export function followerAfter(leader: u32, id: u32): u32 {
  return sameLeader(leader, load<u32>(nextAt(id, 0)))
}
/** A reader may stand at a follower whose ordinal was given to another row. */
@inline
function sameLeader(leader: u32, id: u32): u32 {
  return id < MARKED && load<u32>(baseLinksOf(id)) == (MARKED | leader) ? id : NONE
}

// The same as bits, which a walk has at hand where lists are not.
@inline
function bit(map: usize, id: u32): bool {
  return ((load<u8>(map + <usize>(id >> 3)) >> <u8>(id & 7)) & 1) != 0
}
function setBit(map: usize, id: u32, on: bool): void {
  const at = map + <usize>(id >> 3)
  const mask = <u8>(1 << <u8>(id & 7))
  store<u8>(at, on ? load<u8>(at) | mask : load<u8>(at) & ~mask)
}
@inline
export function isMarkedFollower(id: u32): bool {
  return bit(followers, id)
}
@inline
export function isMarkedLeader(id: u32): bool {
  return bit(leaders, id)
}
function markFollower(id: u32, on: bool): void {
  if (bit(followers, id) == on) return
  setBit(followers, id, on)
  store<u32>(FOLLOWING, on ? load<u32>(FOLLOWING) + 1 : load<u32>(FOLLOWING) - 1)
}

/** True where the row is in the graph and leads to a living one, itself or a copy. */
export function isStanding(id: u32): bool {
  if (isFollower(id)) return false
  return isAlive(id) || hasLiving(id)
}
function hasLiving(leader: u32): bool {
  for (let id = firstFollower(leader); id != NONE; id = followerAfter(leader, id)) if (isAlive(id)) return true
  return false
}

function clearList(id: u32): void {
  memory.fill(baseLinksOf(id), 0xff, <usize>M0 << 2)
  touch(id)
}

/** Puts a row that is in no list behind a leader. Where the leader's list was full its last neighbor gives way. */
export function follow(leader: u32, id: u32): void {
  if (levelOf(id) > 0 && load<u32>(upperOf(id)) != NONE)
    for (let l = levelOf(id); l > 0; --l) memory.fill(linksOf(id, l), 0xff, <usize>M << 2)
  clearList(id)
  store<u32>(baseLinksOf(id), MARKED | leader)
  const word = load<u32>(lastOf(leader))
  if (!isMarked(word)) lead(leader, id)
  else if (id < (word & ~MARKED)) insertFirst(leader, word & ~MARKED, id)
  else insertBehind(word & ~MARKED, id)
  markFollower(id, true)
}

/** Names the first follower of a leader. */
function lead(leader: u32, first: u32): void {
  atomic.store<u32>(lastOf(leader), first == NONE ? NONE : MARKED | first)
  setBit(leaders, leader, first != NONE)
  touch(leader)
}

function insertFirst(leader: u32, first: u32, id: u32): void {
  const own = heightOf(first)
  for (let h: i32 = 0; h < heights(); ++h) {
    store<u32>(nextAt(id, h), h < own ? first : load<u32>(nextAt(first, h)))
    if (h >= own) store<u32>(nextAt(first, h), NONE)
  }
  touch(first)
  lead(leader, id)
}

function insertBehind(first: u32, id: u32): void {
  const own = heightOf(id)
  let before = first
  for (let h = heights() - 1; h >= 0; --h) {
    let next = load<u32>(nextAt(before, h))
    while (next < id) {
      before = next
      next = load<u32>(nextAt(before, h))
    }
    if (h >= own) continue
    store<u32>(nextAt(id, h), next)
    atomic.store<u32>(nextAt(before, h), id)
    touch(before)
  }
}

/** Takes a follower out from behind its leader. */
function leave(leader: u32, id: u32): void {
  const first = load<u32>(lastOf(leader)) & ~MARKED
  if (id == first) {
    const next = load<u32>(nextAt(id, 0))
    if (next != NONE) {
      for (let h = heightOf(next); h < heights(); ++h) store<u32>(nextAt(next, h), load<u32>(nextAt(id, h)))
      touch(next)
    }
    lead(leader, next)
    return
  }
  let before = first
  for (let h = heights() - 1; h >= 0; --h) {
    let next = load<u32>(nextAt(before, h))
    while (next < id) {
      before = next
      next = load<u32>(nextAt(before, h))
    }
    if (next != id) continue
    atomic.store<u32>(nextAt(before, h), load<u32>(nextAt(id, h)))
    touch(before)
  }
}

/** Takes a removed follower out for good, before its ordinal is given again. */
export function release(id: u32): void {
  const leader = leaderOf(id)
  if (leader != NONE) leave(leader, id)
  clearList(id)
  markFollower(id, false)
}

/** The same for a row that stays: nothing leads to it any more. */
function putOutside(id: u32): void {
  clearList(id)
  store<u32>(baseLinksOf(id), OUTSIDE)
}

/**
 * Brackets changes after which a follower no longer leads on to the next: a reader that stands at it would miss the rest, and
 * searches again when it sees that the number is odd or another.
 */
export function beginHandingOver(): void {
  atomic.add<u32>(HANDED, 1)
}
export function endHandingOver(): void {
  atomic.add<u32>(HANDED, 1)
}

/** Takes removed followers out, for a sweep. */
export function sweepFollowers(): void {
  const end = load<u32>(END)
  beginHandingOver()
  for (let id: u32 = 0; id < end; ++id) {
    const leader = isMarkedFollower(id) && !isAlive(id) ? leaderOf(id) : NONE
    if (leader == NONE) continue
    beat()
    leave(leader, id)
    putOutside(id)
  }
  endHandingOver()
}

/**
 * Chooses which living follower takes the place of a removed leader, NONE where there is none, and puts the others behind it. By
 * a hash: were it the oldest, leaders would be removed one after the other where many copies are replaced in their order.
 */
export function handOver(leader: u32): u32 {
  let best = NONE
  for (let id = firstFollower(leader); id != NONE; id = followerAfter(leader, id)) {
    beat()
    if (isAlive(id) && (best == NONE || scattered(id) > scattered(best))) best = id
  }
  if (best != NONE) leave(leader, best)
  const first = firstFollower(leader)
  lead(leader, NONE)
  for (let id = first; id != NONE; ) {
    const next = load<u32>(nextAt(id, 0))
    if (best == NONE) putOutside(id)
    else store<u32>(baseLinksOf(id), MARKED | best)
    touch(id)
    id = next
  }
  if (best == NONE) return NONE
  clearList(best)
  markFollower(best, false)
  lead(best, first)
  return best
}

/** Makes the bits of an arena that was loaded. */
export function countFollowers(): void {
  const end = load<u32>(END)
  for (let id: u32 = 0; id < end; ++id) {
    if (load<u32>(tailOf(id), 8) == NONE) continue
    if (isFollower(id)) markFollower(id, true)
    else if (isLeader(id)) setBit(leaders, id, true)
  }
}

/** Whether what stands in the list of a row that was loaded can be followed without leaving the arena, and comes to an end. */
export function isSoundFollower(id: u32, end: u32): bool {
  const word = load<u32>(baseLinksOf(id))
  if (word == OUTSIDE) return true
  const leader = word & ~MARKED
  if (leader >= end || load<u32>(tailOf(leader), 8) == NONE || !isLeader(leader)) return false
  for (let h: i32 = 0; h < heights(); ++h) {
    const next = load<u32>(nextAt(id, h))
    if (next == NONE) continue
    if (next <= id || next >= end || load<u32>(baseLinksOf(next)) != word) return false
  }
  return true
}
export function isSoundLeader(id: u32, end: u32): bool {
  const first = load<u32>(lastOf(id)) & ~MARKED
  return first < end && load<u32>(baseLinksOf(first)) == (MARKED | id)
}

/** Followers a walk looks at before it takes it that one of the rest may be returned: too many only cost a place in its pool. */
const LOOKED_AT: i32 = 4096
let left: i32 = 0
export function lookAgain(): void {
  left = LOOKED_AT
}
/** To be asked before so many are looked at while it is decided whether a leader is shown. */
@inline
export function mayLook(count: i32): bool {
  left -= count
  return left >= 0
}
