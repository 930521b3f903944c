// Removes deleted rows from the graph, so that no link leads to them and their neighbors stay connected. There are two ways:
//   repair   for a few ordinals that are about to be reused: each neighbor replaces the row by the nearest of the row's other neighbors. Links
//            from elsewhere stay, and lead to whatever the ordinal becomes, which only costs a little speed.
//   sweep    for many: every list with a removed row is selected again from its live members and the live neighbors of its removed members.
//            Afterwards no link leads to a removed row.
// The new list of a node depends on its own list and on the lists of removed rows, which a sweep does not change, so threads may process nodes
// in any order.
import {
  ALIVE,
  DEAD,
  END,
  ENTRY,
  JOB_COUNT,
  JOB_SUCCESSORS,
  JOB_TAKEN,
  M0,
  MARKED,
  NONE,
  degreeAt,
  degreeOf,
  linksOf,
  rowOf,
  tailOf,
  touch,
  upperOf,
} from '../layout'
import { isAlive, hasRow } from './alive'
import { levelOf } from './level'
import { ids, keys, nextWalk, rowCode, visited } from '../scratch'
import { keysOf, setRowAsQuery } from '../distance/walk'
import { removeNode } from './classes'
import { beginHandover, endHandover, selectSuccessor, isFollower, isLeader, isLiveNode, removeFollower, detachDeadFollowers } from './copies'
import { selectAgain } from './link'
import { itemOf, putItem } from './sub-batch'

/** Nodes in one ticket of a sweep. */
export const SWEEP_STEP: u32 = 256
/** Items in one ticket of a repair: about as much work as to find the neighbors of one node. */
export const REPAIR_STEP: u32 = 2
/** Maximum number of candidates for one list. */
const CANDIDATES_MAX: i32 = 512

/** The highest level at which the row has a list. */
function levelsOf(id: u32): i32 {
  const level = levelOf(id)
  return level > 0 && load<u32>(upperOf(id)) == NONE ? 0 : level
}

/**
 * Removes the rows whose ordinals the items reuse from the table of equal rows. A follower leaves its leader. A leader is succeeded by one
 * of its followers: immediately in the lists of its neighbors, and completely when the successor is linked at the end of the job.
 */
export function releaseItems(): void {
  const count = load<u32>(JOB_COUNT)
  let successors: u32 = 0
  beginHandover()
  for (let i: u32 = 0; i < count; ++i) {
    const id = itemOf(i)
    if (!hasRow(id)) continue
    if (isFollower(id)) {
      removeFollower(id)
      continue
    }
    removeNode(id)
    if (!isLeader(id)) continue
    const successor = selectSuccessor(id)
    if (successor == NONE) continue
    replaceBySuccessor(id, successor)
    putItem(count + successors, successor)
    successors++
  }
  store<u32>(JOB_SUCCESSORS, successors)
  endHandover()
}

/** Gives the successor the neighbors of the row at level 0, and replaces the row by the successor in their lists. */
function replaceBySuccessor(id: u32, successor: u32): void {
  const list = linksOf(id, 0)
  const successorList = linksOf(successor, 0)
  for (let i: i32 = 0; i < M0 - 1; ++i) {
    const neighbor = load<u32>(list + (<usize>i << 2))
    if (neighbor >= MARKED) break
    store<u32>(successorList + (<usize>i << 2), neighbor)
    const slot = findInList(id, linksOf(neighbor, 0), M0)
    if (slot == 0) continue
    atomic.store<u32>(slot, successor)
    touch(neighbor)
  }
  touch(successor)
}

/**
 * Repairs the graph around the next items whose ordinals have a removed row that no sweep has removed. One item depends on those before it,
 * so only one thread repairs at a time.
 */
export function repairNextItems(): void {
  const from = load<u32>(JOB_TAKEN)
  const to = min(load<u32>(JOB_COUNT), from + REPAIR_STEP)
  for (let i = from; i < to; ++i) {
    const id = itemOf(i)
    if (!hasRow(id)) continue
    for (let l = levelsOf(id); l >= 0; --l) repairAround(id, l)
  }
  store<u32>(JOB_TAKEN, to)
}

function repairAround(id: u32, level: i32): void {
  const list = linksOf(id, level)
  const degree = degreeAt(level)
  for (let i: i32 = 0; i < degree; ++i) {
    const neighbor = load<u32>(list + (<usize>i << 2))
    if (neighbor >= MARKED) break
    const slot = findInList(id, linksOf(neighbor, level), degree)
    if (slot != 0) replaceNeighbor(neighbor, slot, list, level, degree)
  }
}

