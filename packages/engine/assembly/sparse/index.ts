// The kernel of sparse and text fields: finds the exact k best rows by dot product, or texts by counts of their terms. Ordinals are processed in
// windows. The blocks of each list bound what the list can add inside a window. Lists that together cannot raise a row into the best k are not
// scanned; they are only probed for the rows that other lists contain (MaxScore, Turtle and Flood 1995, with bounds by block as in block-max
// indexes). A window in which no row can enter the best k is skipped.
//
// Scores are integers: weights are scaled by a power of two, so sums are exact and do not depend on the order of lists.
//
// The code is compiled twice: for weights, and for texts (impact.ts). Texts with required terms are searched by driven.ts.
import { NONE, isAllowed, nextAllowed } from './allowed'
import { addHit, replaceWorst, sortHits } from './best'
import { impactBound, impactOf } from './impact'
import {
  ALLOWED, ALLOWED_BITS, BASE, PROBED_ONLY, BEST, BLOCKS, BOUND, CURRENT, DIRECTORY, EXPECTED, FORM, FOUND, K, LISTS, MARKS, ORDER, POSTINGS, PROBE,
  REQUIRED, SCORED, SCORES, SLOPE, UNSCALE, VERSION, WEIGHT, WINDOW, WINDOW_BOUND, blockOf, hiddenAt, largestBitsOf, largestOf, lastOf, listAt,
  ordinalsOf, lowerBound, weightsOf,
} from './layout'
import { searchDriven } from './driven'

/** Version of the interface between host and kernel; src/vector/sparse/kernel.ts has the same number. */
export const abi: i32 = 3

/**
 * Answers the query of a descriptor (layout.ts): writes at most k hits to its area of best hits, 16 bytes each, as | ordinal u32 | similarity
 * f32 | ..., best first, and the counts of hits, scored rows, and postings read to the descriptor.
 */
export function search(descriptor: usize): void {
  if (load<u32>(descriptor, FORM) == 0) searchWindows(descriptor, false)
  else if (load<u32>(descriptor, FORM) == 1) searchWindows(descriptor, true)
  else searchDriven(descriptor)
}

