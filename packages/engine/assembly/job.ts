// The work of one apply, handed out in tickets. Numbers of tickets only ever rise, and each phase owns a range of them, so
// a thread that was asleep while the phase changed cannot take a ticket of one phase for one of another. Whoever finishes
// the last ticket of a phase prepares the next: nobody waits at a barrier, and any number of threads, one included, gets
// the work done.
import {
  CLASS_PLACES,
  ENTRY,
  END,
  JOB_AT_HAND,
  JOB_BASE,
  JOB_COUNT,
  JOB_BEFORE,
  JOB_DONE,
  JOB_EXTRA,
  JOB_FIRST,
  JOB_KIND,
  JOB_LIMIT,
  JOB_LINKS,
  JOB_NEXT,
  JOB_START,
  JOB_STOP,
  JOB_TAKEN,
  LINKED,
  M0,
  NONE,
  UNITS,
  UNMENDED,
  linksOf,
  baseLinksOf,
  degreeAt,
  degreeOf,
  rules,
  touch,
  unitsFrom,
  upperOf,
} from './layout'
import { levelOf } from './hnsw/level'
import { beat } from './scratch'
import { classesAreDue, makeClasses, standingFor } from './hnsw/classes'
import { follow } from './hnsw/copies'
import { PARTITIONS, findNeighbors, linkBack } from './hnsw/link'
import { mend, mendIsDue } from './hnsw/mend'
import { inOrder, orderSubBatch } from './hnsw/order'
import { SWEEP_STEP, endSweep, releaseItems, repairAroundItems, sweep } from './hnsw/repair'
import { itemOf, putItem } from './hnsw/sub-batch'

export const IDLE: i32 = 0
export const ENCODE: i32 = 1
export const FIND: i32 = 2
export const LINK: i32 = 3
export const REPAIR: i32 = 4
export const SWEEP: i32 = 5
export const MEND: i32 = 6
/** Makes the classes ready for the job and takes rows out of them whose ordinals are given again. */
export const CLASSES: i32 = 7
/** There is nothing to take now, but the job is not over. */
export const WAIT: i32 = -1

let ticket: u32 = 0

/** Takes a piece of work: its kind, IDLE when the job is over, or WAIT. */
export function claim(): i32 {
  while (true) {
    const limit = atomic.load<u32>(JOB_LIMIT)
    const kind = atomic.load<i32>(JOB_KIND)
    const base = atomic.load<u32>(JOB_BASE)
    if (kind == IDLE) return IDLE
    const next = atomic.load<u32>(JOB_NEXT)
    if (next >= limit) {
      if (atomic.load<u32>(JOB_LIMIT) == limit) return WAIT
      continue
    }
    if (atomic.cmpxchg<u32>(JOB_NEXT, next, next + 1) == next) {
      ticket = next - base
      return kind
    }
  }
  return IDLE
}

/** Which item, node or partition the last claim was for. */
export function claimed(): u32 {
  return ticket
}

/** Does the claimed piece of work of the kinds that need nothing from the host. */
export function work(kind: i32): void {
  if (kind == FIND) findNeighbors(inOrder(ticket))
  else if (kind == LINK) linkBack(ticket, partitions())
  else if (kind == REPAIR) repairAroundItems()
  else if (kind == SWEEP) sweep(ticket)
  else if (kind == CLASSES) prepareClasses()
  else mend()
}

@inline
function partitions(): u32 {
  return load<u32>(JOB_STOP) - load<u32>(JOB_START) < 32 ? 1 : PARTITIONS
}

/**
 * Reports the claimed piece of work as done; the last of a phase begins the next. Returns how many tickets that has, 0 where
 * the phase goes on, or WAIT where the job is over.
 */
export function finish(kind: i32): i32 {
  const limit = atomic.load<u32>(JOB_LIMIT)
  if (atomic.add<u32>(JOB_DONE, 1) + 1 != limit) return 0
  if (kind == FIND) {
    begin(LINK, partitions())
  } else if (kind == LINK) {
    enter()
    nextSubBatch()
  } else if (kind == SWEEP) {
    endSweep()
    store<u32>(UNMENDED, load<u32>(LINKED)) // whoever the sweep cut off is joined before the job ends
    encode()
  } else if (kind == CLASSES) {
    beginWith(load<i32>(JOB_BEFORE))
  } else if (kind == REPAIR) {
    encode()
  } else if (kind == ENCODE) {
    nextSubBatch()
  } else {
    end()
  }
  if (atomic.load<i32>(JOB_KIND) == IDLE) return WAIT
  return atomic.load<u32>(JOB_LIMIT) - atomic.load<u32>(JOB_BASE)
}

/** Opens the phase in which vectors at hand become rows. */
function encode(): void {
  const count = load<u32>(JOB_AT_HAND)
  if (count == 0) nextSubBatch()
  else begin(ENCODE, count)
}

/** Ends the job. IDLE is stored last: it is what tells the host that nothing more will be written. */
function end(): void {
  const limit = load<u32>(JOB_LIMIT) + 1
  atomic.store<u32>(JOB_NEXT, limit)
  atomic.store<u32>(JOB_DONE, limit)
  atomic.store<u32>(JOB_LIMIT, limit)
  atomic.store<i32>(JOB_KIND, IDLE)
}

