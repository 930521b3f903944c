// Taking removed rows out of the graph, so that nothing leads to them and what they joined stays joined. Two ways:
//   around one row   when a few ordinals are about to be reused: its neighbors put the nearest of its other neighbors in
//                    its place; links to it from elsewhere stay and are links to whatever the ordinal becomes, which harms
//                    nothing but a little speed
//   sweep            when many are: every list with a removed row in it is chosen anew from its living members and the
//                    living neighbors of its removed ones; afterwards no link leads to a removed row
// A node's new list depends on its own list and on lists of removed rows, which a sweep does not change, so threads may take
// nodes in any order.
import {
  ALIVE,
  DEAD,
  END,
  ENTRY,
  JOB_COUNT,
  JOB_EXTRA,
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
import { levelOf } from './level'
import { ids, keys, nextWalk, rowCode, visited } from '../scratch'
import { keysOf, setRowAsQuery } from '../distance/walk'
import { forget } from './classes'
import { beginHandingOver, endHandingOver, handOver, isFollower, isLeader, isStanding, release, sweepFollowers } from './copies'
import { relink } from './link'
import { itemOf, putItem } from './sub-batch'

/** Nodes a sweeping thread takes at a time. */
export const SWEEP_STEP: u32 = 256
/** Candidates considered for one list. */
const CANDIDATES_MAX: i32 = 512

@inline
export function isAlive(id: u32): bool {
  return load<u32>(tailOf(id), 12) == ALIVE && hasRow(id)
}
/** True for an ordinal that was ever given a row: its birth is not NONE. */
@inline
export function hasRow(id: u32): bool {
  return load<u32>(tailOf(id), 8) != NONE
}

/** The highest level at which the row has a list. */
function levelsOf(id: u32): i32 {
  const level = levelOf(id)
  return level > 0 && load<u32>(upperOf(id)) == NONE ? 0 : level
}

/**
 * Takes the items whose ordinals had rows out of the classes: a follower from behind its leader, and for a leader one of its
 * followers takes its place, at once in the lists beside it, and for good when it is linked at the end of the job.
 */
export function releaseItems(): void {
  const count = load<u32>(JOB_COUNT)
  let extra: u32 = 0
  beginHandingOver()
  for (let i: u32 = 0; i < count; ++i) {
    const id = itemOf(i)
    if (!hasRow(id)) continue
    if (isFollower(id)) {
      release(id)
      continue
    }
    forget(id)
    if (!isLeader(id)) continue
    const heir = handOver(id)
    if (heir == NONE) continue
    takePlace(id, heir)
    putItem(count + extra, heir)
    extra++
  }
  store<u32>(JOB_EXTRA, extra)
  endHandingOver()
}

/** The heir gets the neighbors of the row at level 0, and those that know the row know the heir instead. */
function takePlace(id: u32, heir: u32): void {
  const list = linksOf(id, 0)
  const own = linksOf(heir, 0)
  for (let i: i32 = 0; i < M0 - 1; ++i) {
    const neighbor = load<u32>(list + (<usize>i << 2))
    if (neighbor >= MARKED) break
    store<u32>(own + (<usize>i << 2), neighbor)
    const place = placeOf(id, linksOf(neighbor, 0), M0)
    if (place == 0) continue
    atomic.store<u32>(place, heir)
    touch(neighbor)
  }
  touch(heir)
}

/** Repairs around every item whose ordinal held a removed row that no sweep has taken out. */
export function repairAroundItems(): void {
  const count = load<u32>(JOB_COUNT)
  for (let i: u32 = 0; i < count; ++i) {
    const id = itemOf(i)
    if (!hasRow(id)) continue
    for (let l = levelsOf(id); l >= 0; --l) repairAround(id, l)
  }
}

function repairAround(id: u32, level: i32): void {
  const list = linksOf(id, level)
  const degree = degreeAt(level)
  for (let i: i32 = 0; i < degree; ++i) {
    const neighbor = load<u32>(list + (<usize>i << 2))
    if (neighbor >= MARKED) break
    const place = placeOf(id, linksOf(neighbor, level), degree)
    if (place != 0) replace(neighbor, place, list, level, degree)
  }
}

/** Address at which a list holds an ordinal, or 0. */
function placeOf(id: u32, list: usize, degree: i32): usize {
  for (let i: i32 = 0; i < degree; ++i) {
    const held = load<u32>(list + (<usize>i << 2))
    if (held == id) return list + (<usize>i << 2)
    if (held >= MARKED) break
  }
  return 0
}

/** Puts the nearest suitable member of `from` at `place` in the list of `node`, or closes the gap where there is none. */
function replace(node: u32, place: usize, from: usize, level: i32, degree: i32): void {
  const list = linksOf(node, level)
  touch(node)
  let count: i32 = 0
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(from + (<usize>i << 2))
    if (other >= MARKED) break
    if (other == node || !isStanding(other) || placeOf(other, list, degree) != 0) continue
    store<u32>(ids + (<usize>count << 2), other)
    count++
  }
  if (count > 0) {
    setRowAsQuery(rowOf(node), rowCode)
    keysOf(ids, count, keys)
    let best: i32 = 0
    for (let i: i32 = 1; i < count; ++i) if (load<f32>(keys + (<usize>i << 2)) < load<f32>(keys + (<usize>best << 2))) best = i
    atomic.store<u32>(place, load<u32>(ids + (<usize>best << 2)))
    return
  }
  let last = list + (<usize>(degree - 1) << 2)
  while (load<u32>(last) >= MARKED) last -= 4
  atomic.store<u32>(place, load<u32>(last))
  atomic.store<u32>(last, NONE)
}

