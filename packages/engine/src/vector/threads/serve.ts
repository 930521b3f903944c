// What a worker does all its life: answers queries from the ring, and while there are none helps with open jobs a piece at a
// time, so that a query never waits for more than one piece.
import { BroadcastChannel, type MessagePort, receiveMessageOnPort, threadId } from 'node:worker_threads'
import { type ArenaHandle, elementAt } from '../dense/arena.ts'
import { type Attached, attachArena, helpApply, type Progress, scanIn, searchIn } from '../dense/attached.ts'
import { instantiateSparseKernel, type SparseHandle, type SparseKernel } from '../sparse/kernel.ts'
import { collectGarbage } from './garbage.ts'
import type { Announcement, WorkerData } from './messages.ts'
import {
  jobsMax,
  payloadOf,
  queryKinds,
  similaritiesFrom,
  sleepUntilWoken,
  slot,
  slotAt,
  slotStates,
  slotsMax,
  takeSlot,
  untaken,
  wakeWorkers,
  words,
  workersMax,
  workerWords,
} from './ring.ts'
import { ownThread } from './thread-state.ts'

/** Answers of which the owner is told at once, at most. */
const untoldMax = 8

export class Server {
  readonly #data: WorkerData
  readonly #number: number
  readonly #announcements: BroadcastChannel
  /** Arenas announced, and those of them this thread has had to do with: a kernel is made when it is first needed. */
  readonly #known = new Map<number, ArenaHandle>()
  readonly #arenas = new Map<number, Attached>()
  /** The same of sparse fields. */
  readonly #knownSparse = new Map<number, SparseHandle>()
  readonly #sparse = new Map<number, SparseKernel>()
  readonly #views: ReturnType<typeof payloadOf>[]
  readonly #words: Int32Array<SharedArrayBuffer>
  /** Questions answered of which the owner was not told. */
  #untold = 0
  #heard = 0

  constructor(data: WorkerData, number: number) {
    this.#data = data
    this.#number = number
    this.#words = data.ring.words
    this.#views = Array.from({ length: slotsMax }, (_, i) => payloadOf(data.ring, i))
    this.#announcements = new BroadcastChannel(data.channel)
    this.#announcements.unref()
  }

