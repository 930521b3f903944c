// Looking for rows that no search can reach, and joining them again. Choosing diverse links can drop the last link to a row;
// it happens to a few in ten thousand. The whole graph is looked over each time it has grown by a sixteenth, which costs
// about one part in a hundred of building it.
import {
  END,
  ENTRY,
  LATEST,
  LINKED,
  M0,
  MARKED,
  NONE,
  UNMENDED,
  degreeAt,
  degreeOf,
  efConstruction,
  linksOf,
  rowOf,
  touch,
} from '../layout'
import { levelOf } from './level'
import { answers, beat, nextWalk, pool, poolMax, queryCode, visited } from '../scratch'
import { setRowAsQuery } from '../distance/walk'
import { chooseDiverse } from './prune'
import * as candidates from './pool'
import { isStanding } from './copies'
import { hasRow } from './repair'
import { approach, setView, walkLevel } from './search'
import { writeList } from './link'

const ROUNDS: i32 = 8

/** Marks everything that can be reached from where searches enter, and returns the mark. */
function markReachable(): u8 {
  let reached = nextWalk()
  let expanded = nextWalk()
  if (expanded < reached) {
    // The marks began anew between the two.
    reached = expanded
    expanded = nextWalk()
  }
  const entry = load<u32>(ENTRY)
  if (entry == NONE) return <u8>expanded
  store<u8>(visited + <usize>entry, <u8>reached)
  const end = load<u32>(END)
  let more = true
  // No queue: passes over the marks until nothing is new. Graphs are shallow, so a dozen passes do.
  while (more) {
    more = false
    for (let id: u32 = 0; id < end; ++id) {
      if (<u32>load<u8>(visited + <usize>id) != reached) continue
      beat()
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
    const at = visited + <usize>other
    if (load<u8>(at) != expanded) store<u8>(at, reached)
  }
}

/** How many living rows no search can reach through the graph. */
export function countUnreachable(): u32 {
  const mark = markReachable()
  const end = load<u32>(END)
  let n: u32 = 0
  for (let id: u32 = 0; id < end; ++id) n += <u32>(hasRow(id) && isStanding(id) && load<u8>(visited + <usize>id) != mark)
  return n
}

/** True when enough was linked since the last time. */
export function mendIsDue(): bool {
  return load<u32>(UNMENDED) > load<u32>(LINKED) >> 4
}

/** Gives every living row that cannot be reached a link from the nearest that can. */
export function mend(): void {
  store<u32>(UNMENDED, 0)
  for (let round: i32 = 0; round < ROUNDS; ++round) {
    const mark = markReachable()
    const end = load<u32>(END)
    let lost: i32 = 0
    for (let id: u32 = 0; id < end && lost < poolMax; ++id) {
      if (!hasRow(id) || load<u8>(visited + <usize>id) == mark || !isStanding(id)) continue
      store<u32>(answers + (<usize>lost << 2), id)
      lost++
    }
    if (lost == 0) return
    for (let i: i32 = 0; i < lost; ++i) join(load<u32>(answers + (<usize>i << 2)))
  }
}

function join(id: u32): void {
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
  const own = linksOf(id, 0)
  if (load<u32>(own) >= MARKED) writeList(own, chooseDiverse(pool, count, M0 >> 1), degreeOf(id, 0))
}

/** The nearest with room takes the link; where none has, the nearest gives up its last. */
function linkFromNearest(id: u32, count: i32): void {
  for (let i: i32 = 0; i < count; ++i) {
    const near = candidates.idOf(candidates.at(i))
    const list = linksOf(near, 0)
    for (let j: i32 = 0; j < M0; ++j) {
      if (load<u32>(list + (<usize>j << 2)) != NONE) continue
      atomic.store<u32>(list + (<usize>j << 2), id)
      touch(near)
      return
    }
  }
  const nearest = candidates.idOf(candidates.at(0))
  atomic.store<u32>(linksOf(nearest, 0) + (<usize>(degreeOf(nearest, 0) - 1) << 2), id)
  touch(nearest)
}