/** Address of the word of a list that holds an ordinal, or 0. */
function findInList(id: u32, list: usize, degree: i32): usize {
  for (let i: i32 = 0; i < degree; ++i) {
    const held = load<u32>(list + (<usize>i << 2))
    if (held == id) return list + (<usize>i << 2)
    if (held >= MARKED) break
  }
  return 0
}

/** Replaces the word at `slot` in the list of `node` by the nearest suitable member of the list `from`, or removes it if there is none. */
function replaceNeighbor(node: u32, slot: usize, from: usize, level: i32, degree: i32): void {
  const list = linksOf(node, level)
  touch(node)
  let count: i32 = 0
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(from + (<usize>i << 2))
    if (other >= MARKED) break
    if (other == node || !isLiveNode(other) || findInList(other, list, degree) != 0) continue
    store<u32>(ids + (<usize>count << 2), other)
    count++
  }
  if (count > 0) {
    setRowAsQuery(rowOf(node), rowCode)
    keysOf(ids, count, keys)
    let best: i32 = 0
    for (let i: i32 = 1; i < count; ++i) if (load<f32>(keys + (<usize>i << 2)) < load<f32>(keys + (<usize>best << 2))) best = i
    atomic.store<u32>(slot, load<u32>(ids + (<usize>best << 2)))
    return
  }
  let last = list + (<usize>(degree - 1) << 2)
  while (load<u32>(last) >= MARKED) last -= 4
  atomic.store<u32>(slot, load<u32>(last))
  atomic.store<u32>(last, NONE)
}

/** Sweeps the nodes of one ticket. */
export function sweep(step: u32): void {
  const end = min(load<u32>(END), (step + 1) * SWEEP_STEP)
  for (let id = step * SWEEP_STEP; id < end; ++id) {
    if (!hasRow(id) || !isLiveNode(id)) continue
    for (let l = levelsOf(id); l >= 0; --l) sweepList(id, l)
  }
}

function sweepList(id: u32, level: i32): void {
  const list = linksOf(id, level)
  const degree = degreeOf(id, level)
  const mark = <u8>nextWalk()
  store<u8>(visited + <usize>id, mark)
  let removed: i32 = 0
  let count: i32 = 0
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) break
    if (isLiveNode(other)) count = addCandidate(other, mark, count)
    else removed++
  }
  if (removed == 0) return
  const before = count + removed
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) break
    if (!isLiveNode(other)) count = addCandidatesOf(other, level, degree, mark, count)
  }
  selectAgain(id, list, count, degree, before)
}

@inline
function addCandidate(id: u32, mark: u8, count: i32): i32 {
  const seen = visited + <usize>id
  if (count >= CANDIDATES_MAX || load<u8>(seen) == mark) return count
  store<u8>(seen, mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

function addCandidatesOf(removed: u32, level: i32, degree: i32, mark: u8, count: i32): i32 {
  const list = linksOf(removed, level)
  let n = count
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) break
    if (isLiveNode(other)) n = addCandidate(other, mark, n)
  }
  return n
}

/**
 * Ends a sweep: selects a live entry point, and then clears the lists of removed rows. In this order, because a walk that began at an entry
 * point without a list would end there.
 */
export function endSweep(): void {
  const end = load<u32>(END)
  detachDeadFollowers()
  // Successors of leaders have no lists above level 0 yet.
  const mark = <u8>nextWalk()
  const count = load<u32>(JOB_COUNT) + load<u32>(JOB_SUCCESSORS)
  for (let i = load<u32>(JOB_COUNT); i < count; ++i) store<u8>(visited + <usize>itemOf(i), mark)
  let best = NONE
  for (let id: u32 = 0; id < end; ++id) {
    if (!isSwept(id, mark) || !isLiveNode(id)) continue
    if (best == NONE || levelOf(id) > levelOf(best)) best = id
  }
  atomic.store<u32>(ENTRY, best)
  for (let id: u32 = 0; id < end; ++id) {
    if (!isSwept(id, mark) || isLiveNode(id)) continue
    touch(id)
    for (let l = levelsOf(id); l >= 0; --l) memory.fill(linksOf(id, l), 0xff, <usize>degreeAt(l) << 2)
  }
  store<u32>(DEAD, 0)
}

/** Whether the ordinal has a row of its own that does not have the mark. */
@inline
function isSwept(id: u32, mark: u8): bool {
  return hasRow(id) && !isFollower(id) && load<u8>(visited + <usize>id) != mark
}
