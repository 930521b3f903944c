// Walks of fields whose rows have heads (heads/head.ts). Above level 0 only heads are compared, because a walk needs no more than a good place
// to begin. At level 0 a row whose bound is within the pool waits, and in each turn the waiting rows with the least bounds are compared by
// their codes. The pool shrinks meanwhile, so most rows that wait are dropped without being compared.
import { ENTRY, NONE, degreeAt, linksOf } from '../layout'
import { levelOf } from './level'
import { answers, ids, keys, nextWalk, poolMax, reportProgress, visited } from '../scratch'
import { boundsOfIds, screen, useEstimates } from '../heads/head'
import { keysOfIds } from '../distance/walk'
import { clear, entryAt, entryOf, idOf, insert, keyOfEntry, reseed, size, worst } from './pool'
import { expandBest, listExpanded, stopped, widthMax } from './expand'
import { countHops, insertListed, listUnvisited } from './visit'

/** Waiting rows that are compared in a turn, and one more for each COMPARED_MORE that wait. */
const COMPARED: i32 = 8
const COMPARED_MORE: i32 = 16
/** Width of the beam at level 1, and how many of its entries are expanded at a time. */
const BEAM: i32 = 4
const BEAM_WIDTH: i32 = 2

/** Leaves the seeds of a walk of level 0 in the pool. Returns false if the graph is empty. */
export function approachByHeads(): bool {
  const entry = atomic.load<u32>(ENTRY)
  clear(1)
  if (entry == NONE) return false
  useEstimates(true)
  store<u32>(ids, entry)
  boundsOfIds(1)
  let best = entryOf(load<f32>(keys), entry)
  let level = levelOf(entry)
  const mark = nextWalk()
  for (; level > 1; --level) best = descendByHeads(best, level, mark)
  insert(best)
  if (level == 1) walkBeam(nextWalk())
  useEstimates(false)
  compareEntries()
  return true
}

/** Greedy search of one level by estimates. Rows with the mark were compared before. */
function descendByHeads(from: u64, level: i32, mark: u32): u64 {
  let best = from
  let before: u64 = u64.MAX_VALUE
  while (best < before) {
    before = best
    const count = listUnvisited(linksOf(idOf(best), level), degreeAt(level), mark, 0)
    countHops(1)
    boundsOfIds(count)
    for (let i: usize = 0; i < <usize>count << 2; i += 4) best = min(best, entryOf(load<f32>(keys + i), load<u32>(ids + i)))
  }
  return best
}

/** Best-first walk of level 1 by estimates, from the single entry of the pool. */
function walkBeam(mark: u32): void {
  store<u8>(visited + <usize>idOf(entryAt(0)), <u8>mark)
  reseed(BEAM)
  let current: i32 = 0
  while (true) {
    const expanded = expandBest(current, BEAM_WIDTH, 1)
    if (expanded == 0) return
    const count = listExpanded(expanded, 1, mark)
    boundsOfIds(count)
    current = min(stopped, insertListed(count, false))
  }
}

/** Replaces the estimates of the pool's entries by their keys. */
function compareEntries(): void {
  const count = size
  for (let i: i32 = 0; i < count; ++i) store<u32>(ids + (<usize>i << 2), idOf(entryAt(i)))
  keysOfIds(count)
  clear(count)
  for (let i: usize = 0; i < <usize>count << 2; i += 4) insert(entryOf(load<f32>(keys + i), load<u32>(ids + i)))
}

/** The rows that wait: a binary heap of entries whose keys are bounds, in the scratch space of the results. */
let waiting: i32 = 0
@inline
function waitingAt(i: i32): usize {
  return answers + (<usize>i << 3)
}

/** Adds the first `count` of `ids`, whose bounds are in `keys`, to those that wait. */
function addWaiting(count: i32): void {
  for (let i: usize = 0; i < <usize>count << 2; i += 4) {
    const entry = entryOf(load<f32>(keys + i), load<u32>(ids + i))
    let place = waiting
    waiting++
    while (place > 0) {
      const parent = (place - 1) >> 1
      const other = load<u64>(waitingAt(parent))
      if (other <= entry) break
      store<u64>(waitingAt(place), other)
      place = parent
    }
    store<u64>(waitingAt(place), entry)
  }
}

/** Removes the row with the least bound from those that wait. */
function removeLeast(): void {
  waiting--
  const last = load<u64>(waitingAt(waiting))
  let place: i32 = 0
  while (true) {
    let child = 2 * place + 1
    if (child >= waiting) break
    const left = load<u64>(waitingAt(child))
    const right = child + 1 < waiting ? load<u64>(waitingAt(child), 8) : u64.MAX_VALUE
    child += <i32>(right < left)
    const least = min(left, right)
    if (last <= least) break
    store<u64>(waitingAt(place), least)
    place = child
  }
  store<u64>(waitingAt(place), last)
}

/** Lists the waiting rows that are compared next. No row waits longer if even the least bound is too large. */
function listLeast(): i32 {
  const most = COMPARED + waiting / COMPARED_MORE
  let count: i32 = 0
  while (waiting > 0 && count < most) {
    const least = load<u64>(answers)
    if (worst != u64.MAX_VALUE && keyOfEntry(least) > keyOfEntry(worst)) {
      waiting = 0
      break
    }
    removeLeast()
    store<u32>(ids + (<usize>count << 2), idOf(least))
    count++
  }
  return count
}

/** Expands every entry of the pool that is not expanded yet, including those that enter it meanwhile. */
export function expandByHeads(level: i32, viewed: bool, mark: u32): void {
  const width = widthMax()
  let current: i32 = 0
  waiting = 0
  while (true) {
    reportProgress()
    const compared = listLeast()
    keysOfIds(compared)
    current = min(current, insertListed(compared, viewed))
    const expanded = expandBest(current, width, level)
    current = stopped
    if (expanded == 0) {
      if (waiting == 0) return
      continue
    }
    const count = listExpanded(expanded, level, mark)
    const kept = screen(count, worst == u64.MAX_VALUE ? f32.MAX_VALUE : keyOfEntry(worst))
    if (waiting + kept <= poolMax >> 1) {
      addWaiting(kept)
    } else {
      keysOfIds(kept)
      current = min(current, insertListed(kept, viewed))
    }
  }
}
