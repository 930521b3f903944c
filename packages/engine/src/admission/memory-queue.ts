// Where writes wait for memory that other writes will give back. A write that fits begins at once. Another one waits, for a short time, while
// writes run: what they were counted with is more than what they leave. Only when none runs, and everything that can be freed was freed, is
// it known that a write does not fit. Does not know how memory is measured.
import { assert, EngineError } from '../errors.ts'
import { WaitLimit } from '../wait-limit.ts'
import { bytesOf, type MemoryNeed, partOf } from './memory-need.ts'
import type { MemoryReading } from './memory-reading.ts'

/** Memory also becomes free without them: garbage is collected, and other processes end. */
const lookEveryMs = 100
/** Writes whose input is in memory may wait this many times as long: nothing of them has to arrive, and to repeat them costs more. */
const begunWaits = 3
/** Writes that wait. Further ones are refused. */
const waitingMax = 1_024

/** What the queue asks of the guard. */
export interface MemoryLedger {
  /** The limit that the need would exceed now. */
  lacking(need: MemoryNeed): MemoryReading | undefined
  /** The same, if all other work that runs gave back what it is counted with. */
  lackingAlone(need: MemoryNeed): MemoryReading | undefined
  /** Frees what can be freed. Returns false if it did that a moment ago. */
  freeAll(): boolean
  /** Whether no work began since everything was freed that can be. */
  isFreed(): boolean
  /** Whether nothing is counted, also of work that may take long, such as a rebuild. No write waits for that. */
  isIdle(): boolean
  count(need: MemoryNeed): void
  /** `need` is that of `count`. Its growth may be in memory. */
  discount(need: MemoryNeed): void
  /** Returns the error, and counts it. */
  refuse(code: 'memory_exhausted' | 'overloaded', what: string, need: MemoryNeed, lacking: MemoryReading): EngineError
}

/** A write, from its beginning to its end. */
export interface MemoryWork {
  /** Whether what is counted for it is enough. */
  covers(need: MemoryNeed): boolean
  /**
   * Counts this need instead of the one before. Waits while it does not fit and other writes run; a first need waits for `spacious` if it is
   * given, as long as others run. Throws EngineError `overloaded` if that takes too long, and `memory_exhausted` if it would not fit next to
   * nothing; then nothing is counted.
   */
  take(need: MemoryNeed, spacious?: MemoryNeed): Promise<void>
  /** Counts a first need if it fits and nothing waits. Returns false if not; nothing is counted then. */
  takeIfFree(need: MemoryNeed): boolean
  /** The same without waiting, for a write that others wait for. It succeeds if the need is covered. */
  takeNow(need: MemoryNeed): void
  /** Idempotent. */
  release(): void
}

interface Waiting {
  readonly what: string
  readonly need: MemoryNeed
  readonly spacious: MemoryNeed
  readonly begin: (counted: MemoryNeed) => void
  readonly refuse: (error: Error) => void
}

const nothing: MemoryNeed = { growth: 0 }

