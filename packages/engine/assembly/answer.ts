// Answering one query in the calling thread: by the graph, or exactly over rows the host lists.
import { COSINE, END, HANDED, NONE, ROWS, hiddenAt, metric, tailOf } from './layout'
import { answers, beat, ids, keys, nextWalk, pool as poolBytes, poolMax, ranked, similarities, visited } from './scratch'
import { exactKey, exactKeysOf, inRange } from './distance/exact'
import { keysOfIds } from './distance/walk'
import { prepareQuery } from './encode'
import * as pool from './hnsw/pool'
import { approachAllowed, walkAllowed } from './hnsw/allowed'
import { isMarkedFollower, isMarkedLeader, leaderOf } from './hnsw/copies'
import { allowedFollowerAfter, approach, firstAllowedFollower, hasCopies, isHidden, isHiddenRow, setView, walkLevel } from './hnsw/search'
import { goOnWhereLost } from './hnsw/lost'
import { widenWhereLost } from './hnsw/widen'

let asOf: u32 = 0

/**
 * The `k` nearest rows as of `version`, best first, by a walk with a pool of `ef` whose best `rerank` entries are ordered
 * at the field's precision. Only ordinals below `bits` with their bit set in the bitmap are returned, where there is one.
 * Returns how many were found.
 */
export function search(k: i32, ef: i32, rerank: i32, version: u32, bitmap: usize, bits: u32): i32 {
  prepareQuery()
  for (let i: i32 = 0; i < TRIES; ++i) {
    const handed = atomic.load<u32>(HANDED)
    const found = searchOnce(k, ef, rerank, version, bitmap, bits)
    if (areWhole(handed)) return found
  }
  return scanAll(k)
}

/** How often a search is made because copies left their leader meanwhile, before every row is looked at. */
const TRIES: i32 = 3

/** Whether what was read of copies since `handed` was loaded belongs together. */
function areWhole(handed: u32): bool {
  return (handed & 1) == 0 && atomic.load<u32>(HANDED) == handed
}

function searchOnce(k: i32, ef: i32, rerank: i32, version: u32, bitmap: usize, bits: u32): i32 {
  setView(version, bitmap, bits)
  let found: i32 = 0
  if (approach(0, false)) {
    const sparsity: u32 = bitmap == 0 ? 1 : load<u32>(ROWS) / max<u32>(1, countBits(bitmap, bits))
    if (sparsity >= SELECTIVE) {
      approachAllowed(ef)
      walkAllowed(ef, sparsity, nextWalk())
    } else {
      widenWhereLost(ef)
      walkLevel(ef, 0, true, true, nextWalk())
      if (bitmap == 0) goOnWhereLost(ef)
    }
    const most = pool.dropHidden()
    rank(min(most, max(k, rerank)), k, max(k, rerank))
    found = pool.size
  }
  // A walk can miss rows it cannot reach, or run out of room among hidden ones: fewer than k is then not an answer.
  if (found < k && <u32>found < possible(bitmap, bits)) return scanAll(k)
  return write(k)
}

/**
 * As search, by comparing the code of every row that may be returned instead of walking: where few may, that is
 * cheaper, and nothing is missed.
 */
export function compare(k: i32, ef: i32, version: u32, bitmap: usize, bits: u32): i32 {
  prepareQuery()
  for (let i: i32 = 0; i < TRIES; ++i) {
    const handed = atomic.load<u32>(HANDED)
    const found = compareOnce(k, ef, version, bitmap, bits)
    if (areWhole(handed)) return found
  }
  return scanAll(k)
}

function compareOnce(k: i32, ef: i32, version: u32, bitmap: usize, bits: u32): i32 {
  setView(version, bitmap, bits)
  pool.clear(ef)
  const mark = nextWalk()
  const end = bitmap == 0 ? load<u32>(END) : min(bits, load<u32>(END))
  let count: i32 = 0
  for (let first: u32 = 0; first < end; first += 32) {
    let word: u32 = bitmap == 0 ? 0xffffffff : load<u32>(bitmap + <usize>(first >> 3))
    if (end - first < 32) word &= (1 << (end - first)) - 1
    for (; word != 0; word &= word - 1) {
      const id = hasCopies ? nodeOf(first | ctz(word), mark) : first | ctz(word)
      store<u32>(ids + (<usize>count << 2), id)
      count += <i32>(id != NONE)
    }
    if (count < COMPARED_AT_ONCE && first + 32 < end) continue
    offerByCode(count)
    count = 0
  }
  rank(pool.size, k, max(k, COPIES_MIN))
  return write(k)
}

/**
 * The node that stands for a row, the first time it is met; NONE afterwards. A removed row that follows nobody any more stands for
 * itself: searches as of an earlier version may see it.
 */
function nodeOf(row: u32, mark: u32): u32 {
  const leader = isMarkedFollower(row) ? leaderOf(row) : NONE
  const id = leader == NONE ? row : leader
  if (!isMarkedLeader(id)) return id
  const seen = visited + <usize>id
  if (<u32>load<u8>(seen) == mark) return NONE
  store<u8>(seen, <u8>mark)
  return id
}

