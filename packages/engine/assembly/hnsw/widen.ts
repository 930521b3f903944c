// Where rows stand in many clusters far apart, the way down the graph can come out in a wrong one: next to nothing leads from
// cluster to cluster, and the narrow beam of a query is over before it met the right one. That shows, at level 1: a query is
// then much farther from the nearest row the beam found than that row is from those beside it. A query like the data is
// not, and pays for four comparisons; the others get a wide beam.
import { IP, NONE, linksOf, metric, rowOf } from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, rowCode } from '../scratch'
import { keysFromRow } from '../distance/walk'
import { at, idOf, keyOfEntry } from './pool'
import { walkLevel } from './search'

/** Entries of the wide beam, where the pool of the walk that follows is not smaller. */
const WIDE: i32 = 32
/** Links looked at: the first of a list are the nearest. */
const LOOKED_AT: i32 = 4
/** So many of them must lead to rows so much nearer than the query is, in squared distances. One alone may be a near duplicate. */
const NEARER: i32 = 2
const FAR: f32 = 1.7

/** Widens the beam that an approach to level 0 ended with, where it came nowhere near the query. `wanted` are kept at level 0. */
export function widenWhereLost(wanted: i32): void {
  if (isLost(at(0))) widen(wanted)
}

/** The same wherever it came to. */
export function widen(wanted: i32): void {
  // Where there is no level 1 there is nothing to widen.
  if (levelOf(idOf(at(0))) > 0) walkLevel(min(WIDE, wanted), 1, false, false, nextWalk())
}

function isLost(nearest: u64): bool {
  const id = idOf(nearest)
  // Keys of inner products say nothing of distances; where there is no level 1 there is nothing to widen.
  if (metric == IP || levelOf(id) == 0) return false
  const list = linksOf(id, 1)
  let count: i32 = 0
  for (; count < LOOKED_AT; ++count) {
    const other = load<u32>(list + (<usize>count << 2))
    if (other == NONE) break
    store<u32>(ids + (<usize>count << 2), other)
  }
  if (count < NEARER) return false
  keysFromRow(rowOf(id), rowCode, ids, count, keys)
  let nearer: i32 = 0
  for (let i: i32 = 0; i < count; ++i) nearer += <i32>(FAR * load<f32>(keys + (<usize>i << 2)) < keyOfEntry(nearest))
  return nearer >= NEARER
}
