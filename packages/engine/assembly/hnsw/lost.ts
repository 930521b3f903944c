// Detects a walk that ended in the wrong place, and resumes it from other entries. Rows of a field are about as far from their nearest
// neighbors as similar queries are from theirs. So the distances of sample rows to their nearest linked row estimate how near a walk should
// end. If a walk ends farther away, it is lost, or its query resembles no data. In both cases the search enters the graph again with a wide
// beam on every level, and the walk continues from the rows of the beam that are nearer than the last row of its pool. If there are none,
// the query has only paid for the beam.
import {
  BINARY,
  END,
  ENTRY,
  EXPECTED_DISTANCE,
  INT2,
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
import { distances, keyOf, keysFromRow, setDistances } from '../distance/walk'
import { isMarkedFollower } from './copies'
import { HIDDEN, entryAt, clear, entryOf, idOf, insert, keyOfEntry, setSize, size } from './pool'
import { walkFrom, walkLevel } from './search'

/**
 * Number of sample rows. Of queries that resemble the data, two in this many are farther from their nearest row than the second largest
 * distance of the sample.
 */
const SAMPLE_ROWS: u32 = 32
/** Bounds of the width of the beam, which is otherwise the `ef` of the walk. */
const BEAM_MIN: i32 = 32
const BEAM_MAX: i32 = 64

/** Resumes a finished walk of level 0 with a pool of `ef` if it appears to be lost. */
export function resumeIfLost(ef: i32): void {
  // Keys of inner products are not distances, and those of one or two bits are too inexact.
  if (metric == IP || precision == BINARY || precision == INT2) return
  let nearest: i32 = 0
  while (nearest < size && entryAt(nearest) & HIDDEN) nearest++
  if (nearest == size || keyOfEntry(entryAt(nearest)) <= expectedDistance()) return
  resume(ef)
}

/**
 * The distance at which a walk is expected to end. The cached value is a pure function of the graph between two jobs, so any thread may
 * compute it at any time.
 */
function expectedDistance(): f32 {
  const job = atomic.load<u32>(JOB_LIMIT)
  const isQuiet = atomic.load<i32>(JOB_KIND) == 0
  const cached = atomic.load<u64>(EXPECTED_DISTANCE)
  if (cached != 0 && (!isQuiet || <u32>(cached >> 32) == job)) return reinterpret<f32>(<u32>cached)
  const countBefore = distances
  const found = sampleDistance()
  setDistances(countBefore)
  if (isQuiet) atomic.store<u64>(EXPECTED_DISTANCE, (<u64>job << 32) | <u64>reinterpret<u32>(found))
  return found
}

/** The second largest distance of the sample. The largest may be that of an early row or of an outlier. */
function sampleDistance(): f32 {
  const end = load<u32>(END)
  let largest: f32 = 0
  let second: f32 = 0
  for (let i: u32 = 0; i < SAMPLE_ROWS; ++i) {
    const id = <u32>((<u64>end * <u64>(2 * i + 1)) / <u64>(2 * SAMPLE_ROWS))
    const distance = distanceToNearestLink(id)
    second = max(second, min(distance, largest))
    largest = max(largest, distance)
  }
  return second
}

/** Squared distance from a node to the nearest node that it is linked to at level 0; 0 if it has no links. */
function distanceToNearestLink(id: u32): f32 {
  if (isMarkedFollower(id)) return 0
  const list = linksOf(id, 0)
  let count: i32 = 0
  for (; count < M0; ++count) {
    const neighbor = load<u32>(list + (<usize>count << 2))
    if (neighbor >= MARKED) break
    store<u32>(ids + (<usize>count << 2), neighbor)
  }
  if (count == 0) return 0
  keysFromRow(rowOf(id), rowCode, ids, count, keys)
  let nearest: f32 = f32.MAX_VALUE
  for (let i: i32 = 0; i < count; ++i) nearest = min(nearest, load<f32>(keys + (<usize>i << 2)))
  return nearest
}

function resume(ef: i32): void {
  const sizeBefore = size
  if (sizeBefore + BEAM_MAX > poolMax) return
  memory.copy(ranked, pool, <usize>sizeBefore << 3)
  walkUpperLevels(min(BEAM_MAX, max(BEAM_MIN, ef)))
  const seeds = size
  // The pool of the walk again, and after it the entries that were found.
  memory.copy(ranked + (<usize>sizeBefore << 3), pool, <usize>seeds << 3)
  memory.copy(pool, ranked, <usize>sizeBefore << 3)
  setSize(sizeBefore)
  walkFrom(ranked + (<usize>sizeBefore << 3), seeds, ef, nextWalk())
}

function walkUpperLevels(beam: i32): void {
  const entry = atomic.load<u32>(ENTRY)
  clear(beam)
  if (entry == NONE) return
  insert(entryOf(keyOf(rowOf(entry)), entry))
  for (let level = levelOf(entry); level > 0; --level) walkLevel(beam, level, false, false, nextWalk())
}
