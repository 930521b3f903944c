// The walk of a selective filter: over allowed rows alone. From an allowed row it goes to its allowed neighbours, and past
// neighbours that are not to theirs, until enough allowed ones are found; distances are computed for allowed rows only. A walk
// through rows that are not allowed would compute ten distances for one that counts where one row in ten is allowed.
import { NONE, M0, baseLinksOf } from '../layout'
import { ids, poolMax, ranked, visited } from '../scratch'
import { keysOfIds } from '../distance/walk'
import { EXPANDED, HIDDEN, at, idOf, put, reseed, size } from './pool'
import { allowedWords, countHop, firstAllowed, isAllowed, isHidden, offer } from './search'

/** Allowed rows looked for around one row, beyond those beside it. */
const ENOUGH: i32 = 12
/** Lists read for them at most where not even one row in so many is allowed: then as many as it takes to meet enough. */
const LISTS_MAX: u32 = 64
let listsMax: i32 = 0
/** Allowed rows from all over the collection that a walk begins at besides those it came to from above: a filter may go against the query. */
const SEEDS: u32 = 32

/** Keeps loads whose only purpose is to bring a line near from being dropped. */
let sink: u32 = 0

/**
 * Best-first walk of level 0 over allowed rows, of which there is one in `sparsity`, from the entries in the pool and some
 * more; `wanted` are kept.
 */
export function walkAllowed(wanted: i32, sparsity: u32, mark: u32): void {
  listsMax = <i32>max(LISTS_MAX, sparsity)
  for (let i: i32 = 0; i < size; ++i) {
    const id = idOf(at(i))
    store<u8>(visited + <usize>id, <u8>mark)
    put(i, (at(i) & ~(EXPANDED | HIDDEN)) | (isHidden(id) ? HIDDEN : 0))
  }
  reseed(wanted)
  offerListed(listSeeds(mark))
  let current: i32 = 0
  while (current < size) {
    const entry = at(current)
    if (entry & EXPANDED) {
      current++
      continue
    }
    put(current, entry | EXPANDED)
    const first = offerListed(listAround(idOf(entry), mark))
    current = first <= current ? first : current + 1
  }
}

/** Puts the listed rows into the pool; returns the first place that changed. */
function offerListed(count: i32): i32 {
  keysOfIds(count)
  return offer(count, true)
}

/** Lists allowed rows at even distances in the bitmap. */
function listSeeds(mark: u32): i32 {
  const words = allowedWords()
  const step = max<u32>(1, words / SEEDS)
  let count: i32 = 0
  for (let from: u32 = 0; from < words; from += step) {
    const id = firstAllowed(from, min(words, from + step))
    // An object without this field has its bit set too, and perhaps no place in the arena.
    if (id != NONE && !isHidden(id)) count = list(id, mark, count)
  }
  return count
}

@inline
function list(id: u32, mark: u32, count: i32): i32 {
  if (<u32>load<u8>(visited + <usize>id) == mark) return count
  store<u8>(visited + <usize>id, <u8>mark)
  store<u32>(ids + (<usize>count << 2), id)
  return count + 1
}

/** Where the next row to pass over is written: a queue in the list that pruning ranks in, which no walk needs. */
let waiting: usize = 0
/** Allowed rows met around the row being expanded, seen before or not. */
let met: i32 = 0

/**
 * Lists the allowed rows around one that are not seen yet: all beside it, then breadth-first past rows that are not allowed until
 * there are enough. A row passed over is marked when its list is read, not when it is met, so that another way may lead to it.
 */
function listAround(id: u32, mark: u32): i32 {
  waiting = ranked
  met = 0
  let count = readList(id, mark, 0)
  let read: i32 = 0
  for (let head = ranked; head < waiting && met < ENOUGH && read < listsMax; head += 4) {
    const node = load<u32>(head)
    const seen = visited + <usize>node
    if (<u32>load<u8>(seen) == mark) continue
    store<u8>(seen, <u8>mark)
    if (head + 8 < waiting) sink ^= load<u32>(baseLinksOf(load<u32>(head, 8)))
    count = readList(node, mark, count)
    read++
  }
  return count
}

/** Reads a row's list: allowed neighbours are listed, the others wait to be passed over. */
function readList(node: u32, mark: u32, listed: i32): i32 {
  countHop()
  const full = ranked + (<usize>poolMax << 3)
  const from = baseLinksOf(node)
  const end = from + (<usize>M0 << 2)
  let count = listed
  for (let p = from; p < end; p += 4) {
    const next = load<u32>(p)
    if (next == NONE) break
    if (isAllowed(next)) {
      met++
      count = list(next, mark, count)
    } else if (waiting < full) {
      store<u32>(waiting, next)
      waiting += 4
    }
  }
  return count
}
