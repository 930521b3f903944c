// Where everything stands in an arena. The host plans the memory and writes the header; the kernel only reads it, so
// every address below is a load from a header word. Nothing here is shared through a global: a global of this module
// belongs to one instance, that is to one thread.
//
//   HEADER  4 KiB of u32 words: shape, then state that a replay must reproduce, then the job of the running apply
//   blocks  2^blockShift rows each, anywhere in memory, found through the block table; in a block, one after the other:
//             codes  [code u8 x codeBytes (binary: bits) | a f32 | factor f32 | birth u32 | death u32] x rows    16-byte aligned
//             links  [ordinal u32 x linksAtBase] x rows, ended by NONE when not full               16-byte aligned
//             upper  [unit u32] x rows: first list of the node above level 0
//             norms  [f32] x rows: length of the vector as the user gave it
//             cold   [what re-ranking reads] x rows                                                16-byte aligned
//   units   lists of M ordinals for the levels above 0, in chunks found through the unit table

export const HEADER: usize = 4096
export const NONE: u32 = 0xffffffff
/**
 * Words of a list from here on are no neighbors: NONE ends a list, and with this bit an ordinal is that of a row's leader or of
 * the first of its copies (hnsw/copies.ts).
 */
export const MARKED: u32 = 0x80000000
export const ALIVE: u32 = 0xffffffff
/** A version at which exactly the rows that are not removed are visible. */
export const LATEST: u32 = 0xfffffffe
export const LEVEL_MAX: i32 = 15

export const L2: i32 = 1
export const IP: i32 = 2
export const COSINE: i32 = 3

export const BINARY: i32 = 1
export const INT8: i32 = 2
export const INT16: i32 = 3
export const FLOAT16: i32 = 4
export const FLOAT32: i32 = 5

// Shape: written once by the host.
const W_DIMENSION: usize = 1 << 2
const W_CODE_BYTES: usize = 2 << 2
const W_CODE_STRIDE: usize = 3 << 2
const W_M: usize = 4 << 2
const W_M0: usize = 5 << 2
const W_EF_CONSTRUCTION: usize = 6 << 2
const W_BLOCK_SHIFT: usize = 7 << 2
const W_METRIC: usize = 8 << 2
const W_PRECISION: usize = 9 << 2
const W_COLD_STRIDE: usize = 10 << 2
const W_IN_BLOCK_LINKS: usize = 11 << 2
const W_IN_BLOCK_UPPER: usize = 12 << 2
const W_IN_BLOCK_NORMS: usize = 13 << 2
const W_IN_BLOCK_COLD: usize = 14 << 2
const W_UNIT_SHIFT: usize = 15 << 2
const W_CENTRE: usize = 16 << 2
const W_BLOCK_TABLE: usize = 17 << 2
const W_UNIT_TABLE: usize = 18 << 2
const W_SCRATCH_TABLE: usize = 19 << 2
const W_TOUCHED: usize = 20 << 2
const W_RULES: usize = 21 << 2
const W_FOLLOWERS: usize = 22 << 2
const W_LEADERS: usize = 23 << 2
const W_CLASSES: usize = 24 << 2
const W_CLASSES_MAX: usize = 25 << 2

// State: what a replay must reproduce.
export const END: usize = HEADER + (32 << 2)
export const ROWS: usize = HEADER + (33 << 2)
export const DEAD: usize = HEADER + (34 << 2)
export const LINKED: usize = HEADER + (35 << 2)
export const ENTRY: usize = HEADER + (36 << 2)
export const UNITS: usize = HEADER + (37 << 2)
/** Nodes linked since the graph was last looked over for rows that cannot be reached. */
export const UNMENDED: usize = HEADER + (38 << 2)

// What is derived from the lists and rows, and never written down.
/** Rows with a mark of a follower. */
export const FOLLOWING: usize = HEADER + (40 << 2)
/** Places of the table of classes, and those in use; no places where it is to be made again. */
export const CLASS_PLACES: usize = HEADER + (41 << 2)
export const CLASSES_USED: usize = HEADER + (42 << 2)
/** Odd while followers leave their leaders, and another number afterwards: who reads meanwhile may miss some. */
export const HANDED: usize = HEADER + (43 << 2)

