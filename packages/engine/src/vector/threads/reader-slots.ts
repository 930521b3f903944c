// The words through which reader threads say what they are reading, and the owner waits for them. A reader searches synchronously, so
// it has one slot, whatever it searches.
//
//   words   state | generation | waits | left | .. | jobs | .. | slot of reader 0 | slot of reader 1 | ..
//   slot    board | version | turn
//
// The order of the stores is the contract, and all of them are sequentially consistent. A reader stores the version and the board,
// then loads the board's version again: if it changed, the reader begins again. The owner stores a new version before it reads the
// slots. So either the owner sees the slot, or the reader sees the new version.

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
  slots: 3 * line,
} as const

const slot = { board: 0, version: 1, turn: 2 } as const

/** The most reader threads of an engine. */
export const readersMax = 64

export class ReaderSlots {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly #readers: number

  /** `shared` are the words of the owner, in a reader. */
  constructor(readers: number, shared?: Int32Array<SharedArrayBuffer>) {
    this.#readers = readers
    this.words = shared ?? new Int32Array(new SharedArrayBuffer((words.slots + readers * line) * 4))
  }

  /** Whether the owner serves no longer. */
  get isClosed(): boolean {
    return Atomics.load(this.words, words.state) !== 0
  }

  /** Number of announcements so far. */
  get generation(): number {
    return Atomics.load(this.words, words.generation)
  }

  /** The reader begins to read a version of a board, which is above 0. The caller loads the version of the board again afterwards. */
  enter(reader: number, board: number, version: number): void {
    const at = slotAt(reader)
    Atomics.store(this.words, at + slot.version, version)
    Atomics.store(this.words, at + slot.board, board)
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
    Atomics.store(this.words, at + slot.board, 0)
    if (Atomics.load(this.words, words.waits) > 0) this.#wake()
  }

  /** Jobs of the graph threads that have begun and not ended. */
  get jobs(): number {
    return Atomics.load(this.words, words.jobs)
  }

  // The owner's part.

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
  }

  /** The thread of the reader has exited. */
  clear(reader: number): void {
    this.leave(reader)
    this.#wake()
  }

  /** Resolves when no reader reads a version below `version` of the board. */
  untilVersion(board: number, version: number): Promise<void> {
    return this.#until(() => {
      for (let reader = 0; reader < this.#readers; reader++) {
        const at = slotAt(reader)
        if (Atomics.load(this.words, at + slot.board) !== board) continue
        if (Atomics.load(this.words, at + slot.version) >>> 0 < version) return false
      }
      return true
    })
  }

  /** Resolves when every reading of the board that runs now has ended. */
  untilLeft(board: number): Promise<void> {
    const begun = Array.from({ length: this.#readers }, (_, reader) => this.#turn(reader, board))
    return this.#until(() => begun.every((turn, reader) => turn === undefined || this.#turn(reader, board) !== turn))
  }

  /** Undefined: the reader does not read the board. */
  #turn(reader: number, board: number): number | undefined {
    const at = slotAt(reader)
    const turn = Atomics.load(this.words, at + slot.turn)
    return Atomics.load(this.words, at + slot.board) === board ? turn : undefined
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
