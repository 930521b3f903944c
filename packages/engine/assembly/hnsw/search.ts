// Walks the graph: greedy search above level 1, a small beam at level 1 that provides several entries for level 0 (a single one sometimes
// leads to the wrong cluster), then best-first search of level 0 (Algorithms 2 and 5 of HNSW, arXiv 1603.09320).
import { ENTRY, NONE, degreeAt, linksOf, rowOf } from '../layout'
import { levelOf } from './level'
import { ids, keys, nextWalk, visited } from '../scratch'
import { screen } from '../heads/head'
import { keyOf, keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, entryAt, clear, entryOf, idOf, insert, keyOfEntry, setEntry, reseed, size, worst } from './pool'
import { approachByHeads, expandByHeads } from './screened'
import { expandBest, listExpanded, stopped, touchNext, widthFor } from './expand'
import { ignoreSubBatch } from './sub-batch'
import { isHidden } from './view'
import { countHop, insertListed, listUnvisited } from './visit'

/** Width of the beam at level 1 during a build. */
const BEAM: i32 = 8
/** Width of the beam at level 1 for a query. In a graph that was built with the wider beam, the narrower one is sufficient. */
const QUERY_BEAM: i32 = 4

/** Whether the walk of this thread compares heads before codes. Builds do not, so graphs are the same with and without heads. */
let screens: bool = false
/** Makes walks compare heads first: every row has one, and their bound is prepared for the query. */
export function setScreening(on: bool): void {
  screens = on
}

/** Removes listed rows whose heads show that they cannot enter the pool. Returns the number of the others. */
export function screenListed(count: i32): i32 {
  return screens && worst != u64.MAX_VALUE ? screen(count, keyOfEntry(worst)) : count
}

let nearest: f32 = 0
/**
 * Greedy search of one level: moves to the nearest neighbor until no neighbor is nearer. Rows with the mark were compared before and are
 * skipped. Leaves the key of the result in `nearest`.
 */
function descend(from: u32, key: f32, level: i32, mark: u32): u32 {
  let best = from
  nearest = key
  let moved = true
  while (moved) {
    moved = false
    const count = listUnvisited(linksOf(best, level), degreeAt(level), mark, 0)
    countHop()
    keysOfIds(count)
    for (let i: i32 = 0; i < count; ++i) {
      const k = load<f32>(keys + (<usize>i << 2))
      if (k < nearest) {
        nearest = k
        best = load<u32>(ids + (<usize>i << 2))
        moved = true
      }
    }
  }
  return best
}

/**
 * Best-first walk of one level from the entries of the pool, until every entry is expanded. The pool keeps `ef` visible entries. With
 * `viewed`, rows outside the view are hidden. With `together`, several entries are expanded at a time: loading their lists and rows together
 * saves more time than the few additional rows cost.
 */
export function walkLevel(ef: i32, level: i32, viewed: bool, together: bool, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(entryAt(i))
    store<u8>(visited + <usize>id, <u8>mark)
    setEntry(i, (entryAt(i) & ~(EXPANDED | HIDDEN)) | (viewed && isHidden(id) ? HIDDEN : 0))
  }
  reseed(ef)
  expandAll(level, viewed, together ? widthFor(ef) : 1, mark)
}

/** Expands every entry of the pool that is not expanded yet, including those that enter it meanwhile, `width` at a time. */
function expandAll(level: i32, viewed: bool, width: i32, mark: u32): void {
  if (screens) {
    expandByHeads(level, viewed, mark)
    return
  }
  let current: i32 = 0
  while (true) {
    const expanded = expandBest(current, width, level)
    if (expanded == 0) return
    current = stopped
    const count = listExpanded(expanded, level, mark)
    if (count == 0) continue
    if (level == 0) touchNext(width, level)
    keysOfIds(count)
    current = min(current, insertListed(count, viewed))
  }
}

/** Continues a finished walk of level 0 from the `count` entries at `seeds` that are nearer than the last of the pool. */
export function walkFrom(seeds: usize, count: i32, ef: i32, mark: u32): void {
  for (let i: i32 = 0; i < size; ++i) store<u8>(visited + <usize>idOf(entryAt(i)), <u8>mark)
  reseed(ef)
  for (let i: i32 = 0; i < count; ++i) {
    const seed = load<u64>(seeds + (<usize>i << 3)) & ~(EXPANDED | HIDDEN)
    const seen = visited + <usize>idOf(seed)
    if (<u32>load<u8>(seen) == mark || seed >= worst) continue
    store<u8>(seen, <u8>mark)
    insert(isHidden(idOf(seed)) ? seed | HIDDEN : seed)
  }
  expandAll(0, true, widthFor(ef), mark)
}

/**
 * Goes from the entry point to the seeds of a walk of `level`, which it leaves in the pool: greedy search above, and the beam at level 1 if
 * `level` is 0. With `frozen`, the sub-batch that is being linked is skipped. Returns false if the graph is empty.
 */
export function approach(level: i32, frozen: bool): bool {
  if (screens && level == 0) return approachByHeads()
  const entry = atomic.load<u32>(ENTRY)
  clear(1)
  if (entry == NONE) return false
  const top = levelOf(entry)
  const stop = level == 0 ? 1 : level
  let node = entry
  nearest = keyOf(rowOf(node))
  let l = top
  const descentMark = nextWalk()
  if (frozen) ignoreSubBatch(descentMark)
  for (; l > stop; --l) node = descend(node, nearest, l, descentMark)
  insert(entryOf(nearest, node))
  if (level == 0 && l == 1) {
    const mark = nextWalk()
    if (frozen) ignoreSubBatch(mark)
    walkLevel(frozen ? BEAM : QUERY_BEAM, 1, false, false, mark)
  }
  return true
}