/** Sweeps one stretch of nodes. */
export function sweep(step: u32): void {
  const end = min(load<u32>(END), (step + 1) * SWEEP_STEP)
  for (let id = step * SWEEP_STEP; id < end; ++id) {
    if (!hasRow(id) || !isStanding(id)) continue
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
    if (isStanding(other)) count = offer(other, mark, count)
    else removed++
  }
  if (removed == 0) return
  const before = count + removed
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) break
    if (!isStanding(other)) count = offerNeighbors(other, level, degree, mark, count)
  }
  relink(id, list, count, degree, before)
}

@inline
function offer(id: u32, mark: u8, count: i32): i32 {
  const seen = visited + <usize>id
  if (count >= CANDIDATES_MAX || load<u8>(seen) == mark) return count
  store<u8>(seen, mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

function offerNeighbors(removed: u32, level: i32, degree: i32, mark: u8, count: i32): i32 {
  const list = linksOf(removed, level)
  let n = count
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) break
    if (isStanding(other)) n = offer(other, mark, n)
  }
  return n
}

/** Ends a sweep: removed rows lose their lists, searches enter at a living one, and whoever was cut off is joined again. */
export function endSweep(): void {
  const end = load<u32>(END)
  sweepFollowers()
  // Rows that take the place of a leader have no lists above level 0 yet.
  const mark = <u8>nextWalk()
  const count = load<u32>(JOB_COUNT) + load<u32>(JOB_EXTRA)
  for (let i = load<u32>(JOB_COUNT); i < count; ++i) store<u8>(visited + <usize>itemOf(i), mark)
  let best = NONE
  for (let id: u32 = 0; id < end; ++id) {
    if (!hasRow(id) || isFollower(id) || load<u8>(visited + <usize>id) == mark) continue
    if (isStanding(id)) {
      if (best == NONE || levelOf(id) > levelOf(best)) best = id
    } else {
      touch(id)
      for (let l = levelsOf(id); l >= 0; --l) memory.fill(linksOf(id, l), 0xff, <usize>degreeAt(l) << 2)
    }
  }
  atomic.store<u32>(ENTRY, best)
  store<u32>(DEAD, 0)
}
