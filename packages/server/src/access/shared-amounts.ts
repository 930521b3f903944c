// What the threads of a server take from the limits of the process: bytes of bodies and replies, and requests in progress. All threads share
// the totals, so that a limit holds for the process and not for a thread. What a thread takes is also counted in its own row, so that the
// owner can give back what a thread held when it ended. It knows indexes, not what is counted.

import type { Amount } from './budget.ts'

/** The amounts, by their index in a row. */
export const amounts = {
  smallBodies: 0,
  largeBodies: 1,
  largeReplies: 2,
  writes: 3,
  reads: 4,
  embeddingBodies: 5,
  queryBodies: 6,
} as const

/** 64 bytes: rows of different threads are in different lines of the cache. */
const rowLength = 16

/**
 *     row 0      totals of all threads; changed with compare-and-exchange and atomic subtraction
 *     row 1 + n  what thread n holds; written by thread n only, and by the owner after thread n ended
 */
export class SharedAmounts {
  /** Given to another thread, which makes its own SharedAmounts of it. */
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #own: number

  /** The amounts of `memory`, or new ones for `threads` threads, as thread number `thread`. */
  constructor(memory: SharedArrayBuffer | { readonly threads: number }, thread: number) {
    const isMemory = memory instanceof SharedArrayBuffer
    this.memory = isMemory ? memory : new SharedArrayBuffer((memory.threads + 1) * rowLength * 4)
    this.#words = new Int32Array(this.memory)
    this.#own = rowOf(thread)
  }

  /** The amount at `index`, as this thread takes from it. */
  amount(index: number): Amount {
    const words = this.#words
    const own = this.#own + index
    return {
      get taken() {
        return Atomics.load(words, index)
      },
      // A thread can be terminated only where a function is called or a loop repeats, so never between a change of the total and the
      // change of its own row.
      take(amount, max) {
        for (;;) {
          const total = Atomics.load(words, index)
          if (total + amount > max) return false
          if (Atomics.compareExchange(words, index, total, total + amount) === total) {
            Atomics.store(words, own, Atomics.load(words, own) + amount)
            return true
          }
        }
      },
      give(amount) {
        Atomics.store(words, own, Atomics.load(words, own) - amount)
        Atomics.sub(words, index, amount)
      },
    }
  }

  /** Gives back everything that a thread held. Call it only after the thread ended. */
  clear(thread: number): void {
    const row = rowOf(thread)
    for (let index = 0; index < rowLength; index++) {
      Atomics.sub(this.#words, index, Atomics.exchange(this.#words, row + index, 0))
    }
  }
}

function rowOf(thread: number): number {
  return (1 + thread) * rowLength
}