/** Copies of one row ordered exactly at least, where so many are near. */
const COPIES_MIN: i32 = 24

/** Rows whose codes are compared between two looks at the pool. */
const COMPARED_AT_ONCE: i32 = 256

function offerByCode(count: i32): void {
  keysOfIds(count)
  for (let i: i32 = 0; i < count; ++i) {
    const id = load<u32>(ids + (<usize>i << 2))
    const entry = pool.entryOf(load<f32>(keys + (<usize>i << 2)), id)
    if (entry < pool.worst && !isHiddenFromComparing(id)) pool.insert(entry)
  }
}

function isHiddenFromComparing(id: u32): bool {
  return hasCopies && !isMarkedFollower(id) ? isHidden(id) : isHiddenRow(id)
}

/** An upper bound of the rows that could be returned. */
function possible(bitmap: usize, bits: u32): u32 {
  return bitmap == 0 ? load<u32>(ROWS) : countBits(bitmap, bits)
}

function countBits(bitmap: usize, bits: u32): u32 {
  let n: u64 = 0
  const end = bitmap + <usize>(((bits + 31) >> 5) << 2)
  let p = bitmap
  for (; p + 8 <= end; p += 8) n += popcnt(load<u64>(p))
  if (p < end) n += popcnt(load<u32>(p))
  return <u32>n
}

/** Where no more than one row in so many is allowed, walks go past the others rather than through them. */
const SELECTIVE: u32 = 2

/**
 * Orders the best of the pool by exact key and keeps the best `k`: at most `nodes` entries with at most `copies` rows of each, and
 * no more once the walk's key of the next is beyond the last of the `k` by more than twice the largest error that key was seen
 * to have.
 */
function rank(nodes: i32, k: i32, copies: i32): void {
  const count = hasCopies ? listRows(nodes, copies) : nodes
  if (!hasCopies) {
    memory.copy(ranked, poolBytes, <usize>count << 3)
    for (let i: i32 = 0; i < count; ++i) store<u32>(ids + (<usize>i << 2), pool.idOf(pool.at(i)))
  }
  pool.clear(k)
  let error: f32 = 0
  for (let from: i32 = 0; from < count; from += AT_ONCE) {
    if (from >= k) {
      const last = asWalked(pool.keyOfEntry(pool.at(pool.size - 1)))
      if (pool.keyOfEntry(load<u64>(ranked + (<usize>from << 3))) > last + 2 * error) return
    }
    const n = min(AT_ONCE, count - from)
    exactKeysOf(ids + (<usize>from << 2), n, keys)
    for (let i: i32 = 0; i < n; ++i) {
      const key = load<f32>(keys + (<usize>i << 2))
      const walked = load<u64>(ranked + (<usize>(from + i) << 3))
      error = max(error, abs(asWalked(key) - pool.keyOfEntry(walked)))
      const entry = pool.entryOf(key, pool.idOf(walked))
      if (entry < pool.worst) pool.insert(entry)
    }
  }
}

/** Lists the rows that the first entries of the pool stand for, those of each by ordinal. Returns how many. */
function listRows(nodes: i32, copies: i32): i32 {
  listed = 0
  for (let i: i32 = 0; i < nodes; ++i) {
    const entry = pool.at(i)
    const node = pool.idOf(entry)
    if (!isMarkedLeader(node)) {
      list(entry, node)
      continue
    }
    const most = listed + copies
    let isListed = isHiddenRow(node)
    for (let id = firstAllowedFollower(node); id != NONE && listed < most; id = allowedFollowerAfter(node, id)) {
      beat()
      if (!isListed && node < id) {
        isListed = true
        list(entry, node)
      }
      if (listed < most && !isHiddenRow(id)) list(entry, id)
    }
    if (!isListed && listed < most) list(entry, node)
  }
  return listed
}

let listed: i32 = 0
/** One more row with the key of its node. */
function list(entry: u64, id: u32): void {
  if (listed >= poolMax) return
  store<u64>(ranked + (<usize>listed << 3), (entry & 0xffffffff00000000) | (<u64>id << 2))
  store<u32>(ids + (<usize>listed << 2), id)
  listed++
}

/** Entries ordered exactly between two looks whether more are needed: as many as the float32 distances take together. */
const AT_ONCE: i32 = 4

/** An exact key in the units of the walk, which for cosine are squared distances. */
@inline
function asWalked(key: f32): f32 {
  return metric == COSINE ? 2 + 2 * key : key
}

@inline
function offer(id: u32): void {
  beat()
  const entry = pool.entryOf(exactKey(id), id)
  if (entry < pool.worst) pool.insert(entry)
}

function write(k: i32): i32 {
  const n = min(k, pool.size)
  for (let i: i32 = 0; i < n; ++i) {
    const entry = pool.at(i)
    store<u32>(answers + (<usize>i << 2), pool.idOf(entry))
    store<f32>(similarities + (<usize>i << 2), inRange(-pool.keyOfEntry(entry)))
  }
  return n
}

function scanAll(k: i32): i32 {
  pool.clear(k)
  const end = load<u32>(END)
  for (let id: u32 = 0; id < end; ++id) if (!isHiddenRow(id)) offer(id)
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
