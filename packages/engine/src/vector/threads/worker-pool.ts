// The threads that search and build graphs. Piscina owns them; each runs one task that lasts as long as the pool, serving the
// ring. A worker that is lost takes down what it was doing and nothing else: its query is refused, the arena whose job it
// worked on is given up by its owner, and another worker takes its place.

import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { BroadcastChannel, type Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { assert, EngineError } from '../../errors.ts'
import { type Arena, header } from '../dense/arena.ts'
import { answersOf, searchIn } from '../dense/attached.ts'
import { compileKernel, work } from '../dense/kernel.ts'
import { ownFile } from '../own-files.ts'
import type { SparseHandle } from '../sparse/kernel.ts'
import { noArena, QueryDispatcher } from './dispatch.ts'
import { exposeCollector, Garbage } from './garbage.ts'
import type { Announcement, Found, ServeTask, WorkerData } from './messages.ts'
import type { GraphQuery, Query } from './query.ts'
import { createRing, jobsMax, type Ring, stagingBytes, wakeWorkers, words, workersMax, workerWords } from './ring.ts'
import { threadState } from './thread-state.ts'
import { type Picture, patienceWithoutPulseMs, patienceWithPulseMs, Watchdog } from './watchdog.ts'

export interface WorkerPoolOptions {
  /** How many worker threads; one for each core when not given. */
  readonly threads?: number
}

export interface WorkerPoolStats {
  readonly threads: number
  /** Queries not yet taken up. */
  readonly waiting: number
  readonly completed: number
  /** Workers that ended without being asked to. */
  readonly lost: number
  /** Memories of fields: what holds data. */
  readonly memories: number
}

interface OpenJob {
  readonly arena: Arena
  readonly resolve: () => void
  readonly reject: (error: EngineError) => void
}

let nextPool = 1

export class WorkerPool {
  readonly threads: number
  readonly module: WebAssembly.Module
  readonly ring: Ring
  readonly #piscina: Piscina<ServeTask, void>
  readonly #announcements: BroadcastChannel
  readonly #arenas = new Map<number, Arena>()
  readonly #sparse = new Map<number, SparseHandle>()
  readonly #dispatcher: QueryDispatcher
  readonly #garbage = new Garbage(() => this.#announce({ kind: 'collect' }))
  readonly #jobs: (OpenJob | undefined)[] = new Array(jobsMax).fill(undefined)
  readonly #jobQueue: (() => void)[] = []
  readonly #serving: Promise<void>[] = []
  readonly #aborts: AbortController[] = []
  readonly #threadsByNumber: (Worker | undefined)[] = []
  /** Waiting on shared memory does not keep a process alive; this does, while somebody waits for an answer. */
  readonly #alive = setInterval(() => undefined, 2 ** 30).unref()
  readonly #watchdog: Watchdog
  #waiting = 0
  #ready: (() => void) | undefined
  #readySeen = 0
  #lost = 0
  #closed: Promise<void> | undefined

  constructor(module: WebAssembly.Module, threads: number) {
    this.module = module
    this.threads = threads
    this.ring = createRing()
    this.#dispatcher = new QueryDispatcher(this.ring, threads, {
      announce: (id) => this.#announceAgain(id),
      answerHere: (question) => this.#answerHere(question),
      onSubmit: () => this.#hold(),
      onAnswer: () => this.#letGo(),
    })
    const channel = `annal-arenas-${process.pid}-${nextPool++}`
    this.#announcements = new BroadcastChannel(channel)
    this.#announcements.unref()
    exposeCollector()
    const workerData: WorkerData = { module, channel, ring: this.ring, threads }
    this.#piscina = new Piscina({
      filename: ownFile('@annal/engine/worker', 'annal-worker.mjs'),
      name: 'serve',
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      workerData,
    })
    for (let number = 0; number < threads; number++) this.#employ(number)
    this.#watchdog = new Watchdog(threads, {
      pictureOf: (number) => this.#pictureOf(number),
      stateOf: (number) => threadState(Atomics.load(this.ring.words, words.workers + number * workerWords + 4)),
      stuck: (number, why) => this.#aborts[number]?.abort(new Error(why)),
    })
    this.#watch()
  }

  /** Resolves when every worker listens: arenas are announced to those who do. */
  async started(): Promise<void> {
    if (Atomics.load(this.ring.words, words.ready) >= this.threads) return
    await this.#kept(
      new Promise<void>((resolve) => {
        this.#ready = resolve
      }),
    )
  }

  #employ(number: number): void {
    // Piscina ends the thread of a task that is aborted; nothing of a client's ever reaches this signal.
    const abort = new AbortController()
    this.#aborts[number] = abort
    const served = this.#piscina.run({ number }, { signal: abort.signal })
    this.#serving[number] = served.catch((error: unknown) => this.#replace(number, error))
  }

  /** A worker ended or threw: what it was doing is lost, and only that. */
  async #replace(number: number, cause: unknown): Promise<void> {
    // Piscina reports a task as ended before its thread is, and keeps the thread of one that threw. Until the thread is gone it
    // may still take up work, and one in which the kernel trapped is not to be trusted with more.
    const thread = this.#threadsByNumber[number]
    if (thread !== undefined && thread.threadId !== -1) {
      const gone = once(thread, 'exit')
      await thread.terminate()
      await gone
    }
    this.#threadsByNumber[number] = undefined
    if (this.#closed !== undefined) return
    this.#lost++
    const error = new EngineError('worker_lost', `worker ${number} exited while it was working`, {}, { cause })
    const own = words.workers + number * workerWords
    const w = this.ring.words
    this.#dispatcher.lose(number, error)
    Atomics.store(w, own, 0)
    const arena = Atomics.exchange(w, own + 1, 0)
    Atomics.store(w, own + 2, 0)
    Atomics.store(w, own + 4, 0)
    const job = this.#jobs.findIndex((open) => arena !== 0 && open?.arena.id === arena)
    if (job >= 0) this.#endJob(job, error)
    // It may have been counted as sleeping for ever; a count too high only costs wake-ups that nobody needs.
    this.#employ(number)
    for (const { handle } of this.#arenas.values()) this.#announce({ kind: 'attach', arena: handle })
    for (const field of this.#sparse.values()) this.#announce({ kind: 'attach-sparse', field })
  }

  /** What a worker is at; undefined where it is at nothing. */
  #pictureOf(number: number): Picture | undefined {
    const w = this.ring.words
    const own = words.workers + number * workerWords
    const place = Atomics.load(w, own) - 1
    const id = place < 0 ? Atomics.load(w, own + 1) : (this.#dispatcher.arenaAsked(place) ?? 0)
    if (id === 0) return undefined
    const turn = Atomics.load(w, own + 3)
    const pulse = this.#arenas.get(id)?.pulse(number)
    return { turn, pulse: pulse ?? 0, patienceMs: pulse === undefined ? patienceWithoutPulseMs : patienceWithPulseMs }
  }

  /** Announces an arena to all workers; they attach when they first need it. */
  attach(arena: Arena): void {
    this.#arenas.set(arena.id, arena)
    this.#announce({ kind: 'attach', arena: arena.handle })
  }

  /** Lets go of an arena as soon as all questions about it are answered. Its owner must let go of it, too. */
  release({ id, bytesTouched }: Arena): void {
    this.#dispatcher.whenUnasked(id, () => {
      this.#arenas.delete(id)
      this.#announce({ kind: 'release', id })
      this.#garbage.add(bytesTouched)
    })
  }

  /** Counts an arena that was never attached and that its owner lets go of. */
  discard({ bytesTouched }: Arena): void {
    this.#garbage.add(bytesTouched)
  }

  attachSparse(field: SparseHandle): void {
    this.#sparse.set(field.id, field)
    this.#announce({ kind: 'attach-sparse', field })
  }

  /** As `release`; `bytes` of the field's memory hold something. */
  releaseSparse(id: number, bytes: number): void {
    this.#dispatcher.whenUnasked(id, () => {
      this.#sparse.delete(id)
      this.#announce({ kind: 'release', id })
      this.#garbage.add(bytes)
    })
  }

  #announce(announcement: Announcement): void {
    if (this.#closed !== undefined) return
    this.#announcements.postMessage(announcement)
    // After the message: whoever sees the word rise finds the message.
    Atomics.add(this.ring.words, words.announced, 1)
    // Those that sleep hear of what there is when they need it. Of what is gone they hear at once: they hold its memory.
    if (announcement.kind === 'release' || announcement.kind === 'collect') wakeWorkers(this.ring, this.threads)
  }

  #announceAgain(id: number): boolean {
    const arena = this.#arenas.get(id)
    if (arena !== undefined) this.#announce({ kind: 'attach', arena: arena.handle })
    const field = this.#sparse.get(id)
    if (field !== undefined) this.#announce({ kind: 'attach-sparse', field })
    return arena !== undefined || field !== undefined
  }

  #answerHere(question: GraphQuery): Found | undefined {
    const attached = this.#arenas.get(question.arena)?.attached
    return attached && answersOf(attached, searchIn(attached, question.query, question))
  }

  /**
   * Asks a worker. Refused with `overloaded` when too many wait already, and with `closed` where the arena was released: a worker
   * may not have heard of that yet and would answer from memory that is no longer the field's.
   */
  submit(question: Query): Promise<Found> {
    this.#refuseWhenClosed()
    if (!this.#arenas.has(question.arena) && !this.#sparse.has(question.arena)) return Promise.reject(noArena())
    return this.#dispatcher.submit(question)
  }

  /**
   * Does a job in an arena: `open` is called with the place for vectors when it is the job's turn and opens the job there.
   * Resolves when the job is over.
   */
  async runJob(
    arena: Arena,
    open: (staging: { readonly offset: number; readonly bytes: number }) => void,
  ): Promise<void> {
    this.#refuseWhenClosed()
    let place = this.#jobs.indexOf(undefined)
    while (place < 0) {
      await new Promise<void>((resolve) => this.#jobQueue.push(resolve))
      this.#refuseWhenClosed()
      place = this.#jobs.indexOf(undefined)
    }
    const over = new Promise<void>((resolve, reject) => {
      this.#jobs[place] = { arena, resolve, reject }
    })
    open({ offset: place * stagingBytes, bytes: stagingBytes })
    Atomics.store(this.ring.words, words.jobs + place, arena.id)
    wakeWorkers(this.ring, this.threads)
    await this.#kept(over)
  }

  /** Keeps the process alive until the promise settles. */
  #kept<T>(promise: Promise<T>): Promise<T> {
    this.#hold()
    const settled = () => this.#letGo()
    promise.then(settled, settled)
    return promise
  }

  #hold(): void {
    if (this.#waiting++ === 0) this.#alive.ref()
  }

  #letGo(): void {
    if (--this.#waiting === 0) this.#alive.unref()
  }

  #endJob(place: number, error?: EngineError): void {
    const job = this.#jobs[place]
    assert(job !== undefined, 'a job that ends was open')
    Atomics.store(this.ring.words, words.jobs + place, 0)
    this.#jobs[place] = undefined
    if (error === undefined) job.resolve()
    else job.reject(error)
    this.#jobQueue.shift()?.()
  }

  /** Looks at what is done each time a worker says that something is. */
  #watch(): void {
    const w = this.ring.words
    for (;;) {
      const seen = Atomics.load(w, words.done)
      this.#collect()
      if (this.#closed !== undefined) return
      const wait = Atomics.waitAsync(w, words.done, seen)
      if (!wait.async) continue
      wait.value.then(() => this.#watch(), assertNever)
      return
    }
  }

  /** A worker that begins to listen has missed what was announced before. */
  #welcome(): void {
    const ready = Atomics.load(this.ring.words, words.ready)
    if (ready === this.#readySeen) return
    this.#readySeen = ready
    for (const { handle } of this.#arenas.values()) this.#announce({ kind: 'attach', arena: handle })
    wakeWorkers(this.ring, this.threads)
    if (ready >= this.threads) this.#ready?.()
  }

  #collect(): void {
    for (let number = 0; number < this.threads; number++) {
      const id = Atomics.load(this.ring.words, words.workers + number * workerWords + 2)
      if (this.#threadsByNumber[number] === undefined && id !== 0)
        this.#threadsByNumber[number] = this.#piscina.threads.find((thread) => thread.threadId === id)
    }
    this.#welcome()
    this.#dispatcher.collect()
    this.#jobs.forEach((job, place) => {
      if (job !== undefined && job.arena.word(header.jobKind) === work.idle) this.#endJob(place)
    })
  }

  get stats(): WorkerPoolStats {
    const memories = this.#arenas.size + this.#sparse.size
    return {
      threads: this.threads,
      waiting: this.#dispatcher.untaken,
      completed: this.#dispatcher.completed,
      lost: this.#lost,
      memories,
    }
  }

  /** Ends a worker at once, whatever it is doing; resolves when it is gone. What a crash of its thread would do. */
  async loseWorker(number: number): Promise<void> {
    const served = this.#serving[number]
    this.#aborts[number]?.abort()
    await served
  }

  #refuseWhenClosed(): void {
    if (this.#closed !== undefined) throw new EngineError('closed', 'the worker pool is closed')
  }

  /** Workers finish what they have taken; whatever waits is refused. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.started()
    Atomics.store(this.ring.words, words.closed, 1)
    wakeWorkers(this.ring, this.threads)
    await this.#kept(Promise.all(this.#serving))
    this.#dispatcher.collect()
    const error = new EngineError('closed', 'the worker pool is closed')
    this.#dispatcher.refuseAll(error)
    this.#jobs.forEach((job, place) => {
      if (job !== undefined) this.#endJob(place, error)
    })
    this.#watchdog.end()
    await this.#piscina.close()
    this.#announcements.close()
    clearInterval(this.#alive)
    this.#garbage.end()
  }
}

function assertNever(error: unknown): never {
  throw new Error('broken invariant: waiting for a word of the ring cannot fail', { cause: error })
}

export async function openWorkerPool(options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const pool = await startWorkerPool(options)
  await pool.started()
  return pool
}

/** Its threads may still be starting; fields can be loaded meanwhile. */
export async function startWorkerPool(options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const threads = options.threads ?? Math.min(workersMax, availableParallelism())
  if (!Number.isInteger(threads) || threads < 1 || threads > workersMax)
    throw new EngineError('invalid_argument', `threads must be 1 to ${workersMax}`, {
      field: 'threads',
      value: threads,
      limit: workersMax,
    })
  return new WorkerPool(await compileKernel(), threads)
}
