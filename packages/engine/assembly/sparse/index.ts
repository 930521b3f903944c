// The kernel of sparse fields: the exact k best rows by dot product. Ordinals are taken in windows. The most that each list can
// add inside a window is known from its blocks; lists that together cannot lift a row into the best ones are not walked,
// only asked about rows that other lists brought up (MaxScore, with bounds by block). A window where no row can get in is
// passed over whole.
//
// Scores are integers: weights come scaled by a power of two, so sums are exact and do not depend on the order of lists.
import { add, replaceWorst, sort } from './best'
import {
  ALLOWED, ALLOWED_BITS, ASIDE, BEST, BLOCKS, BOUND, CURRENT, DIRECTORY, EXPECTED, FOUND, K, LISTS, MARKS, ORDER, POSTINGS, PROBE, SCORED,
  SCORES, UNSCALE, VERSION, WEIGHT, WINDOW, WINDOW_BOUND, blockOf, hiddenAt, largestOf, lastOf, listAt, ordinalsOf, placeOf,
  weightsOf,
} from './layout'

const NOWHERE: u32 = 0xffffffff

/** What host and kernel must agree on; sparse-kernel.ts has the same number. */
export const abi: i32 = 1

/** Answers the ticket: writes hits to its best area as | ordinal u32 | similarity f32 | ... 16 bytes each, best first. */
export function search(ticket: usize): void {
  const lists = load<i32>(ticket, LISTS)
  const k = load<u32>(ticket, K)
  const version = load<u32>(ticket, VERSION)
  const allowed: usize = load<u32>(ticket, ALLOWED)
  const allowedBits = load<u32>(ticket, ALLOWED_BITS)
  const scores: usize = load<u32>(ticket, SCORES)
  const marks: usize = load<u32>(ticket, MARKS)
  const order: usize = load<u32>(ticket, ORDER)
  const best: usize = load<u32>(ticket, BEST)
  let found: u32 = 0
  let scored: u32 = 0
  let postings: u32 = 0
  memory.fill(scores, 0, <usize>WINDOW << 3)
  memory.fill(marks, 0, <usize>WINDOW >> 3)
  let low: u32 = 0
  for (;;) {
    low = nextOrdinal(ticket, lists, low)
    if (low == NOWHERE) break
    if (allowed != 0) {
      const open = nextAllowed(allowed, allowedBits, low)
      if (open == NOWHERE) break
      if (open != low) {
        low = open
        continue
      }
    }
    const high = low + WINDOW
    const least: i64 = found == k ? load<i64>(best) : i64.MIN_VALUE
    boundLists(ticket, lists, low, high)
    // Lists left aside: together they cannot lift a row over the worst of the best. In the order of their bounds.
    let aside: i32 = 0
    let asideBound: i64 = 0
    let walked: u32 = 0
    if (found == k) {
      for (let i: i32 = 0; i < lists; ++i) {
        const list = listAt(ticket, i)
        const bound = load<i64>(list, WINDOW_BOUND)
        if (asideBound + bound > least) continue
        asideBound += bound
        store<u32>(list, load<u32>(list, CURRENT), PROBE)
        store<u32>(order + (<usize>aside << 2), i)
        aside++
        store<u32>(list, 1, ASIDE)
      }
    }
    if (aside < lists) {
      for (let i: i32 = 0; i < lists; ++i) {
        const list = listAt(ticket, i)
        if (load<u32>(list, ASIDE) == 0) walked += walk(list, low, high, scores, marks, false)
      }
    }
    if (walked > 0) {
      postings += walked
      let rest = asideBound
      for (let i = aside - 1; i >= 0; --i) {
        const left = narrow(scores, marks, least, rest)
        if (left == 0) break
        const list = listAt(ticket, load<i32>(order + (<usize>i << 2)))
        rest -= load<i64>(list, WINDOW_BOUND)
        // Asking about a row takes as long as walking past a dozen.
        if (load<u32>(list, EXPECTED) < left * 12) postings += walk(list, low, high, scores, marks, true)
        else lookUpMarked(list, low, scores, marks)
      }
      for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
        let bits = load<u64>(marks + (word << 3))
        if (bits == 0) continue
        store<u64>(marks + (word << 3), 0)
        for (; bits != 0; bits &= bits - 1) {
          const at = (<u32>word << 6) + <u32>ctz(bits)
          const score = load<i64>(scores + (<usize>at << 3))
          store<i64>(scores + (<usize>at << 3), 0)
          scored++
          if (found == k && score <= load<i64>(best)) continue
          const id = low + at
          if (allowed != 0 && !isAllowed(allowed, allowedBits, id)) continue
          if (hiddenAt(id, version)) continue
          if (found < k) add(best, found++, score, id)
          else replaceWorst(best, k, score, id)
        }
      }
    }
    low = high
  }
  sort(best, found)
  const unscale = load<f64>(ticket, UNSCALE)
  for (let i: u32 = 0; i < found; ++i) {
    const hit = best + (<usize>i << 4)
    const similarity = <f32>(<f64>load<i64>(hit) * unscale)
    store<u32>(hit, load<u32>(hit, 8))
    store<f32>(hit, similarity, 4)
  }
  store<u32>(ticket, found, FOUND)
  store<u32>(ticket, scored, SCORED)
  store<u32>(ticket, postings, POSTINGS)
}