@inline
function searchWindows(descriptor: usize, isText: bool): void {
  const lists = load<i32>(descriptor, LISTS)
  const k = load<u32>(descriptor, K)
  const version = load<u32>(descriptor, VERSION)
  const allowed: usize = load<u32>(descriptor, ALLOWED)
  const allowedBits = load<u32>(descriptor, ALLOWED_BITS)
  const scores: usize = load<u32>(descriptor, SCORES)
  const marks: usize = load<u32>(descriptor, MARKS)
  const order: usize = load<u32>(descriptor, ORDER)
  const best: usize = load<u32>(descriptor, BEST)
  const base: f64 = isText ? load<f64>(descriptor, BASE) : 0
  const slope: f64 = isText ? load<f64>(descriptor, SLOPE) : 0
  let found: u32 = 0
  let scored: u32 = 0
  let postings: u32 = 0
  memory.fill(scores, 0, <usize>WINDOW << 3)
  memory.fill(marks, 0, <usize>WINDOW >> 3)
  let low: u32 = 0
  for (;;) {
    low = nextOrdinal(descriptor, lists, low)
    if (low == NONE) break
    if (allowed != 0) {
      const nextOpen = nextAllowed(allowed, allowedBits, low)
      if (nextOpen == NONE) break
      if (nextOpen != low) {
        low = nextOpen
        continue
      }
    }
    const high = low + WINDOW
    const threshold: i64 = found == k ? load<i64>(best) : i64.MIN_VALUE
    boundLists(descriptor, lists, low, high, base, slope, isText)
    // Selects the lists that are only probed: together they cannot raise a row above the worst of the best k. They are in the order of
    // their bounds.
    let probedCount: i32 = 0
    let probedBound: i64 = 0
    let scanned: u32 = 0
    if (found == k) {
      for (let i: i32 = 0; i < lists; ++i) {
        const list = listAt(descriptor, i)
        const bound = load<i64>(list, WINDOW_BOUND)
        if (probedBound + bound > threshold) continue
        probedBound += bound
        store<u32>(list, load<u32>(list, CURRENT), PROBE)
        store<u32>(order + (<usize>probedCount << 2), i)
        probedCount++
        store<u32>(list, 1, PROBED_ONLY)
      }
    }
    if (probedCount < lists) {
      for (let i: i32 = 0; i < lists; ++i) {
        const list = listAt(descriptor, i)
        if (load<u32>(list, PROBED_ONLY) == 0) scanned += scanList(list, low, high, scores, marks, base, slope, isText, false)
      }
    }
    if (scanned > 0) {
      postings += scanned
      let rest = probedBound
      for (let i = probedCount - 1; i >= 0; --i) {
        const left = pruneMarks(scores, marks, threshold, rest)
        if (left == 0) break
        const list = listAt(descriptor, load<i32>(order + (<usize>i << 2)))
        rest -= load<i64>(list, WINDOW_BOUND)
        // Probing a list for a row takes as long as scanning twelve postings.
        if (load<u32>(list, EXPECTED) < left * 12) postings += scanList(list, low, high, scores, marks, base, slope, isText, true)
        else probeMarked(list, low, scores, marks, base, slope, isText)
      }
      for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
        let bits = load<u64>(marks + (word << 3))
        if (bits == 0) continue
        store<u64>(marks + (word << 3), 0)
        for (; bits != 0; bits &= bits - 1) {
          const offset = (<u32>word << 6) + <u32>ctz(bits)
          const score = load<i64>(scores + (<usize>offset << 3))
          store<i64>(scores + (<usize>offset << 3), 0)
          scored++
          if (found == k && score <= load<i64>(best)) continue
          const id = low + offset
          if (allowed != 0 && !isAllowed(allowed, allowedBits, id)) continue
          if (hiddenAt(id, version)) continue
          if (found < k) addHit(best, found++, score, id)
          else replaceWorst(best, k, score, id)
        }
      }
    }
    low = high
  }
  sortHits(best, found)
  const unscale = load<f64>(descriptor, UNSCALE)
  for (let i: u32 = 0; i < found; ++i) {
    const hit = best + (<usize>i << 4)
    const similarity = <f32>(<f64>load<i64>(hit) * unscale)
    store<u32>(hit, load<u32>(hit, 8))
    store<f32>(hit, similarity, 4)
  }
  store<u32>(descriptor, found, FOUND)
  store<u32>(descriptor, scored, SCORED)
  store<u32>(descriptor, postings, POSTINGS)
}

/** Moves every list to the block that reaches `low`. Returns the lowest ordinal at or after `low` that any list contains. */
function nextOrdinal(descriptor: usize, lists: i32, low: u32): u32 {
  let next = NONE
  for (let i: i32 = 0; i < lists; ++i) {
    const list = listAt(descriptor, i)
    const directory: usize = load<u32>(list, DIRECTORY)
    const blocks = load<u32>(list, BLOCKS)
    let current = load<u32>(list, CURRENT)
    while (current < blocks && lastOf(blockOf(directory, current)) < low) current++
    store<u32>(list, current, CURRENT)
    if (current == blocks) continue
    const first = max(low, load<u32>(ordinalsOf(blockOf(directory, current))))
    if (first < next) next = first
  }
  return next
}

/** Computes the most that each list adds to a row of the window; 0 if it has no posting there. */
@inline
function boundLists(descriptor: usize, lists: i32, low: u32, high: u32, base: f64, slope: f64, isText: bool): void {
  for (let i: i32 = 0; i < lists; ++i) {
    const list = listAt(descriptor, i)
    store<i64>(list, boundOf(list, low, high, base, slope, isText), WINDOW_BOUND)
    store<u32>(list, 0, PROBED_ONLY)
  }
}

@inline
function boundOf(list: usize, low: u32, high: u32, base: f64, slope: f64, isText: bool): i64 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let largest: f32 = 0
  let impact: i64 = 0
  let expected: f32 = 0
  for (let b = load<u32>(list, CURRENT); b < blocks; ++b) {
    const block = blockOf(directory, b)
    const first = load<u32>(ordinalsOf(block))
    if (first >= high) break
    if (isText) impact = max(impact, impactBound(largestBitsOf(block), load<f64>(list, WEIGHT), base, slope))
    else largest = max(largest, largestOf(block))
    const last = lastOf(block)
    const inside = min(last + 1, high) - max(first, low)
    expected += (<f32>load<u32>(block) * <f32>inside) / <f32>(last + 1 - first)
  }
  store<u32>(list, <u32>expected + 1, EXPECTED)
  if (isText) return min(impact, load<i64>(list, BOUND))
  if (largest <= 0) return 0
  // Newer rows, which this search does not see, may have raised the bound of the block above what the score can hold. The bound of the list
  // still applies.
  return min(<i64>(<f64>largest * load<f64>(list, WEIGHT)) + 1, load<i64>(list, BOUND))
}