  /** Serves until the pool closes. */
  run(): void {
    const w = this.#words
    Atomics.store(w, words.workers + this.#number * workerWords + 2, threadId)
    Atomics.store(w, words.workers + this.#number * workerWords + 4, ownThread())
    Atomics.add(w, words.ready, 1)
    this.#tellOwner()
    for (;;) {
      // Loaded before looking around: whatever is added afterwards makes the wait below return at once.
      const wake = Atomics.load(w, words.wake)
      if (Atomics.load(w, words.announced) !== this.#heard) this.#listen()
      if (this.#takeQuery() || this.#takePiece()) continue
      if (Atomics.load(w, words.closed) === 1) break
      this.#listen()
      sleepUntilWoken(this.#data.ring, wake)
    }
    this.#announcements.close()
  }

  #takeQuery(): boolean {
    const index = takeSlot(this.#data.ring, this.#number)
    const isBrief = index >= 0 && elementAt(this.#words, slotAt(index) + slot.brief) === 1
    // Nothing that is answered waits for more than a few brief ones.
    if (!isBrief && this.#untold > 0) this.#tellOwner()
    if (index < 0) return false
    this.#serve(index)
    this.#untold++
    if (!isBrief || this.#untold >= untoldMax || this.#untold >= this.#shareOfUntaken()) this.#tellOwner()
    return true
  }

  /** The owner hears of as many as are left to do: it can ask more while they are done. */
  #shareOfUntaken(): number {
    return untaken(this.#data.ring) / this.#data.threads
  }

  #serve(index: number): void {
    const w = this.#words
    const from = slotAt(index)
    const own = words.workers + this.#number * workerWords
    Atomics.add(w, own + 3, 1)
    Atomics.store(w, own, index + 1)
    if (elementAt(w, from + slot.kind) === queryKinds.sparse) this.#serveSparse(from)
    else this.#serveArena(index, from)
    Atomics.store(w, own, 0)
  }

  /** The answer stands in the ticket. */
  #serveSparse(from: number): void {
    const w = this.#words
    const kernel = this.#sparseKernel(elementAt(w, from + slot.arena))
    kernel?.search(elementAt(w, from + slot.bitmap) >>> 0)
    w[from + slot.found] = 0
    Atomics.store(w, from + slot.state, kernel === undefined ? slotStates.unknownArena : slotStates.answered)
  }

  #sparseKernel(id: number): SparseKernel | undefined {
    const attached = this.#sparse.get(id)
    if (attached !== undefined) return attached
    this.#listen()
    const handle = this.#knownSparse.get(id)
    if (handle === undefined) return undefined
    const made = instantiateSparseKernel(handle)
    this.#sparse.set(id, made)
    return made
  }

  #serveArena(index: number, from: number): void {
    const w = this.#words
    const attached = this.#attachedTo(elementAt(w, from + slot.arena))
    if (attached === undefined) Atomics.store(w, from + slot.state, slotStates.unknownArena)
    else {
      const found = this.#answer(attached, index, from)
      const { kernel, scratch, u32, f32 } = attached
      const { ordinals, floats } = elementAt(this.#views, index)
      // Element by element, as in answersOf.
      for (let i = 0; i < found; i++) {
        ordinals[i] = elementAt(u32, scratch.answers / 4 + i)
        floats[similaritiesFrom + i] = elementAt(f32, scratch.similarities / 4 + i)
      }
      w[from + slot.found] = found
      w[from + slot.visited] = kernel.takeHops()
      w[from + slot.distances] = kernel.takeDistances()
      Atomics.store(w, from + slot.state, slotStates.answered)
    }
  }

  #answer(attached: Attached, index: number, from: number): number {
    const word = (offset: number) => elementAt(this.#words, from + offset) >>> 0
    const { floats, ordinals } = elementAt(this.#views, index)
    const dimension = word(slot.dimension)
    const query = floats.subarray(0, dimension)
    const k = word(slot.k)
    const version = word(slot.version)
    if (word(slot.kind) === queryKinds.search) {
      const [ef, rerank, bitmap, bits] = [word(slot.ef), word(slot.rerank), word(slot.bitmap), word(slot.bits)]
      return searchIn(attached, query, { compared: word(slot.compared), k, ef, rerank, version, bitmap, bits })
    }
    const isListed = word(slot.kind) === queryKinds.scanListed
    const listed = isListed ? ordinals.subarray(dimension, dimension + word(slot.listed)) : undefined
    return scanIn(attached, query, { k, version, listed, from: word(slot.from), to: word(slot.to) })
  }

  /** One piece of any open job. */
  #takePiece(): boolean {
    const w = this.#words
    const own = words.workers + this.#number * workerWords + 1
    for (let i = 0; i < jobsMax; i++) {
      const id = Atomics.load(w, words.jobs + i)
      if (id === 0) continue
      const attached = this.#attachedTo(id)
      if (attached === undefined) continue
      Atomics.add(w, own + 2, 1)
      Atomics.store(w, own, id)
      const progress: Progress = helpApply(attached, this.#data.ring.staging)
      if (progress === 'over') this.#tellOwner()
      else if (progress === 'phase') wakeWorkers(this.#data.ring, workersMax)
      // Last: whoever ends before this line is taken to have lost the job, also when it had only not told of it yet.
      Atomics.store(w, own, 0)
      if (progress !== 'nothing') return true
    }
    return false
  }

  #tellOwner(): void {
    this.#untold = 0
    Atomics.add(this.#words, words.done, 1)
    Atomics.notify(this.#words, words.done)
  }

  #attachedTo(id: number): Attached | undefined {
    const attached = this.#arenas.get(id)
    if (attached !== undefined) return attached
    this.#listen()
    const handle = this.#known.get(id)
    if (handle === undefined) return undefined
    const made = attachArena(handle, this.#data.module, this.#number)
    this.#arenas.set(id, made)
    return made
  }

  /** Hears which arenas there are. A worker sleeps without an event loop, so messages are fetched. */
  #listen(): void {
    // Loaded before the messages are read: what is announced meanwhile is heard of the next time at the latest.
    this.#heard = Atomics.load(this.#words, words.announced)
    for (;;) {
      const received: { readonly message: Announcement } | undefined = receiveMessageOnPort(
        // Node takes a BroadcastChannel here, as its documentation says; its types name the port alone.
        this.#announcements as unknown as MessagePort,
      )
      if (received === undefined) return
      const { message } = received
      if (message.kind === 'attach') this.#known.set(message.arena.id, message.arena)
      else if (message.kind === 'attach-sparse') this.#knownSparse.set(message.field.id, message.field)
      else if (message.kind === 'collect') collectGarbage()
      else {
        this.#known.delete(message.id)
        this.#knownSparse.delete(message.id)
        this.#sparse.delete(message.id)
        this.#arenas.delete(message.id)
      }
    }
  }
}
