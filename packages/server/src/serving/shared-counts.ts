// Counts that all serving threads share: connections and their limit, and the progress of each thread. Each word of a thread is written
// by this thread alone, and cleared by the main thread after the thread has exited.

const wordsOfAll = 16
const wordsOfThread = 16
const limitWord = 0
const threadWord = { connections: 0, busy: 1, turns: 2, systemThread: 3, moved: 4, accepted: 5, refused: 6 } as const

/** Reads and writes the counts. */
export class SharedCounts {
  readonly memory: SharedArrayBuffer
  readonly threads: number
  readonly #words: Int32Array

  /** Counts for this many threads, in new memory or in memory of another thread. */
  constructor(threads: number, memory = new SharedArrayBuffer(4 * (wordsOfAll + threads * wordsOfThread))) {
    this.memory = memory
    this.threads = threads
    this.#words = new Int32Array(memory)
  }

  set connectionsMax(limit: number) {
    Atomics.store(this.#words, limitWord, limit)
  }
  get connectionsMax(): number {
    return Atomics.load(this.#words, limitWord)
  }

  /** Counts a connection. False without counting it if all threads together have as many as allowed. */
  connect(thread: number): boolean {
    // Counted before the comparison, so that two threads cannot take the last place both.
    Atomics.add(this.#words, at(thread, threadWord.connections), 1)
    const isAllowed = this.connections() <= this.connectionsMax
    Atomics.add(this.#words, at(thread, isAllowed ? threadWord.accepted : threadWord.refused), 1)
    if (!isAllowed) this.disconnect(thread)
    return isAllowed
  }

  disconnect(thread: number): void {
    Atomics.sub(this.#words, at(thread, threadWord.connections), 1)
  }

  /** Connections of one thread, or of all. */
  connections(thread?: number): number {
    if (thread !== undefined) return Atomics.load(this.#words, at(thread, threadWord.connections))
    let sum = 0
    for (let each = 0; each < this.threads; each++) sum += this.connections(each)
    return sum
  }

  /** The thread begins a piece of work. */
  begin(thread: number): void {
    const turns = at(thread, threadWord.turns)
    this.#words[turns] = (this.#words[turns]! + 1) | 0
    Atomics.store(this.#words, at(thread, threadWord.busy), 1)
  }

  /** The thread has finished its piece of work. */
  finish(thread: number): void {
    Atomics.store(this.#words, at(thread, threadWord.busy), 0)
  }

  /** Number of pieces of work that the thread has begun. Undefined while it does nothing. */
  turnOf(thread: number): number | undefined {
    if (Atomics.load(this.#words, at(thread, threadWord.busy)) === 0) return undefined
    return Atomics.load(this.#words, at(thread, threadWord.turns))
  }

  /** The id of the thread in the operating system. 0: unknown. */
  systemThread(thread: number): number {
    return Atomics.load(this.#words, at(thread, threadWord.systemThread))
  }
  setSystemThread(thread: number, id: number): void {
    Atomics.store(this.#words, at(thread, threadWord.systemThread), id)
  }

  /** Connections that the thread has accepted since the server started. */
  accepted(thread: number): number {
    return Atomics.load(this.#words, at(thread, threadWord.accepted)) >>> 0
  }
  /** Connections that it closed at once, because all threads together had as many as allowed. */
  refused(thread: number): number {
    return Atomics.load(this.#words, at(thread, threadWord.refused)) >>> 0
  }

  /** Connections that the thread closed so that their clients connect to another thread. */
  moved(thread: number): number {
    return Atomics.load(this.#words, at(thread, threadWord.moved)) >>> 0
  }
  countMoved(thread: number): void {
    Atomics.add(this.#words, at(thread, threadWord.moved), 1)
  }

  /** After the thread has exited. What it has counted since the server started remains. */
  clear(thread: number): void {
    for (const word of [threadWord.connections, threadWord.busy, threadWord.turns, threadWord.systemThread]) {
      Atomics.store(this.#words, at(thread, word), 0)
    }
  }
}

function at(thread: number, word: number): number {
  return wordsOfAll + thread * wordsOfThread + word
}
