// Which node stands for the rows that a walk cannot tell apart: those of the same code whose factor and length agree to 15 bits.
// A table of nodes by the hash of that, with six bits of the hash in each entry, so that rows are read only where they are likely
// to be the same. It is derived from the rows: a process that loads an arena makes it before the first job, and what the table
// says depends on the rows and lists alone, not on how it came to be.
import {
  CLASSES_USED,
  CLASS_PLACES,
  END,
  IP,
  JOB_COUNT,
  NONE,
  baseLinksOf,
  classes,
  classesMax,
  codeBytes,
  metric,
  rowOf,
} from '../layout'
import { beat, nextWalk, visited } from '../scratch'
import { isFollower, isLeader } from './copies'
import { hasRow, isAlive } from './repair'
import { itemOf } from './sub-batch'

const EMPTY: u32 = 0
const FORGOTTEN: u32 = 0xffffffff
const ORDINAL_BITS: u32 = 26
const ORDINAL_MASK: u32 = (1 << ORDINAL_BITS) - 1
/** Places for each seven in use, where the table is made. */
const PLACES_FOR_SEVEN: u32 = 9
const PLACES_MIN: u32 = 64

/** What two rows of one class share beside their codes. */
function measuresOf(row: usize): u64 {
  const a = load<f32>(row + codeBytes)
  const factor = load<f32>(row + codeBytes, 4)
  return (<u64>(metric == IP ? steps(a, factor) : reinterpret<u32>(a) >> 8) << 32) | <u64>(reinterpret<u32>(factor) >> 8)
}
/** For inner products `a` has no length of its own: it is counted in quarters of a step of the code. */
function steps(a: f32, factor: f32): u32 {
  const quarter = factor * 0.25
  return quarter > 0 ? i32x4.extract_lane(i32x4.trunc_sat_f32x4_s(f32x4.splat(floor(a / quarter))), 0) : 0
}

function hashOf(id: u32): u32 {
  const row = rowOf(id)
  let h = measuresOf(row) * 0x9e3779b97f4a7c15
  for (let i: usize = 0; i < codeBytes; i += 16) {
    h = (h ^ load<u64>(row + i)) * 0x9e3779b97f4a7c15
    h = (h ^ (h >> 29) ^ load<u64>(row + i, 8)) * 0xbf58476d1ce4e5b9
    h ^= h >> 32
  }
  return <u32>(h ^ (h >> 17))
}

function isSame(id: u32, other: u32): bool {
  const a = rowOf(id)
  const b = rowOf(other)
  if (measuresOf(a) != measuresOf(b)) return false
  for (let i: usize = 0; i < codeBytes; i += 16)
    if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false
  return true
}

@inline
function at(place: u32): usize {
  return classes + (<usize>place << 2)
}
@inline
function entryOf(id: u32, hash: u32): u32 {
  return (hash << ORDINAL_BITS) | (id + 1)
}
@inline
function placeOf(hash: u32): u32 {
  return <u32>((<u64>hash * <u64>load<u32>(CLASS_PLACES)) >> 32)
}
@inline
function after(place: u32): u32 {
  return place + 1 == load<u32>(CLASS_PLACES) ? 0 : place + 1
}

/** Whether a node can stand for others: it is in the graph, removed or not. Read from rows and lists alone. */
export function canStand(id: u32): bool {
  if (!hasRow(id) || isFollower(id)) return false
  return isAlive(id) || load<u32>(baseLinksOf(id)) != NONE || isLeader(id)
}

/** The node that stands for the row's class; the row itself, which does from now on, where there is none. */
export function standingFor(id: u32): u32 {
  const hash = hashOf(id)
  const own = entryOf(id, hash)
  let place = placeOf(hash)
  let entry = load<u32>(at(place))
  for (; entry != EMPTY; entry = load<u32>(at(place))) {
    const other = (entry & ORDINAL_MASK) - 1
    if (entry != FORGOTTEN && entry >> ORDINAL_BITS == own >> ORDINAL_BITS && (other == id || isSame(id, other))) {
      if (other == id || canStand(other)) return other
      break
    }
    place = after(place)
  }
  if (entry == EMPTY) store<u32>(CLASSES_USED, load<u32>(CLASSES_USED) + 1)
  store<u32>(at(place), own)
  return id
}

/** Forgets a node whose ordinal is given again; its row must be as it was. */
export function forget(id: u32): void {
  if (load<u32>(CLASS_PLACES) == 0) return
  const hash = hashOf(id)
  const own = entryOf(id, hash)
  let place = placeOf(hash)
  for (let entry = load<u32>(at(place)); entry != EMPTY; entry = load<u32>(at(place))) {
    if (entry == own) {
      store<u32>(at(place), FORGOTTEN)
      return
    }
    place = after(place)
  }
}

/** True where there is no table, or none with room for the items of the job and, where ordinals are given again, for their heirs. */
export function classesAreDue(before: i32): bool {
  const places = load<u32>(CLASS_PLACES)
  return places - (places >> 3) <= load<u32>(CLASSES_USED) + (load<u32>(JOB_COUNT) << <u32>(before != 0))
}

/** Makes the table of all nodes but the items of the job, which are not linked yet. */
export function makeClasses(): void {
  const mark = <u8>nextWalk()
  const count = load<u32>(JOB_COUNT)
  for (let i: u32 = 0; i < count; ++i) store<u8>(visited + <usize>itemOf(i), mark)
  const end = load<u32>(END)
  let nodes: u32 = 0
  for (let id: u32 = 0; id < end; ++id) nodes += <u32>(load<u8>(visited + <usize>id) != mark && canStand(id))
  const wanted = <u32>((<u64>(nodes + count) * PLACES_FOR_SEVEN) / 7) + PLACES_MIN
  const places = min(classesMax, wanted + (wanted >> 3))
  memory.fill(classes, 0, <usize>places << 2)
  store<u32>(CLASS_PLACES, places)
  store<u32>(CLASSES_USED, nodes)
  for (let id: u32 = 0; id < end; ++id) {
    if (load<u8>(visited + <usize>id) == mark || !canStand(id)) continue
    beat()
    const hash = hashOf(id)
    let place = placeOf(hash)
    while (load<u32>(at(place)) != EMPTY) place = after(place)
    store<u32>(at(place), entryOf(id, hash))
  }
}