/** How near a walk may be expected to come, f32, and above it the job after which that was so (hnsw/lost.ts). */
export const EXPECTED: usize = HEADER + (44 << 2)

// The job of the running apply.
export const JOB_LIMIT: usize = HEADER + (64 << 2)
export const JOB_BASE: usize = HEADER + (65 << 2)
export const JOB_KIND: usize = HEADER + (66 << 2)
export const JOB_NEXT: usize = HEADER + (67 << 2)
export const JOB_DONE: usize = HEADER + (68 << 2)
export const JOB_COUNT: usize = HEADER + (69 << 2)
export const JOB_START: usize = HEADER + (70 << 2)
export const JOB_STOP: usize = HEADER + (71 << 2)
export const JOB_ITEMS: usize = HEADER + (72 << 2)
export const JOB_SIDE: usize = HEADER + (73 << 2)
export const JOB_SIDE_LEVELS: usize = HEADER + (74 << 2)
/** The items whose vectors are at hand: first and count. */
export const JOB_FIRST: usize = HEADER + (75 << 2)
export const JOB_AT_HAND: usize = HEADER + (76 << 2)
/** The order in which the nodes of a sub-batch are taken up. */
export const JOB_ORDER: usize = HEADER + (79 << 2)
/** Items looked at so far: those before that are not part of a sub-batch follow other rows. */
export const JOB_TAKEN: usize = HEADER + (80 << 2)
/** Items behind those listed by the host: rows that take the place of leaders whose ordinals are given again. */
export const JOB_EXTRA: usize = HEADER + (81 << 2)
/** How the graph is to be repaired once the classes are ready. */
export const JOB_BEFORE: usize = HEADER + (82 << 2)
/** Whether the job ends with linking all its items. */
export const JOB_LINKS: usize = HEADER + (77 << 2)

export let dimension: i32 = 0
/** The dimension rounded up to 16: vectors in scratch are padded with zeros to it. */
export let lanes: i32 = 0
export let codeBytes: usize = 0
export let codeStride: usize = 0
export let M: i32 = 0
export let M0: i32 = 0
export let efConstruction: i32 = 0
export let metric: i32 = 0
export let precision: i32 = 0
export let coldStride: usize = 0
export let centre: usize = 0
export let blockTable: usize = 0
export let blockShift: u32 = 0
export let blockMask: u32 = 0
export let inBlockLinks: usize = 0
let inBlockUpper: usize = 0
let inBlockNorms: usize = 0
let inBlockCold: usize = 0
let unitTable: usize = 0
let unitShift: u32 = 0
let unitMask: u32 = 0
let scratchTable: usize = 0
/** One byte per ordinal, not 0 when one of the node's lists was written since the host cleared it. */
let touched: usize = 0
/** Rules by which the graph is built: from 2 on rows that a walk cannot tell apart are one node, from 3 on binary codes are rotated. */
export let rules: u32 = 0
/** Whether codes are the signs of rotated vectors: binary rows from the third rules on. */
export let rotated: bool = false
/** A bit an ordinal: rows that follow another, and rows that are followed. Derived from the lists. */
export let followers: usize = 0
export let leaders: usize = 0
export let classes: usize = 0
export let classesMax: u32 = 0

