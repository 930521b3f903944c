// The layout of an arena: one WebAssembly memory with the rows and the graph of one segment of a dense field. The host plans the memory and
// writes the header (src/vector/dense/shape.ts, arena.ts). The kernel only reads the addresses from header words into the globals below.
// Globals belong to one instance of the module, which means to one thread. All numbers are little endian.
//
//   HEADER  4 KiB of u32 words: shape, then state that a replay must reproduce, then the job of the running apply
//   blocks  2^blockShift rows each, anywhere in memory, found through the block table; a block consists of
//             codes  [code u8 x codeBytes (binary: bits; int4, int2: packed) | a f32 | factor f32 | birth u32 | death u32] x rows    16-byte aligned
//             links  [ordinal u32 x M0] x rows: neighbors at level 0, ended by NONE if not full         16-byte aligned
//             upper  [unit u32] x rows: first list of the node above level 0, NONE if it has none
//             norms  [f32] x rows: length of the vector as the user gave it
//             cold   [row at the field's precision, read by re-ranking only] x rows                     16-byte aligned
//   units   lists of M ordinals for the levels above 0, in chunks found through the unit table
//   heads   [head u8 x 128] x rows of one block, found through the head table, once the segment has a projection (heads/head.ts)
//
// a = |x'|^2 (l2, cosine) or -<center, x'> (ip) and factor = |x'|^2 / <x', code>, where x' is the vector minus the center.

export const HEADER: usize = 4096
/** No ordinal, no unit, no birth. */
export const NONE: u32 = 0xffffffff
/**
 * A list word from here on is not a neighbor: NONE ends a list, and otherwise the remaining bits are the ordinal of the row's leader or of
 * its first follower (hnsw/copies.ts).
 */
export const MARKED: u32 = 0x80000000
/** The death of a row that is not removed. */
export const ALIVE: u32 = 0xffffffff
/** A version as of which exactly the rows that are not removed are visible. */
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
export const INT4: i32 = 6
export const INT2: i32 = 7

// Shape, written once by the host.
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
const W_CENTER: usize = 16 << 2
const W_BLOCK_TABLE: usize = 17 << 2
const W_UNIT_TABLE: usize = 18 << 2
const W_SCRATCH_TABLE: usize = 19 << 2
const W_TOUCHED: usize = 20 << 2
const W_RULES: usize = 21 << 2
const W_FOLLOWERS: usize = 22 << 2
const W_LEADERS: usize = 23 << 2
const W_CLASSES: usize = 24 << 2
const W_CLASSES_MAX: usize = 25 << 2
const W_HEAD_TABLE: usize = 26 << 2
const W_PROJECTION: usize = 27 << 2

// State that a replay must reproduce.
/** All ordinals are below this. */
export const END: usize = HEADER + (32 << 2)
/** Number of live rows. */
export const ROWS: usize = HEADER + (33 << 2)
/** Removed rows that are still linked. */
export const DEAD: usize = HEADER + (34 << 2)
/** Number of nodes in the graph. */
export const LINKED: usize = HEADER + (35 << 2)
/** Ordinal of the entry point, NONE in an empty graph. */
export const ENTRY: usize = HEADER + (36 << 2)
/** Number of units assigned to nodes. */
export const UNITS: usize = HEADER + (37 << 2)
/** Nodes linked since the graph was last checked for unreachable rows; `unchecked` in docs/formats/arena.md. */
export const UNCHECKED: usize = HEADER + (38 << 2)
/** Whether every row has a head: then walks use them, and new rows get one. */
const HEADS: usize = HEADER + (39 << 2)

// State that is derived from lists and rows and is not stored on disk.
/** Number of rows whose bit in `followers` is set. */
export const FOLLOWER_COUNT: usize = HEADER + (40 << 2)
/** Slots of the table of equal rows, and slots in use. 0 slots: the table must be built. */
export const CLASS_SLOTS: usize = HEADER + (41 << 2)
export const CLASSES_USED: usize = HEADER + (42 << 2)
/**
 * Counter that is odd while followers move to another leader, and has another value afterwards. A reader compares it before and after,
 * because it may miss followers meanwhile.
 */
export const HANDOVERS: usize = HEADER + (43 << 2)