/** Moves every list to the block that reaches `low`, and gives the first ordinal at or after it that any list has. */
function nextOrdinal(ticket: usize, lists: i32, low: u32): u32 {
  let next = NOWHERE
  for (let i: i32 = 0; i < lists; ++i) {
    const list = listAt(ticket, i)
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

/** The most each list adds to a row of the window; 0 where it has none there. */
function boundLists(ticket: usize, lists: i32, low: u32, high: u32): void {
  for (let i: i32 = 0; i < lists; ++i) {
    const list = listAt(ticket, i)
    store<i64>(list, boundOf(list, low, high), WINDOW_BOUND)
    store<u32>(list, 0, ASIDE)
  }
}

function boundOf(list: usize, low: u32, high: u32): i64 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let largest: f32 = 0
  let expected: f32 = 0
  for (let b = load<u32>(list, CURRENT); b < blocks; ++b) {
    const block = blockOf(directory, b)
    const first = load<u32>(ordinalsOf(block))
    if (first >= high) break
    largest = max(largest, largestOf(block))
    const last = lastOf(block)
    const inside = min(last + 1, high) - max(first, low)
    expected += (<f32>load<u32>(block) * <f32>inside) / <f32>(last + 1 - first)
  }
  store<u32>(list, <u32>expected + 1, EXPECTED)
  if (largest <= 0) return 0
  // Newer rows, which this search does not see, may have raised the block's bound beyond what fits: the list's own holds.
  return min(<i64>(<f64>largest * load<f64>(list, WEIGHT)) + 1, load<i64>(list, BOUND))
}

/**
 * Adds what the list has inside the window to the scores: of all rows, which are marked then, or only of rows that are marked
 * already. Gives the number of postings.
 */
@inline
function walk(list: usize, low: u32, high: u32, scores: usize, marks: usize, markedOnly: bool): u32 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  const weight = load<f64>(list, WEIGHT)
  let walked: u32 = 0
  for (let b = load<u32>(list, CURRENT); b < blocks; ++b) {
    const block = blockOf(directory, b)
    const ordinals = ordinalsOf(block)
    const first = load<u32>(ordinals)
    if (first >= high) break
    const count = atomic.load<u32>(block)
    const weights = weightsOf(block)
    let i: u32 = first < low ? placeOf(ordinals, count, low) : 0
    for (; i < count; ++i) {
      const id = load<u32>(ordinals + (<usize>i << 2))
      // Later blocks begin even later.
      if (id >= high) break
      walked++
      const at = <usize>(id - low)
      const mark = marks + (at >> 3)
      const bit = <u8>1 << <u8>(at & 7)
      if (!markedOnly) store<u8>(mark, load<u8>(mark) | bit)
      else if ((load<u8>(mark) & bit) == 0) continue
      const place = scores + (at << 3)
      store<i64>(place, load<i64>(place) + <i64>(<f64>load<f32>(weights + (<usize>i << 2)) * weight))
    }
  }
  return walked
}

/** Keeps the marks of rows that `rest` more could lift over `least`. Gives how many they are. */
function narrow(scores: usize, marks: usize, least: i64, rest: i64): u32 {
  let left: u32 = 0
  for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
    const bits = load<u64>(marks + (word << 3))
    if (bits == 0) continue
    let kept = bits
    for (let open = bits; open != 0; open &= open - 1) {
      const place = scores + (((word << 6) + <usize>ctz(open)) << 3)
      if (load<i64>(place) + rest > least) continue
      kept &= ~(open & (0 - open))
      store<i64>(place, 0)
    }
    if (kept != bits) store<u64>(marks + (word << 3), kept)
    left += <u32>popcnt(kept)
  }
  return left
}

/** The same, by asking the list about each marked row. */
function lookUpMarked(list: usize, low: u32, scores: usize, marks: usize): void {
  for (let word: usize = 0; word < <usize>WINDOW >> 6; ++word) {
    for (let bits = load<u64>(marks + (word << 3)); bits != 0; bits &= bits - 1) {
      const at = (<u32>word << 6) + <u32>ctz(bits)
      const place = scores + (<usize>at << 3)
      store<i64>(place, load<i64>(place) + lookUp(list, low + at))
    }
  }
}

/** What the list adds to a row; rows are asked about in ascending order. */
function lookUp(list: usize, id: u32): i64 {
  const directory: usize = load<u32>(list, DIRECTORY)
  const blocks = load<u32>(list, BLOCKS)
  let probe = load<u32>(list, PROBE)
  while (probe < blocks && lastOf(blockOf(directory, probe)) < id) probe++
  store<u32>(list, probe, PROBE)
  if (probe == blocks) return 0
  const block = blockOf(directory, probe)
  const ordinals = ordinalsOf(block)
  const count = atomic.load<u32>(block)
  const at = placeOf(ordinals, count, id)
  if (at == count || load<u32>(ordinals + (<usize>at << 2)) != id) return 0
  return <i64>(<f64>load<f32>(weightsOf(block) + (<usize>at << 2)) * load<f64>(list, WEIGHT))
}

@inline
function isAllowed(allowed: usize, bits: u32, id: u32): bool {
  return id < bits && ((load<u32>(allowed + (<usize>(id >> 5) << 2)) >> (id & 31)) & 1) == 1
}

/** `low` where its window has an allowed ordinal; else the start of the next word that has one. */
function nextAllowed(allowed: usize, bits: u32, low: u32): u32 {
  const words = (bits + 31) >> 5
  for (let word = low >> 5; word < words; ++word) {
    if (load<u32>(allowed + (<usize>word << 2)) == 0) continue
    const start = word << 5
    return start < low + WINDOW ? low : start
  }
  return NOWHERE
}
