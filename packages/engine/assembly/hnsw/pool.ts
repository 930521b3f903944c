// The sorted pool of a walk: u64 entries, key first, so that one comparison orders them; ties fall to the ordinal.
//   bits 63..32 key (order-preserving) | 31..2 ordinal | 1 hidden | 0 expanded
// Hidden rows steer the walk and are never returned: only the others count against the pool's size, so that a
// neighborhood of removed rows cannot crowd out the living ones.
import { floatOf, orderOf } from '../lanes'
import { pool, poolMax } from '../scratch'

export const EXPANDED: u64 = 1
export const HIDDEN: u64 = 2

export let size: i32 = 0
/** Entries that are not hidden. */
export let shown: i32 = 0
/** How many shown entries are wanted. */
let wanted: i32 = 0
/** True where an entry was dropped for want of room rather than for being too far. */
export let overflowed: bool = false
/** Entries at or above this are not worth inserting. */
export let worst: u64 = u64.MAX_VALUE

@inline
export function entryOf(key: f32, id: u32): u64 {
  return (<u64>orderOf(key) << 32) | (<u64>id << 2)
}
@inline
export function idOf(entry: u64): u32 {
  return <u32>entry >> 2
}
@inline
export function keyOfEntry(entry: u64): f32 {
  return floatOf(<u32>(entry >> 32))
}
@inline
export function at(i: i32): u64 {
  return load<u64>(pool + (<usize>i << 3))
}
@inline
export function put(i: i32, entry: u64): void {
  store<u64>(pool + (<usize>i << 3), entry)
}

export function clear(count: i32): void {
  size = 0
  shown = 0
  wanted = count
  overflowed = false
  worst = u64.MAX_VALUE
}

/** Takes over the entries already there as the seeds of a walk that wants `count`; the caller sets their flags first. */
export function reseed(count: i32): void {
  wanted = count
  shown = 0
  overflowed = false
  let i: i32 = 0
  for (; i < size && shown < wanted; ++i) if (!(at(i) & HIDDEN)) shown++
  size = i
  worst = shown == wanted ? at(size - 1) : u64.MAX_VALUE
}

/** Inserts in order and returns the place. The caller has compared with `worst`. */
export function insert(entry: u64): i32 {
  let p = pool + (<usize>size << 3)
  // From the end, eight at a time and then one by one: where an entry goes is not foreseeable, so few branches must depend on it.
  while (p >= pool + 64 && load<u64>(p - 64) > entry) {
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
  while (p > pool && load<u64>(p - 8) > entry) {
    store<u64>(p, load<u64>(p - 8))
    p -= 8
  }
  store<u64>(p, entry)
  const low = <i32>((p - pool) >>> 3)
  size++
  if (!(entry & HIDDEN)) {
    shown++
    if (shown > wanted) dropLastShown()
    if (shown == wanted) worst = at(size - 1)
  }
  if (size == poolMax) {
    // Room for one more is always kept; what falls out here was near enough to matter.
    overflowed = true
    size--
    if (!(at(size) & HIDDEN)) shown--
    worst = at(size - 1)
  }
  return low
}

function dropLastShown(): void {
  size-- // the last entry is shown whenever the pool is full
  shown--
  while (size > 0 && at(size - 1) & HIDDEN) size--
}

export function setSize(count: i32): void {
  size = count
}

/** Removes hidden entries and returns how many are left. */
export function dropHidden(): i32 {
  if (shown == size) return size
  let n: i32 = 0
  for (let i: i32 = 0; i < size; ++i) {
    const entry = at(i)
    if (entry & HIDDEN) continue
    put(n, entry)
    n++
  }
  size = n
  return n
}
