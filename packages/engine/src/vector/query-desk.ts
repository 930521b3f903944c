// The owner's side of the ring: gives a question a slot, or a place in the queue while there is none, and hands out answers.
// First come, first served across all fields.
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

interface Open {
  readonly question: Question
  readonly resolve: (found: Found) => void
  readonly reject: (error: EngineError) => void
}

export class QueryDesk {
  readonly #ring: Ring
  /** Called when a worker does not know an arena: it began after the arena was announced. */
  readonly #announce: (arena: number) => void
  readonly #views: ReturnType<typeof payloadOf>[]
  readonly #open: (Open | undefined)[] = new Array(slotsMax).fill(undefined)
  readonly #free = Array.from({ length: slotsMax }, (_, i) => i)
  #queue: Open[] = []
  #queueHead = 0
  #inSlots = 0
  #tail = 0
  completed = 0

  constructor(ring: Ring, announce: (arena: number) => void) {
    this.#ring = ring
    this.#announce = announce
    this.#views = Array.from({ length: slotsMax }, (_, i) => payloadOf(ring, i))
  }

  get waiting(): number {
    return this.#queue.length - this.#queueHead
  }

  ask(question: Question): Promise<Found> {
    return new Promise((resolve, reject) => {
      const open = { question, resolve, reject }
      const place = this.#free.pop()
      if (place !== undefined) this.#place(place, open)
      else if (this.waiting < waitingMax) this.#queue.push(open)
      else reject(new EngineError('overloaded', `${waitingMax} queries wait already`, { limit: waitingMax }))
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
    Atomics.store(w, words.order + (this.#tail & (slotsMax - 1)), index)
    this.#tail = (this.#tail + 1) | 0
    // The tail lets workers take the slot; the wake word comes after it, so that a worker about to sleep sees one of them.
    Atomics.store(w, words.tail, this.#tail)
    Atomics.add(w, words.wake, 1)
    if (Atomics.load(w, words.sleeping) > 0) Atomics.notify(w, words.wake, 1)
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
