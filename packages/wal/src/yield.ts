// Long work on the main thread yields to others here and nowhere else, so that searches and writes never wait for all of it.
// Work in the foreground yields after a slice of time. Work in the background also leaves most of the time to others.
import { setTimeout as sleep } from 'node:timers/promises'

const sliceMs = 8

/** Continues work that yielded, in the order in which it yielded. */
let waiting: (() => void)[] = []
let isContinuing = false

/** Resolves in a later turn of the event loop, after everything that waits now. Its caller reads no clock, so the fold may use it. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (!isContinuing) setImmediate(continueWork)
    isContinuing = true
  })
}

/**
 * All work that yielded shares one slice of each turn. If each had a slice of its own, as with one immediate each, a hundred replies that are
 * built at one time would keep the sockets of all other clients waiting for a hundred slices.
 */
function continueWork(): void {
  const began = performance.now()
  const due = waiting
  // What yields from now on continues in a later turn.
  waiting = []
  let next = 0
  const continueNext = (): void => {
    if (next < due.length && (next === 0 || performance.now() - began <= sliceMs)) {
      due[next++]?.()
      // Ticks run when no microtask is left, which is when the work yields again or waits for something else.
      queueMicrotask(() => process.nextTick(continueNext))
      return
    }
    waiting = due.slice(next).concat(waiting)
    isContinuing = waiting.length > 0
    if (isContinuing) setImmediate(continueWork)
  }
  continueNext()
}

/** A slice of time for work in the foreground. It reads a clock, so nothing in the fold uses it. */
export class TimeSlice {
  #began = performance.now()

  /** Whether the slice is over. Reads the clock: check it once per few microseconds of work. */
  get isOver(): boolean {
    return performance.now() - this.#began > sliceMs
  }

  /** Yields to others and begins the next slice. */
  async renew(): Promise<void> {
    await yieldToOthers()
    this.#began = performance.now()
  }

  /** Yields to others if the slice is over. */
  async renewIfOver(): Promise<void> {
    if (this.isOver) await this.renew()
  }
}

/** Collects everything that `work` yields, and yields to others between two items when a slice is over. */
export async function collectInSlices<T>(work: Iterable<T>): Promise<T[]> {
  const slice = new TimeSlice()
  const collected: T[] = []
  for (const item of work) {
    collected.push(item)
    if (slice.isOver) await slice.renew()
  }
  return collected
}

/** Runs a generator to its end in this turn, whatever it yields, and returns its result. */
export function runToEnd<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Runs a generator to its end, with a turn of the event loop for others at each yield, and returns its result. */
export async function runInTurns<T>(work: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await yieldToOthers()
  }
}

/** One gigabyte takes eight seconds. */
const steadyBytesPerMs = 128 * 1024
const steadyRestMsMin = 2

/** A constant rate of bytes, for checkpoints: a write never meets a burst of their work. */
export class SteadyPace {
  #bytes = 0
  #hurried: boolean
  #bytesPerMs = steadyBytesPerMs

  constructor({ hurried }: { readonly hurried: boolean }) {
    this.#hurried = hurried
  }

  /** From now on, only yields between pieces. For a process that ends. */
  hurry(): void {
    this.#hurried = true
  }

  /** From now on, the usual rate times this. */
  setRate(multiple: number): void {
    this.#bytesPerMs = steadyBytesPerMs * multiple
  }

  /** Reports `bytes` as done. Waits when they are ahead of the rate. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes
    const ms = Math.floor(this.#bytes / this.#bytesPerMs)
    if (ms < steadyRestMsMin) return
    this.#bytes -= ms * this.#bytesPerMs
    await (this.#hurried ? yieldToOthers() : sleep(ms))
  }
}

/** Hashing so many bytes takes a fraction of a millisecond. */
const idleBytesPerTurn = 256 * 1024
/** A longer turn contained other work. */
const idleTurnMs = 0.3
const busyPauseMs = 3

/** Full speed while the thread is idle, and a pause after each piece while it is not. For backups and their digests. */
export class IdlePace {
  #bytes = 0

  /** Reports `bytes` as done. Yields, and waits if other work used the turn. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes
    if (this.#bytes < idleBytesPerTurn) return
    this.#bytes = 0
    const began = performance.now()
    await yieldToOthers()
    if (performance.now() - began > idleTurnMs) await sleep(busyPauseMs)
  }
}
