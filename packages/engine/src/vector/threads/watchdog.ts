// Notices workers that are at work and do not get on: that loop for ever or wait for what never comes. Looks at each now and
// then. Time says nothing: a worker of a loaded or stopped machine shows the same picture for long and is well. What it is
// judged by is what it used meanwhile: a worker that loops uses its processor, one that is starved is ready to run and cannot.
import type { ThreadState } from './thread-state.ts'

/** What a worker is at, and how far: any change of either is progress. */
export interface Picture {
  readonly turn: number
  readonly pulse: number
  /** Processor time it may use without any progress. */
  readonly patienceMs: number
}

const everyMs = 200
/** For the kernel of dense fields, which shows its pulse. */
export const patienceWithPulseMs = 800
/** For work without a pulse: far beyond the longest sparse query measured. */
export const patienceWithoutPulseMs = 5_000
/** A worker that sleeps in the middle of its work may wait for a thread of V8 that is starved. Counted in looks. */
const asleepLooksMax = 150
/** Where the system tells nothing of threads, the patience in looks is so many times as long. */
const blindFactor = 6

export interface Watched {
  /** Undefined for a worker with nothing to do. */
  pictureOf(worker: number): Picture | undefined
  /** Undefined where the system does not tell. */
  stateOf(worker: number): ThreadState | undefined
  /** Called once for each that is stuck. */
  stuck(worker: number, why: string): void
}

/** A worker as it was when it last got on, and what was seen of it since. */
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
    // What it used is asked only where it matters: of a worker that was seen like this before.
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
