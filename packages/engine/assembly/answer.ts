// Answering one query in the calling thread: by the graph, or exactly over rows the host lists.
import { END, ROWS, hiddenAt, tailOf } from './layout'
import { answers, ids, keys, nextWalk, similarities } from './scratch'
import { exactKey, exactKeysOf } from './distance/exact'
import { prepareQuery } from './encode'
import * as pool from './hnsw/pool'
import { approach, isHidden, setView, walkLevel } from './hnsw/search'

let asOf: u32 = 0

/**
 * The `k` nearest rows as of `version`, best first, by a walk with a pool of `ef` whose best `rerank` entries are ordered
 * at the field's precision. Only ordinals below
 * `bits` with their bit set in the bitmap are returned, where there is one. Returns how many were found.
 */
export function search(k: i32, ef: i32, rerank: i32, version: u32, bitmap: usize, bits: u32): i32 {
  prepareQuery()
  setView(version, bitmap, bits)
  let found: i32 = 0
  if (approach(0, false)) {
    walkLevel(ef, 0, true, nextWalk())
    const most = pool.dropHidden()
    rank(min(most, max(k, rerank)), k)
    found = pool.size
  }
  // A walk can miss rows it cannot reach, or run out of room among hidden ones: fewer than k is then not an answer.
  if (found < k && <u32>found < possible(bitmap, bits)) return scanAll(k)
  return write(k)
}

/** An upper bound of the rows that could be returned. */
function possible(bitmap: usize, bits: u32): u32 {
  if (bitmap == 0) return load<u32>(ROWS)
  let n: u32 = 0
  const words = (bits + 31) >> 5
  for (let i: u32 = 0; i < words; ++i) n += popcnt(load<u32>(bitmap + (<usize>i << 2)))
  return n
}

/** Orders the first `count` entries of the pool by exact key and keeps the best `k`. */
function rank(count: i32, k: i32): void {
  for (let i: i32 = 0; i < count; ++i) store<u32>(ids + (<usize>i << 2), pool.idOf(pool.at(i)))
  pool.clear(k)
  exactKeysOf(ids, count, keys)
  for (let i: i32 = 0; i < count; ++i) {
    const entry = pool.entryOf(load<f32>(keys + (<usize>i << 2)), load<u32>(ids + (<usize>i << 2)))
    if (entry < pool.worst) pool.insert(entry)
  }
}

@inline
function offer(id: u32): void {
  const entry = pool.entryOf(exactKey(id), id)
  if (entry < pool.worst) pool.insert(entry)
}

function write(k: i32): i32 {
  const n = min(k, pool.size)
  for (let i: i32 = 0; i < n; ++i) {
    const entry = pool.at(i)
    store<u32>(answers + (<usize>i << 2), pool.idOf(entry))
    store<f32>(similarities + (<usize>i << 2), -pool.keyOfEntry(entry))
  }
  return n
}

function scanAll(k: i32): i32 {
  pool.clear(k)
  const end = load<u32>(END)
  for (let id: u32 = 0; id < end; ++id) if (!isHidden(id)) offer(id)
  return write(k)
}

/** Begins an exact scan; the host then offers lists of ordinals, or all, and takes the answer. */
export function beginScan(k: i32, version: u32): void {
  prepareQuery()
  setView(version, 0, 0)
  asOf = version
  pool.clear(k)
}
/** Offers the `count` ordinals in the scratch list. Those without a row visible to the scan are passed over. */
export function scanIds(count: i32): void {
  const end = load<u32>(END)
  for (let i: i32 = 0; i < count; ++i) {
    const id = load<u32>(ids + (<usize>i << 2))
    if (id < end && !hiddenAt(tailOf(id), asOf)) offer(id)
  }
}
export function scanRange(from: u32, to: u32): void {
  for (let id = from; id < to; ++id) if (!hiddenAt(tailOf(id), asOf)) offer(id)
}
export function endScan(k: i32): i32 {
  return write(k)
}
