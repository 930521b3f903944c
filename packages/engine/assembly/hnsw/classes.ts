// A hash table that finds the node of a new row among rows that a walk cannot distinguish: rows with the same code, whose `a` and factor
// are equal except for the lowest eight bits. An entry has the ordinal of the node and six bits of the hash, so rows are only read if they
// are probably equal. The table is derived from the rows: it is built before the first job after an arena was loaded, and its answers
// depend on rows and lists only. Open addressing with linear probing.
import {
  CLASSES_USED,
  CLASS_SLOTS,
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
import { reportProgress, nextWalk, visited } from '../scratch'
import { isFollower, isLeader } from './copies'
import { hasRow, isAlive } from './alive'
import { itemOf } from './sub-batch'

const EMPTY: u32 = 0
const REMOVED: u32 = 0xffffffff
const ORDINAL_BITS: u32 = 26
const ORDINAL_MASK: u32 = (1 << ORDINAL_BITS) - 1
/** Slots for every seven entries when the table is built. */
const SLOTS_FOR_SEVEN: u32 = 9
const SLOTS_MIN: u32 = 64

/** The part of two equal rows that is compared in addition to their codes. */
function scaleBitsOf(row: usize): u64 {
  const a = load<f32>(row + codeBytes)
  const factor = load<f32>(row + codeBytes, 4)
  return (<u64>(metric == IP ? quantizeA(a, factor) : reinterpret<u32>(a) >> 8) << 32) | <u64>(reinterpret<u32>(factor) >> 8)
}
/** For inner products, `a` has no scale of its own. It is counted in quarters of a step of the code. */
function quantizeA(a: f32, factor: f32): u32 {
  const quarter = factor * 0.25
  return quarter > 0 ? i32x4.extract_lane(i32x4.trunc_sat_f32x4_s(f32x4.splat(floor(a / quarter))), 0) : 0
}

function hashOf(id: u32): u32 {
  const row = rowOf(id)
  let h = scaleBitsOf(row) * 0x9e3779b97f4a7c15
  for (let i: usize = 0; i < codeBytes; i += 16) {
    h = (h ^ load<u64>(row + i)) * 0x9e3779b97f4a7c15
    h = (h ^ (h >> 29) ^ load<u64>(row + i, 8)) * 0xbf58476d1ce4e5b9
    h ^= h >> 32
  }
  return <u32>(h ^ (h >> 17))
}

function isEqual(id: u32, other: u32): bool {
  const a = rowOf(id)
  const b = rowOf(other)
  if (scaleBitsOf(a) != scaleBitsOf(b)) return false
  for (let i: usize = 0; i < codeBytes; i += 16)
    if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false
  return true
}

@inline
function slotAt(slot: u32): usize {
  return classes + (<usize>slot << 2)
}
@inline
function entryOf(id: u32, hash: u32): u32 {
  return (hash << ORDINAL_BITS) | (id + 1)
}
@inline
function slotOf(hash: u32): u32 {
  return <u32>((<u64>hash * <u64>load<u32>(CLASS_SLOTS)) >> 32)
}
@inline
function slotAfter(slot: u32): u32 {
  return slot + 1 == load<u32>(CLASS_SLOTS) ? 0 : slot + 1
}

/** Whether the row can be the node of equal rows: it is in the graph, removed or not. Read from rows and lists only. */
export function canBeNode(id: u32): bool {
  if (!hasRow(id) || isFollower(id)) return false
  return isAlive(id) || load<u32>(baseLinksOf(id)) != NONE || isLeader(id)
}

/** Returns the node of the rows equal to `id`. If there is none, `id` becomes the node, is added to the table, and is returned. */
export function findOrAddNode(id: u32): u32 {
  const hash = hashOf(id)
  const own = entryOf(id, hash)
  let slot = slotOf(hash)
  let entry = load<u32>(slotAt(slot))
  for (; entry != EMPTY; entry = load<u32>(slotAt(slot))) {
    const other = (entry & ORDINAL_MASK) - 1
    if (entry != REMOVED && entry >> ORDINAL_BITS == own >> ORDINAL_BITS && (other == id || isEqual(id, other))) {
      if (other == id || canBeNode(other)) return other
      break
    }
    slot = slotAfter(slot)
  }
  if (entry == EMPTY) store<u32>(CLASSES_USED, load<u32>(CLASSES_USED) + 1)
  store<u32>(slotAt(slot), own)
  return id
}

/** Removes a node whose ordinal is reused. Its row must not have changed yet. */
export function removeNode(id: u32): void {
  if (load<u32>(CLASS_SLOTS) == 0) return
  const hash = hashOf(id)
  const own = entryOf(id, hash)
  let slot = slotOf(hash)
  for (let entry = load<u32>(slotAt(slot)); entry != EMPTY; entry = load<u32>(slotAt(slot))) {
    if (entry == own) {
      store<u32>(slotAt(slot), REMOVED)
      return
    }
    slot = slotAfter(slot)
  }
}

/**
 * Whether the table must be built: there is none, or it has no space for the items of the job and, if ordinals are reused, for their
 * successors.
 */
export function isTableDue(before: i32): bool {
  const slots = load<u32>(CLASS_SLOTS)
  return slots - (slots >> 3) <= load<u32>(CLASSES_USED) + (load<u32>(JOB_COUNT) << <u32>(before != 0))
}

/** Builds the table of all nodes except the items of the job, which are not linked yet. */
export function buildTable(): void {
  const mark = <u8>nextWalk()
  const count = load<u32>(JOB_COUNT)
  for (let i: u32 = 0; i < count; ++i) store<u8>(visited + <usize>itemOf(i), mark)
  const end = load<u32>(END)
  let nodes: u32 = 0
  for (let id: u32 = 0; id < end; ++id) nodes += <u32>(load<u8>(visited + <usize>id) != mark && canBeNode(id))
  const slotsNeeded = <u32>((<u64>(nodes + count) * SLOTS_FOR_SEVEN) / 7) + SLOTS_MIN
  const slots = min(classesMax, slotsNeeded + (slotsNeeded >> 3))
  memory.fill(classes, 0, <usize>slots << 2)
  store<u32>(CLASS_SLOTS, slots)
  store<u32>(CLASSES_USED, nodes)
  for (let id: u32 = 0; id < end; ++id) {
    if (load<u8>(visited + <usize>id) == mark || !canBeNode(id)) continue
    reportProgress()
    const hash = hashOf(id)
    let slot = slotOf(hash)
    while (load<u32>(slotAt(slot)) != EMPTY) slot = slotAfter(slot)
    store<u32>(slotAt(slot), entryOf(id, hash))
  }
}