export function attachLayout(): void {
  dimension = load<i32>(HEADER, W_DIMENSION)
  lanes = (dimension + 15) & ~15
  codeBytes = load<u32>(HEADER, W_CODE_BYTES)
  codeStride = load<u32>(HEADER, W_CODE_STRIDE)
  M = load<i32>(HEADER, W_M)
  M0 = load<i32>(HEADER, W_M0)
  efConstruction = load<i32>(HEADER, W_EF_CONSTRUCTION)
  metric = load<i32>(HEADER, W_METRIC)
  precision = load<i32>(HEADER, W_PRECISION)
  coldStride = load<u32>(HEADER, W_COLD_STRIDE)
  centre = load<u32>(HEADER, W_CENTRE)
  blockTable = load<u32>(HEADER, W_BLOCK_TABLE)
  blockShift = load<u32>(HEADER, W_BLOCK_SHIFT)
  blockMask = (1 << blockShift) - 1
  inBlockLinks = load<u32>(HEADER, W_IN_BLOCK_LINKS)
  inBlockUpper = load<u32>(HEADER, W_IN_BLOCK_UPPER)
  inBlockNorms = load<u32>(HEADER, W_IN_BLOCK_NORMS)
  inBlockCold = load<u32>(HEADER, W_IN_BLOCK_COLD)
  unitTable = load<u32>(HEADER, W_UNIT_TABLE)
  unitShift = load<u32>(HEADER, W_UNIT_SHIFT)
  unitMask = (1 << unitShift) - 1
  scratchTable = load<u32>(HEADER, W_SCRATCH_TABLE)
  touched = load<u32>(HEADER, W_TOUCHED)
  rules = load<u32>(HEADER, W_RULES)
  rotated = precision == BINARY && rules >= 3
  followers = load<u32>(HEADER, W_FOLLOWERS)
  leaders = load<u32>(HEADER, W_LEADERS)
  classes = load<u32>(HEADER, W_CLASSES)
  classesMax = load<u32>(HEADER, W_CLASSES_MAX)
}

/** To be called by whoever writes a list of the node: a snapshot that is being made copies it again. */
@inline
export function touch(id: u32): void {
  store<u8>(touched + <usize>id, 1)
}

/** Address of the scratch descriptor of one thread. */
export function scratchOf(thread: i32): usize {
  return load<u32>(scratchTable + (<usize>thread << 2))
}

@inline
export function blockOf(id: u32): usize {
  return load<u32>(blockTable + (<usize>(id >> blockShift) << 2))
}
@inline
export function rowOf(id: u32): usize {
  return blockOf(id) + <usize>(id & blockMask) * codeStride
}
/** The 16 bytes after a row's code: a, factor, birth, death. */
@inline
export function tailOf(id: u32): usize {
  return rowOf(id) + codeBytes
}
@inline
export function upperOf(id: u32): usize {
  return blockOf(id) + inBlockUpper + (<usize>(id & blockMask) << 2)
}
@inline
export function normOf(id: u32): usize {
  return blockOf(id) + inBlockNorms + (<usize>(id & blockMask) << 2)
}
@inline
export function coldOf(id: u32): usize {
  return blockOf(id) + inBlockCold + <usize>(id & blockMask) * coldStride
}
@inline
export function baseLinksOf(id: u32): usize {
  return blockOf(id) + inBlockLinks + ((<usize>(id & blockMask) * <usize>M0) << 2)
}
@inline
export function unitOf(unit: u32): usize {
  return <usize>load<u32>(unitTable + (<usize>(unit >> unitShift) << 2)) + ((<usize>(unit & unitMask) * <usize>M) << 2)
}
/** Address of the node's list at a level; the node must reach that level. */
@inline
export function linksOf(id: u32, level: i32): usize {
  if (level == 0) return baseLinksOf(id)
  return unitOf(load<u32>(upperOf(id)) + <u32>(level - 1))
}
@inline
export function degreeAt(level: i32): i32 {
  return level == 0 ? M0 : M
}
/** How many neighbors the node's list at a level has room for: the last word of a leader's names its first copy. */
export function degreeOf(id: u32, level: i32): i32 {
  if (level > 0) return M
  const last = load<u32>(baseLinksOf(id) + (<usize>(M0 - 1) << 2))
  return last >= MARKED && last != NONE ? M0 - 1 : M0
}

/** Units of one node never straddle two chunks, so a node of `levels` units at `next` may begin a little later. */
export function unitsFrom(next: u32, levels: u32): u32 {
  const room: u32 = (<u32>1 << unitShift) - (next & unitMask)
  return room < levels ? next + room : next
}

/** True where a search as of `version` must not return the row. */
@inline
export function hiddenAt(tail: usize, version: u32): bool {
  return load<u32>(tail, 8) > version || load<u32>(tail, 12) <= version
}
