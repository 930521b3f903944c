// Divides the work of one apply into tickets, which any number of threads take. Ticket numbers only increase, and each phase owns a range
// of them, so a thread that slept through a change of phase cannot use a ticket of one phase in another. The thread that finishes the last
// ticket of a phase prepares the next one. No thread waits at a barrier, and the result does not depend on the number of threads.
import {
  CLASS_SLOTS,
  ENTRY,
  END,
  JOB_ENCODABLE,
  JOB_BASE,
  JOB_COUNT,
  JOB_REPAIR,
  JOB_DONE,
  JOB_SUCCESSORS,
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
  UNCHECKED,
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
import { reportProgress } from './scratch'
import { isTableDue, buildTable, findOrAddNode } from './hnsw/classes'
import { attachFollower } from './hnsw/copies'
import { PARTITIONS, findNeighbors, linkBack } from './hnsw/link'
import { reconnect, isReconnectDue } from './hnsw/reconnect'
import { orderedItem, orderSubBatch } from './hnsw/order'
import { SWEEP_STEP, endSweep, releaseItems, repairNextItems, sweep } from './hnsw/repair'
import { hasRow } from './hnsw/alive'
import { writeHead } from './heads/head'
import { itemOf, putItem } from './hnsw/sub-batch'

/** Kinds of tickets. None: the job is finished. */
export const IDLE: i32 = 0
/** Encodes the vector of one item; the host copies the vector to the query buffer and calls `encodeRow`. */
export const ENCODE: i32 = 1
/** Finds the neighbors of one node of the sub-batch. */
export const FIND: i32 = 2
/** Writes the back-links of the sub-batch to the targets of one partition. */
export const LINK: i32 = 3
/** Repairs the graph around REPAIR_STEP items whose ordinals are reused. The tickets follow each other, each in a phase of its own. */
export const REPAIR: i32 = 4
/** Sweeps SWEEP_STEP nodes. */
export const SWEEP: i32 = 5
/** Links the nodes that no search can reach. */
export const RECONNECT: i32 = 6
/** Prepares the table of equal rows for the job, and removes the rows whose ordinals are reused from it. */
export const CLASSES: i32 = 7
/** Writes the heads of HEADS_STEP rows. */
export const HEADS: i32 = 8
/** No ticket is available at the moment, but the job is not finished. */
export const WAIT: i32 = -1

let ticket: u32 = 0

/** Takes one ticket. Returns its kind, IDLE if the job is finished, or WAIT. `claimed` returns what the ticket is for. */
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

/** The item, node, or partition of the ticket that this thread took last. */
export function claimed(): u32 {
  return ticket
}

/** Does the work of the claimed ticket. `kind` is any kind except ENCODE, which needs vectors from the host. */
export function work(kind: i32): void {
  if (kind == FIND) findNeighbors(orderedItem(ticket))
  else if (kind == LINK) linkBack(ticket, partitionCount())
  else if (kind == REPAIR) repairNextItems()
  else if (kind == SWEEP) sweep(ticket)
  else if (kind == CLASSES) prepareClasses()
  else if (kind == HEADS) writeHeads(ticket * HEADS_STEP)
  else reconnect()
}

@inline
function partitionCount(): u32 {
  return load<u32>(JOB_STOP) - load<u32>(JOB_START) < 32 ? 1 : PARTITIONS
}

/**
 * Reports the claimed ticket as finished. The last ticket of a phase starts the next phase. Returns the number of tickets of that phase, 0
 * if the current phase continues, or WAIT if the job is finished.
 */
export function finish(kind: i32): i32 {
  const limit = atomic.load<u32>(JOB_LIMIT)
  if (atomic.add<u32>(JOB_DONE, 1) + 1 != limit) return 0
  if (kind == FIND) {
    beginPhase(LINK, partitionCount())
  } else if (kind == LINK) {
    addToGraph()
    beginSubBatch()
  } else if (kind == SWEEP) {
    endSweep()
    store<u32>(UNCHECKED, load<u32>(LINKED)) // reconnects the nodes that the sweep cut off before the job ends
    beginEncode()
  } else if (kind == CLASSES) {
    beginRepair(load<i32>(JOB_REPAIR))
  } else if (kind == REPAIR) {
    if (load<u32>(JOB_TAKEN) < load<u32>(JOB_COUNT)) {
      beginPhase(REPAIR, 1)
    } else {
      store<u32>(JOB_TAKEN, 0)
      beginEncode()
    }
  } else if (kind == ENCODE) {
    beginSubBatch()
  } else {
    endJob()
  }
  if (atomic.load<i32>(JOB_KIND) == IDLE) return WAIT
  return atomic.load<u32>(JOB_LIMIT) - atomic.load<u32>(JOB_BASE)
}

/** Rows whose heads are written with one ticket. */
const HEADS_STEP: u32 = 256

/** Opens a job that writes the head of every row. The projection is in its place already. */
export function openHeadsJob(): void {
  beginPhase(HEADS, (load<u32>(END) + HEADS_STEP - 1) / HEADS_STEP)
}

function writeHeads(first: u32): void {
  const stop = min(load<u32>(END), first + HEADS_STEP)
  for (let id = first; id < stop; ++id) {
    reportProgress()
    if (hasRow(id)) writeHead(id)
  }
}

/** Starts the phase in which available vectors are encoded as rows. */
function beginEncode(): void {
  const count = load<u32>(JOB_ENCODABLE)
  if (count == 0) beginSubBatch()
  else beginPhase(ENCODE, count)
}

/** Ends the job. IDLE is stored last, because it tells the host that nothing more will be written. */
function endJob(): void {
  const limit = load<u32>(JOB_LIMIT) + 1
  atomic.store<u32>(JOB_NEXT, limit)
  atomic.store<u32>(JOB_DONE, limit)
  atomic.store<u32>(JOB_LIMIT, limit)
  atomic.store<i32>(JOB_KIND, IDLE)
}

/**
 * Starts the next sub-batch, of min(256, linked / 20) nodes but at least one. This rule is part of the format, because the graph that a
 * replay builds depends on it.
 */
function beginSubBatch(): void {
  const start = load<u32>(JOB_STOP)
  if (!load<u32>(JOB_LINKS)) {
    endJob()
    return
  }
  const linked = load<u32>(LINKED)
  let length = min<u32>(256, linked / 20)
  if (length == 0) length = 1
  const stop = takeNodes(start, length)
  if (stop == start) {
    if (isReconnectDue()) beginPhase(RECONNECT, 1)
    else endJob()
    return
  }
  store<u32>(JOB_START, start)
  store<u32>(JOB_STOP, stop)
  orderSubBatch()
  beginPhase(FIND, stop - start)
}

/**
 * Moves the next `length` items that become nodes to `start` and the following positions, and attaches the copies among the items before
 * the last of them to their nodes. Returns the position after the last node.
 */
function takeNodes(start: u32, length: u32): u32 {
  const count = load<u32>(JOB_COUNT)
  const all = count + load<u32>(JOB_SUCCESSORS)
  let taken = load<u32>(JOB_TAKEN)
  let stop = start
  for (; taken < all && stop - start < length; ++taken) {
    reportProgress()
    const id = itemOf(taken)
    const isSuccessor = taken >= count
    const node = rules < 2 || isSuccessor ? id : findOrAddNode(id)
    if (node != id) {
      attachFollower(node, id)
      continue
    }
    putItem(stop, id)
    stop++
    clearLists(id, isSuccessor)
  }
  store<u32>(JOB_TAKEN, taken)
  return stop
}

/**
 * Makes empty lists for a node that is about to be linked. A successor keeps its followers. An ordinal keeps its units forever, because its
 * level never changes.
 */
function clearLists(id: u32, isSuccessor: bool): void {
  const level = levelOf(id)
  touch(id)
  if (level > 0 && load<u32>(upperOf(id)) == NONE) {
    const unit = unitsFrom(load<u32>(UNITS), level)
    store<u32>(UNITS, unit + <u32>level)
    store<u32>(upperOf(id), unit)
  }
  memory.fill(baseLinksOf(id), 0xff, <usize>(isSuccessor ? degreeOf(id, 0) : M0) << 2)
  for (let l: i32 = 1; l <= level; ++l) memory.fill(linksOf(id, l), 0xff, <usize>degreeAt(l) << 2)
}

/** Adds the sub-batch to the graph. The node with the highest level becomes the entry point. */
function addToGraph(): void {
  const start = load<u32>(JOB_START)
  const stop = load<u32>(JOB_STOP)
  for (let i = start; i < stop; ++i) {
    const id = itemOf(i)
    const entry = load<u32>(ENTRY)
    if (entry == NONE || levelOf(id) > levelOf(entry)) atomic.store<u32>(ENTRY, id)
  }
  store<u32>(LINKED, load<u32>(LINKED) + stop - start)
  store<u32>(UNCHECKED, load<u32>(UNCHECKED) + stop - start)
}

/** Starts a phase of `count` tickets. The limit is stored last, because it makes the tickets available to other threads. */
function beginPhase(kind: i32, count: u32): void {
  const base = load<u32>(JOB_LIMIT)
  atomic.store<u32>(JOB_BASE, base)
  atomic.store<i32>(JOB_KIND, kind)
  atomic.store<u32>(JOB_LIMIT, base + count)
}

/**
 * Opens a job; called by the host while no job is open. The host has listed `count` items. The vectors of the `encodable` items from
 * `first` on can be encoded now. If `links` is true, all items are linked afterwards. `repairKind` is the repair that comes first: REPAIR,
 * SWEEP, or IDLE for none.
 */
export function openJob(repairKind: i32, count: u32, first: u32, encodable: u32, links: bool): void {
  store<u32>(JOB_COUNT, count)
  store<u32>(JOB_FIRST, first)
  store<u32>(JOB_ENCODABLE, encodable)
  store<u32>(JOB_LINKS, links)
  store<u32>(JOB_START, 0)
  store<u32>(JOB_STOP, 0)
  store<u32>(JOB_TAKEN, 0)
  if (first == 0) store<u32>(JOB_SUCCESSORS, 0)
  store<i32>(JOB_REPAIR, repairKind)
  if (rules >= 2 && first == 0 && count > 0 && (repairKind != IDLE || isTableDue(repairKind))) beginPhase(CLASSES, 1)
  else beginRepair(repairKind)
}

function beginRepair(repairKind: i32): void {
  if (repairKind == REPAIR) beginPhase(REPAIR, 1)
  else if (repairKind == SWEEP) beginPhase(SWEEP, (load<u32>(END) + SWEEP_STEP - 1) / SWEEP_STEP)
  else beginEncode()
}

function prepareClasses(): void {
  // Rows that are released first do not enter a table that is built afterwards.
  const due = isTableDue(load<i32>(JOB_REPAIR))
  if (due) store<u32>(CLASS_SLOTS, 0)
  releaseItems()
  if (due) buildTable()
  else for (let i: u32 = 0; i < load<u32>(JOB_SUCCESSORS); ++i) findOrAddNode(itemOf(load<u32>(JOB_COUNT) + i))
}
