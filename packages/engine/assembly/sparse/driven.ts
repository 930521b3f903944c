// Finds the k best texts of which one list, the driver, has all. The rows of one of its blocks at a time are candidates. Other required lists
// reduce them, one after another, and lists of optional terms add to their scores. Postings that no candidate needs are skipped. A block whose
// rows cannot enter the best k is skipped, too, and a candidate is dropped as soon as it cannot.
//
// If terms are required, the shortest of their lists is the driver. Otherwise the lists are drivers one after another, the one that can add most
// first: each finds the texts that no earlier list has. This ends as soon as the remaining lists together cannot add enough.
import { addHit, replaceWorst, sortHits } from './best'
import { anyAllowed, isAllowed } from './allowed'
import { COUNT_SHIFT, LENGTH_MASK, impactBound, impactOf, storeImpacts } from './impact'
import {
  ALLOWED, ALLOWED_BITS, BASE, BEST, BLOCKS, BOUND, CURRENT, DIRECTORY, FOUND, K, LISTS, MAP, MAP_SHIFT, POSTINGS, PROBE, REQUIRED, REST, SCORED,
  SCORES, SLOPE, UNSCALE, VERSION, WEIGHT, blockOf, hiddenAt, largestBitsOf, lastOf, listAt, lowerBound, ordinalsOf, weightsOf,
} from './layout'

// Parts of the area of scores, which has space for 1,024 scores: candidates and matches of one block, and one more of each, which is written but
// not counted.
/** Ordinals of the candidates, u32 each. */
const IDS: usize = 0
/** Their scores so far, i64 each. */
const SUMS: usize = 1024
/** Places, plus 1, of candidates that the second list has, u8 each. */
const PLACES: usize = 2560
/** Addresses of the weights of the second list there, u32 each. */
const MET_AT: usize = 3072
/** Weights of the candidates in the driver, u32 each. */
const KEPT: usize = 4096

/** For each set of four words, the order of bytes that moves its words to the front. */
const ORDERS: usize = memory.data<u8>([
  255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  4, 5, 6, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 4, 5, 6, 7, 255, 255, 255, 255, 255, 255, 255, 255,
  8, 9, 10, 11, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 8, 9, 10, 11, 255, 255, 255, 255, 255, 255, 255, 255,
  4, 5, 6, 7, 8, 9, 10, 11, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255, 255, 255, 255,
  12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255,
  4, 5, 6, 7, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 255, 255, 255, 255,
  8, 9, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255,
  0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255,
  4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
], 16)

/** Looking a candidate up takes as long as reading this many postings. */
const LOOKUP_POSTINGS: u32 = 8
/** Postings that a block usually has. */
const BLOCK_POSTINGS: f32 = 112
const MAP_BYTES: u32 = 1 << MAP_SHIFT

export function searchDriven(descriptor: usize): void {
  const lists = load<i32>(descriptor, LISTS)
  const required = load<i32>(descriptor, REQUIRED)
  const k = load<u32>(descriptor, K)
  const best: usize = load<u32>(descriptor, BEST)
  store<u32>(descriptor, 0, FOUND)
  store<u32>(descriptor, 0, SCORED)
  store<u32>(descriptor, 0, POSTINGS)
  // What the lists after each one can add.
  let rest: i64 = 0
  for (let i = lists - 1; i >= 0; --i) {
    store<i64>(listAt(descriptor, i), rest, REST)
    rest += load<i64>(listAt(descriptor, i), BOUND)
  }
  if (required > 0) drive(descriptor, 0)
  else {
    for (let i = 0; i < lists; ++i) {
      const list = listAt(descriptor, i)
      // A text of a later driver wins a tie if its ordinal is lower.
      if (load<u32>(descriptor, FOUND) == k && load<i64>(list, REST) + load<i64>(list, BOUND) < load<i64>(best)) break
      for (let j = 0; j < lists; ++j) store<u32>(listAt(descriptor, j), 0, PROBE)
      drive(descriptor, i)
    }
  }
  const found = load<u32>(descriptor, FOUND)
  sortHits(best, found)
  const unscale = load<f64>(descriptor, UNSCALE)
  for (let i: u32 = 0; i < found; ++i) {
    const hit = best + (<usize>i << 4)
    const similarity = <f32>(<f64>load<i64>(hit) * unscale)
    store<u32>(hit, load<u32>(hit, 8))
    store<f32>(hit, similarity, 4)
  }
}

