// The serving threads as the main thread sees them: starts them, lets them listen, replaces those that exit or make no progress, and stops
// them.
import type { EventLoopUtilization } from 'node:perf_hooks'
import { type Transferable, Worker } from 'node:worker_threads'
import { threadState, Watchdog } from '@annal/engine/thread-watch'
import { FrameSender } from './frame-sender.ts'
import {
  type Frame,
  type FromThread,
  frameKind,
  type ListenAddress,
  type ListenFailure,
  type Peer,
  type ServingThreadData,
  type ThreadTls,
  type ToThread,
} from './messages.ts'
import type { SharedCounts } from './shared-counts.ts'
import { threadFile } from './thread-file.ts'
import { VirtualSocket } from './virtual-socket.ts'

/** CPU time that a thread may use for one piece of work. Far above that of the longest search. */
const patienceMsDefault = 5_000
/** Delays before a thread that exited without listening is started again. */
const restartDelaysMs = [0, 100, 1_000, 5_000] as const

export interface ThreadEvents {
  /** A connection that the main thread serves. */
  onConnection(socket: VirtualSocket): void
  /** A sentence for the operator. */
  onNotice(sentence: string): void
  /** The thread has exited, and nothing of it is left. */
  onExit?(thread: number): void
}

export interface ServingThreadsOptions {
  readonly counts: SharedCounts
  readonly tls: ThreadTls | undefined
  readonly events: ThreadEvents
  /** The program of the threads. Tests replace it. */
  readonly program?: string
  readonly patienceMs?: number
}

/** A value for a thread, with the ports in it. */
export interface SentValue {
  readonly value: unknown
  readonly transfer: readonly Transferable[]
}

interface Running {
  readonly worker: Worker
  readonly sender: FrameSender
  readonly sockets: Map<number, VirtualSocket>
  readonly exited: Promise<void>
  readonly ready: Promise<void>
  listening: ((result: number | ListenFailure) => void) | undefined
  drained: (() => void) | undefined
  isListening: boolean
  /** As of the last call of `utilizations`. */
  used: EventLoopUtilization | undefined
}

export class ServingThreads {
  readonly #options: ServingThreadsOptions
  readonly #threads: Running[] = []
  readonly #watchdog: Watchdog
  #tls: ThreadTls | undefined
  #addresses: readonly ListenAddress[] = []
  /** Threads that exited without being stopped, and those of them in a row that had not listened. */
  #lost = 0
  #replaced = 0
  #failures = 0
  #isStopping = false
  #lastError: Error | undefined
  #makeParts: ((thread: number) => SentValue) | undefined

