// The layout of the memory of a sparse field. The host writes everything except the results. Addresses are passed in the descriptor of a
// search, so this module keeps no state between calls. docs/formats/sparse.md has the same description.
//
//   versions   table of chunks of 2^14 ordinals; in a chunk for each ordinal | birth u32 | death u32 |
//   directory  | blocks u32 | capacity u32 | largest magnitude f32 | live rows, 4 words | address of a block u32 x capacity |
//   block      | count u32 | capacity u32 | last ordinal u32 | largest weight f32 | ordinal u32 x capacity | weight f32 x capacity |
//   descriptor the words below, then the lists, then scores, marks, order, map and best hits
//
// In a text field, a weight has a count and a length in its bits (impact.ts), and the word of the largest weight of a block or directory has the
// largest count and the smallest length.

/** Address of the table of version chunks. */
export const VERSIONS: usize = 65536
export const CHUNK_SHIFT: u32 = 14
export const CHUNK_MASK: u32 = (1 << 14) - 1

/** Ordinals that are processed together. */
export const WINDOW: u32 = 1024

// Words of a descriptor, u32 unless stated; src/vector/sparse/query.ts has the same numbers.
/** Number of lists. */
export const LISTS: usize = 0 << 2
/** Maximum number of hits. */
export const K: usize = 1 << 2
/** The search sees the field as of this version. */
export const VERSION: usize = 2 << 2
/** Address of the bitmap of allowed ordinals, 0 for all. */
export const ALLOWED: usize = 3 << 2
/** Ordinals from here on are not in the bitmap. */
export const ALLOWED_BITS: usize = 4 << 2
/** Address of the lists. */
export const LIST_AREA: usize = 5 << 2
/** Address of the scores of a window, i64 each. */
export const SCORES: usize = 6 << 2
/** Address of the bitmap of rows of a window with a score. */
export const MARKS: usize = 7 << 2
/** Address of the indexes of the lists that are only probed, u32 each. */
export const ORDER: usize = 8 << 2
/** Address of the best hits. */
export const BEST: usize = 9 << 2
/** Two words, f64: converts a score to a similarity. */
export const UNSCALE: usize = 10 << 2
// Results.
/** Number of hits. */
export const FOUND: usize = 12 << 2
/** Number of rows with a score. */
export const SCORED: usize = 13 << 2
/** Number of postings read. */
export const POSTINGS: usize = 14 << 2

/** 0: weights of a dot product. 1: texts, by windows. 2: texts, by drivers. */
export const FORM: usize = 15 << 2
// Only for texts.
/** Two words, f64: see impact.ts. */
export const BASE: usize = 16 << 2
/** Two words, f64: see impact.ts. */
export const SLOPE: usize = 18 << 2
/** Number of lists, from the first, of which every hit is in all. */
export const REQUIRED: usize = 20 << 2
/** Address of a map of 2^14 bytes, if two or more lists are required. Its bytes may be anything when the search starts. */
export const MAP: usize = 21 << 2
export const MAP_SHIFT: u32 = 14

// A list of a query, 64 bytes.
export const LIST_SHIFT: usize = 6
/** Address of the directory of the list. */
export const DIRECTORY: usize = 0
/** Number of blocks when the search started. Later blocks contain nothing that it may see. */
export const BLOCKS: usize = 4
/** The first block that reaches into the window. */
export const CURRENT: usize = 8
/** The block at which probing inside the window continues. */
export const PROBE: usize = 12
/** Scaled weight of the query, f64. */
export const WEIGHT: usize = 16
/** Upper bound, i64, of what a visible posting of the list adds. */
export const BOUND: usize = 24
/** Upper bound, i64, of what a posting of the list inside the window adds. */
export const WINDOW_BOUND: usize = 32
/** 1 if the list is only probed in the window. */
export const PROBED_ONLY: usize = 40
/** Estimated number of postings of the list inside the window. */
export const EXPECTED: usize = 44

/** Upper bound, i64, of what the lists after this one add. */
export const REST: usize = 48

/** Address of the i-th list of a descriptor. */
@inline
export function listAt(descriptor: usize, i: i32): usize {
  return <usize>load<u32>(descriptor, LIST_AREA) + ((<usize>i) << LIST_SHIFT)
}

/** Address of the i-th block of a directory. */
@inline
export function blockOf(directory: usize, i: u32): usize {
  return <usize>atomic.load<u32>(directory + (<usize>i << 2), 28)
}
/** The last ordinal of a block. */
@inline
export function lastOf(block: usize): u32 {
  return load<u32>(block, 8)
}
/** The largest weight of a block. */
@inline
export function largestOf(block: usize): f32 {
  return load<f32>(block, 12)
}
/** The largest count and the smallest length of a block of texts. */
@inline
export function largestBitsOf(block: usize): u32 {
  return load<u32>(block, 12)
}
/** Address of the ordinals of a block, ascending, u32 each. */
@inline
export function ordinalsOf(block: usize): usize {
  return block + 16
}
/** Address of the weights of a block, f32 each. */
@inline
export function weightsOf(block: usize): usize {
  return block + 16 + (<usize>load<u32>(block, 4) << 2)
}

/** Whether a search as of `version` must not return the ordinal. */
@inline
export function hiddenAt(id: u32, version: u32): bool {
  const address = <usize>load<u32>(VERSIONS + (<usize>(id >> CHUNK_SHIFT) << 2)) + (<usize>(id & CHUNK_MASK) << 3)
  // The death is read first. When an ordinal is reused, the birth is written first, so a reader that sees the new death also sees the new
  // birth.
  if (atomic.load<u32>(address, 4) <= version) return true
  return atomic.load<u32>(address) > version
}

/** Index of the first of `count` ascending ordinals that is not below `id`. */
export function lowerBound(ordinals: usize, count: u32, id: u32): u32 {
  let below: u32 = 0
  let above = count
  while (below < above) {
    const middle = (below + above) >> 1
    if (load<u32>(ordinals + (<usize>middle << 2)) < id) below = middle + 1
    else above = middle
  }
  return below
}