/** Sub-batches grow with the graph: the rule is part of the format, for it decides what every replay builds. */
function nextSubBatch(): void {
  const start = load<u32>(JOB_STOP)
  if (!load<u32>(JOB_LINKS)) {
    end()
    return
  }
  const linked = load<u32>(LINKED)
  let length = min<u32>(256, linked / 20)
  if (length == 0) length = 1
  const stop = takeNodes(start, length)
  if (stop == start) {
    if (mendIsDue()) begin(MEND, 1)
    else end()
    return
  }
  store<u32>(JOB_START, start)
  store<u32>(JOB_STOP, stop)
  orderSubBatch()
  begin(FIND, stop - start)
}

/**
 * Puts the next `length` items that become nodes at `start` and behind it, and the others that come before the last of them behind
 * the nodes that stand for them. Returns where the nodes end.
 */
function takeNodes(start: u32, length: u32): u32 {
  const count = load<u32>(JOB_COUNT)
  const all = count + load<u32>(JOB_EXTRA)
  let taken = load<u32>(JOB_TAKEN)
  let stop = start
  for (; taken < all && stop - start < length; ++taken) {
    beat()
    const id = itemOf(taken)
    const isHeir = taken >= count
    const standing = rules < 2 || isHeir ? id : standingFor(id)
    if (standing != id) {
      follow(standing, id)
      continue
    }
    putItem(stop, id)
    stop++
    makeLists(id, isHeir)
  }
  store<u32>(JOB_TAKEN, taken)
  return stop
}

/**
 * Empty lists for a node about to be linked, but for the followers of an heir. An ordinal keeps its units for ever: its level never
 * changes.
 */
function makeLists(id: u32, isHeir: bool): void {
  const level = levelOf(id)
  touch(id)
  if (level > 0 && load<u32>(upperOf(id)) == NONE) {
    const unit = unitsFrom(load<u32>(UNITS), level)
    store<u32>(UNITS, unit + <u32>level)
    store<u32>(upperOf(id), unit)
  }
  memory.fill(baseLinksOf(id), 0xff, <usize>(isHeir ? degreeOf(id, 0) : M0) << 2)
  for (let l: i32 = 1; l <= level; ++l) memory.fill(linksOf(id, l), 0xff, <usize>degreeAt(l) << 2)
}

/** The sub-batch is part of the graph now; the highest node is where searches enter. */
function enter(): void {
  const start = load<u32>(JOB_START)
  const stop = load<u32>(JOB_STOP)
  for (let i = start; i < stop; ++i) {
    const id = itemOf(i)
    const entry = load<u32>(ENTRY)
    if (entry == NONE || levelOf(id) > levelOf(entry)) atomic.store<u32>(ENTRY, id)
  }
  store<u32>(LINKED, load<u32>(LINKED) + stop - start)
  store<u32>(UNMENDED, load<u32>(UNMENDED) + stop - start)
}

/** Opens a phase of `count` tickets. The limit is stored last: it is what lets the others in. */
function begin(kind: i32, count: u32): void {
  const base = load<u32>(JOB_LIMIT)
  atomic.store<u32>(JOB_BASE, base)
  atomic.store<i32>(JOB_KIND, kind)
  atomic.store<u32>(JOB_LIMIT, base + count)
}

/**
 * Opens a job; called by the host while none is open. Of the `count` items listed, the vectors of `atHand` from `first` on
 * can be encoded now; with `links` all items are linked afterwards. `before` is REPAIR, SWEEP or IDLE.
 */
export function openJob(before: i32, count: u32, first: u32, atHand: u32, links: bool): void {
  store<u32>(JOB_COUNT, count)
  store<u32>(JOB_FIRST, first)
  store<u32>(JOB_AT_HAND, atHand)
  store<u32>(JOB_LINKS, links)
  store<u32>(JOB_START, 0)
  store<u32>(JOB_STOP, 0)
  store<u32>(JOB_TAKEN, 0)
  if (first == 0) store<u32>(JOB_EXTRA, 0)
  store<i32>(JOB_BEFORE, before)
  if (rules >= 2 && first == 0 && count > 0 && (before != IDLE || classesAreDue(before))) begin(CLASSES, 1)
  else beginWith(before)
}

function beginWith(before: i32): void {
  if (before == REPAIR) begin(REPAIR, 1)
  else if (before == SWEEP) begin(SWEEP, (load<u32>(END) + SWEEP_STEP - 1) / SWEEP_STEP)
  else encode()
}

function prepareClasses(): void {
  // What is released is not in a table that is made afterwards.
  const due = classesAreDue(load<i32>(JOB_BEFORE))
  if (due) store<u32>(CLASS_PLACES, 0)
  releaseItems()
  if (due) makeClasses()
  else for (let i: u32 = 0; i < load<u32>(JOB_EXTRA); ++i) standingFor(itemOf(load<u32>(JOB_COUNT) + i))
}
