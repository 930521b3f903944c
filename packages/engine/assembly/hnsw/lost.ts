// Notices a walk that ended in a wrong place, and lets it go on from others. Rows of a field are about as far from their nearest
// neighbors as queries like them are from theirs. So distances of some rows, from all over the field, to the nearest row they are
// linked to say how near a walk should come. One that came less near is lost, or its query is unlike all data. Either way the
// graph is entered again with a wide beam on every level, and the walk goes on from what this finds nearer than the last of its
// pool. Where it finds nothing, the beam is all that the query pays for.
import {
  BINARY,
  END,
  ENTRY,
  EXPECTED,
  IP,
  JOB_KIND,
  JOB_LIMIT,
  M0,
  MARKED,
  NONE,
  linksOf,
  metric,
  precision,
  rowOf,
} from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, pool, poolMax, ranked, rowCode, visited } from '../scratch'
import { distances, keyOf, keysFromRow, leaveUncounted } from '../distance/walk'
import { isMarkedFollower } from './copies'
import { HIDDEN, at, clear, entryOf, idOf, insert, keyOfEntry, setSize, size } from './pool'
import { walkFrom, walkLevel } from './search'

/** Rows looked at. Of queries like the data, two in so many are farther from their nearest than the second farthest of these. */
const ROWS_LOOKED_AT: u32 = 32
/** Entries of the beam: as many as the walk kept, but no fewer and no more than these. */
const NARROW: i32 = 32
const WIDE: i32 = 64

/** Goes on with a finished walk of level 0 that kept `wanted` where it seems to have come to a wrong place. */
export function goOnWhereLost(wanted: i32): void {
  // Keys of inner products say nothing of distances, and those of bits too little.
  if (metric == IP || precision == BINARY) return
  let nearest: i32 = 0
  while (nearest < size && at(nearest) & HIDDEN) nearest++
  if (nearest == size || keyOfEntry(at(nearest)) <= expected()) return
  goOn(wanted)
}

/** What is kept in the header is a pure function of the graph between two jobs, so it does not matter who computes it, or when. */
function expected(): f32 {
  const job = atomic.load<u32>(JOB_LIMIT)
  const isQuiet = atomic.load<i32>(JOB_KIND) == 0
  const known = atomic.load<u64>(EXPECTED)
  if (known != 0 && (!isQuiet || <u32>(known >> 32) == job)) return reinterpret<f32>(<u32>known)
  const counted = distances
  const found = secondOfNearest()
  leaveUncounted(counted)
  if (isQuiet) atomic.store<u64>(EXPECTED, (<u64>job << 32) | <u64>reinterpret<u32>(found))
  return found
}

/** The second largest distance: one row may have come early, or be unlike all others. */
function secondOfNearest(): f32 {
  const end = load<u32>(END)
  let largest: f32 = 0
  let second: f32 = 0
  for (let i: u32 = 0; i < ROWS_LOOKED_AT; ++i) {
    const id = <u32>((<u64>end * <u64>(2 * i + 1)) / <u64>(2 * ROWS_LOOKED_AT))
    const far = toNearest(id)
    second = max(second, min(far, largest))
    largest = max(largest, far)
  }
  return second
}

/** The squared distance from a node to the nearest that it is linked to; 0 where it has no links. */
function toNearest(id: u32): f32 {
  if (isMarkedFollower(id)) return 0
  const list = linksOf(id, 0)
  let count: i32 = 0
  for (; count < M0; ++count) {
    const other = load<u32>(list + (<usize>count << 2))
    if (other >= MARKED) break
    store<u32>(ids + (<usize>count << 2), other)
  }
  if (count == 0) return 0
  keysFromRow(rowOf(id), rowCode, ids, count, keys)
  let nearest: f32 = f32.MAX_VALUE
  for (let i: i32 = 0; i < count; ++i) nearest = min(nearest, load<f32>(keys + (<usize>i << 2)))
  return nearest
}

function goOn(wanted: i32): void {
  const kept = size
  if (kept + WIDE > poolMax) return
  memory.copy(ranked, pool, <usize>kept << 3)
  enterWidely(min(WIDE, max(NARROW, wanted)))
  const seeds = size
  // The pool as the walk left it, with what was found behind it.
  memory.copy(ranked + (<usize>kept << 3), pool, <usize>seeds << 3)
  memory.copy(pool, ranked, <usize>kept << 3)
  setSize(kept)
  walkFrom(ranked + (<usize>kept << 3), seeds, wanted, nextWalk())
}

function enterWidely(beam: i32): void {
  const entry = atomic.load<u32>(ENTRY)
  clear(beam)
  if (entry == NONE) return
  insert(entryOf(keyOf(rowOf(entry)), entry))
  for (let level = levelOf(entry); level > 0; --level) walkLevel(beam, level, false, false, nextWalk())
}