/** Adds the texts of the list to the hits, except for those of earlier lists. */
function drive(descriptor: usize, number: i32): void {
  const lists = load<i32>(descriptor, LISTS)
  const required = load<i32>(descriptor, REQUIRED)
  const k = load<u32>(descriptor, K)
  const version = load<u32>(descriptor, VERSION)
  const allowed: usize = load<u32>(descriptor, ALLOWED)
  const allowedBits = load<u32>(descriptor, ALLOWED_BITS)
  const scores: usize = load<u32>(descriptor, SCORES)
  const best: usize = load<u32>(descriptor, BEST)
  const base = load<f64>(descriptor, BASE)
  const slope = load<f64>(descriptor, SLOPE)
  const driver = listAt(descriptor, number)
  const directory: usize = load<u32>(driver, DIRECTORY)
  const blocks = load<u32>(driver, BLOCKS)
  const weight = load<f64>(driver, WEIGHT)
  const others = load<i64>(driver, REST)
  // About as many of the second list stand in the range of a block, if it can be read in whole.
  let secondPostings: u32 = 0xffffffff
  if (required > 1) {
    memory.fill(load<u32>(descriptor, MAP), 0, <usize>MAP_BYTES)
    secondPostings = <u32>min<f32>((<f32>load<u32>(listAt(descriptor, 1), BLOCKS) / <f32>blocks) * BLOCK_POSTINGS, 1_000_000)
  }
  let found = load<u32>(descriptor, FOUND)
  let scored = load<u32>(descriptor, SCORED)
  let postings = load<u32>(descriptor, POSTINGS)
  for (let b: u32 = 0; b < blocks; ++b) {
    const block = blockOf(directory, b)
    // A score that is needed must be above it. Ordinals of the first driver ascend, so a later one never wins a tie.
    const threshold: i64 = found == k ? load<i64>(best) - i64(number > 0) : i64.MIN_VALUE
    if (found == k && impactBound(largestBitsOf(block), weight, base, slope) + others <= threshold) continue
    const count = atomic.load<u32>(block)
    const ordinals = ordinalsOf(block)
    const first = load<u32>(ordinals)
    const last = load<u32>(ordinals + (<usize>(count - 1) << 2))
    if (allowed != 0 && !anyAllowed(allowed, allowedBits, first, last)) continue
    postings += count
    let left: u32 = 0
    const least = threshold - others
    if (found < k || least < 0) left = takeAll(scores, block, count, weight, base, slope)
    else left = takeAbove(scores, block, count, weight, base, slope, least)
    if (allowed != 0) left = keepAllowed(scores, left, allowed, allowedBits)
    if (left == 0) continue
    let next = number + 1
    if (left * LOOKUP_POSTINGS > secondPostings && last - first < MAP_BYTES) {
      postings += secondPostings
      left = meetSecond(descriptor, left, base, slope, found == k, threshold)
      next++
    }
    for (; next < lists && left > 0; ++next) {
      postings += left
      left = addList(listAt(descriptor, next), scores, left, base, slope, next < required, found == k, threshold)
    }
    for (let earlier = 0; earlier < number && left > 0; ++earlier) {
      postings += left
      left = dropList(listAt(descriptor, earlier), scores, left)
    }
    scored += left
    for (let i: u32 = 0; i < left; ++i) {
      const score = load<i64>(scores + SUMS + (<usize>i << 3))
      const id = load<u32>(scores + IDS + (<usize>i << 2))
      if (found == k && (score < load<i64>(best) || (score == load<i64>(best) && id > load<u32>(best, 8)))) continue
      if (hiddenAt(id, version)) continue
      if (found < k) addHit(best, found++, score, id)
      else replaceWorst(best, k, score, id)
    }
  }
  store<u32>(descriptor, found, FOUND)
  store<u32>(descriptor, scored, SCORED)
  store<u32>(descriptor, postings, POSTINGS)
}

/** Makes all rows of a block candidates, and returns how many there are. */
function takeAll(scores: usize, block: usize, count: u32, weight: f64, base: f64, slope: f64): u32 {
  storeImpacts(weightsOf(block), count, weight, base, slope, scores + SUMS)
  memory.copy(scores + IDS, ordinalsOf(block), <usize>count << 2)
  return count
}

/**
 * Makes the rows of a block candidates, except for most of those whose score is not above `least`, and returns how many there are. Four at a time
 * are compared without a division, count * (1 - share) > share * (base + slope * length), by floats, whose error is far less than the margin.
 */
