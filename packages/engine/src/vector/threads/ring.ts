// The memory through which the owner of the fields and its workers communicate: slots for queries, the order in which they are
// taken, the memories with an open job, and a few words to sleep and wake on. One producer (the owner), any number of consumers.
//
//   words     wake | sleeping | closed | .. | done | .. | head | .. | tail | order of slots | jobs | workers | slots
//   payload   of slot i: the query and a list of ordinals on the way in; ordinals and similarities on the way out
//   staging   regions for vectors on their way into an arena
import { queryBytesMax, stagingBytes } from '../pool.ts'

export const slotsMax = 64
/** Places of the order. More than slots: a slot can be in the order twice after a worker was lost. */
export const orderMax = 512
export const jobsMax = 4

const line = 16 // words of a cache line: words that different threads write are in different lines

/** Indices of words. */
export const words = {
  /** Incremented when there may be work. Workers sleep on it. */
  wake: 0,
  /** Workers that sleep and that no thread has woken yet. */
  sleeping: 1,
  /** 1: the pool closes. */
  closed: 2,
  /** Workers that may work on jobs, from number 0. 0: all. */
  jobWorkers: 3,
  /** 1: workers pause between pieces of jobs. */
  jobPauses: 4,
  /** Incremented when work is complete. The owner waits on it. */
  done: line,
  /** Number of workers that have started. */
  ready: line + 1,
  /** Incremented after each announcement, so that workers that are never idle receive it between two pieces of work. */
  announced: line + 2,
  head: 2 * line,
  tail: 3 * line,
  order: 4 * line,
  /** For each open job its memory, or 0. */
  jobs: 4 * line + orderMax,
  /** For each worker the words of `workerWord`. */
  workers: 4 * line + orderMax + line,
} as const

/** Words of a worker. */
export const workerWord = {
  /** The slot that it serves plus one, or 0. */
  slot: 0,
  /** The memory whose job it works on, or 0. */
  job: 1,
  /** The id of its thread in Node.js, from the time when it listens; before that, 0. */
  thread: 2,
  /** How many queries and pieces it has begun. */
  begun: 3,
  /** The id of its thread in the operating system, or 0. */
  systemThread: 4,
  /** Never changes. The worker sleeps on it during its pauses. */
  pause: 5,
} as const
const workerWords = line
export const workersMax = 256

/** Index of the first word of a worker. */
export function workerAt(number: number): number {
  return words.workers + number * workerWords
}

const slotsFrom = words.workers + workersMax * workerWords
const slotWords = 16

/** Words of a slot. */
export const slot = {
  state: 0,
  kind: 1,
  memory: 2,
  dimension: 3,
  k: 4,
  ef: 5,
  rerank: 6,
  version: 7,
  bitmap: 8,
  bits: 9,
  compared: 13,
  /** Scan: the number of ordinals in the payload, or a range. */
  listed: 10,
  from: 11,
  to: 12,
  /** 1: the owner may be notified of this answer and a few others at once. */
  brief: 14,
  /** 1: the caller has left. Written by the owner at any time. */
  left: 15,
  /** Output. */
  found: 10,
  visited: 11,
  distances: 12,
  unresolved: 13,
} as const

/** Index of the first word of a slot. */
export function slotAt(index: number): number {
  return slotsFrom + index * slotWords
}

/** States of a slot with a query. `skipped`: its caller had left, so it was not run. From `taken` on, the state says which worker has taken the query; `owner` is the owner itself. */
export const slotStates = { submitted: 1, answered: 2, unknownMemory: 3, skipped: 4, taken: 16 } as const
export const owner = workersMax

export interface Ring {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly payload: SharedArrayBuffer
  readonly staging: SharedArrayBuffer
}

export function createRing(): Ring {
  return {
    words: new Int32Array(new SharedArrayBuffer((slotsFrom + slotsMax * slotWords) * 4)),
    payload: new SharedArrayBuffer(slotsMax * queryBytesMax),
    staging: new SharedArrayBuffer(jobsMax * stagingBytes),
  }
}

/**
 * Takes the first slot of the order for a worker or the owner. The order is a hint: a query belongs to the thread that takes it in
 * its slot, so that a worker that is lost between the two steps loses nothing. Returns -1 if the order is empty, or if `canServe`
 * refuses the first slot.
 */
export function takeSlot({ words: w }: Ring, taker: number, canServe: (index: number) => boolean = acceptAll): number {
  for (;;) {
    const head = Atomics.load(w, words.head)
    if (head === Atomics.load(w, words.tail)) return -1
    // Read before the exchange: after it, the place in the order can be used again.
    const index = inOrder(w, head)
    if (!canServe(index)) return -1
    if (Atomics.compareExchange(w, words.head, head, (head + 1) | 0) !== head) continue
    const state = slotAt(index) + slot.state
    const submitted = slotStates.submitted
    if (Atomics.compareExchange(w, state, submitted, slotStates.taken + taker) === submitted) return index
  }
}

const acceptAll = () => true

/** Number of places of the order that no thread has taken. */
export function orderLength({ words: w }: Ring): number {
  return (Atomics.load(w, words.tail) - Atomics.load(w, words.head)) | 0
}

/** The slot at the i-th place of the order, counted from the first query of the pool. */
export function inOrder(w: Int32Array, i: number): number {
  return Atomics.load(w, words.order + (i & (orderMax - 1)))
}

/** Announces that there may be work, and wakes at most `count` sleeping workers. */
export function wakeWorkers({ words: w }: Ring, count: number): void {
  // The wake word changes first: a worker that is about to sleep sees the change, or is already counted as sleeping.
  Atomics.add(w, words.wake, 1)
  // The thread that wakes others subtracts them. If they did so themselves, more would be woken while they wake up.
  if (Atomics.load(w, words.sleeping) > 0) Atomics.sub(w, words.sleeping, Atomics.notify(w, words.wake, count))
}

/** Sleeps until the wake word differs from `wakeSeen`. */
export function sleepUntilWoken({ words: w }: Ring, wakeSeen: number): void {
  Atomics.add(w, words.sleeping, 1)
  if (Atomics.wait(w, words.wake, wakeSeen) !== 'ok') Atomics.sub(w, words.sleeping, 1)
}
