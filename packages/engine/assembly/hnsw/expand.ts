// Expands several entries of the pool at a time, so that their lists, and then the rows of all lists, are on their way at once.
import { M0, degreeAt, linksOf } from '../layout'
import { selected } from '../scratch'
import { EXPANDED, entryAt, idOf, setEntry, size } from './pool'
import { countHops, listUnvisited } from './visit'

/** Entries that are expanded at a time, and how many rows their lists may have together. */
const WIDTH_MAX: i32 = 8
const WIDTH_MIN: i32 = 2
const ROWS_MAX: i32 = 256
/** A pool of fewer entries than this and the width would be expanded almost whole before a nearer entry is found. */
const KEPT: i32 = 8

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/** The most entries that are expanded at a time, limited by the rows of their lists. */
export function widthMax(): i32 {
  return max(1, min(WIDTH_MAX, ROWS_MAX / M0))
}

/** The entries that a walk whose pool keeps `ef` rows expands at a time. */
export function widthFor(ef: i32): i32 {
  return min(widthMax(), max(WIDTH_MIN, ef - KEPT))
}

/** The position behind the last entry that `expandBest` expanded. */
export let stopped: i32 = 0

/**
 * Marks the first entries from position `from` on that are not expanded as expanded, at most `width`, and begins to load their lists, whose
 * addresses it stores in `selected`. Returns how many.
 */
export function expandBest(from: i32, width: i32, level: i32): i32 {
  const last = <usize>(degreeAt(level) - 1) << 2
  let touched: u32 = 0
  let expanded: i32 = 0
  let i = from
  for (; i < size && expanded < width; ++i) {
    const entry = entryAt(i)
    if (entry & EXPANDED) continue
    setEntry(i, entry | EXPANDED)
    const list = linksOf(idOf(entry), level)
    touched ^= load<u32>(list) ^ load<u32>(list + last)
    store<u32>(selected + (<usize>expanded << 2), <u32>list)
    expanded++
  }
  sink = touched
  stopped = i
  countHops(expanded)
  return expanded
}

/** Begins to load the lists of the next `width` entries, which are probably expanded next, while distances are computed. */
export function touchNext(width: i32, level: i32): void {
  const last = <usize>(degreeAt(level) - 1) << 2
  const stop = min(size, stopped + width)
  let touched: u32 = 0
  for (let i = stopped; i < stop; ++i) {
    const list = linksOf(idOf(entryAt(i)), level)
    touched ^= load<u32>(list) ^ load<u32>(list + last)
  }
  sink = touched
}

/** Writes the unvisited neighbors of the `expanded` entries of `expandBest` to `ids`. Returns how many. */
export function listExpanded(expanded: i32, level: i32, mark: u32): i32 {
  const degree = degreeAt(level)
  let count: i32 = 0
  for (let i: usize = 0; i < <usize>expanded << 2; i += 4)
    count = listUnvisited(load<u32>(selected + i), degree, mark, count)
  return count
}
