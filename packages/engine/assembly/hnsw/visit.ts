// The steps of every walk: expanded nodes are counted, their unvisited neighbors are listed, and listed rows enter the pool.
import { MARKED } from '../layout'
import { ids, keys, visited } from '../scratch'
import { HIDDEN, entryOf, insert, keyOfEntry, size, worst } from './pool'
import { keepFour } from '../keep'
import { isHidden } from './view'

/** Number of nodes expanded since `takeHops` was last called. */
let hops: u32 = 0
/** Returns the number of nodes expanded since the last call. */
export function takeHops(): u32 {
  const n = hops
  hops = 0
  return n
}
/** Counts an expanded node. */
export function countHop(): void {
  hops++
}
/** Counts `count` expanded nodes. */
export function countHops(count: u32): void {
  hops += count
}

/** Appends the unvisited neighbors of the list at `from` to the `listed` ordinals of `ids`. Returns the new number of ordinals. */
@inline
export function listUnvisited(from: usize, degree: i32, mark: u32, listed: i32): i32 {
  let list = from
  const end = list + (<usize>degree << 2)
  let count = listed
  while (list < end) {
    const id = load<u32>(list)
    if (id >= MARKED) break
    list += 4
    const seen = visited + <usize>id
    store<u32>(ids + (<usize>count << 2), id)
    count += <i32>(<u32>load<u8>(seen) != mark)
    store<u8>(seen, <u8>mark)
  }
  return count
}

/** Inserts the listed rows into the pool. Returns the first position that changed. Rows with an equal key are compared by ordinal. */
export function insertListed(count: i32, viewed: bool): i32 {
  let first = size
  const kept = worst == u64.MAX_VALUE ? count : keepNear(count, keyOfEntry(worst))
  for (let place: usize = 0; place < <usize>kept << 2; place += 4) {
    const id = load<u32>(ids + place)
    let found = entryOf(load<f32>(keys + place), id)
    if (found >= worst) continue
    if (viewed && isHidden(id)) found |= HIDDEN
    first = min(first, insert(found))
  }
  return first
}

/** Removes the listed rows whose keys are above the limit, which are most. Returns the number of the others. */
function keepNear(count: i32, limit: f32): i32 {
  const limits = f32x4.splat(limit)
  let kept: usize = 0
  for (let i: i32 = 0; i < count; i += 4) {
    const from = <usize>i << 2
    const four = v128.load(keys + from)
    kept = keepFour(kept, from, four, ~i32x4.bitmask(f32x4.gt(four, limits)) & ((1 << min(4, count - i)) - 1))
  }
  return <i32>(kept >> 2)
}