/** Two words: the expected distance of a query to its nearest row, f32, and the job after which it was computed (hnsw/lost.ts). */
export const EXPECTED_DISTANCE: usize = HEADER + (44 << 2)

// The job of the running apply.
/** Ticket numbers: the first after the phase, the first of the phase, and the next to take. */
export const JOB_LIMIT: usize = HEADER + (64 << 2)
export const JOB_BASE: usize = HEADER + (65 << 2)
export const JOB_KIND: usize = HEADER + (66 << 2)
export const JOB_NEXT: usize = HEADER + (67 << 2)
/** Number of finished tickets of all phases. */
export const JOB_DONE: usize = HEADER + (68 << 2)
/** Number of items that the host listed. */
export const JOB_COUNT: usize = HEADER + (69 << 2)
/** The sub-batch: positions of its first item and after its last. */
export const JOB_START: usize = HEADER + (70 << 2)
export const JOB_STOP: usize = HEADER + (71 << 2)
/** Address of the items, 12 bytes each, the ordinal first. */
export const JOB_ITEMS: usize = HEADER + (72 << 2)
/** Address of the copies of forward links, and the number of levels with space for one node. */
export const JOB_FORWARD: usize = HEADER + (73 << 2)
export const JOB_FORWARD_LEVELS: usize = HEADER + (74 << 2)
/** The items whose vectors are available: first and count. */
export const JOB_FIRST: usize = HEADER + (75 << 2)
export const JOB_ENCODABLE: usize = HEADER + (76 << 2)
/** Address of the order in which the nodes of a sub-batch are processed. */
export const JOB_ORDER: usize = HEADER + (79 << 2)
/** Items processed so far. Those that did not become a node of a sub-batch follow another row. */
export const JOB_TAKEN: usize = HEADER + (80 << 2)
/** Number of items after those listed by the host: rows that succeed leaders whose ordinals are reused. */
export const JOB_SUCCESSORS: usize = HEADER + (81 << 2)
/** The repair that follows the preparation of the table of equal rows: REPAIR, SWEEP, or IDLE. */
export const JOB_REPAIR: usize = HEADER + (82 << 2)
/** Whether the job ends with linking all its items. */
export const JOB_LINKS: usize = HEADER + (77 << 2)

export let dimension: i32 = 0
/** The dimension rounded up to 16. Vectors in scratch are padded to it with zeros. */
export let lanes: i32 = 0
/** Bytes of a code, a multiple of 16, and from one code to the next. */
export let codeBytes: usize = 0
export let codeStride: usize = 0
/** Neighbors at the levels above 0, at level 0 (2 M), and `ef` of a build. */
export let M: i32 = 0
export let M0: i32 = 0
export let efConstruction: i32 = 0
/** The values above: L2, IP, or COSINE; BINARY to INT2. */
export let metric: i32 = 0
export let precision: i32 = 0
/** Bytes of the cold part of a row. */
export let coldStride: usize = 0
/** Address of the center of the segment, f32 x lanes. */
export let center: usize = 0
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
/** One byte per ordinal: not 0 if a list of the node was written since the host cleared it. */
let touched: usize = 0
/** Version of the rules of the graph: from 2 on, rows that a walk cannot distinguish are one node; from 3 on, binary codes are rotated. */
export let rules: u32 = 0
/** Whether codes are those of rotated vectors: of 4 and 2 bits, and signs from rules 3 on. Keys are then estimates, and nothing is cold. */
export let rotated: bool = false
/** Bits per component of a packed code (distance/packed.ts), 4 or 2; 0 for other codes. */
export let packing: i32 = 0
/** Bitmaps, one bit per ordinal: rows that follow another, and rows that have followers. Derived from the lists. */
export let followers: usize = 0
export let leaders: usize = 0
/** Address and maximum number of slots of the table of equal rows. */
export let classes: usize = 0
export let classesMax: u32 = 0

let headTable: usize = 0
/** Address of the projection (heads/head.ts). */
export let projection: usize = 0
/** Whether every row has a head. */
export let hasHeads: bool = false

