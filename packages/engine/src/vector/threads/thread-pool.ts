// The pool of worker threads. The threads start with the first work for them, because each takes more than 10 MB and the owner answers
// small queries itself. Piscina owns them; each runs one task that lasts as long as the pool. If a worker exits, the query that it served is rejected, the memory whose job it
// worked on is unusable, and another worker takes its place.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { EngineError } from '../../errors.ts'
import { ownFile } from '../own-files.ts'
import {
  answerIn,
  type FieldMemory,
  type Found,
  type GraphQuery,
  type Query,
  type Staging,
  type WorkerPool,
  type WorkerPoolStats,
} from '../pool.ts'
import { Announcer } from './announcer.ts'
import { memoryReleased, QueryDispatcher } from './dispatch.ts'
import { exposeCollector, Garbage } from './garbage.ts'
import { Jobs } from './jobs.ts'
import type { ServeTask, WorkerData } from './messages.ts'
import { ReaderSlots } from './reader-slots.ts'
import { createRing, type Ring, wakeWorkers, words, workerAt, workerWord } from './ring.ts'
import { threadState } from './thread-state.ts'
import { type Picture, patienceWithoutPulseMs, patienceWithPulseMs, Watchdog } from './watchdog.ts'

/** Time before a worker is started again that exited before it listened: what prevents its start may last. */
const retryMs = 1_000

let lastPool = 0

export class ThreadPool implements WorkerPool {
  readonly threads: number
  readonly attachments: number
  readonly readers: ReaderSlots | undefined
  readonly module: WebAssembly.Module
  readonly #ring: Ring
  readonly #channel: string
  /** The program of the workers. */
  readonly #program = ownFile('@annal/engine/worker', 'annal-worker.mjs')
  readonly #announcer: Announcer
  readonly #dispatcher: QueryDispatcher
  readonly #jobs: Jobs
  readonly #garbage: Garbage
  #piscina: Promise<Piscina<ServeTask, void>> | undefined
  /** For each worker what ends it, as a crash of its thread would. */
  readonly #aborts: AbortController[] = []
  readonly #threadsByNumber: (Worker | undefined)[] = []
  /** For each worker its end, and the start of the worker that takes its place. */
  readonly #ends: Promise<void>[] = []
  /** A wait on shared memory does not keep a process alive. This timer does, while a caller waits for an answer. */
  readonly #alive = setInterval(() => undefined, 2 ** 30).unref()
  #watchdog: Watchdog | undefined
  /** Callers that wait. */
  #waiting = 0
  #resolveStarted: (() => void) | undefined
  /** Number of workers that had started when the owner last checked. */
  #readySeen = 0
  #lost = 0
  #collectAlso: (() => void) | undefined
  #closed: Promise<void> | undefined

