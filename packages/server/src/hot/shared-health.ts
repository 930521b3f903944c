// The health of the server in shared memory. The main thread writes it several times a second, so a serving thread that finds it fresh knows
// that the main thread is alive. A state that is old, unfinished, or not one of a serving server is not answered by a serving thread: the
// request goes to the main thread, and a client sees that it does not reply. A state also expires when the main thread replies to a request that
// may have changed it, so nobody sees health that is older than a reply, and when a node of a cluster changes its role.
import type { HealthFacts } from '../wire/health-reply.ts'

/** The main thread writes the state this often. */
export const healthEveryMs = 250
/** Beyond this age, a state says nothing about the main thread: it has missed three times. */
const freshMs = 1_000
/** Longer states are left to the main thread. */
const bytesMax = 4_096

const word = { sequence: 0, statusBytes: 1, detailsBytes: 2, timeLow: 3, timeHigh: 4 } as const
const headBytes = 32
const wordRange = 2 ** 32

const decoder = new TextDecoder()

/** The main thread writes, and any thread reads. */
export class SharedHealth {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #bytes: Uint8Array
  /** A clock that all threads share. */
  readonly #now: () => number

  /** In new memory, or in that of the main thread. */
  constructor(now: () => number, memory = new SharedArrayBuffer(headBytes + bytesMax)) {
    this.memory = memory
    this.#words = new Int32Array(memory, 0, headBytes / 4)
    this.#bytes = new Uint8Array(memory, headBytes)
    this.#now = now
  }

  /** Undefined: only the main thread answers from now on. */
  publish(facts: HealthFacts | undefined): void {
    const status = Buffer.from(facts?.status ?? '')
    const details = Buffer.from(facts?.details ?? '')
    const isLong = status.length + details.length > bytesMax
    const timeMs = this.#now()
    // Odd while the state is being written.
    Atomics.add(this.#words, word.sequence, 1)
    this.#bytes.set(isLong ? [] : status)
    this.#bytes.set(isLong ? [] : details, status.length)
    Atomics.store(this.#words, word.statusBytes, isLong ? 0 : status.length)
    Atomics.store(this.#words, word.detailsBytes, details.length)
    Atomics.store(this.#words, word.timeLow, timeMs | 0)
    Atomics.store(this.#words, word.timeHigh, Math.floor(timeMs / wordRange))
    Atomics.add(this.#words, word.sequence, 1)
  }

  /** The main thread alone answers until it publishes again. Call it when something was done, before the reply to it. */
  expire(): void {
    Atomics.store(this.#words, word.statusBytes, 0)
  }

  /** The state, if it is fresh. */
  read(): HealthFacts | undefined {
    const sequence = Atomics.load(this.#words, word.sequence)
    const statusBytes = Atomics.load(this.#words, word.statusBytes)
    if (sequence % 2 !== 0 || statusBytes === 0) return undefined
    const end = Math.min(bytesMax, statusBytes + Atomics.load(this.#words, word.detailsBytes))
    const bytes = this.#bytes.slice(0, end)
    const timeMs = this.#timeMs()
    // A change, not a load: it also keeps the loads of the bytes before it.
    if (Atomics.add(this.#words, word.sequence, 0) !== sequence) return undefined
    if (this.#now() - timeMs > freshMs) return undefined
    return {
      status: decoder.decode(bytes.subarray(0, statusBytes)),
      details: decoder.decode(bytes.subarray(statusBytes)),
    }
  }

  #timeMs(): number {
    const high = Atomics.load(this.#words, word.timeHigh)
    return high * wordRange + (Atomics.load(this.#words, word.timeLow) >>> 0)
  }
}
