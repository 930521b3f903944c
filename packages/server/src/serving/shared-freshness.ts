// How fresh the data of a node of a cluster is, in shared memory: the main thread writes it several times a second, and serving threads
// state it in their replies, and leave a request to the main thread if it may have to be refused. A read costs one load while nothing was written.
// Staleness grows while the main thread writes nothing, so a thread never states less than it is.

/** The main thread writes the state this often. */
export const freshnessEveryMs = 100

/** What the main thread knows. */
export interface FreshnessFacts {
  /** LSNs that are in the log and not applied. */
  readonly lag: number
  /** Milliseconds since the node last knew that it had everything. */
  readonly stalenessMs: number
  /** Whether the node may answer reads at all. */
  readonly isServing: boolean
}

// `sequence` is odd while the other words are written. `knownLow` and `knownHigh` are the time when the node knew that it had everything.
const word = { sequence: 0, lag: 1, isServing: 2, knownLow: 3, knownHigh: 4 } as const
const words = 16
const wordRange = 2 ** 32
const lagMax = 2 ** 31 - 1
/** Longer than any bound. */
const stalenessMsMax = 2 ** 40

/** The main thread writes, and any thread reads. */
export class SharedFreshness {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array
  /** A clock that all threads share. */
  readonly #now: () => number
  #sequence = 0
  #lag = 0
  #isServing = false
  #knownMs = Number.NEGATIVE_INFINITY

  /** In new memory, or in that of the main thread. */
  constructor(now: () => number, memory = new SharedArrayBuffer(words * 4)) {
    this.memory = memory
    this.#words = new Int32Array(memory)
    this.#now = now
  }

  publish({ lag, stalenessMs, isServing }: FreshnessFacts): void {
    const knownMs = Math.floor(this.#now() - Math.min(stalenessMs, stalenessMsMax))
    Atomics.add(this.#words, word.sequence, 1)
    Atomics.store(this.#words, word.lag, Math.min(lag, lagMax))
    Atomics.store(this.#words, word.isServing, Number(isServing))
    Atomics.store(this.#words, word.knownLow, knownMs | 0)
    Atomics.store(this.#words, word.knownHigh, Math.floor(knownMs / wordRange))
    Atomics.add(this.#words, word.sequence, 1)
  }

  /** The newest state. Nothing was ever known before the first one. */
  read(): FreshnessFacts {
    const sequence = Atomics.load(this.#words, word.sequence)
    if (sequence !== this.#sequence) this.#renew(sequence)
    const stalenessMs = Math.max(0, this.#now() - this.#knownMs)
    const isKnown = stalenessMs < stalenessMsMax
    return { lag: this.#lag, stalenessMs: isKnown ? stalenessMs : Number.POSITIVE_INFINITY, isServing: this.#isServing }
  }

  /** Keeps the state before, which only looks staler, while another one is being written. */
  #renew(sequence: number): void {
    if (sequence % 2 !== 0) return
    const lag = Atomics.load(this.#words, word.lag)
    const isServing = Atomics.load(this.#words, word.isServing) === 1
    const knownLow = Atomics.load(this.#words, word.knownLow) >>> 0
    const knownHigh = Atomics.load(this.#words, word.knownHigh)
    if (Atomics.load(this.#words, word.sequence) !== sequence) return
    this.#sequence = sequence
    this.#lag = lag
    this.#isServing = isServing
    this.#knownMs = knownHigh * wordRange + knownLow
  }
}