  constructor(options: ServingThreadsOptions) {
    this.#options = options
    this.#tls = options.tls
    const { counts, patienceMs = patienceMsDefault } = options
    for (let thread = 0; thread < counts.threads; thread++) this.#threads.push(this.#start(thread))
    this.#watchdog = new Watchdog(counts.threads, {
      pictureOf: (thread) => {
        const turn = counts.turnOf(thread)
        return turn === undefined ? undefined : { turn, pulse: turn, patienceMs }
      },
      stateOf: (thread) => threadState(counts.systemThread(thread)),
      stuck: (thread, why) => this.terminate(thread, why),
    })
  }

  /** Threads that exited without being stopped. */
  get lost(): number {
    return this.#lost
  }

  /** Threads that were started to replace a lost one. */
  get replaced(): number {
    return this.#replaced
  }

  /** Whether threads are missing because those that replace them exit before they listen. */
  get isFailing(): boolean {
    return this.#failures > 1 && this.listening < this.#threads.length
  }

  /** Threads that listen. */
  get listening(): number {
    return this.#threads.filter(({ isListening }) => isListening).length
  }

  /**
   * All threads listen on the addresses, or none. Resolves to the port. Rejects with the error of the system.
   */
  async listen(addresses: readonly ListenAddress[]): Promise<number> {
    await Promise.all(
      this.#threads.map(({ ready, exited }) => Promise.race([ready, exited.then(() => this.#failStart())])),
    )
    // The first thread chooses the port if the system may choose it.
    const port = await this.#listen(this.#threads[0]!, addresses)
    this.#addresses = addresses.map((address) => ({ ...address, port }))
    await Promise.all(this.#threads.slice(1).map((running) => this.#listen(running, this.#addresses)))
    return port
  }

  /** The threads use the certificate for new connections. */
  setTls(tls: ThreadTls): void {
    this.#tls = tls
    for (const { worker } of this.#threads) post(worker, { kind: 'tls', tls })
  }

  /** Each thread, and each that replaces one, gets a value of its own, and answers what it can from now on. */
  setParts(makeParts: (thread: number) => SentValue): void {
    this.#makeParts = makeParts
    this.#threads.forEach((running, thread) => {
      this.#sendParts(thread, running)
    })
  }

  #sendParts(thread: number, { worker }: Running): void {
    if (this.#makeParts === undefined || this.#isStopping || this.#threads[thread]?.worker !== worker) return
    try {
      const { value, transfer } = this.#makeParts(thread)
      worker.postMessage({ kind: 'parts', value } satisfies ToThread, transfer)
    } catch (error) {
      this.#options.events.onNotice(`serving thread ${thread} only forwards requests: ${(error as Error).message}`)
    }
  }

  /** The threads collect their garbage. */
  collectGarbage(): void {
    for (const { worker } of this.#threads) post(worker, { kind: 'collect' })
  }

  /** How busy each thread was since the last call, from 0 to 1. */
  utilizations(): number[] {
    return this.#threads.map((running) => {
      const now = running.worker.performance.eventLoopUtilization()
      const { utilization } = running.worker.performance.eventLoopUtilization(now, running.used)
      running.used = now
      // Not a number for a thread that has not started or has ended.
      return Number.isFinite(utilization) ? utilization : 0
    })
  }

  /** Emits `timeout` on virtual connections that were idle for too long. */
  checkTimeouts(): void {
    // After the messages that arrived while this thread was busy: a request among them ends the idle time of its connection.
    setImmediate(() => {
      const nowMs = performance.now()
      for (const { sockets } of this.#threads) for (const socket of sockets.values()) socket.checkTimeout(nowMs)
    })
  }

  /** Ends a thread at once. Another one takes its place. */
  terminate(thread: number, why: string): void {
    this.#options.events.onNotice(`serving thread ${thread} is replaced: ${why}`)
    void this.#threads[thread]?.worker.terminate()
  }

  /** Accepts no more connections. Resolves when all are closed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const drained = this.#threads.map((running) => {
      const done = new Promise<void>((resolve) => {
        running.drained = resolve
      })
      post(running.worker, { kind: 'stop' })
      return Promise.race([done, running.exited])
    })
    await Promise.all(drained)
    await this.end()
  }

  /** Ends all threads. Open connections are closed. */
  async end(): Promise<void> {
    this.#isStopping = true
    this.#watchdog.end()
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
    await Promise.all(this.#threads.map(({ exited }) => exited))
  }

  #start(thread: number): Running {
    const { counts } = this.#options
    const workerData: ServingThreadData = { thread, threads: counts.threads, counts: counts.memory, tls: this.#tls }
    const worker = new Worker(this.#options.program ?? threadFile(), { workerData, name: `annal-serving-${thread}` })
    let setReady: () => void
    const ready = new Promise<void>((resolve) => {
      setReady = resolve
    })
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const running: Running = {
      ...{ worker, ready, exited, sender: new FrameSender(worker), sockets: new Map() },
      ...{ listening: undefined, drained: undefined, isListening: false, used: undefined },
    }
    worker.on('message', (message: FromThread) => {
      if (!('kind' in message)) this.#receiveFrames(running, message)
      else if (message.kind === 'ready') setReady()
      else if (message.kind === 'listening') running.listening?.(message.port)
      else if (message.kind === 'failed') running.listening?.(message.failure)
      else if (message.kind === 'fault') this.#options.events.onNotice(`serving thread ${thread}: ${message.message}`)
      else running.drained?.()
    })
    worker.on('error', (error) => {
      this.#lastError = error as Error
    })
    worker.once('exit', () => this.#replace(thread, running))
    return running
  }

  #receiveFrames({ sender, sockets }: Running, frames: readonly Frame[]): void {
    for (const frame of frames) {
      if (frame[0] === frameKind.open) {
        this.#open(frame[1], frame[2], { sender, sockets })
        continue
      }
      const socket = sockets.get(frame[1])
      if (socket === undefined) continue
      if (frame[0] === frameKind.data) socket.receive(frame[2])
      else if (frame[0] === frameKind.end) socket.receiveEnd()
      else if (frame[0] === frameKind.credit) socket.receiveCredit(frame[2])
      else if (frame[0] === frameKind.destroy) socket.receiveDestroy()
    }
  }

  #open(connection: number, peer: Peer, { sender, sockets }: Pick<Running, 'sender' | 'sockets'>): void {
    const socket = new VirtualSocket(connection, peer, {
      sender,
      encrypted: this.#tls !== undefined,
      closed: () => void sockets.delete(connection),
    })
    sockets.set(connection, socket)
    this.#options.events.onConnection(socket)
  }

  async #listen(running: Running, addresses: readonly ListenAddress[]): Promise<number> {
    const result = await new Promise<number | ListenFailure>((resolve) => {
      running.listening = resolve
      post(running.worker, { kind: 'listen', addresses })
    })
    running.listening = undefined
    if (typeof result !== 'number') throw Object.assign(new Error(result.message), result)
    running.isListening = true
    return result
  }

  #failStart(): never {
    throw this.#lastError ?? new Error('a serving thread exited when it started')
  }

  /** Closes what the thread had open, and starts another one in its place. */
  #replace(thread: number, running: Running): void {
    const { sockets, isListening } = running
    running.isListening = false
    const { counts, events } = this.#options
    counts.clear(thread)
    for (const socket of [...sockets.values()]) socket.receiveDestroy()
    events.onExit?.(thread)
    if (this.#isStopping) return
    this.#lost++
    this.#failures = isListening ? 0 : this.#failures + 1
    const reason = this.#lastError === undefined ? '' : `: ${this.#lastError.stack ?? this.#lastError.message}`
    if (this.#addresses.length > 0) this.#lastError = undefined
    events.onNotice(`serving thread ${thread} exited${reason}; its connections are closed, and it is started again`)
    const delayMs = restartDelaysMs[Math.min(this.#failures, restartDelaysMs.length - 1)]!
    setTimeout(() => void this.#startAgain(thread), delayMs)
  }

  async #startAgain(thread: number): Promise<void> {
    if (this.#isStopping) return
    const running = this.#start(thread)
    this.#threads[thread] = running
    this.#sendParts(thread, running)
    await Promise.race([running.ready, running.exited])
    if (this.#isStopping || this.#addresses.length === 0) return
    try {
      const port = await Promise.race([this.#listen(running, this.#addresses), running.exited])
      if (port !== undefined) this.#replaced++
    } catch (error) {
      this.#options.events.onNotice(`serving thread ${thread} cannot listen: ${(error as Error).message}`)
      void running.worker.terminate()
    }
  }
}

function post(worker: Worker, message: ToThread): void {
  worker.postMessage(message)
}