export class MemoryQueue {
  readonly #ledger: MemoryLedger
  readonly #waitMsMax: number
  /** In the order of their arrival. Those whose input is in memory come first: until they end, it is occupied. */
  readonly #begun = new Set<Waiting>()
  readonly #new = new Set<Waiting>()
  #running = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(ledger: MemoryLedger, waitMsMax: number) {
    this.#ledger = ledger
    this.#waitMsMax = waitMsMax
  }

  get waiting(): number {
    return this.#begun.size + this.#new.size
  }

  open(what: string): MemoryWork {
    return new Work(what, this)
  }

  /** Refuses what waits, and everything later that would have to. */
  close(): void {
    this.#isClosed = true
    for (const { refuse } of [...this.#begun, ...this.#new]) refuse(closed())
    this.#begun.clear()
    this.#new.clear()
    clearTimeout(this.#timer)
  }

  count(need: MemoryNeed): void {
    if (need === nothing) return
    this.#ledger.count(need)
    this.#running += 1
  }

  discount(need: MemoryNeed): void {
    if (need === nothing) return
    this.#ledger.discount(need)
    this.#running -= 1
  }

  /** Counts the need if it fits and nothing waits, and returns whether it did. */
  beginIfFree(need: MemoryNeed): boolean {
    if (this.waiting > 0 || this.#lacking(need) !== undefined) return false
    this.count(need)
    return true
  }

  /** Returns what is counted: `spacious`, or the need alone if nothing else runs. */
  async begin(work: Work, need: MemoryNeed, spacious: MemoryNeed): Promise<MemoryNeed> {
    if (this.beginIfFree(spacious)) return spacious
    if (this.#isClosed) throw closed()
    if (this.waiting >= waitingMax) throw this.#tooBusy(work.what, need)
    const { promise, resolve: begin, reject: refuse } = Promise.withResolvers<MemoryNeed>()
    const waiting = { what: work.what, need, spacious, begin, refuse }
    const line = work.isBegun ? this.#begun : this.#new
    line.add(waiting)
    this.advance()
    const limit = new WaitLimit(work.isBegun ? begunWaits * this.#waitMsMax : this.#waitMsMax)
    while (line.has(waiting) && !limit.isOver) await limit.wait(promise)
    if (line.delete(waiting)) refuse(this.#tooBusy(work.what, need))
    return await promise
  }

  beginNow({ what }: Work, need: MemoryNeed): void {
    const lacking = this.#lacking(need)
    if (lacking !== undefined) throw this.#refusal(what, need, lacking)
    this.count(need)
  }

  /** Lets what waits begin, as far as it fits. Small writes may pass large ones, so that nobody can hold up all others. */
  advance(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#decide(this.#begun)
    if (this.#begun.size === 0) this.#decide(this.#new)
    if (this.waiting > 0) this.#timer = setTimeout(() => this.advance(), lookEveryMs)
  }

  #decide(line: Set<Waiting>): void {
    for (const waiting of [...line]) {
      const { what, need, spacious, begin, refuse } = waiting
      const wanted = this.#running === 0 ? need : spacious
      const lacking = this.#lacking(wanted)
      if (lacking === undefined) {
        line.delete(waiting)
        this.count(wanted)
        begin(wanted)
      } else if (this.#isKnown(waiting)) {
        line.delete(waiting)
        refuse(this.#refusal(what, need, lacking))
      }
    }
  }

  /** The limit that the need would exceed, even after everything was freed that can be. */
  #lacking(need: MemoryNeed): MemoryReading | undefined {
    const lacking = this.#ledger.lacking(need)
    return lacking !== undefined && this.#ledger.freeAll() ? this.#ledger.lacking(need) : lacking
  }

  /** Whether waiting cannot help a need that does not fit. */
  #isKnown(waiting: Waiting): boolean {
    const others = this.#begun.size - (this.#begun.has(waiting) ? 1 : 0)
    return this.#neverFits(waiting.need, others) || (this.#running === 0 && this.#ledger.isFreed())
  }

  /** Whether a need that does not fit would not fit next to nothing either. The input of `others` is in memory, but is not counted. */
  #neverFits(need: MemoryNeed, others: number): boolean {
    if (others > 0) return false
    return (this.#ledger.isIdle() && this.#ledger.isFreed()) || this.#ledger.lackingAlone(need) !== undefined
  }

  #refusal(what: string, need: MemoryNeed, lacking: MemoryReading): EngineError {
    const code = this.#neverFits(need, this.#begun.size) ? 'memory_exhausted' : 'overloaded'
    return this.#ledger.refuse(code, what, need, lacking)
  }

  #tooBusy(what: string, need: MemoryNeed): EngineError {
    const lacking = this.#ledger.lacking({ growth: Number.POSITIVE_INFINITY })
    assert(lacking !== undefined, 'nothing waits without a limit')
    return this.#ledger.refuse('overloaded', what, need, lacking)
  }
}

class Work implements MemoryWork {
  readonly what: string
  readonly #queue: MemoryQueue
  #counted = nothing
  /** Whether its input may be in memory. */
  isBegun = false

  constructor(what: string, queue: MemoryQueue) {
    this.what = what
    this.#queue = queue
  }

  covers(need: MemoryNeed): boolean {
    return bytesOf(need) <= bytesOf(this.#counted) && partOf(need) <= partOf(this.#counted)
  }

  async take(need: MemoryNeed, spacious = need): Promise<void> {
    this.#giveBack()
    this.#counted = await this.#queue.begin(this, need, spacious)
    this.isBegun = true
  }

  takeIfFree(need: MemoryNeed): boolean {
    if (!this.#queue.beginIfFree(need)) return false
    this.#counted = need
    this.isBegun = true
    return true
  }

  takeNow(need: MemoryNeed): void {
    const isCovered = this.covers(need)
    this.#giveBack()
    if (isCovered) this.#queue.count(need)
    else this.#queue.beginNow(this, need)
    this.#counted = need
    this.isBegun = true
  }

  release(): void {
    const counted = this.#counted
    this.#counted = nothing
    this.#queue.discount(counted)
    if (this.#queue.waiting > 0) this.#queue.advance()
  }

  /** The work goes on with another need, so it has left nothing yet, and it is not yet the turn of others. */
  #giveBack(): void {
    const transient = bytesOf(this.#counted)
    if (this.#counted !== nothing) this.#queue.discount({ growth: 0, transient })
    this.#counted = nothing
  }
}

function closed(): EngineError {
  return new EngineError('closed', 'the engine is closed')
}
