// Inserts nodes into the graph (Algorithm 1 of HNSW, arXiv 1603.09320), many at a time and with any number of threads, with the same result.
// A sub-batch is linked in two steps:
//   1. Every node searches the graph without the sub-batch, compares itself with the earlier nodes of the sub-batch, and writes its own lists
//      and a separate copy of them. No other node can reach it yet.
//   2. Back-links are written in the order of the sub-batch, each target by one partition only.
// The result of both steps does not depend on which thread does which part.
import {
  ENTRY,
  JOB_FORWARD,
  JOB_FORWARD_LEVELS,
  JOB_START,
  JOB_STOP,
  LATEST,
  M,
  MARKED,
  NONE,
  degreeOf,
  efConstruction,
  linksOf,
  rowOf,
  touch,
} from '../layout'
import { levelOf } from './level'
import { chosen, ids, keys, nextWalk, pool, queryCode, ranked, rowCode } from '../scratch'
import { keysOf, keysOfIds, setRowAsQuery } from '../distance/walk'
import { entryOf, idOf, insert, size, worst } from './pool'
import * as candidates from './pool'
import { chooseDiverse } from './prune'
import { approach, walkLevel } from './search'
import { setView } from './view'
import { ignoreSubBatch, itemOf } from './sub-batch'

/** Partitions of step 2. The result does not depend on their number. */
export const PARTITIONS: u32 = 16

/** Address of the copy of a node's forward links at a level: a count, then ordinals. */
@inline
function forwardCopyOf(index: u32, level: i32): usize {
  const slot = (index - load<u32>(JOB_START)) * load<u32>(JOB_FORWARD_LEVELS) + <u32>level
  return <usize>load<u32>(JOB_FORWARD) + <usize>slot * (<usize>(M + 1) << 2)
}

/** Step 1 for the node at position `index` of the sub-batch. */
export function findNeighbors(index: u32): void {
  const id = itemOf(index)
  const entry = load<u32>(ENTRY)
  const top = entry == NONE ? -1 : levelOf(entry)
  setView(LATEST, 0, 0)
  let l = levelOf(id)
  setRowAsQuery(rowOf(id), queryCode)
  for (; l > top; --l) {
    candidates.clear(efConstruction)
    addEarlier(index, l)
    writeForward(index, id, l)
  }
  if (l < 0) return
  approach(l, true)
  for (; l >= 0; --l) {
    const mark = nextWalk()
    ignoreSubBatch(mark)
    walkLevel(efConstruction, l, true, false, mark)
    // The seeds of the next level are the result of this walk, without the sub-batch, which the frozen graph does not have.
    const walked = size
    if (l > 0) memory.copy(ranked, pool, <usize>walked << 3)
    addEarlier(index, l)
    writeForward(index, id, l)
    if (l > 0) {
      memory.copy(pool, ranked, <usize>walked << 3)
      candidates.setSize(walked)
    }
  }
}

/** Adds the earlier nodes of the sub-batch that reach the level to the candidates. */
function addEarlier(index: u32, level: i32): void {
  let count: i32 = 0
  for (let i = load<u32>(JOB_START); i < index; ++i) {
    const other = itemOf(i)
    store<u32>(ids + (<usize>count << 2), other)
    count += <i32>(level == 0 || levelOf(other) >= level)
  }
  if (count == 0) return
  keysOfIds(count)
  for (let i: i32 = 0; i < count; ++i) {
    const found = entryOf(load<f32>(keys + (<usize>i << 2)), load<u32>(ids + (<usize>i << 2)))
    if (found < worst) insert(found)
  }
}

/** Selects the node's neighbors from the candidates, without removed rows, and writes its list and the copy. */
function writeForward(index: u32, id: u32, level: i32): void {
  const n = chooseDiverse(pool, candidates.dropHidden(), M)
  const list = linksOf(id, level)
  touch(id)
  const copy = forwardCopyOf(index, level)
  const degree = degreeOf(id, level)
  store<i32>(copy, n)
  memory.copy(copy + 4, chosen, <usize>n << 2)
  memory.copy(list, chosen, <usize>n << 2)
  memory.fill(list + (<usize>n << 2), 0xff, <usize>(degree - n) << 2)
}

/** Step 2 for the targets of one partition. */
export function linkBack(partition: u32, partitions: u32): void {
  const stop = load<u32>(JOB_STOP)
  for (let i = load<u32>(JOB_START); i < stop; ++i) {
    const id = itemOf(i)
    for (let l = levelOf(id); l >= 0; --l) {
      const copy = forwardCopyOf(i, l)
      const n = load<i32>(copy)
      for (let j: i32 = 0; j < n; ++j) {
        const target = load<u32>(copy + 4 + (<usize>j << 2))
        if (target % partitions == partition) addBackLink(target, id, l)
      }
    }
  }
}

/** Adds a link from `target` to `id`. If the list is full, its neighbors are selected again from the list and `id`. */
function addBackLink(target: u32, id: u32, level: i32): void {
  const list = linksOf(target, level)
  const degree = degreeOf(target, level)
  let n: i32 = 0
  while (n < degree) {
    const neighbor = load<u32>(list + (<usize>n << 2))
    if (neighbor >= MARKED) break
    if (neighbor == id) return
    n++
  }
  if (n < degree) {
    // The row and the lists of `id` are complete. This store makes readers find them.
    atomic.store<u32>(list + (<usize>n << 2), id)
    touch(target)
    return
  }
  memory.copy(ids, list, <usize>degree << 2)
  store<u32>(ids + (<usize>degree << 2), id)
  selectAgain(target, list, degree + 1, degree, 0)
}

/**
 * Selects the list of a node again from the first `count` ordinals of the scratch list. The list gets at least `countMin` neighbors if
 * there are that many.
 */
export function selectAgain(node: u32, list: usize, count: i32, degree: i32, countMin: i32): void {
  setRowAsQuery(rowOf(node), rowCode)
  keysOf(ids, count, keys)
  for (let i: i32 = 0; i < count; ++i) {
    const entry = entryOf(load<f32>(keys + (<usize>i << 2)), load<u32>(ids + (<usize>i << 2)))
    let p = ranked + (<usize>i << 3)
    while (p > ranked && load<u64>(p - 8) > entry) {
      store<u64>(p, load<u64>(p - 8))
      p -= 8
    }
    store<u64>(p, entry)
  }
  const n = fillUp(chooseDiverse(ranked, count, degree), count, countMin)
  writeList(list, n, degree)
  touch(node)
}

/** Appends the nearest ranked candidates that the selection left out until there are `countMin`, so that a list does not become shorter. */
function fillUp(n: i32, count: i32, countMin: i32): i32 {
  const diverse = n
  for (let i: i32 = 0; i < count && n < countMin; ++i) {
    const id = idOf(load<u64>(ranked + (<usize>i << 3)))
    let j: i32 = 0
    while (j < diverse && load<u32>(chosen + (<usize>j << 2)) != id) j++
    if (j < diverse) continue
    store<u32>(chosen + (<usize>n << 2), id)
    n++
  }
  return n
}

/** Replaces a list while others read it: ordinals first, the end afterwards, so that a reader at worst meets a neighbor twice. */
export function writeList(list: usize, n: i32, degree: i32): void {
  let i: i32 = 0
  for (; i < n; ++i) atomic.store<u32>(list + (<usize>i << 2), load<u32>(chosen + (<usize>i << 2)))
  for (; i < degree; ++i) atomic.store<u32>(list + (<usize>i << 2), NONE)
}
