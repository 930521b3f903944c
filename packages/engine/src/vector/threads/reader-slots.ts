// The words through which reader threads say what they are reading, and the owner waits for them. A reader searches synchronously, so
// it has one slot, whatever it searches.
//
//   words   state | generation | waits | left | .. | jobs | .. | LSN | progress | time | .. | slot of reader 0 | slot of reader 1 | ..
//   slot    header | version | turn | searches low | high | unreachable low | high
//
// The order of the stores is the contract, and all of them are sequentially consistent. A reader stores the version and the header,
// then loads the header's version again: if it changed, the reader begins again. The owner stores a new version before it reads the
// slots. So either the owner sees the slot, or the reader sees the new version. The LSN is that of the newest record up to which all are
// applied; it is stored after the versions that have them, so a search that begins after it was loaded sees them.

/** A cache line: words that different threads write are in different lines. */
const line = 16

const words = {
  /** 0: the owner serves. 1: it has closed or failed. */
  state: 0,
  /** Number of announcements that the ports of the readers have. */
  generation: 1,
  /** Number of waits of the owner for readers. */
  waits: line,
  /** Incremented when a reader leaves while the owner waits. */
  left: line + 1,
  /** Number of jobs of the graph threads. */
  jobs: 2 * line,
  /** Two words. */
  lsn: 3 * line,
  /** Incremented when the LSN has grown, a version was published, or a header was withdrawn. */
  progress: 3 * line + 2,
  /** Two words: milliseconds since 1970. */
  time: 3 * line + 4,
  slots: 4 * line,
} as const

/** The counters are of searches that state a recall, and of those whose recall no ef reaches. They outlive the reader. */
const slot = { header: 0, version: 1, turn: 2, searches: 3, unreachable: 5 } as const

/** V8 computes a power each time. */
const wordRange = 2 ** 32

/** The most reader threads of an engine. */
export const readersMax = 64

export class ReaderSlots {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly #readers: number
  readonly #lsn: BigInt64Array<SharedArrayBuffer>
  readonly #time: BigInt64Array<SharedArrayBuffer>

  /** `shared` are the words of the owner, in a reader. */
  constructor(readers: number, shared?: Int32Array<SharedArrayBuffer>) {
    this.#readers = readers
    this.words = shared ?? new Int32Array(new SharedArrayBuffer((words.slots + readers * line) * 4))
    this.#lsn = new BigInt64Array(this.words.buffer, this.words.byteOffset + words.lsn * 4, 1)
    this.#time = new BigInt64Array(this.words.buffer, this.words.byteOffset + words.time * 4, 1)
  }

  /** Whether the owner serves no longer. */
  get isClosed(): boolean {
    return Atomics.load(this.words, words.state) !== 0
  }

  /** Number of announcements so far. */
  get generation(): number {
    return Atomics.load(this.words, words.generation)
  }

  /** The reader begins to read a version of a header, which is above 0. The caller loads the version of the header again afterwards. */
  enter(reader: number, header: number, version: number): void {
    const at = slotAt(reader)
    Atomics.store(this.words, at + slot.version, version)
    Atomics.store(this.words, at + slot.header, header)
  }

  /** Every load before is complete before any load after: a store and a load that are sequentially consistent are never exchanged. */
  settle(reader: number): void {
    const at = slotAt(reader) + slot.turn
    Atomics.store(this.words, at, Atomics.load(this.words, at))
  }

  /** The reader reads nothing any more. */
  leave(reader: number): void {
    const at = slotAt(reader)
    // Only the reader writes its turn, until it has exited.
    Atomics.store(this.words, at + slot.turn, (Atomics.load(this.words, at + slot.turn) + 1) | 0)
    Atomics.store(this.words, at + slot.header, 0)
    if (Atomics.load(this.words, words.waits) > 0) this.#wake()
  }

