// Assigns queries to threads: first come, first served across all fields. To wake a thread for one small walk costs as much as the
// walk, so the owner answers small queries itself at the end of the turn, up to a share of the turn. The rest go to the workers
// through the ring. So no small query waits behind a long one, and a query that the owner answers is not copied. If many
// queries arrive at once, the workers answer all of them: they do not sleep then, and the owner has enough work with requests and
// replies.
import { assert, EngineError } from '../../errors.ts'
import { callerLeft } from '../caller.ts'
import { elementAt } from '../element-at.ts'
import type { Found, GraphQuery, Query } from '../pool.ts'
import { QueryCounts } from './query-counts.ts'
import { isLong, workOf } from './query-work.ts'
import {
  inOrder,
  orderLength,
  orderMax,
  owner,
  type Ring,
  slot,
  slotAt,
  slotStates,
  slotsMax,
  takeSlot,
  wakeWorkers,
  words,
} from './ring.ts'
import { SlotCodec } from './slot-codec.ts'

/** Queries that may wait for a slot. Further ones are rejected. */
const waitingMax = 10_000

/** The owner's share of a turn; more would delay its I/O. Each further share wakes a worker. */
const ownWork = 2 ** 18
/** A query up to this is brief: its answer may wait for a few others, which take about a millisecond. */
const briefWork = 2 ** 19
/** Number of small open queries from which the workers answer all of them. */
const crowdMin = 8

/** A query without an answer. */
interface Open {
  readonly query: Query
  readonly resolve: (found: Found) => void
  readonly reject: (error: EngineError) => void
}

interface SmallOpen extends Open {
  readonly query: GraphQuery
}

function isSmall(open: Open): open is SmallOpen {
  return !isLong(open.query)
}

/** What the dispatcher calls in the pool. */
export interface DispatchHost {
  /** Announces a memory again for a worker that does not know it. Returns false if the memory was released. */
  attachAgain(memory: number): boolean
  /** Answers in this thread. Undefined: the memory was released. */
  answerHere(query: GraphQuery): Found | undefined
  /** Whether the workers take queries. If they were not started, this starts them. */
  workersRun(): boolean
  /** Called once for each query when it is submitted and when it is settled. */
  onSubmit(): void
  onSettle(): void
}

export class QueryDispatcher {
  readonly #ring: Ring
  readonly #threads: number
  readonly #host: DispatchHost
  readonly #slots: SlotCodec
  readonly #open: (Open | undefined)[] = new Array(slotsMax).fill(undefined)
  readonly #free = Array.from({ length: slotsMax }, (_, i) => i)
  readonly #counts = new QueryCounts()
  /** Small queries of this turn. */
  #own: SmallOpen[] = []
  /** Queries for which there was no slot. */
  #queue: Open[] = []
  #queueHead = 0
  #inSlots = 0
  /** Open queries that are not small. */
  #long = 0
  #tail = 0
  #isHelpScheduled = false
  completed = 0

  constructor(ring: Ring, threads: number, host: DispatchHost) {
    this.#ring = ring
    this.#threads = threads
    this.#host = host
    this.#slots = new SlotCodec(ring)
  }

  /** Queries without a slot. */
  get waiting(): number {
    return this.#own.length + this.#queue.length - this.#queueHead
  }

  /** Queries that no thread has begun. */
  get notBegun(): number {
    return this.waiting + orderLength(this.#ring)
  }

  submit(query: Query): Promise<Found> {
    return new Promise((resolve, reject) => {
      const open: Open = { query, resolve, reject }
      this.#host.onSubmit()
      if (isLong(query)) this.#long++
      this.#counts.add(query.memory)
      if (this.waiting >= waitingMax)
        this.#reject(
          open,
          new EngineError('overloaded', `${waitingMax} queries are already waiting`, { limit: waitingMax }),
        )
      else if (isSmall(open)) {
        this.#own.push(open)
        this.#scheduleHelp()
      } else {
        this.#giveToWorkers(open)
        wakeWorkers(this.#ring, 1)
      }
    })
  }

  #resolve(open: Open, found: Found): void {
    this.completed++
    this.#settle(open.query)
    open.resolve(found)
  }