function takeAbove(scores: usize, block: usize, count: u32, weight: f64, base: f64, slope: f64, least: i64): u32 {
  if (weight == 0) return 0
  const share = <f64>least / weight
  if (share > 1.000001) return 0
  const counted = f32x4.splat(<f32>((1 - share) * 1.000002 + 0.000000001))
  const bases = f32x4.splat(<f32>(share * base))
  const slopes = f32x4.splat(<f32>(share * slope))
  const mask = i32x4.splat(LENGTH_MASK)
  const ordinals = ordinalsOf(block)
  const postings = weightsOf(block)
  const ids = scores + IDS
  const kept = scores + KEPT
  let left: u32 = 0
  let i: u32 = 0
  for (; i + 4 <= count; i += 4) {
    const bits = v128.load(postings + (<usize>i << 2))
    const counts = f32x4.convert_i32x4_u(i32x4.shr_u(bits, COUNT_SHIFT))
    const lengths = f32x4.convert_i32x4_u(v128.and(bits, mask))
    const above = i32x4.bitmask(f32x4.gt(f32x4.mul(counts, counted), f32x4.add(bases, f32x4.mul(slopes, lengths))))
    if (above == 0) continue
    const order = v128.load(ORDERS + (<usize>above << 4))
    v128.store(ids + (<usize>left << 2), i8x16.swizzle(v128.load(ordinals + (<usize>i << 2)), order))
    v128.store(kept + (<usize>left << 2), i8x16.swizzle(bits, order))
    left += <u32>popcnt(above)
  }
  // Nothing is read beyond the end of a block.
  for (; i < count; ++i) {
    store<u32>(ids + (<usize>left << 2), load<u32>(ordinals + (<usize>i << 2)))
    store<u32>(kept + (<usize>left << 2), load<u32>(postings + (<usize>i << 2)))
    left++
  }
  storeImpacts(kept, left, weight, base, slope, scores + SUMS)
  return left
}

/**
 * Adds the second list to the scores of the candidates, and returns how many are left: those that it has, and that can be hits. It is read in the
 * range of the candidates. The map has the place of each candidate by the distance of its ordinal from the first one, so that no posting takes a
 * branch.
 */
function meetSecond(descriptor: usize, count: u32, base: f64, slope: f64, isFull: bool, threshold: i64): u32 {
  const list = listAt(descriptor, 1)
  const scores: usize = load<u32>(descriptor, SCORES)
  const map: usize = load<u32>(descriptor, MAP)
  const ids = scores + IDS
  const first = load<u32>(ids)
  const last = load<u32>(ids + (<usize>(count - 1) << 2))
  for (let i: u32 = 0; i < count; ++i) store<u8>(map + <usize>(load<u32>(ids + (<usize>i << 2)) - first), <u8>(i + 1))
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let b = skipBlocks(directory, blocks, load<u32>(list, PROBE), first)
  store<u32>(list, b, PROBE)
  let met: u32 = 0
  for (; b < blocks; ++b) {
    const block = blockOf(directory, b)
    const size = atomic.load<u32>(block)
    const ordinals = ordinalsOf(block)
    const start = load<u32>(ordinals)
    if (start > last) break
    // The next candidates may begin in this block.
    store<u32>(list, b, PROBE)
    const from = start < first ? lowerBound(ordinals, size, first) : 0
    const to = load<u32>(ordinals + (<usize>(size - 1) << 2)) <= last ? size : lowerBound(ordinals, size, last + 1)
    const weights = weightsOf(block)
    for (let i = from; i < to; ++i) {
      const place = load<u8>(map + <usize>(load<u32>(ordinals + (<usize>i << 2)) - first))
      store<u8>(scores + PLACES + <usize>met, place)
      store<u32>(scores + MET_AT + (<usize>met << 2), <u32>(weights + (<usize>i << 2)))
      met += <u32>(place != 0)
    }
  }
  for (let i: u32 = 0; i < count; ++i) store<u8>(map + <usize>(load<u32>(ids + (<usize>i << 2)) - first), 0)
  const weight = load<f64>(list, WEIGHT)
  const least = isFull ? threshold - load<i64>(list, REST) : i64.MIN_VALUE
  let left: u32 = 0
  for (let i: u32 = 0; i < met; ++i) {
    const place = <usize>(load<u8>(scores + PLACES + <usize>i) - 1)
    const added = impactOf(load<u32>(<usize>load<u32>(scores + MET_AT + (<usize>i << 2))), weight, base, slope)
    const score = load<i64>(scores + SUMS + (place << 3)) + added
    // Not before the place: candidates that were not met leave gaps.
    store<u32>(ids + (<usize>left << 2), load<u32>(ids + (place << 2)))
    store<i64>(scores + SUMS + (<usize>left << 3), score)
    left += <u32>(score > least)
  }
  return left
}