  /** `module` is the compiled kernel of dense fields. Besides the `threads` workers, `readers` other threads can attach memories. */
  constructor(module: WebAssembly.Module, threads: number, readers = 0) {
    this.module = module
    this.threads = threads
    this.attachments = threads + readers
    this.readers = readers > 0 ? new ReaderSlots(readers) : undefined
    this.#ring = createRing()
    this.#channel = `annal-arenas-${process.pid}-${++lastPool}`
    this.#announcer = new Announcer(this.#ring, threads, this.#channel)
    this.#dispatcher = new QueryDispatcher(this.#ring, threads, {
      attachAgain: (id) => this.#announcer.attachAgain(id),
      answerHere: (query) => this.#answerHere(query),
      workersRun: () => this.#running(),
      onSubmit: () => this.#keepAlive(),
      onSettle: () => this.#allowExit(),
    })
    this.#jobs = new Jobs(this.#ring, threads)
    this.#garbage = new Garbage(() => {
      this.#announcer.collect()
      this.#collectAlso?.()
    })
    exposeCollector()
    this.#watchDone()
  }

  /** Starts the workers unless they were started. Work that they are given meanwhile waits for them. */
  #start(): void {
    if (this.#watchdog !== undefined || this.#closed !== undefined) return
    this.#watchdog = new Watchdog(this.threads, {
      pictureOf: (number) => this.#pictureOf(number),
      stateOf: (number) => threadState(this.#load(number, workerWord.systemThread)),
      stuck: (number, why) => this.#terminate(number, why),
    })
    this.#piscina = this.#createPiscina()
    for (let number = 0; number < this.threads; number++) this.#startWorker(number)
  }

  /** Loaded with the first work, because the module takes 8 MB. */
  async #createPiscina(): Promise<Piscina<ServeTask, void>> {
    const { Piscina } = await import('piscina')
    const { module, threads } = this
    const workerData: WorkerData = { module, channel: this.#channel, ring: this.#ring, threads }
    return new Piscina({
      filename: this.#program,
      name: 'serve',
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      workerData,
    })
  }

  /** Whether every worker listens. If they were not started, this starts them. */
  #running(): boolean {
    this.#start()
    return Atomics.load(this.#ring.words, words.ready) >= this.threads
  }

  /** Starts the workers if they were not started, and resolves when every worker listens: only those receive announcements. */
  async started(): Promise<void> {
    this.#throwIfClosed()
    if (this.#running()) return
    await this.#keepAliveFor(
      new Promise<void>((resolve) => {
        this.#resolveStarted = resolve
      }),
    )
  }

  #startWorker(number: number): void {
    // Piscina terminates the thread of a task that is aborted. The signal is never connected to anything that a client sends.
    const abort = new AbortController()
    this.#aborts[number] = abort
    this.#ends[number] = this.#serve(number, abort.signal).catch((error: unknown) => this.#replaceWorker(number, error))
  }

  /** Resolves when the pool is closed. Rejects if the thread exits before that. */
  async #serve(number: number, signal: AbortSignal): Promise<void> {
    const piscina = await this.#piscina
    if (this.#closed === undefined) await piscina?.run({ number }, { signal })
  }

  #terminate(number: number, why: string): void {
    this.#aborts[number]?.abort(new Error(why))
  }

  /** A worker exited. Only the work that it was doing is lost. */
  async #replaceWorker(number: number, cause: unknown): Promise<void> {
    await this.#terminateThread(number)
    if (this.#closed !== undefined) return
    this.#lost++
    const error = new EngineError('worker_lost', `worker ${number} exited while it was working`, {}, { cause })
    this.#dispatcher.loseWorker(number, error)
    this.#store(number, workerWord.slot, 0)
    const memory = Atomics.exchange(this.#ring.words, workerAt(number) + workerWord.job, 0)
    const listened = Atomics.exchange(this.#ring.words, workerAt(number) + workerWord.thread, 0) !== 0
    this.#store(number, workerWord.systemThread, 0)
    if (memory !== 0) this.#jobs.fail(memory, error)
    if (!listened) await sleep(retryMs, undefined, { ref: false })
    if (this.#closed !== undefined) return
    // The worker may stay counted as sleeping. A count that is too high costs only wake-ups without a receiver.
    this.#startWorker(number)
    this.#announcer.attachAllAgain()
  }

  /**
   * Piscina reports the end of a task before its thread has ended, and keeps the thread of a task that threw. Until the thread has ended
   * it may still take work, and a thread in which the kernel trapped must not get any.
   */
  async #terminateThread(number: number): Promise<void> {
    const thread = this.#threadsByNumber[number]
    if (thread !== undefined && thread.threadId !== -1) {
      const ended = once(thread, 'exit')
      await thread.terminate()
      await ended
    }
    this.#threadsByNumber[number] = undefined
  }

  #load(number: number, word: number): number {
    return Atomics.load(this.#ring.words, workerAt(number) + word)
  }
  #store(number: number, word: number, value: number): void {
    Atomics.store(this.#ring.words, workerAt(number) + word, value)
  }

  /** What a worker does and how far it is. Undefined: nothing. */
  #pictureOf(number: number): Picture | undefined {
    const index = this.#load(number, workerWord.slot) - 1
    const id = index < 0 ? this.#load(number, workerWord.job) : (this.#dispatcher.memoryInSlot(index) ?? 0)
    if (id === 0) return undefined
    const turn = this.#load(number, workerWord.begun)
    const pulse = this.#announcer.find(id)?.pulse(number)
    return { turn, pulse: pulse ?? 0, patienceMs: pulse === undefined ? patienceWithoutPulseMs : patienceWithPulseMs }
  }

  attach(memory: FieldMemory): void {
    this.#announcer.attach(memory)
  }

  release({ id, bytesTouched }: FieldMemory): void {
    this.#dispatcher.afterLastQuery(id, () => {
      this.#announcer.release(id)
      this.#garbage.add(bytesTouched)
    })
  }

  onCollect(callback: () => void): void {
    this.#collectAlso = callback
  }

  discard({ bytesTouched }: FieldMemory): void {
    this.#garbage.add(bytesTouched)
  }

  #answerHere(query: GraphQuery): Found | undefined {
    const attached = this.#announcer.find(query.memory)?.attached
    return attached && answerIn(attached, query)
  }

  submit(query: Query): Promise<Found> {
    this.#throwIfClosed()
    // A worker that has not processed the release yet would answer from memory that no longer belongs to the field.
    if (this.#announcer.find(query.memory) === undefined) return Promise.reject(memoryReleased())
    return this.#dispatcher.submit(query)
  }

  async runJob(memory: FieldMemory, open: (staging: Staging) => void): Promise<void> {
    this.#throwIfClosed()
    this.#start()
    this.readers?.beginJob()
    try {
      await this.#keepAliveFor(this.#jobs.run(memory, open))
    } finally {
      this.readers?.endJob()
    }
  }

  limitJobs(workers: number, pauses = false): void {
    Atomics.store(this.#ring.words, words.jobPauses, pauses ? 1 : 0)
    const limit = Math.min(this.threads, Math.max(1, workers))
    const before = Atomics.exchange(this.#ring.words, words.jobWorkers, limit)
    // Workers that may work again sleep.
    if (before !== 0 && before < limit) wakeWorkers(this.#ring, this.threads)
  }

  #keepAliveFor<T>(promise: Promise<T>): Promise<T> {
    this.#keepAlive()
    const settled = () => this.#allowExit()
    promise.then(settled, settled)
    return promise
  }

  #keepAlive(): void {
    if (this.#waiting++ === 0) this.#alive.ref()
  }

  #allowExit(): void {
    if (--this.#waiting === 0) this.#alive.unref()
  }

  /** Processes completed work, each time a worker reports some. */
  #watchDone(): void {
    const w = this.#ring.words
    for (;;) {
      const seen = Atomics.load(w, words.done)
      this.#collect()
      if (this.#closed !== undefined) return
      const wait = Atomics.waitAsync(w, words.done, seen)
      if (!wait.async) continue
      wait.value.then(() => this.#watchDone(), failOnWait)
      return
    }
  }

  #collect(): void {
    void this.#findThreads()
    this.#announceToNewWorkers()
    this.#dispatcher.collect()
    this.#jobs.collect()
  }

  /** A worker reports the id of its thread when it listens. */
  async #findThreads(): Promise<void> {
    const isUnknown = (number: number) =>
      this.#threadsByNumber[number] === undefined && this.#load(number, workerWord.thread) !== 0
    const unknown = Array.from({ length: this.threads }, (_, number) => number).filter(isUnknown)
    if (unknown.length === 0) return
    const threads = (await this.#piscina)?.threads ?? []
    for (const number of unknown) {
      const id = this.#load(number, workerWord.thread)
      this.#threadsByNumber[number] = threads.find(({ threadId }) => threadId === id)
    }
  }

  /** A worker that starts has missed earlier announcements. */
  #announceToNewWorkers(): void {
    const ready = Atomics.load(this.#ring.words, words.ready)
    if (ready === this.#readySeen) return
    this.#readySeen = ready
    this.#announcer.attachAllAgain()
    wakeWorkers(this.#ring, this.threads)
    if (ready >= this.threads) this.#resolveStarted?.()
  }

  get stats(): WorkerPoolStats {
    return {
      threads: this.threads,
      started: this.#watchdog !== undefined,
      waiting: this.#dispatcher.notBegun,
      completed: this.#dispatcher.completed,
      begun: Array.from({ length: this.threads }, (_, number) => this.#load(number, workerWord.begun)),
      lost: this.#lost,
      memories: this.#announcer.size,
    }
  }

  /** Terminates a worker immediately, as a crash of its thread would. Resolves when it has exited. */
  async loseWorker(number: number): Promise<void> {
    const end = this.#ends[number]
    this.#terminate(number, 'it was terminated')
    if (end !== undefined) await this.#keepAliveFor(end)
  }

  #throwIfClosed(): void {
    if (this.#closed !== undefined) throw poolClosed()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#announcer.stop()
    this.#jobs.stop(poolClosed())
    // A worker that still starts sees this as well.
    Atomics.store(this.#ring.words, words.closed, 1)
    wakeWorkers(this.#ring, this.threads)
    await this.#keepAliveFor(Promise.all(this.#ends))
    this.#resolveStarted?.()
    this.#dispatcher.collect()
    this.#dispatcher.rejectAll(poolClosed())
    this.#jobs.rejectAll(poolClosed())
    this.#watchdog?.end()
    await (await this.#piscina)?.close()
    this.#announcer.close()
    clearInterval(this.#alive)
    this.#garbage.end()
  }
}

function poolClosed(): EngineError {
  return new EngineError('closed', 'the worker pool is closed')
}

function failOnWait(error: unknown): never {
  throw new Error('broken invariant: waiting for a word of the ring cannot fail', { cause: error })
}