  #reject(open: Open, error: EngineError): void {
    this.#settle(open.query)
    open.reject(error)
  }

  #settle(query: Query): void {
    this.#host.onSettle()
    if (isLong(query)) this.#long--
    this.#counts.remove(query.memory)
  }

  /** Calls back when the memory has no open queries. It gets no further ones. */
  afterLastQuery(memory: number, callback: () => void): void {
    this.#counts.afterLast(memory, callback)
  }

  /** The caller wakes the workers. */
  #giveToWorkers(open: Open): void {
    this.#host.workersRun()
    const index = this.#free.pop()
    if (index === undefined) this.#queue.push(open)
    else this.#fill(index, open)
  }

  #fill(index: number, open: Open): void {
    this.#open[index] = open
    this.#inSlots++
    this.#slots.writeQuery(index, open.query, workOf(open.query) <= briefWork)
    this.#submitSlot(index)
  }

  #submitSlot(index: number): void {
    const w = this.#ring.words
    Atomics.store(w, slotAt(index) + slot.state, slotStates.submitted)
    assert(((this.#tail - Atomics.load(w, words.head)) | 0) < orderMax, 'the order has a place for each slot')
    Atomics.store(w, words.order + (this.#tail & (orderMax - 1)), index)
    this.#tail = (this.#tail + 1) | 0
    Atomics.store(w, words.tail, this.#tail)
  }

  #scheduleHelp(): void {
    if (this.#isHelpScheduled) return
    this.#isHelpScheduled = true
    setImmediate(() => {
      this.#isHelpScheduled = false
      this.#help()
    })
  }

  /** The owner answers its share of the small queries and gives the others to the workers. */
  #help(): void {
    const small = this.#own.filter((open) => this.#isWanted(open))
    this.#own = []
    const crowded = this.#isCrowd(small.length)
    let share = 0
    let end = 0
    while (!crowded && end < small.length && share < ownWork) share += workOf(elementAt(small, end++).query)
    this.#giveSmallToWorkers(small.slice(end), crowded)
    if (crowded) return
    for (let i = 0; i < end; i++) this.#answer(elementAt(small, i))
    while (share < ownWork) {
      const work = this.#answerFirst()
      if (work === 0) return
      share += work
    }
    this.#scheduleHelp()
  }

  /**
   * Not while a long query is open: no small one may wait behind it. Not with one worker: the owner and the worker are faster together. Not
   * before the workers run.
   */
  #isCrowd(small: number): boolean {
    return small + this.#inSlots >= crowdMin && this.#long === 0 && this.#threads > 1 && this.#host.workersRun()
  }

  /** Each share of work beyond the owner's wakes one worker, a crowd wakes all of them. */
  #giveSmallToWorkers(beyond: readonly SmallOpen[], crowded: boolean): void {
    if (beyond.length === 0) return
    for (const open of beyond) this.#giveToWorkers(open)
    const work = beyond.reduce((sum, { query }) => sum + workOf(query), 0)
    wakeWorkers(this.#ring, crowded ? Math.min(this.#threads, beyond.length) : Math.ceil(work / ownWork))
  }

  /** Takes the first query of the ring as a worker would. Returns its work, or 0 if there is none for the owner. */
  #answerFirst(): number {
    const index = takeSlot(this.#ring, owner, this.#canServe)
    const open = this.#open[index]
    if (open === undefined || !isSmall(open)) return 0
    this.#vacate(index)
    this.#answer(open)
    return workOf(open.query)
  }

  #answer(open: SmallOpen): void {
    try {
      const found = this.#host.answerHere(open.query)
      if (found === undefined) this.#reject(open, memoryReleased())
      else this.#resolve(open, found)
    } catch (cause) {
      // As when a worker traps: only this query fails.
      this.#reject(open, new EngineError('worker_lost', 'the kernel failed in the calling thread', {}, { cause }))
    }
  }

  /** A slot without an open query is in the order twice: taking it removes it. */
  readonly #canServe = (index: number): boolean => {
    const open = this.#open[index]
    return open === undefined || isSmall(open)
  };

  *#slotsInOrder(): Generator<number> {
    const w = this.#ring.words
    for (let i = Atomics.load(w, words.head); i !== this.#tail; i = (i + 1) | 0) yield inOrder(w, i)
  }

  /** Returns the answers that are ready, and fills their slots with waiting queries. */
  collect(): void {
    if (this.#inSlots === 0) return
    for (let index = 0; index < slotsMax; index++) {
      const open = this.#open[index]
      if (open === undefined) continue
      const state = this.#stateOf(index)
      if (state === slotStates.answered) {
        const found = this.#slots.readAnswer(index)
        this.#vacate(index)
        this.#resolve(open, found)
      } else if (state === slotStates.unknownMemory) {
        if (this.#host.attachAgain(open.query.memory)) this.#submitAgain(index)
        else this.#rejectSlot(index, open, memoryReleased())
      } else if (state === slotStates.skipped) this.#rejectSlot(index, open, callerLeft())
      // The worker that takes it skips it, so the order stays as it is.
      else if (state === slotStates.submitted && open.query.caller?.hasLeft)
        Atomics.store(this.#ring.words, slotAt(index) + slot.left, 1)
    }
  }

  #stateOf(index: number): number {
    return Atomics.load(this.#ring.words, slotAt(index) + slot.state)
  }

  #submitAgain(index: number): void {
    this.#submitSlot(index)
    wakeWorkers(this.#ring, 1)
  }

  #rejectSlot(index: number, open: Open, error: EngineError): void {
    this.#vacate(index)
    this.#reject(open, error)
  }

  /** Gives the slot to the first waiting query. */
  #vacate(index: number): void {
    this.#open[index] = undefined
    this.#inSlots--
    const next = this.#takeWaiting()
    if (next === undefined) {
      this.#free.push(index)
      return
    }
    this.#fill(index, next)
    wakeWorkers(this.#ring, 1)
  }

  /** The first query without a slot whose caller waits for it. */
  #takeWaiting(): Open | undefined {
    while (this.#queueHead < this.#queue.length) {
      const next = elementAt(this.#queue, this.#queueHead++)
      if (this.#queueHead === this.#queue.length) {
        this.#queue = []
        this.#queueHead = 0
      }
      if (this.#isWanted(next)) return next
    }
    return undefined
  }

  /** Rejects the query if its caller has left. */
  #isWanted(open: Open): boolean {
    if (!open.query.caller?.hasLeft) return true
    this.#reject(open, callerLeft())
    return false
  }

  /** The memory of the query in a slot. Undefined: the slot has no query. */
  memoryInSlot(index: number): number | undefined {
    return this.#open[index]?.query.memory
  }

  /** A worker has exited: rejects the query that it had taken. A query that it had only removed from the order is submitted again. */
  loseWorker(worker: number, error: EngineError): void {
    this.collect()
    const inOrderNow = new Set(this.#slotsInOrder())
    this.#open.forEach((open, index) => {
      if (open === undefined) return
      const state = this.#stateOf(index)
      if (state === slotStates.taken + worker) this.#rejectSlot(index, open, error)
      // Another worker may be about to take it. Then it is in the order twice, which does no harm.
      else if (state === slotStates.submitted && !inOrderNow.has(index)) this.#submitAgain(index)
    })
  }

  rejectAll(error: EngineError): void {
    const waiting = [...this.#own, ...this.#queue.slice(this.#queueHead)]
    this.#own = []
    this.#queue = []
    this.#queueHead = 0
    for (const open of waiting) this.#reject(open, error)
    this.#open.forEach((open, index) => {
      if (open !== undefined) this.#rejectSlot(index, open, error)
    })
  }
}

/** The error of a query in a memory that was released. */
export function memoryReleased(): EngineError {
  return new EngineError('closed', 'the field was closed during the search')
}