/** Keeps the candidates that the bitmap allows, and returns how many there are. */
function keepAllowed(scores: usize, count: u32, allowed: usize, bits: u32): u32 {
  let left: u32 = 0
  for (let i: u32 = 0; i < count; ++i) {
    const id = load<u32>(scores + IDS + (<usize>i << 2))
    const score = load<i64>(scores + SUMS + (<usize>i << 3))
    store<u32>(scores + IDS + (<usize>left << 2), id)
    store<i64>(scores + SUMS + (<usize>left << 3), score)
    left += <u32>isAllowed(allowed, bits, id)
  }
  return left
}

/** Adds a list to the scores of the candidates. Returns how many are left: those that have its term, if it is required, and can be hits. */
function addList(
  list: usize,
  scores: usize,
  count: u32,
  base: f64,
  slope: f64,
  isRequired: bool,
  isFull: bool,
  threshold: i64,
): u32 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  const weight = load<f64>(list, WEIGHT)
  const rest = load<i64>(list, REST)
  let probe = load<u32>(list, PROBE)
  let left: u32 = 0
  for (let i: u32 = 0; i < count; ++i) {
    const id = load<u32>(scores + IDS + (<usize>i << 2))
    let score = load<i64>(scores + SUMS + (<usize>i << 3))
    probe = skipBlocks(directory, blocks, probe, id)
    let has = false
    if (probe < blocks) {
      const block = blockOf(directory, probe)
      const ordinals = ordinalsOf(block)
      const place = lastUpTo(ordinals, atomic.load<u32>(block), id)
      has = load<u32>(ordinals + (<usize>place << 2)) == id
      if (has) score += impactOf(load<u32>(weightsOf(block) + (<usize>place << 2)), weight, base, slope)
    }
    if (isRequired && !has) continue
    if (isFull && score + rest <= threshold) continue
    store<u32>(scores + IDS + (<usize>left << 2), id)
    store<i64>(scores + SUMS + (<usize>left << 3), score)
    left++
  }
  store<u32>(list, probe, PROBE)
  return left
}

/** Keeps the candidates that the list does not have, and returns how many there are. */
function dropList(list: usize, scores: usize, count: u32): u32 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let probe = load<u32>(list, PROBE)
  let left: u32 = 0
  for (let i: u32 = 0; i < count; ++i) {
    const id = load<u32>(scores + IDS + (<usize>i << 2))
    probe = skipBlocks(directory, blocks, probe, id)
    if (probe < blocks) {
      const block = blockOf(directory, probe)
      const ordinals = ordinalsOf(block)
      if (load<u32>(ordinals + (<usize>lastUpTo(ordinals, atomic.load<u32>(block), id) << 2)) == id) continue
    }
    const score = load<i64>(scores + SUMS + (<usize>i << 3))
    store<u32>(scores + IDS + (<usize>left << 2), id)
    store<i64>(scores + SUMS + (<usize>left << 3), score)
    left++
  }
  store<u32>(list, probe, PROBE)
  return left
}

/** The first block from `from` on that does not end before the ordinal, or `blocks`. Looks at blocks farther and farther away. */
function skipBlocks(directory: usize, blocks: u32, from: u32, id: u32): u32 {
  if (from >= blocks || lastOf(blockOf(directory, from)) >= id) return from
  let below = from
  let step: u32 = 1
  while (below + step < blocks && lastOf(blockOf(directory, below + step)) < id) {
    below += step
    step <<= 1
  }
  // The block `below` ends before the ordinal, and `above` does not.
  let above = min(blocks, below + step)
  while (above - below > 1) {
    const middle = (below + above) >> 1
    if (lastOf(blockOf(directory, middle)) < id) below = middle
    else above = middle
  }
  return above
}

/** Index of the last of `count` ascending ordinals that is not above `id`, or 0. */
@inline
function lastUpTo(ordinals: usize, count: u32, id: u32): u32 {
  let below: u32 = 0
  for (let n = count; n > 1; ) {
    const half = n >> 1
    const middle = below + half
    below = select<u32>(middle, below, load<u32>(ordinals + (<usize>middle << 2)) <= id)
    n -= half
  }
  return below
}