/** Reads the header into the globals of this instance. */
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
  center = load<u32>(HEADER, W_CENTER)
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
  packing = precision == INT4 ? 4 : precision == INT2 ? 2 : 0
  rotated = packing != 0 || (precision == BINARY && rules >= 3)
  followers = load<u32>(HEADER, W_FOLLOWERS)
  leaders = load<u32>(HEADER, W_LEADERS)
  classes = load<u32>(HEADER, W_CLASSES)
  classesMax = load<u32>(HEADER, W_CLASSES_MAX)
  headTable = load<u32>(HEADER, W_HEAD_TABLE)
  projection = load<u32>(HEADER, W_PROJECTION)
  hasHeads = atomic.load<u32>(HEADS) != 0
}

/** Marks that a list of the node was written. A snapshot that is being made copies the lists again. */
@inline
export function touch(id: u32): void {
  store<u8>(touched + <usize>id, 1)
}

/** Address of the scratch descriptor of one thread: 15 addresses or counts (scratch.ts), the pulse, and 2 more addresses, u32 each. */
export function scratchOf(thread: i32): usize {
  return load<u32>(scratchTable + (<usize>thread << 2))
}

/** Address of the block that contains the ordinal. */
@inline
export function blockOf(id: u32): usize {
  return load<u32>(blockTable + (<usize>(id >> blockShift) << 2))
}
/** Address of the code of the row, 16-byte aligned. */
@inline
export function rowOf(id: u32): usize {
  return blockOf(id) + <usize>(id & blockMask) * codeStride
}
/** The 16 bytes after the code of a row: a, factor, birth, death. */
@inline
export function tailOf(id: u32): usize {
  return rowOf(id) + codeBytes
}
/** Address of the head of the row. */
@inline
export function headOf(id: u32): usize {
  return <usize>load<u32>(headTable + (<usize>(id >> blockShift) << 2)) + (<usize>(id & blockMask) << 7)
}
/** Address of the word with the first unit of the node. */
@inline
export function upperOf(id: u32): usize {
  return blockOf(id) + inBlockUpper + (<usize>(id & blockMask) << 2)
}
/** Address of the length of the original vector, f32. */
@inline
export function normOf(id: u32): usize {
  return blockOf(id) + inBlockNorms + (<usize>(id & blockMask) << 2)
}
/** Address of the cold part of the row, 16-byte aligned. */
@inline
export function coldOf(id: u32): usize {
  return blockOf(id) + inBlockCold + <usize>(id & blockMask) * coldStride
}
/** Address of the list at level 0, M0 ordinals. */
@inline
export function baseLinksOf(id: u32): usize {
  return blockOf(id) + inBlockLinks + ((<usize>(id & blockMask) * <usize>M0) << 2)
}
/** Address of a unit: a list of M ordinals. */
@inline
export function unitOf(unit: u32): usize {
  return <usize>load<u32>(unitTable + (<usize>(unit >> unitShift) << 2)) + ((<usize>(unit & unitMask) * <usize>M) << 2)
}
/** Address of a list of the node; the node must reach that level. */
@inline
export function linksOf(id: u32, level: i32): usize {
  if (level == 0) return baseLinksOf(id)
  return unitOf(load<u32>(upperOf(id)) + <u32>(level - 1))
}
/** Number of words of a list at a level. */
@inline
export function degreeAt(level: i32): i32 {
  return level == 0 ? M0 : M
}
/** Number of neighbors that a list of the node can hold. The last word of a leader's list at level 0 is its first follower. */
export function degreeOf(id: u32, level: i32): i32 {
  if (level > 0) return M
  const last = load<u32>(baseLinksOf(id) + (<usize>(M0 - 1) << 2))
  return last >= MARKED && last != NONE ? M0 - 1 : M0
}

/** First unit for a node that needs `levels` units if `next` is free: the units of one node are never in two chunks. */
export function unitsFrom(next: u32, levels: u32): u32 {
  const room: u32 = (<u32>1 << unitShift) - (next & unitMask)
  return room < levels ? next + room : next
}

/**
 * Whether a search as of `version` must not return the row whose tail is at `tail`. The death is loaded first, because a row that reuses an
 * ordinal stores its birth first: with the new death, the new birth is loaded as well.
 */
@inline
export function hiddenAt(tail: usize, version: u32): bool {
  return atomic.load<u32>(tail, 12) <= version || atomic.load<u32>(tail, 8) > version
}
