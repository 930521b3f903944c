// The memory through which the owner of the fields and its workers talk: a ring of slots for queries, a list of arenas with
// an open job, and a few words to sleep and wake on. One producer (the main thread), any number of consumers.
//
//   words     wake | sleeping | closed | .. | done | .. | head | .. | tail | order of slots | jobs | workers | slots
//   payload   of slot i: the query and a list of ordinals on the way in; ordinals and similarities on the way out
//   staging   regions of vectors on their way into an arena

export const slotsMax = 64
/** Places of the order in which slots are taken up: more than slots, for one may stand there twice after a worker was lost. */
export const orderMax = 512
export const jobsMax = 4
export const payloadBytes = 64 * 1024
export const stagingBytes = 4 * 2 ** 20

const line = 16 // words of a cache line: what threads write in turns stands apart

/** Indices of words. */
export const words = {
  /** Rises when there may be something to do; workers sleep on it. */
  wake: 0,
  /** Workers that sleep and that nobody has woken yet. */
  sleeping: 1,
  closed: 2,
  /** Rises when something was done; the owner waits on it. */
  done: line,
  /** How many workers have begun to serve. */
  ready: line + 1,
  /** Rises after each announcement: workers that are always busy hear of it between two pieces of work. */
  announced: line + 2,
  head: 2 * line,
  tail: 3 * line,
  order: 4 * line,
  /** Arena with an open job, or 0. */
  jobs: 4 * line + orderMax,
  /**
   * By worker: the slot it serves plus one, the arena whose job it works on, and its thread, by which what was lost is known;
   * how many queries and pieces it has begun; and its thread as the system numbers it.
   */
  workers: 4 * line + orderMax + line,
} as const
export const workerWords = line
export const workersMax = 256
const slotsFrom = words.workers + workersMax * workerWords
export const slotWords = 16

/** Words of a slot. */
export const slot = {
  state: 0,
  kind: 1,
  arena: 2,
  dimension: 3,
  k: 4,
  ef: 5,
  rerank: 6,
  version: 7,
  bitmap: 8,
  bits: 9,
  compared: 13,
  /** Scan: ordinals listed in the payload, or a range. */
  listed: 10,
  from: 11,
  to: 12,
  /** 1 where the answer may wait for those of a few others before the owner is told. */
  brief: 14,
  /** On the way out. */
  found: 10,
  visited: 11,
  distances: 12,
} as const

/** Of a slot with a question; from `taken` on it says by which worker, or by the owner itself. */
export const slotStates = { asked: 1, answered: 2, unknownArena: 3, taken: 16 } as const
export const owner = workersMax

/**
 * Takes the first slot of the order, if anybody asks something there, for a worker or the owner. The order is a hint: a question
 * belongs to whoever takes it in its slot, so that a worker lost between the two loses nothing. -1 when nothing is asked, or
 * when what comes first is nothing for this taker.
 */
export function takeSlot({ words: w }: Ring, taker: number, canServe: (index: number) => boolean = anything): number {
  for (;;) {
    const head = Atomics.load(w, words.head)
    if (head === Atomics.load(w, words.tail)) return -1
    // Read before the exchange: once it succeeds the place in the order may be used again.
    const index = inOrder(w, head)
    if (!canServe(index)) return -1
    if (Atomics.compareExchange(w, words.head, head, (head + 1) | 0) !== head) continue
    const state = slotAt(index) + slot.state
    if (Atomics.compareExchange(w, state, slotStates.asked, slotStates.taken + taker) === slotStates.asked) return index
  }
}

const anything = () => true

/** How many places of the order nobody has taken. */
export function untaken({ words: w }: Ring): number {
  return (Atomics.load(w, words.tail) - Atomics.load(w, words.head)) | 0
}

/** Which slot is the i-th of all that were ever asked. */
export function inOrder(w: Int32Array, i: number): number {
  return Atomics.load(w, words.order + (i & (orderMax - 1)))
}
export const queryKinds = { search: 1, scanListed: 2, scanRange: 3, sparse: 4 } as const

export interface Ring {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly payload: SharedArrayBuffer
  readonly staging: SharedArrayBuffer
}

export function createRing(): Ring {
  return {
    words: new Int32Array(new SharedArrayBuffer((slotsFrom + slotsMax * slotWords) * 4)),
    payload: new SharedArrayBuffer(slotsMax * payloadBytes),
    staging: new SharedArrayBuffer(jobsMax * stagingBytes),
  }
}

/** Index of a slot's first word. */
export function slotAt(index: number): number {
  return slotsFrom + index * slotWords
}

/** Views of a slot's payload as it goes in and as it comes out. */
export function payloadOf(ring: Ring, index: number) {
  const from = index * payloadBytes
  return {
    floats: new Float32Array(ring.payload, from, payloadBytes / 4),
    ordinals: new Uint32Array(ring.payload, from, payloadBytes / 4),
  }
}

/** Where results stand in a payload: ordinals first, similarities from the middle. */
export const similaritiesFrom = payloadBytes / 8

/** Says that there may be something to do, and wakes so many of those who sleep. */
export function wakeWorkers({ words: w }: Ring, count: number): void {
  // The wake word comes first: a worker about to sleep sees it change, or is counted as sleeping by then.
  Atomics.add(w, words.wake, 1)
  // Whoever wakes others counts them out. If they did so themselves, more would be woken in the time that waking up takes.
  if (Atomics.load(w, words.sleeping) > 0) Atomics.sub(w, words.sleeping, Atomics.notify(w, words.wake, count))
}

/** Sleeps until the wake word is another than the one seen. */
export function sleepUntilWoken({ words: w }: Ring, wakeSeen: number): void {
  Atomics.add(w, words.sleeping, 1)
  if (Atomics.wait(w, words.wake, wakeSeen) !== 'ok') Atomics.sub(w, words.sleeping, 1)
}
