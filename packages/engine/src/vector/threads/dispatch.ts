// The owner's side of the ring: gives a question a slot, or a place in the queue while there is none, and hands out answers.
// First come, first served across all fields. Waking a thread for one small walk costs as much as the walk: the owner keeps
// those and answers its share of them at the end of the turn; what is beyond it goes into the ring. So no small question waits
// behind a long one, and one that the owner answers is copied nowhere. Where a crowd asks at once the workers answer them all:
// they hardly sleep then, and the owner has enough to do with asking and telling.
import { assert, EngineError } from '../../errors.ts'
import { elementAt } from '../dense/arena.ts'
import type { Found } from './messages.ts'
import { type GraphQuery, type Query, workOf } from './query.ts'
import {
  inOrder,
  orderMax,
  owner,
  payloadOf,
  queryKinds,
  type Ring,
  similaritiesFrom,
  slot,
  slotAt,
  slotStates,
  slotsMax,
  takeSlot,
  wakeWorkers,
  words,
} from './ring.ts'

/** Questions that may wait for a slot before more are refused. */
const waitingMax = 10_000

/** A few tenths of a millisecond. */
const smallWork = 2 ** 17
/** The owner's share of a turn: more would keep it from reading and writing. Each further share wakes a worker. */
const ownWork = 2 ** 18
/** Answers to questions up to this may wait for the next few: they come within a millisecond or so. */
const briefWork = 2 ** 19
/** So many small questions open at once are a crowd. */
const crowdMin = 8

interface Open {
  readonly question: Query
  readonly resolve: (found: Found) => void
  readonly reject: (error: EngineError) => void
}

interface SmallOpen extends Open {
  readonly question: GraphQuery
}

function isSmall(open: Open): open is SmallOpen {
  return !isLong(open.question)
}

function isLong(question: Query): boolean {
  return workOf(question) > smallWork
}

export class QueryDispatcher {
  readonly #ring: Ring
  readonly #threads: number
  /** Called when a worker does not know an arena: it began after the arena was announced. False when nobody knows it. */
  readonly #announce: (arena: number) => boolean
  /** Answers in this thread; undefined where nobody knows the arena. */
  readonly #answerHere: (question: GraphQuery) => Found | undefined
  readonly #asked: () => void
  readonly #told: () => void
  readonly #views: ReturnType<typeof payloadOf>[]
  readonly #open: (Open | undefined)[] = new Array(slotsMax).fill(undefined)
  readonly #free = Array.from({ length: slotsMax }, (_, i) => i)
  /** How many questions about an arena have no answer yet, 0 for one that was asked before; and what is to be done when there are none. */
  readonly #about = new Map<number, number>()
  readonly #afterLast = new Map<number, () => void>()
  /** Small questions that the owner has not dealt out yet. */
  #own: SmallOpen[] = []
  #queue: Open[] = []
  #queueHead = 0
  #inSlots = 0
  /** Questions without an answer that are not small. */
  #long = 0
  #tail = 0
  #willHelp = false
  completed = 0

  constructor(
    ring: Ring,
    threads: number,
    hooks: {
      readonly announce: (arena: number) => boolean
      readonly answerHere: (question: GraphQuery) => Found | undefined
      /** Called for each question when it is asked and when its asker has been told. */
      readonly onSubmit: () => void
      readonly onAnswer: () => void
    },
  ) {
    this.#ring = ring
    this.#threads = threads
    this.#announce = hooks.announce
    this.#answerHere = hooks.answerHere
    this.#asked = hooks.onSubmit
    this.#told = hooks.onAnswer
    this.#views = Array.from({ length: slotsMax }, (_, i) => payloadOf(ring, i))
  }

  /** Questions without a slot. */
  get waiting(): number {
    return this.#own.length + this.#queue.length - this.#queueHead
  }

