// Checks an arena: its hash, and whether a walk over a loaded arena stays inside it.
import {
  BINARY,
  END,
  ENTRY,
  M0,
  MARKED,
  NONE,
  UNITS,
  baseLinksOf,
  blockOf,
  blockShift,
  codeBytes,
  codeStride,
  degreeAt,
  hasHeads,
  headOf,
  linksOf,
  packing,
  precision,
  rowOf,
  rules,
  tailOf,
  upperOf,
} from './layout'
import { levelOf } from './hnsw/level'
import { clearVisited, nextWalk, visited } from './scratch'
import { canBeNode } from './hnsw/classes'
import { buildFollowerBitmaps, isFollower, isLeader, isSoundFollower, isSoundLeader } from './hnsw/copies'
import { itemOf } from './hnsw/sub-batch'
import { hasRow } from './hnsw/alive'

@inline
function mix(h: u64, v: u64): u64 {
  const x = (h ^ v) * 0x9e3779b97f4a7c15
  return x ^ (x >> 29)
}

/**
 * 64-bit hash of `bytes` bytes, starting with `seed`. Address and length must be multiples of 8. Not cryptographic. Four independent lanes
 * hide the latency of the multiplications.
 */
export function hash(from: usize, bytes: usize, seed: u64): u64 {
  let a = seed
  let b = seed ^ 0x2545f4914f6cdd1d
  let c = seed ^ 0x6a09e667f3bcc909
  let d = seed ^ 0xbb67ae8584caa73b
  let p = from
  const end = from + bytes
  for (; p + 32 <= end; p += 32) {
    a = mix(a, load<u64>(p))
    b = mix(b, load<u64>(p, 8))
    c = mix(c, load<u64>(p, 16))
    d = mix(d, load<u64>(p, 24))
  }
  for (; p < end; p += 8) a = mix(a, load<u64>(p))
  return mix(mix(a, rotl(b, 17)), mix(c, rotl(d, 31)) ^ <u64>bytes)
}

/**
 * Ordinal of the first row whose lists or code could lead a walk out of the arena, or NONE. Used for arenas that were loaded from disk. One
 * pass first stores for each row whether it exists and its level: one byte for each row stays in the cache, the rows do not.
 */
export function firstUnsound(): u32 {
  const end = load<u32>(END)
  const entry = load<u32>(ENTRY)
  if (entry != NONE && (entry >= end || !hasRow(entry) || isFollower(entry))) return entry
  clearVisited()
  for (let id: u32 = 0; id < end; ++id) if (hasRow(id)) store<u8>(visited + <usize>id, 1 + <u8>levelOf(id))
  let found = NONE
  for (let id: u32 = 0; id < end && found == NONE; ++id) {
    const height = load<u8>(visited + <usize>id)
    if (height > 0 && !isRowSound(id, <i32>height - 1, end)) found = id
  }
  clearVisited()
  if (found == NONE && rules >= 2) buildFollowerBitmaps()
  return found
}

function isRowSound(id: u32, level: i32, end: u32): bool {
  const units = load<u32>(UNITS)
  const unit = load<u32>(upperOf(id))
  const follows = isFollower(id)
  const isFlat = follows && unit == NONE
  if (level > 0 && !isFlat && (unit >= units || <u32>level > units - unit)) return false
  const row = rowOf(id)
  let high = i8x16.splat(0)
  for (let i: usize = 0; precision != BINARY && packing == 0 && i < codeBytes; i += 16) high = v128.or(high, v128.load(row + i))
  if (hasHeads) high = v128.or(high, v128.or(v128.load(headOf(id)), v128.load(headOf(id), 16)))
  if (i8x16.bitmask(high) != 0) return false
  if (follows && !isSoundFollower(id, end)) return false
  if (isLeader(id) && !isSoundLeader(id, end)) return false
  for (let l: i32 = follows ? 1 : 0; l <= level && !isFlat; ++l) {
    const list = linksOf(id, l)
    const degree = degreeAt(l)
    let isEnded = false
    for (let i: i32 = 0; i < degree; ++i) {
      const other = load<u32>(list + (<usize>i << 2))
      if (other == NONE || (l == 0 && i == M0 - 1 && other >= MARKED)) isEnded = true
      // The next neighbor is appended at the end of the list, and makes the words behind it neighbors, too.
      else if (isEnded ? other < MARKED : other >= end || <i32>load<u8>(visited + <usize>other) <= l) return false
    }
  }
  return true
}

/** Initializes the rows of a new block: birth NONE, no lists above level 0. */
export function clearBlock(block: u32): void {
  const first = block << blockShift
  const rows: u32 = 1 << blockShift
  const base = blockOf(first)
  for (let i: u32 = 0; i < rows; ++i) {
    const tail = base + <usize>i * codeStride + codeBytes
    store<u32>(tail, NONE, 8)
    store<u32>(upperOf(first + i), NONE)
  }
}

/**
 * Selects the entry point when the ordinal of the current one is reused: the node with the highest level, and of these the one with the
 * lowest ordinal. The first `count` items of the job are excluded.
 */
export function chooseEntry(count: u32): void {
  const mark = nextWalk()
  for (let i: u32 = 0; i < count; ++i) store<u8>(visited + <usize>itemOf(i), <u8>mark)
  const end = load<u32>(END)
  let best = NONE
  for (let id: u32 = 0; id < end; ++id) {
    if (!hasRow(id) || isFollower(id) || load<u8>(visited + <usize>id) == <u8>mark) continue
    if (rules >= 2 && !canBeNode(id)) continue
    if (best == NONE || levelOf(id) > levelOf(best)) best = id
  }
  atomic.store<u32>(ENTRY, best)
}
