// Detects workers without progress, which loop forever or wait for an event that never happens. It reads the state of each worker
// periodically. Elapsed time is not a criterion, because a worker of a busy or stopped machine makes no progress for a long time. The
// criterion is CPU time: a looping worker uses it, a starved worker is ready to run and cannot.
import type { ThreadState } from './thread-state.ts'

/** What a worker does and its progress; any change of either is progress. */
export interface Picture {
  readonly turn: number
  readonly pulse: number
  /** CPU time that a worker may use without progress. */
  readonly patienceMs: number
}

const everyMs = 200
/** For the kernel of dense fields, which has a pulse. */
export const patienceWithPulseMs = 800
/** For work without a pulse: far above the longest sparse query measured. */
export const patienceWithoutPulseMs = 5_000
/** A worker that sleeps during its work may wait for a starved thread of V8. Counted in reads. */
const asleepLooksMax = 150
/** Factor of the limit in reads if the system reports nothing about threads. */
const blindFactor = 6

export interface Watched {
  /** Undefined for a worker without work. */
  pictureOf(worker: number): Picture | undefined
  /** Undefined if the system does not report it. */
  stateOf(worker: number): ThreadState | undefined
  /** Called once for each stuck worker. */
  stuck(worker: number, why: string): void
}

/** The state of a worker at its last progress, and observations since. */
interface Seen {
  readonly turn: number
  readonly pulse: number
  readonly cpuMs: number | undefined
  readonly looksAsleep: number
  readonly looksBlind: number
  readonly isReported: boolean
}

export class Watchdog {
  readonly #watched: Watched
  readonly #seen: (Seen | undefined)[]
  readonly #timer = setInterval(() => this.look(), everyMs).unref()

  constructor(workers: number, watched: Watched) {
    this.#watched = watched
    this.#seen = new Array(workers).fill(undefined)
  }

  look(): void {
    this.#seen.forEach((seen, worker) => {
      this.#seen[worker] = this.#lookAt(worker, seen)
    })
  }

  #lookAt(worker: number, seen: Seen | undefined): Seen | undefined {
    const picture = this.#watched.pictureOf(worker)
    if (picture === undefined) return undefined
    const { turn, pulse, patienceMs } = picture
    // CPU time is only read when it matters: for a worker that was seen in the same state before.
    if (seen === undefined || seen.turn !== turn || seen.pulse !== pulse)
      return { turn, pulse, cpuMs: undefined, looksAsleep: 0, looksBlind: 0, isReported: false }
    if (seen.isReported) return seen
    const state = this.#watched.stateOf(worker)
    const next = {
      ...seen,
      cpuMs: seen.cpuMs ?? state?.cpuMs,
      looksAsleep: seen.looksAsleep + (state?.asleep ? 1 : 0),
      looksBlind: seen.looksBlind + (state === undefined ? 1 : 0),
    }
    const why = whyStuck(next, state, patienceMs)
    if (why === undefined) return next
    this.#watched.stuck(worker, why)
    return { ...next, isReported: true }
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

function whyStuck(seen: Seen, state: ThreadState | undefined, patienceMs: number): string | undefined {
  const usedMs = (state?.cpuMs ?? 0) - (seen.cpuMs ?? 0)
  if (state !== undefined && usedMs >= patienceMs) return `it made no progress in ${usedMs} ms of CPU time`
  if (seen.looksAsleep >= asleepLooksMax) return `it was asleep at ${seen.looksAsleep} checks without progress`
  if (seen.looksBlind * everyMs >= patienceMs * blindFactor)
    return `it made no progress for ${seen.looksBlind * everyMs} ms`
  return undefined
}
