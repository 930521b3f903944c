// Where everything stands in the memory of a sparse field. The host writes all of it but the results; addresses come in through
// the ticket of a search, so this module keeps nothing between calls. docs/formats/sparse.md draws the same picture.
//
//   versions   table of chunks of 2^14 ordinals; in a chunk per ordinal | birth u32 | death u32 |
//   directory  | blocks u32 | capacity u32 | largest magnitude f32 | - | address of a block u32 x capacity |
//   block      | count u32 | capacity u32 | last ordinal u32 | largest weight f32 | ordinal u32 x capacity | weight f32 x capacity |
//   ticket     the words below, then the lists, then scores, marks, order and best hits

export const VERSIONS: usize = 65536
export const CHUNK_SHIFT: u32 = 14
export const CHUNK_MASK: u32 = (1 << 14) - 1

/** Ordinals looked at together. */
export const WINDOW: u32 = 1024

// Words of a ticket; src/vector/sparse/query.ts has the same numbers.
export const LISTS: usize = 0 << 2
export const K: usize = 1 << 2
export const VERSION: usize = 2 << 2
export const ALLOWED: usize = 3 << 2
export const ALLOWED_BITS: usize = 4 << 2
export const LIST_AREA: usize = 5 << 2
export const SCORES: usize = 6 << 2
export const MARKS: usize = 7 << 2
export const ORDER: usize = 8 << 2
export const BEST: usize = 9 << 2
/** Two words, a double: turns a score back to what was asked. */
export const UNSCALE: usize = 10 << 2
// On the way out.
export const FOUND: usize = 12 << 2
export const SCORED: usize = 13 << 2
export const POSTINGS: usize = 14 << 2

// A list of a query, 64 bytes.
export const LIST_SHIFT: usize = 6
export const DIRECTORY: usize = 0
/** Blocks when the search began; later ones hold nothing that it may see. */
export const BLOCKS: usize = 4
/** The first block that reaches into the window. */
export const CURRENT: usize = 8
/** Where lookups inside the window have come to. */
export const PROBE: usize = 12
/** Weight of the query, scaled. */
export const WEIGHT: usize = 16
/** No visible posting of the list adds more. */
export const BOUND: usize = 24
/** No posting of the list inside the window adds more. */
export const WINDOW_BOUND: usize = 32
/** 1 where the list is not walked in the window. */
export const ASIDE: usize = 40
/** About how many postings of the list lie inside the window. */
export const EXPECTED: usize = 44

@inline
export function listAt(ticket: usize, i: i32): usize {
  return <usize>load<u32>(ticket, LIST_AREA) + ((<usize>i) << LIST_SHIFT)
}

@inline
export function blockOf(directory: usize, i: u32): usize {
  return <usize>atomic.load<u32>(directory + (<usize>i << 2), 16)
}
@inline
export function lastOf(block: usize): u32 {
  return load<u32>(block, 8)
}
@inline
export function largestOf(block: usize): f32 {
  return load<f32>(block, 12)
}
@inline
export function ordinalsOf(block: usize): usize {
  return block + 16
}
@inline
export function weightsOf(block: usize): usize {
  return block + 16 + (<usize>load<u32>(block, 4) << 2)
}

/** True where a search as of `version` must not return the ordinal. */
@inline
export function hiddenAt(id: u32, version: u32): bool {
  const at = <usize>load<u32>(VERSIONS + (<usize>(id >> CHUNK_SHIFT) << 2)) + (<usize>(id & CHUNK_MASK) << 3)
  // Death first: who reuses an ordinal writes the birth first, so a death that is not over yet comes with the new birth.
  if (atomic.load<u32>(at, 4) <= version) return true
  return atomic.load<u32>(at) > version
}

/** Index of the first of `count` ascending ordinals that is not below `id`. */
export function placeOf(ordinals: usize, count: u32, id: u32): u32 {
  let below: u32 = 0
  let above = count
  while (below < above) {
    const middle = (below + above) >> 1
    if (load<u32>(ordinals + (<usize>middle << 2)) < id) below = middle + 1
    else above = middle
  }
  return below
}