  /** Questions that nobody has begun with. */
  get untaken(): number {
    return this.waiting + ((this.#tail - Atomics.load(this.#ring.words, words.head)) | 0)
  }

  submit(question: Query): Promise<Found> {
    this.#asked()
    if (isLong(question)) this.#long++
    this.#about.set(question.arena, (this.#about.get(question.arena) ?? 0) + 1)
    return new Promise((resolve, reject) => {
      const open: Open = {
        question,
        resolve: (found) => {
          this.#settled(question)
          resolve(found)
        },
        reject: (error) => {
          this.#settled(question)
          reject(error)
        },
      }
      if (this.waiting >= waitingMax)
        open.reject(new EngineError('overloaded', `${waitingMax} queries are already waiting`, { limit: waitingMax }))
      else if (isSmall(open)) this.#keep(open)
      else {
        this.#handOver(open)
        wakeWorkers(this.#ring, 1)
      }
    })
  }

  #keep(open: SmallOpen): void {
    this.#own.push(open)
    this.#helpSoon()
  }

  /** To the workers; whoever calls this wakes them. */
  #handOver(open: Open): void {
    const place = this.#free.pop()
    if (place === undefined) this.#queue.push(open)
    else this.#place(place, open)
  }

  #settled(question: Query): void {
    const { arena } = question
    this.#told()
    if (isLong(question)) this.#long--
    const others = (this.#about.get(arena) ?? 0) - 1
    this.#about.set(arena, others)
    const after = others === 0 ? this.#afterLast.get(arena) : undefined
    if (after !== undefined) this.#forget(arena, after)
  }

  /** Calls back when no question about the arena is without an answer; at once where that is so. */
  whenUnasked(arena: number, callback: () => void): void {
    if ((this.#about.get(arena) ?? 0) > 0) this.#afterLast.set(arena, callback)
    else this.#forget(arena, callback)
  }

  #forget(arena: number, after: () => void): void {
    this.#about.delete(arena)
    this.#afterLast.delete(arena)
    after()
  }

  #place(index: number, open: Open): void {
    this.#open[index] = open
    this.#inSlots++
    const { question } = open
    const w = this.#ring.words
    const from = slotAt(index)
    const views = elementAt(this.#views, index)
    views.floats.set(question.query)
    w[from + slot.arena] = question.arena
    w[from + slot.dimension] = question.query.length
    w[from + slot.k] = question.k
    w[from + slot.version] = question.version
    w[from + slot.brief] = workOf(question) <= briefWork ? 1 : 0
    if (question.kind === 'search') {
      w[from + slot.kind] = queryKinds.search
      w[from + slot.ef] = question.ef
      w[from + slot.rerank] = question.rerank
      w[from + slot.bitmap] = question.bitmap
      w[from + slot.bits] = question.bits
      w[from + slot.compared] = question.compared
    } else if (question.kind === 'sparse') {
      w[from + slot.kind] = queryKinds.sparse
      w[from + slot.bitmap] = question.ticket
    } else if (question.listed !== undefined) {
      w[from + slot.kind] = queryKinds.scanListed
      w[from + slot.listed] = question.listed.length
      views.ordinals.set(question.listed, question.query.length)
    } else {
      w[from + slot.kind] = queryKinds.scanRange
      w[from + slot.from] = question.from
      w[from + slot.to] = question.to
    }
    Atomics.store(w, from + slot.state, slotStates.asked)
    this.#submit(index)
  }

  #submit(index: number): void {
    const w = this.#ring.words
    assert(((this.#tail - Atomics.load(w, words.head)) | 0) < orderMax, 'the order has a place for each slot')
    Atomics.store(w, words.order + (this.#tail & (orderMax - 1)), index)
    this.#tail = (this.#tail + 1) | 0
    Atomics.store(w, words.tail, this.#tail)
  }

  #helpSoon(): void {
    if (this.#willHelp) return
    this.#willHelp = true
    setImmediate(() => {
      this.#willHelp = false
      this.#help()
    })
  }

  #help(): void {
    const small = this.#own
    this.#own = []
    const crowded = this.#isCrowd(small.length)
    let share = 0
    let end = 0
    while (!crowded && end < small.length && share < ownWork) share += workOf(elementAt(small, end++).question)
    this.#dealOut(small.slice(end), crowded)
    if (crowded) return
    for (let i = 0; i < end; i++) this.#answer(elementAt(small, i))
    while (share < ownWork) {
      const work = this.#answerFirst()
      if (work === 0) return
      share += work
    }
    this.#helpSoon()
  }

  /** Behind a question that is long no small one is to wait, and where there is one worker two threads answer more than it. */
  #isCrowd(small: number): boolean {
    return small + this.#inSlots >= crowdMin && this.#long === 0 && this.#threads > 1
  }

  /** Each share of work beyond the owner's wakes a worker; a crowd wakes them all. */
  #dealOut(beyond: readonly SmallOpen[], crowded: boolean): void {
    if (beyond.length === 0) return
    for (const open of beyond) this.#handOver(open)
    const work = beyond.reduce((sum, { question }) => sum + workOf(question), 0)
    wakeWorkers(this.#ring, crowded ? Math.min(this.#threads, beyond.length) : Math.ceil(work / ownWork))
  }

  /** Takes the first question of the ring as a worker would; gives its work, or 0 when there is none for this thread. */
  #answerFirst(): number {
    const index = takeSlot(this.#ring, owner, this.#canServe)
    const open = this.#open[index]
    if (open === undefined || !isSmall(open)) return 0
    this.#vacate(index)
    this.#answer(open)
    return workOf(open.question)
  }

  #answer(open: SmallOpen): void {
    try {
      const found = this.#answerHere(open.question)
      if (found === undefined) open.reject(noArena())
      else {
        this.completed++
        open.resolve(found)
      }
    } catch (cause) {
      // As when a worker traps: it costs the question and nothing else.
      open.reject(new EngineError('worker_lost', 'the kernel failed in the calling thread', {}, { cause }))
    }
  }

  /** Or drop: where nothing is open, the slot stands in the order once too often. */
  readonly #canServe = (index: number): boolean => {
    const open = this.#open[index]
    return open === undefined || isSmall(open)
  };

  *#untakenSlots(): Generator<number> {
    const w = this.#ring.words
    for (let i = Atomics.load(w, words.head); i !== this.#tail; i = (i + 1) | 0) yield inOrder(w, i)
  }

  /** Hands out what has been answered and fills the slots with what waits. */
  collect(): void {
    if (this.#inSlots === 0) return
    for (let index = 0; index < slotsMax; index++) {
      const open = this.#open[index]
      if (open === undefined) continue
      const state = this.#stateOf(index)
      if (state === slotStates.answered) this.#resolve(index, this.#take(index))
      else if (state === slotStates.unknownArena) {
        if (this.#announce(open.question.arena)) this.#askAgain(index)
        else this.#refuse(index, noArena())
      }
    }
  }

  #stateOf(index: number): number {
    return Atomics.load(this.#ring.words, slotAt(index) + slot.state)
  }

  #askAgain(index: number): void {
    Atomics.store(this.#ring.words, slotAt(index) + slot.state, slotStates.asked)
    this.#submit(index)
    wakeWorkers(this.#ring, 1)
  }

  #resolve(index: number, found: Found): void {
    this.completed++
    this.#vacate(index)?.resolve(found)
  }

  #refuse(index: number, error: EngineError): void {
    this.#vacate(index)?.reject(error)
  }

  #take(index: number): Found {
    const w = this.#ring.words
    const from = slotAt(index)
    const views = elementAt(this.#views, index)
    const found = elementAt(w, from + slot.found)
    return {
      ordinals: Uint32Array.from(views.ordinals.subarray(0, found)),
      similarities: Float32Array.from(views.floats.subarray(similaritiesFrom, similaritiesFrom + found)),
      visited: elementAt(w, from + slot.visited),
      distances: elementAt(w, from + slot.distances),
    }
  }

  /** Gives the slot to what waits first; returns what was open in it. */
  #vacate(index: number): Open | undefined {
    const open = this.#open[index]
    this.#open[index] = undefined
    this.#inSlots--
    const next = this.#queue[this.#queueHead]
    if (next === undefined) {
      this.#free.push(index)
      return open
    }
    this.#queueHead++
    if (this.#queueHead === this.#queue.length) {
      this.#queue = []
      this.#queueHead = 0
    }
    this.#place(index, next)
    wakeWorkers(this.#ring, 1)
    return open
  }

  /** The arena that the question in a slot is about; undefined where there is none. */
  arenaAsked(index: number): number | undefined {
    return this.#open[index]?.question.arena
  }

  /** A worker is gone: what it had taken is refused, and what it had only taken out of the order is asked again. */
  lose(worker: number, error: EngineError): void {
    this.collect()
    const inOrderNow = new Set(this.#untakenSlots())
    this.#open.forEach((open, index) => {
      if (open === undefined) return
      const state = this.#stateOf(index)
      if (state === slotStates.taken + worker) this.#refuse(index, error)
      // Another worker may be about to take it; then it stands in the order once too often, which costs nothing.
      else if (state === slotStates.asked && !inOrderNow.has(index)) this.#askAgain(index)
    })
  }

  refuseAll(error: EngineError): void {
    const waiting = [...this.#own, ...this.#queue.slice(this.#queueHead)]
    this.#own = []
    this.#queue = []
    this.#queueHead = 0
    for (const open of waiting) open.reject(error)
    this.#open.forEach((open, index) => {
      if (open !== undefined) this.#refuse(index, error)
    })
  }
}

/** The refusal of a query about an arena that was released. */
export function noArena(): EngineError {
  return new EngineError('closed', 'the field was closed during the search')
}
