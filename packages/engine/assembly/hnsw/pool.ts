// The sorted pool of a walk: u64 entries with the key in the high bits, so that one integer comparison orders them; ties are ordered by ordinal.
//   bits 63..32 key (order-preserving) | 31..2 ordinal | 1 hidden | 0 expanded
// Hidden rows guide the walk and are never returned. Only visible entries count against `ef`, so that a neighborhood of removed rows cannot
// displace live rows.
import { floatOf, orderOf } from '../lanes'
import { pool, poolMax } from '../scratch'

/** Flags of an entry: its list was read; it may not be returned. */
export const EXPANDED: u64 = 1
export const HIDDEN: u64 = 2

/** Number of entries. */
export let size: i32 = 0
/** Number of entries that are not hidden. */
export let visible: i32 = 0
/** Number of visible entries that the pool keeps. */
let ef: i32 = 0
/** Whether an entry was dropped because the memory of the pool was full, not because it was too far away. */
export let overflowed: bool = false
/** An entry that is not below this does not enter the pool. */
export let worst: u64 = u64.MAX_VALUE

/** Entry of a row with a key, not hidden and not expanded. */
@inline
export function entryOf(key: f32, id: u32): u64 {
  return (<u64>orderOf(key) << 32) | (<u64>id << 2)
}
/** Ordinal of an entry. */
@inline
export function idOf(entry: u64): u32 {
  return <u32>entry >> 2
}
/** Key of an entry. */
@inline
export function keyOfEntry(entry: u64): f32 {
  return floatOf(<u32>(entry >> 32))
}
/** The entry at position `i`; the best is at 0. */
@inline
export function entryAt(i: i32): u64 {
  return load<u64>(pool + (<usize>i << 3))
}
/** Replaces the entry at position `i`. */
@inline
export function setEntry(i: i32, entry: u64): void {
  store<u64>(pool + (<usize>i << 3), entry)
}

/** Empties the pool and makes it keep `count` visible entries. */
export function clear(count: i32): void {
  size = 0
  visible = 0
  ef = count
  overflowed = false
  worst = u64.MAX_VALUE
}

/** Uses the current entries as the seeds of a walk that keeps `count` visible entries. The caller has set their flags. */
export function reseed(count: i32): void {
  ef = count
  visible = 0
  overflowed = false
  let i: i32 = 0
  for (; i < size && visible < ef; ++i) if (!(entryAt(i) & HIDDEN)) visible++
  size = i
  worst = visible == ef ? entryAt(size - 1) : u64.MAX_VALUE
}

/** Inverts the order of unsigned and signed integers with 64 bits. */
const SIGN: u64 = 0x8000000000000000

/**
 * Inserts an entry in order and returns its position. The caller has compared it with `worst`. The position is unpredictable, so few branches
 * depend on it: entries move up eight at a time while all eight are behind the new one, and of the last eight each is replaced by the one
 * below it if that is behind. The 64 bytes of zeros before the pool are entries that never move.
 */
export function insert(entry: u64): i32 {
  let p = pool + (<usize>size << 3)
  while (load<u64>(p - 64) > entry) {
    const a = v128.load(p - 64)
    const b = v128.load(p - 48)
    const c = v128.load(p - 32)
    const d = v128.load(p - 16)
    v128.store(p - 56, a)
    v128.store(p - 40, b)
    v128.store(p - 24, c)
    v128.store(p - 8, d)
    p -= 64
  }
  const sign = i64x2.splat(SIGN)
  const limit = i64x2.splat(entry ^ SIGN)
  const a = v128.load(p - 64)
  const b = v128.load(p - 48)
  const c = v128.load(p - 32)
  const d = v128.load(p - 16)
  const behindA = i64x2.gt_s(v128.xor(a, sign), limit)
  const behindB = i64x2.gt_s(v128.xor(b, sign), limit)
  const behindC = i64x2.gt_s(v128.xor(c, sign), limit)
  const behindD = i64x2.gt_s(v128.xor(d, sign), limit)
  const aboveA = v128.load(p - 56)
  const aboveB = v128.load(p - 40)
  const aboveC = v128.load(p - 24)
  const aboveD = v128.load(p - 8)
  v128.store(p - 56, v128.bitselect(a, aboveA, behindA))
  v128.store(p - 40, v128.bitselect(b, aboveB, behindB))
  v128.store(p - 24, v128.bitselect(c, aboveC, behindC))
  v128.store(p - 8, v128.bitselect(d, aboveD, behindD))
  // Minus the number of entries that moved.
  const behind = i64x2.add(i64x2.add(behindA, behindB), i64x2.add(behindC, behindD))
  p += <usize>(i64x2.extract_lane(behind, 0) + i64x2.extract_lane(behind, 1)) << 3
  store<u64>(p, entry)
  const index = <i32>((p - pool) >>> 3)
  size++
  if (!(entry & HIDDEN)) {
    visible++
    if (visible > ef) {
      // The last entry is visible once the pool has been full.
      size--
      visible--
    }
    if (visible == ef) {
      while (entryAt(size - 1) & HIDDEN) size--
      worst = entryAt(size - 1)
    }
  }
  if (size == poolMax) {
    // The pool always has space for one more entry. The entry that is dropped here was near enough to be kept.
    overflowed = true
    size--
    if (!(entryAt(size) & HIDDEN)) visible--
    worst = entryAt(size - 1)
  }
  return index
}

/** Sets the number of entries, after the caller has written or truncated them. */
export function setSize(count: i32): void {
  size = count
}

/** Removes hidden entries. Returns the number of remaining entries. */
export function dropHidden(): i32 {
  if (visible == size) return size
  let kept: i32 = 0
  for (let i: i32 = 0; i < size; ++i) {
    const entry = entryAt(i)
    if (entry & HIDDEN) continue
    setEntry(kept, entry)
    kept++
  }
  size = kept
  return kept
}
