// The loop of a worker thread: it answers queries from the ring, and when there are none, it works on open jobs one piece at a
// time, so that a query never waits for more than one piece.
import { threadId } from 'node:worker_threads'
import type { AttachedMemory, MemoryHandle } from '../pool.ts'
import { Listener } from './listener.ts'
import type { WorkerData } from './messages.ts'
import { Pace, pauseMs } from './pace.ts'
import {
  jobsMax,
  orderLength,
  sleepUntilWoken,
  slot,
  slotAt,
  slotStates,
  takeSlot,
  wakeWorkers,
  words,
  workerAt,
  workersMax,
  workerWord,
} from './ring.ts'
import { SlotCodec } from './slot-codec.ts'
import { lowerPriority, ownThread } from './thread-state.ts'

/** The owner is notified after at most so many answers. */
const answersPerNoticeMax = 8

export class WorkerLoop {
  readonly #data: WorkerData
  readonly #number: number
  /** Index of this worker's words. */
  readonly #own: number
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #slots: SlotCodec
  readonly #memories: Listener
  readonly #pace = new Pace()
  /** Answers since the owner was last notified. */
  #answersSinceNotice = 0

  constructor(data: WorkerData, number: number, attach: (handle: MemoryHandle) => AttachedMemory) {
    this.#data = data
    this.#number = number
    this.#own = workerAt(number)
    this.#words = data.ring.words
    this.#slots = new SlotCodec(data.ring)
    this.#memories = new Listener(data.ring, data.channel, attach)
  }

  /** Returns when the pool closes. */
  run(): void {
    const w = this.#words
    const systemThread = ownThread()
    lowerPriority(systemThread)
    Atomics.store(w, this.#own + workerWord.systemThread, systemThread)
    Atomics.store(w, this.#own + workerWord.thread, threadId)
    Atomics.add(w, words.ready, 1)
    this.#notifyOwner()
    for (;;) {
      // Loaded before the search for work: work that is added afterwards makes the wait below return immediately.
      const wake = Atomics.load(w, words.wake)
      if (this.#memories.hasNews) this.#memories.receive()
      if (this.#takeQuery() || this.#takePiece()) continue
      if (Atomics.load(w, words.closed) === 1) break
      this.#memories.receive()
      sleepUntilWoken(this.#data.ring, wake)
      this.#pace.restart()
    }
    this.#memories.close()
  }

  #takeQuery(): boolean {
    const index = takeSlot(this.#data.ring, this.#number)
    const isBrief = index >= 0 && this.#slots.isBrief(index)
    // An answer waits for a few brief queries at most, never for a long one.
    if (!isBrief && this.#answersSinceNotice > 0) this.#notifyOwner()
    if (index < 0) return false
    this.#serve(index)
    this.#answersSinceNotice++
    const most = Math.min(answersPerNoticeMax, this.#shareOfOrder())
    if (!isBrief || this.#answersSinceNotice >= most) this.#notifyOwner()
    return true
  }

  /** The owner is notified of as many answers as there are queries left: it can submit more while those run. */
  #shareOfOrder(): number {
    return orderLength(this.#data.ring) / this.#data.threads
  }

  #serve(index: number): void {
    const w = this.#words
    Atomics.add(w, this.#own + workerWord.begun, 1)
    Atomics.store(w, this.#own + workerWord.slot, index + 1)
    Atomics.store(w, slotAt(index) + slot.state, this.#answer(index))
    Atomics.store(w, this.#own + workerWord.slot, 0)
  }

  /** Returns the state in which the slot goes back to the owner. */
  #answer(index: number): number {
    if (Atomics.load(this.#words, slotAt(index) + slot.left) === 1) return slotStates.skipped
    const attached = this.#memories.find(this.#slots.memoryOf(index))
    if (attached === undefined) return slotStates.unknownMemory
    this.#slots.writeAnswer(index, attached, attached.run(this.#slots.readQuery(index)))
    return slotStates.answered
  }

  /** Does one piece of any open job. */
  #takePiece(): boolean {
    const w = this.#words
    const most = Atomics.load(w, words.jobWorkers)
    if (most !== 0 && this.#number >= most) return false
    for (let i = 0; i < jobsMax; i++) {
      const id = Atomics.load(w, words.jobs + i)
      const attached = id === 0 ? undefined : this.#memories.find(id)
      if (attached === undefined) continue
      Atomics.add(w, this.#own + workerWord.begun, 1)
      Atomics.store(w, this.#own + workerWord.job, id)
      const pauses = Atomics.load(w, words.jobPauses) === 1
      if (pauses) this.#pace.begin()
      const progress = attached.help(this.#data.ring.staging)
      if (progress === 'over') this.#notifyOwner()
      else if (progress === 'phase') wakeWorkers(this.#data.ring, workersMax)
      // Last: a worker that exits before this line is assumed to have lost the job, even if it had only not reported its end.
      Atomics.store(w, this.#own + workerWord.job, 0)
      if (progress === 'nothing') continue
      if (pauses && this.#pace.end()) this.#pause()
      return true
    }
    return false
  }

  /** Not on the word for work: the thread that wakes workers counts those that sleep on it. */
  #pause(): void {
    Atomics.wait(this.#words, this.#own + workerWord.pause, 0, pauseMs)
  }

  #notifyOwner(): void {
    this.#answersSinceNotice = 0
    Atomics.add(this.#words, words.done, 1)
    Atomics.notify(this.#words, words.done)
  }
}
