// Detects that the search of the upper levels ended in the wrong cluster, and widens the beam. If rows are in many clusters far apart, few
// links connect them, and the narrow beam of a query may end before it meets the right one. Then the query is much farther from the nearest
// row of the beam than that row is from its own links at level 1. A query that resembles the data pays for four comparisons.
import { IP, NONE, linksOf, metric, rowOf } from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, rowCode } from '../scratch'
import { keysFromRow } from '../distance/walk'
import { entryAt, idOf, keyOfEntry } from './pool'
import { walkLevel } from './search'

/** Width of the wide beam, or `ef` of the walk that follows if that is less. */
const BEAM: i32 = 32
/** Number of links that are compared. The first links of a list are the nearest. */
const LINKS_COMPARED: i32 = 4
/**
 * The walk is lost if at least this many of the links are nearer, by the factor FAR in squared distances, than the query is. A single one
 * may be a near duplicate.
 */
const NEARER_MIN: i32 = 2
const FAR: f32 = 1.7

/** Widens the beam of `approach` if it is far from the query. `ef` rows are kept at level 0. */
export function widenIfLost(ef: i32): void {
  if (isLost(entryAt(0))) widen(ef)
}

/** Widens the beam unconditionally. */
export function widen(ef: i32): void {
  // Without a level 1 there is nothing to widen.
  if (levelOf(idOf(entryAt(0))) > 0) walkLevel(min(BEAM, ef), 1, false, false, nextWalk())
}

function isLost(nearest: u64): bool {
  const id = idOf(nearest)
  // Keys of inner products are not distances. Without a level 1 there is nothing to widen.
  if (metric == IP || levelOf(id) == 0) return false
  const list = linksOf(id, 1)
  let count: i32 = 0
  for (; count < LINKS_COMPARED; ++count) {
    const neighbor = load<u32>(list + (<usize>count << 2))
    if (neighbor == NONE) break
    store<u32>(ids + (<usize>count << 2), neighbor)
  }
  if (count < NEARER_MIN) return false
  keysFromRow(rowOf(id), rowCode, ids, count, keys)
  let nearer: i32 = 0
  for (let i: i32 = 0; i < count; ++i) nearer += <i32>(FAR * load<f32>(keys + (<usize>i << 2)) < keyOfEntry(nearest))
  return nearer >= NEARER_MIN
}
