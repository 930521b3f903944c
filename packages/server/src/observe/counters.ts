// Numbers that every serving thread adds to, in one shared memory. A thread that is given the memory adds to the same numbers, and no
// addition is lost. It knows indexes, not what is counted.

export interface Counters {
  /** Adds to the number at `index`. The amount is an integer; a negative one must leave the number at 0 or more. */
  add(index: number, amount: number): void
  value(index: number): number
}

const wordsPerNumber = 2
const half = 2 ** 31
const addedMax = 2 ** 30

/**
 * A number is two 32-bit words, because atomic additions of 64 bits make an object for each result and take twice as long:
 *
 *     low    the number modulo 2^32
 *     high   how often the number has crossed a multiple of 2^31
 *
 * The thread whose addition crosses the multiple adds to `high` after that. Until then the highest bit of `low` differs from the lowest
 * bit of `high`, so a reader can tell that the crossing is not counted yet. Only numbers that never decrease cross.
 */
export class SharedCounters implements Counters {
  /** Given to another thread, which makes its own SharedCounters of it. */
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array

  /** The numbers of `memory`, or `length` new ones, all zero. */
  constructor(memory: SharedArrayBuffer | { readonly length: number }) {
    const isMemory = memory instanceof SharedArrayBuffer
    this.memory = isMemory
      ? memory
      : new SharedArrayBuffer(memory.length * wordsPerNumber * Int32Array.BYTES_PER_ELEMENT)
    this.#words = new Int32Array(this.memory)
  }

  add(index: number, amount: number): void {
    let rest = amount
    while (rest > addedMax) {
      this.#add(index, addedMax)
      rest -= addedMax
    }
    this.#add(index, rest)
  }

  value(index: number): number {
    const place = index * wordsPerNumber
    for (;;) {
      const high = Atomics.load(this.#words, place + 1) >>> 0
      const low = Atomics.load(this.#words, place) >>> 0
      if (Atomics.load(this.#words, place + 1) >>> 0 !== high) continue
      const isCounted = high % 2 === Math.floor(low / half)
      return (isCounted ? high : high + 1) * half + (low % half)
    }
  }

  #add(index: number, amount: number): void {
    const place = index * wordsPerNumber
    const before = Atomics.add(this.#words, place, amount)
    // The highest bit is the sign.
    if (amount > 0 && before < 0 !== ((before + amount) | 0) < 0) Atomics.add(this.#words, place + 1, 1)
  }
}
