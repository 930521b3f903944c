// Finds rows that no search can reach, and links them again. The selection of diverse neighbors can drop the last link to a row, which
// happens to a few rows in ten thousand. The whole graph is checked each time it has grown by a sixteenth, which takes about one percent of
// the time of a build.
import {
  END,
  ENTRY,
  LATEST,
  LINKED,
  M0,
  MARKED,
  NONE,
  UNCHECKED,
  degreeAt,
  degreeOf,
  efConstruction,
  linksOf,
  rowOf,
  touch,
} from '../layout'
import { levelOf } from './level'
import { answers, reportProgress, nextWalk, pool, poolMax, queryCode, visited } from '../scratch'
import { setRowAsQuery } from '../distance/walk'
import { chooseDiverse } from './prune'
import * as candidates from './pool'
import { isLiveNode } from './copies'
import { hasRow } from './alive'
import { approach, walkLevel } from './search'
import { setView } from './view'
import { writeList } from './link'

const ROUNDS: i32 = 8

/** Marks all nodes that can be reached from the entry point. Returns the mark. */
function markReachable(): u8 {
  let reached = nextWalk()
  let expanded = nextWalk()
  if (expanded < reached) {
    // The marks were cleared between the two calls.
    reached = expanded
    expanded = nextWalk()
  }
  const entry = load<u32>(ENTRY)
  if (entry == NONE) return <u8>expanded
  store<u8>(visited + <usize>entry, <u8>reached)
  const end = load<u32>(END)
  let more = true
  // Passes over all marks until nothing is new, instead of a queue. Graphs are shallow, so about twelve passes suffice.
  while (more) {
    more = false
    for (let id: u32 = 0; id < end; ++id) {
      if (<u32>load<u8>(visited + <usize>id) != reached) continue
      reportProgress()
      store<u8>(visited + <usize>id, <u8>expanded)
      more = true
      for (let l = levelOf(id); l >= 0; --l) markLinks(id, l, <u8>reached, <u8>expanded)
    }
  }
  return <u8>expanded
}

function markLinks(id: u32, level: i32, reached: u8, expanded: u8): void {
  const list = linksOf(id, level)
  const degree = degreeAt(level)
  for (let i: i32 = 0; i < degree; ++i) {
    const other = load<u32>(list + (<usize>i << 2))
    if (other >= MARKED) return
    const address = visited + <usize>other
    if (load<u8>(address) != expanded) store<u8>(address, reached)
  }
}

/** Number of live nodes that no search can reach through the graph. */
export function countUnreachable(): u32 {
  const mark = markReachable()
  const end = load<u32>(END)
  let n: u32 = 0
  for (let id: u32 = 0; id < end; ++id) n += <u32>(hasRow(id) && isLiveNode(id) && load<u8>(visited + <usize>id) != mark)
  return n
}

/** Whether enough nodes were linked since the last check. */
export function isReconnectDue(): bool {
  return load<u32>(UNCHECKED) > load<u32>(LINKED) >> 4
}

/** Links every live node that cannot be reached from the nearest node that can. */
export function reconnect(): void {
  store<u32>(UNCHECKED, 0)
  for (let round: i32 = 0; round < ROUNDS; ++round) {
    const mark = markReachable()
    const end = load<u32>(END)
    let unreachable: i32 = 0
    for (let id: u32 = 0; id < end && unreachable < poolMax; ++id) {
      if (!hasRow(id) || load<u8>(visited + <usize>id) == mark || !isLiveNode(id)) continue
      store<u32>(answers + (<usize>unreachable << 2), id)
      unreachable++
    }
    if (unreachable == 0) return
    for (let i: i32 = 0; i < unreachable; ++i) reconnectNode(load<u32>(answers + (<usize>i << 2)))
  }
}

function reconnectNode(id: u32): void {
  setView(LATEST, 0, 0)
  setRowAsQuery(rowOf(id), queryCode)
  if (!approach(0, false)) return
  const mark = nextWalk()
  store<u8>(visited + <usize>id, <u8>mark)
  walkLevel(efConstruction, 0, true, false, mark)
  const count = candidates.dropHidden()
  if (count == 0) return
  linkFromNearest(id, count)
  touch(id)
  const list = linksOf(id, 0)
  if (load<u32>(list) >= MARKED) writeList(list, chooseDiverse(pool, count, M0 >> 1), degreeOf(id, 0))
}

/** The nearest candidate with space in its list gets the link. If none has space, the nearest one replaces its last neighbor. */
function linkFromNearest(id: u32, count: i32): void {
  for (let i: i32 = 0; i < count; ++i) {
    const near = candidates.idOf(candidates.entryAt(i))
    const list = linksOf(near, 0)
    for (let j: i32 = 0; j < M0; ++j) {
      if (load<u32>(list + (<usize>j << 2)) != NONE) continue
      atomic.store<u32>(list + (<usize>j << 2), id)
      touch(near)
      return
    }
  }
  const nearest = candidates.idOf(candidates.entryAt(0))
  atomic.store<u32>(linksOf(nearest, 0) + (<usize>(degreeOf(nearest, 0) - 1) << 2), id)
  touch(nearest)
}