  /** Every record up to this LSN is applied, and searches that begin from now on see it. */
  get lsnApplied(): number {
    return Number(Atomics.load(this.#lsn, 0))
  }

  /** Time of the newest record. */
  get timeMs(): number {
    return Number(Atomics.load(this.#time, 0))
  }

  /** Changes with everything that a wait for a record may wait for. */
  get progress(): number {
    return Atomics.load(this.words, words.progress)
  }

  /** Resolves when `progress` is not `seen` any more, or after `timeoutMs`. */
  async progressed(seen: number, timeoutMs: number): Promise<void> {
    const wait = Atomics.waitAsync(this.words, words.progress, seen, timeoutMs)
    if (wait.async) await wait.value
  }

  /** Counts a search of the reader that states a recall. */
  countRecall(reader: number, isReachable: boolean): void {
    this.#increment(slotAt(reader) + slot.searches)
    if (!isReachable) this.#increment(slotAt(reader) + slot.unreachable)
  }

  /** Only the reader writes the counters of its slot. */
  #increment(at: number): void {
    const low = (Atomics.load(this.words, at) + 1) | 0
    if (low === 0) Atomics.add(this.words, at + 1, 1)
    Atomics.store(this.words, at, low)
  }

  /** Jobs of the graph threads that have begun and not ended. */
  get jobs(): number {
    return Atomics.load(this.words, words.jobs)
  }

  // The owner's part.

  /** Call it when the versions that have the records up to this LSN are published. */
  advance(lsn: number, timeMs: number): void {
    Atomics.store(this.#time, 0, BigInt(timeMs))
    Atomics.store(this.#lsn, 0, BigInt(lsn))
    this.turn()
  }

  /** Something happened that a wait may wait for. */
  turn(): void {
    Atomics.add(this.words, words.progress, 1)
    Atomics.notify(this.words, words.progress)
  }

  /** Searches of all readers that stated a recall, and those of them whose recall no ef reaches. */
  recallCounts(): { readonly searches: number; readonly unreachable: number } {
    let [searches, unreachable] = [0, 0]
    for (let reader = 0; reader < this.#readers; reader++) {
      searches += this.#count(slotAt(reader) + slot.searches)
      unreachable += this.#count(slotAt(reader) + slot.unreachable)
    }
    return { searches, unreachable }
  }

  /** The upper word changes once in years. */
  #count(at: number): number {
    return Atomics.load(this.words, at + 1) * wordRange + (Atomics.load(this.words, at) >>> 0)
  }

  beginJob(): void {
    Atomics.add(this.words, words.jobs, 1)
  }

  endJob(): void {
    Atomics.sub(this.words, words.jobs, 1)
  }

  /** Everything posted so far is announced: a reader that sees the number finds the messages. */
  announce(): void {
    Atomics.add(this.words, words.generation, 1)
  }

  close(): void {
    Atomics.store(this.words, words.state, 1)
    this.turn()
  }

  /** The thread of the reader has exited. */
  clear(reader: number): void {
    this.leave(reader)
    this.#wake()
  }

  /** The oldest version of the header that a reader reads; infinite if none reads it. */
  oldestVersion(header: number): number {
    let oldest = Number.POSITIVE_INFINITY
    for (let reader = 0; reader < this.#readers; reader++) {
      const at = slotAt(reader)
      if (Atomics.load(this.words, at + slot.header) !== header) continue
      oldest = Math.min(oldest, Atomics.load(this.words, at + slot.version) >>> 0)
    }
    return oldest
  }

  /** Resolves when no reader reads a version below `version` of the header. */
  untilVersion(header: number, version: number): Promise<void> {
    return this.#until(() => this.oldestVersion(header) >= version)
  }

  /** Resolves when every reading of the header that runs now has ended. */
  untilLeft(header: number): Promise<void> {
    const begun = Array.from({ length: this.#readers }, (_, reader) => this.#turn(reader, header))
    return this.#until(() => begun.every((turn, reader) => turn === undefined || this.#turn(reader, header) !== turn))
  }

  /** Undefined: the reader does not read the header. */
  #turn(reader: number, header: number): number | undefined {
    const at = slotAt(reader)
    const turn = Atomics.load(this.words, at + slot.turn)
    return Atomics.load(this.words, at + slot.header) === header ? turn : undefined
  }

  async #until(isClear: () => boolean): Promise<void> {
    if (isClear()) return
    // A wait on shared memory does not keep a process alive.
    const alive = setInterval(() => undefined, 2 ** 30)
    Atomics.add(this.words, words.waits, 1)
    try {
      for (;;) {
        // Loaded before the slots: a reader that leaves afterwards makes the wait return immediately.
        const seen = Atomics.load(this.words, words.left)
        if (isClear()) return
        const wait = Atomics.waitAsync(this.words, words.left, seen)
        if (wait.async) await wait.value
      }
    } finally {
      Atomics.sub(this.words, words.waits, 1)
      clearInterval(alive)
    }
  }

  #wake(): void {
    Atomics.add(this.words, words.left, 1)
    Atomics.notify(this.words, words.left)
  }
}

function slotAt(reader: number): number {
  return words.slots + reader * line
}
