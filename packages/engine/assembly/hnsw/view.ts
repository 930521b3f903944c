// Which rows a walk may return: those visible as of a version, and those that a bitmap allows, themselves or through followers.
import { FOLLOWER_COUNT, NONE, followers, hiddenAt, tailOf } from '../layout'
import { firstFollower, followerAfter, isMarkedFollower, isMarkedLeader, leaderOf, resetChecks, takeChecks } from './copies'

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