/**
 * Adds the postings of the list inside the window to the scores: of all rows, which it marks, or of marked rows only. Returns the number of
 * postings read.
 */
@inline
function scanList(
  list: usize,
  low: u32,
  high: u32,
  scores: usize,
  marks: usize,
  base: f64,
  slope: f64,
  isText: bool,
  markedOnly: bool,
): u32 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  const weight = load<f64>(list, WEIGHT)
  let scanned: u32 = 0
  for (let b = load<u32>(list, CURRENT); b < blocks; ++b) {
    const block = blockOf(directory, b)
    const ordinals = ordinalsOf(block)
    const first = load<u32>(ordinals)
    if (first >= high) break
    const count = atomic.load<u32>(block)
    const weights = weightsOf(block)
    let i: u32 = first < low ? lowerBound(ordinals, count, low) : 0
    for (; i < count; ++i) {
      const id = load<u32>(ordinals + (<usize>i << 2))
      // Later blocks start at higher ordinals.
      if (id >= high) break
      scanned++
      const offset = <usize>(id - low)
      const mark = marks + (offset >> 3)
      const bit = <u8>1 << <u8>(offset & 7)
      if (!markedOnly) store<u8>(mark, load<u8>(mark) | bit)
      else if ((load<u8>(mark) & bit) == 0) continue
      const place = scores + (offset << 3)
      store<i64>(place, load<i64>(place) + addedBy(weights + (<usize>i << 2), weight, base, slope, isText))
    }
  }
  return scanned
}

/** What the posting with the weight at an address adds to the score of its row. */
@inline
function addedBy(address: usize, weight: f64, base: f64, slope: f64, isText: bool): i64 {
  if (isText) return impactOf(load<u32>(address), weight, base, slope)
  return <i64>(<f64>load<f32>(address) * weight)
}

/** Keeps the marks of rows that `rest` could raise above `threshold`, and clears the others. Returns the number of marks left. */
function pruneMarks(scores: usize, marks: usize, threshold: i64, rest: i64): u32 {
  let left: u32 = 0
  for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
    const bits = load<u64>(marks + (word << 3))
    if (bits == 0) continue
    let kept = bits
    for (let openBits = bits; openBits != 0; openBits &= openBits - 1) {
      const place = scores + (((word << 6) + <usize>ctz(openBits)) << 3)
      if (load<i64>(place) + rest > threshold) continue
      kept &= ~(openBits & (0 - openBits))
      store<i64>(place, 0)
    }
    if (kept != bits) store<u64>(marks + (word << 3), kept)
    left += <u32>popcnt(kept)
  }
  return left
}

/** Adds the postings of the list for the marked rows, by probing. */
@inline
function probeMarked(
  list: usize,
  low: u32,
  scores: usize,
  marks: usize,
  base: f64,
  slope: f64,
  isText: bool,
): void {
  for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
    for (let bits = load<u64>(marks + (word << 3)); bits != 0; bits &= bits - 1) {
      const offset = (<u32>word << 6) + <u32>ctz(bits)
      const place = scores + (<usize>offset << 3)
      store<i64>(place, load<i64>(place) + probeList(list, low + offset, base, slope, isText))
    }
  }
}

/** The score that the list adds to a row. Rows must be probed in ascending order. */
@inline
function probeList(list: usize, id: u32, base: f64, slope: f64, isText: bool): i64 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let probe = load<u32>(list, PROBE)
  while (probe < blocks && lastOf(blockOf(directory, probe)) < id) probe++
  store<u32>(list, probe, PROBE)
  if (probe == blocks) return 0
  const block = blockOf(directory, probe)
  const ordinals = ordinalsOf(block)
  const count = atomic.load<u32>(block)
  const offset = lowerBound(ordinals, count, id)
  if (offset == count || load<u32>(ordinals + (<usize>offset << 2)) != id) return 0
  return addedBy(weightsOf(block) + (<usize>offset << 2), load<f64>(list, WEIGHT), base, slope, isText)
}
