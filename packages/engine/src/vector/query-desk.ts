// The owner's side of the ring: gives a question a slot, or a place in the queue while there is none, and hands out answers.
// First come, first served across all fields. Waking a thread for one small walk costs as much as the walk: the owner answers
// those itself at the end of the turn, unless a worker that is awake was faster, and wakes one for what is beyond its share.
import { assert, EngineError } from '../errors.ts'
import { at } from './arena.ts'
import {
  payloadBytes,
  payloadOf,
  queryKinds,
  type Ring,
  similaritiesFrom,
  slot,
  slotAt,
  slotStates,
  slotsMax,
  wakeWorkers,
  words,
} from './ring.ts'
import type { Found } from './tasks.ts'

interface Asked {
  readonly arena: number
  readonly query: Float32Array
  readonly k: number
  readonly version: number
}
export interface SearchQuestion extends Asked {
  readonly kind: 'search'
  readonly ef: number
  readonly rerank: number
  /** As in SearchCall. */
  readonly compared: number
  /** Address of a bitmap in the arena, or 0. */
  readonly bitmap: number
  readonly bits: number
}
export interface ScanQuestion extends Asked {
  readonly kind: 'scan'
  /** Ordinals to compare, at most `listedMax`; or all from `from` below `to`. */
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}
/** The query stands in a ticket in the field's memory, and so does the answer. */
export interface SparseQuestion extends Asked {
  readonly kind: 'sparse'
  readonly ticket: number
}
export type Question = SearchQuestion | ScanQuestion | SparseQuestion

/** Ordinals one question can list beside its query. */
export function listedMax(dimension: number): number {
  return payloadBytes / 4 - dimension
}

/** Questions that may wait for a slot before more are refused. */
const waitingMax = 10_000

/** What a walk costs at most, as its pool times the dimension; more than a small one takes, where it cannot be told. */
function workOf(question: Question): number {
  if (question.kind !== 'search') return Number.POSITIVE_INFINITY
  const { compared, ef, query } = question
  return (compared > 0 ? compared / comparedPerEntry : ef) * query.length
}

/** Rows whose codes are compared in the time that a walk takes for an entry of its pool. */
const comparedPerEntry = 16

/** A few tenths of a millisecond. */
const smallWork = 2 ** 17
/** The owner's share of a turn: more would keep it from reading and writing. Each further share wakes a worker. */
const ownWork = 2 ** 18

function isSmall(question: Question | undefined): question is SearchQuestion {
  return question !== undefined && workOf(question) <= smallWork
}

interface Open {
  readonly question: Question
  readonly resolve: (found: Found) => void
  readonly reject: (error: EngineError) => void
}

export class QueryDesk {
  readonly #ring: Ring
  /** Called when a worker does not know an arena: it began after the arena was announced. */
  readonly #announce: (arena: number) => void
  /** Answers in this thread; undefined for an arena that is there no more. */
  readonly #answerHere: (question: SearchQuestion) => Found | undefined
  readonly #asked: () => void
  readonly #told: () => void
  readonly #views: ReturnType<typeof payloadOf>[]
  readonly #open: (Open | undefined)[] = new Array(slotsMax).fill(undefined)
  readonly #free = Array.from({ length: slotsMax }, (_, i) => i)
  #queue: Open[] = []
  #queueHead = 0
  #inSlots = 0
  #tail = 0
  #willHelp = false
  completed = 0

  constructor(
    ring: Ring,
    hooks: {
      readonly announce: (arena: number) => void
      readonly answerHere: (question: SearchQuestion) => Found | undefined
      /** Called for each question when it is asked and when its asker has been told. */
      readonly asked: () => void
      readonly told: () => void
    },
  ) {
    this.#ring = ring
    this.#announce = hooks.announce
    this.#answerHere = hooks.answerHere
    this.#asked = hooks.asked
    this.#told = hooks.told
    this.#views = Array.from({ length: slotsMax }, (_, i) => payloadOf(ring, i))
  }

  /** Questions without a slot. */
  get waiting(): number {
    return this.#queue.length - this.#queueHead
  }

