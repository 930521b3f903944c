// Finds the k best texts among those that have every required term. The shortest required list drives: the rows of one of its blocks at a time are
// candidates, which the other required lists reduce, one after another, and to which the lists of optional terms add. Everything that is not in the
// shortest list is skipped. A block whose rows cannot enter the best k is skipped, too, and so is a candidate as soon as it cannot.
import { addHit, replaceWorst, sortHits } from './best'
import { anyAllowed, isAllowed } from './allowed'
import { impactBound, impactOf, storeImpacts } from './impact'
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
/** Impacts of a block before candidates are selected, i64 each. */
const IMPACTS: usize = 2560
/** Positions in the block of the driver that the second list has, plus 1, u8 each. */
const PLACES: usize = 4096
/** Addresses of the weights there, u32 each. */
const FOUND_AT: usize = 4608

/** A second list is read in whole if it has fewer blocks for each block of the first; otherwise, candidates are looked up in it. */
const READ_RATIO: u32 = 8
const MAP_BYTES: u32 = 1 << MAP_SHIFT

export function searchRequired(descriptor: usize): void {
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
  const driver = listAt(descriptor, 0)
  const directory: usize = load<u32>(driver, DIRECTORY)
  const blocks = load<u32>(driver, BLOCKS)
  const weight = load<f64>(driver, WEIGHT)
  // What the lists after each one can add.
  let rest: i64 = 0
  for (let i = lists - 1; i >= 0; --i) {
    store<i64>(listAt(descriptor, i), rest, REST)
    rest += load<i64>(listAt(descriptor, i), BOUND)
  }
  const others = load<i64>(driver, REST)
  const isRead = required > 1 && load<u32>(listAt(descriptor, 1), BLOCKS) < blocks * READ_RATIO
  if (isRead) memory.fill(load<u32>(descriptor, MAP), 0, <usize>MAP_BYTES)
  let found: u32 = 0
  let scored: u32 = 0
  let postings: u32 = 0
  for (let b: u32 = 0; b < blocks; ++b) {
    const block = blockOf(directory, b)
    const threshold: i64 = found == k ? load<i64>(best) : i64.MIN_VALUE
    if (found == k && impactBound(largestBitsOf(block), weight, base, slope) + others <= threshold) continue
    const count = atomic.load<u32>(block)
    const ordinals = ordinalsOf(block)
    const first = load<u32>(ordinals)
    const last = load<u32>(ordinals + (<usize>(count - 1) << 2))
    if (allowed != 0 && !anyAllowed(allowed, allowedBits, first, last)) continue
    postings += count
    let left: u32 = 0
    let next = 1
    if (isRead && last - first < MAP_BYTES) {
      left = meetSecond(descriptor, block, count, first, last)
      postings += left
      next = 2
    } else {
      storeImpacts(weightsOf(block), count, weight, base, slope, scores + IMPACTS)
      for (let i: u32 = 0; i < count; ++i) {
        const id = load<u32>(ordinals + (<usize>i << 2))
        const score = load<i64>(scores + IMPACTS + (<usize>i << 3))
        store<u32>(scores + IDS + (<usize>left << 2), id)
        store<i64>(scores + SUMS + (<usize>left << 3), score)
        left += <u32>(found < k || score + others > threshold)
      }
    }
    if (allowed != 0) left = keepAllowed(scores, left, allowed, allowedBits)
    for (; next < lists && left > 0; ++next) {
      postings += left
      left = addList(listAt(descriptor, next), scores, left, base, slope, next < required, found == k, threshold)
    }
    scored += left
    for (let i: u32 = 0; i < left; ++i) {
      const score = load<i64>(scores + SUMS + (<usize>i << 3))
      if (found == k && score <= load<i64>(best)) continue
      const id = load<u32>(scores + IDS + (<usize>i << 2))
      if (hiddenAt(id, version)) continue
      if (found < k) addHit(best, found++, score, id)
      else replaceWorst(best, k, score, id)
    }
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

/**
 * Makes the rows of a block of the first list that the second list has, too, the candidates, and returns how many there are. The map has the
 * position of each row of the block by the distance of its ordinal from the first one, so that no posting takes a branch.
 */
function meetSecond(descriptor: usize, block: usize, count: u32, first: u32, last: u32): u32 {
  const list = listAt(descriptor, 1)
  const scores: usize = load<u32>(descriptor, SCORES)
  const map: usize = load<u32>(descriptor, MAP)
  const ordinals = ordinalsOf(block)
  for (let i: u32 = 0; i < count; ++i) store<u8>(map + <usize>(load<u32>(ordinals + (<usize>i << 2)) - first), <u8>(i + 1))
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let other = skipBlocks(directory, blocks, load<u32>(list, CURRENT), first)
  store<u32>(list, other, CURRENT)
  let met: u32 = 0
  for (; other < blocks; ++other) {
    const otherBlock = blockOf(directory, other)
    const otherCount = atomic.load<u32>(otherBlock)
    const otherOrdinals = ordinalsOf(otherBlock)
    const otherFirst = load<u32>(otherOrdinals)
    if (otherFirst > last) break
    const from = otherFirst < first ? lowerBound(otherOrdinals, otherCount, first) : 0
    const isInside = load<u32>(otherOrdinals + (<usize>(otherCount - 1) << 2)) <= last
    const to = isInside ? otherCount : lowerBound(otherOrdinals, otherCount, last + 1)
    // The next block of the first list may begin in this block.
    store<u32>(list, other, CURRENT)
    const weights = weightsOf(otherBlock)
    for (let i = from; i < to; ++i) {
      const place = load<u8>(map + <usize>(load<u32>(otherOrdinals + (<usize>i << 2)) - first))
      store<u8>(scores + PLACES + <usize>met, place)
      store<u32>(scores + FOUND_AT + (<usize>met << 2), <u32>(weights + (<usize>i << 2)))
      met += <u32>(place != 0)
    }
  }
  for (let i: u32 = 0; i < count; ++i) store<u8>(map + <usize>(load<u32>(ordinals + (<usize>i << 2)) - first), 0)
  const base = load<f64>(descriptor, BASE)
  const slope = load<f64>(descriptor, SLOPE)
  const weight = load<f64>(listAt(descriptor, 0), WEIGHT)
  const otherWeight = load<f64>(list, WEIGHT)
  const ownWeights = weightsOf(block)
  for (let i: u32 = 0; i < met; ++i) {
    const at = <usize>(load<u8>(scores + PLACES + <usize>i) - 1) << 2
    const bits = load<u32>(ownWeights + at)
    const otherBits = load<u32>(<usize>load<u32>(scores + FOUND_AT + (<usize>i << 2)))
    store<u32>(scores + IDS + (<usize>i << 2), load<u32>(ordinals + at))
    store<i64>(
      scores + SUMS + (<usize>i << 3),
      impactOf(bits, weight, base, slope) + impactOf(otherBits, otherWeight, base, slope),
    )
  }
  return met
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