  /** Questions that nobody has begun with. */
  get untaken(): number {
    return this.waiting + ((this.#tail - Atomics.load(this.#ring.words, words.head)) | 0)
  }

  ask(question: Question): Promise<Found> {
    this.#asked()
    return new Promise((resolve, reject) => {
      const open: Open = {
        question,
        resolve: (found) => {
          this.#told()
          resolve(found)
        },
        reject: (error) => {
          this.#told()
          reject(error)
        },
      }
      const place = this.#free.pop()
      if (place !== undefined) this.#place(place, open)
      else if (this.waiting < waitingMax) this.#queue.push(open)
      else open.reject(new EngineError('overloaded', `${waitingMax} queries wait already`, { limit: waitingMax }))
    })
  }

  #place(index: number, open: Open): void {
    this.#open[index] = open
    this.#inSlots++
    const { question } = open
    const w = this.#ring.words
    const from = slotAt(index)
    const views = at(this.#views, index)
    views.floats.set(question.query)
    w[from + slot.arena] = question.arena
    w[from + slot.dimension] = question.query.length
    w[from + slot.k] = question.k
    w[from + slot.version] = question.version
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
    if (isSmall(question)) this.#helpSoon()
    else wakeWorkers(this.#ring, 1)
  }

  #submit(index: number): void {
    const w = this.#ring.words
    Atomics.store(w, words.order + (this.#tail & (slotsMax - 1)), index)
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
    const others = Math.floor(this.#smallWorkUntaken() / ownWork)
    if (others > 0) wakeWorkers(this.#ring, others)
    for (let done = 0; done < ownWork; ) {
      const work = this.#answerFirst()
      if (work === 0) return
      done += work
    }
    this.#helpSoon()
  }

  /** Of the questions that stand in the ring and that nobody has begun with; for the others a worker was woken. */
  #smallWorkUntaken(): number {
    const w = this.#ring.words
    let sum = 0
    for (let i = Atomics.load(w, words.head); i !== this.#tail; i = (i + 1) | 0) {
      const question = this.#open[this.#inOrder(i)]?.question
      if (isSmall(question)) sum += workOf(question)
    }
    return sum
  }

  /** Which slot is the i-th of all that were ever asked. */
  #inOrder(i: number): number {
    return Atomics.load(this.#ring.words, words.order + (i & (slotsMax - 1)))
  }

  /** Takes the first question of the ring as a worker would; gives its work, or 0 when there is none for this thread. */
  #answerFirst(): number {
    const w = this.#ring.words
    for (;;) {
      const head = Atomics.load(w, words.head)
      if (head === this.#tail) return 0
      const index = this.#inOrder(head)
      const question = this.#open[index]?.question
      // Read before the exchange: a worker may have taken this question already, and its slot may hold another one.
      if (!isSmall(question)) return 0
      if (Atomics.compareExchange(w, words.head, head, (head + 1) | 0) !== head) continue
      let found: Found | undefined
      try {
        found = this.#answerHere(question)
      } catch (cause) {
        // As when a worker traps: it costs the question and nothing else.
        const open = this.#open[index]
        this.#vacate(index)
        open?.reject(new EngineError('worker_lost', 'the kernel failed in the thread that asked', {}, { cause }))
        return workOf(question)
      }
      if (found === undefined) {
        this.#submit(index)
        wakeWorkers(this.#ring, 1)
        return 0
      }
      this.completed++
      const open = this.#open[index]
      this.#vacate(index)
      open?.resolve(found)
      return workOf(question)
    }
  }

  /** Hands out what has been answered and fills the slots with what waits. */
  collect(): void {
    if (this.#inSlots === 0) return
    for (let index = 0; index < slotsMax; index++) {
      const open = this.#open[index]
      if (open === undefined) continue
      const state = Atomics.load(this.#ring.words, slotAt(index) + slot.state)
      if (state === slotStates.answered) {
        this.completed++
        const found = this.#take(index)
        this.#vacate(index)
        open.resolve(found)
      } else if (state === slotStates.unknownArena) {
        this.#announce(open.question.arena)
        Atomics.store(this.#ring.words, slotAt(index) + slot.state, slotStates.asked)
        this.#submit(index)
        wakeWorkers(this.#ring, 1)
      }
    }
  }

  #take(index: number): Found {
    const w = this.#ring.words
    const from = slotAt(index)
    const views = at(this.#views, index)
    const found = at(w, from + slot.found)
    return {
      ordinals: Uint32Array.from(views.ordinals.subarray(0, found)),
      similarities: Float32Array.from(views.floats.subarray(similaritiesFrom, similaritiesFrom + found)),
      visited: at(w, from + slot.visited),
      distances: at(w, from + slot.distances),
    }
  }

  #vacate(index: number): void {
    this.#open[index] = undefined
    this.#inSlots--
    const next = this.#queue[this.#queueHead]
    if (next === undefined) {
      this.#free.push(index)
      return
    }
    this.#queueHead++
    if (this.#queueHead === this.#queue.length) {
      this.#queue = []
      this.#queueHead = 0
    }
    this.#place(index, next)
  }

  /** The arena that the question in a slot is about; undefined where there is none. */
  arenaAsked(index: number): number | undefined {
    return this.#open[index]?.question.arena
  }

  /** Refuses the question in a slot whose worker was lost; -1 where it served none. */
  lose(index: number, error: EngineError): void {
    this.collect()
    if (index < 0) return
    const open = this.#open[index]
    if (open === undefined) return
    assert(Atomics.load(this.#ring.words, slotAt(index) + slot.state) === slotStates.asked, 'a lost query was asked')
    this.#vacate(index)
    open.reject(error)
  }

  refuseAll(error: EngineError): void {
    const waiting = this.#queue.slice(this.#queueHead)
    this.#queue = []
    this.#queueHead = 0
    for (const open of waiting) open.reject(error)
    this.#open.forEach((open, index) => {
      if (open === undefined) return
      this.#vacate(index)
      open.reject(error)
    })
  }
}
