// A simulated store of frames, with a network that delays, reorders, repeats, and loses. Every request and every reply is
// an event; the test decides when the next one happens, and the seed decides which. The same seed gives the same run.
import {
  type FrameStore,
  type StoredMessage,
  type StoreOutcome,
  type StoreRange,
  StoreUnavailable,
} from '../replicated/frame-store.ts'
import type { Random } from './random.ts'

/** How often the network fails, as probabilities for each call. */
export interface NetworkFaults {
  /** An append that never arrives, and whose writer learns nothing. */
  readonly loseRequest: number
  /** An append that is stored, and whose writer learns nothing. */
  readonly loseReply: number
  /** An append whose writer gives up, and which arrives later. */
  readonly late: number
  /** An append that arrives a second time, later. */
  readonly repeat: number
  /** A read that fails. */
  readonly unavailable: number
}

/** A network without faults. Requests and replies still happen in any order. */
export const calmNetwork: NetworkFaults = { loseRequest: 0, loseReply: 0, late: 0, repeat: 0, unavailable: 0 }

/** A network with all faults. */
export const roughNetwork: NetworkFaults = {
  loseRequest: 0.06,
  loseReply: 0.06,
  late: 0.06,
  repeat: 0.04,
  unavailable: 0.05,
}

interface NetworkEvent {
  /** The client that waits for the event; undefined for a message that travels alone. */
  readonly client: SimClient | undefined
  readonly happen: () => void
}

/** How a simulated store is made. */
export interface SimStoreOptions {
  readonly random: Random
  readonly faults?: NetworkFaults
  readonly messageBytesMax?: number
}

/** The store that all clients share. */
export class SimFrameStore {
  readonly #random: Random
  readonly #messageBytesMax: number
  faults: NetworkFaults
  #events: NetworkEvent[] = []
  readonly #messages: StoredMessage[] = []
  #first = 1
  readonly #watchers = new Set<() => void>()

  constructor(options: SimStoreOptions) {
    this.#random = options.random
    this.faults = options.faults ?? calmNetwork
    this.#messageBytesMax = options.messageBytesMax ?? 1024
  }

  /** Every message that was ever stored, also those that were trimmed. */
  get everything(): readonly StoredMessage[] {
    return this.#messages
  }

  get range(): StoreRange {
    return { first: this.#first, last: this.#messages.length }
  }

  connect(): SimClient {
    return new SimClient(this, this.#messageBytesMax)
  }

  /** Lets one event happen. Returns false when none can. */
  step(): boolean {
    const events = this.#events
    // Starts at a random event and takes the first one that is not held up.
    const start = this.#random.below(Math.max(1, events.length))
    for (let i = 0; i < events.length; i++) {
      const index = (start + i) % events.length
      const event = events[index]
      if (event?.client?.isPartitioned) continue
      const last = events.pop()
      if (last !== undefined && index < events.length) events[index] = last
      if (event?.client?.isGone !== true) event?.happen()
      return true
    }
    return false
  }

  /** Sends a request and resolves with its reply. */
  call<T>(client: SimClient, perform: () => T): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#send(client, () => {
        if (this.#random.chance(this.faults.unavailable)) {
          return this.#send(client, () => reject(new StoreUnavailable('the network failed')))
        }
        const value = perform()
        this.#send(client, () => resolve(value))
      }),
    )
  }

  /** Sends an append, with the faults of appends. */
  append(client: SimClient, bytes: Uint8Array, expected: number | undefined): Promise<StoreOutcome> {
    const { loseRequest, loseReply, late, repeat } = this.faults
    // The writer may reuse its buffer while a copy of the message still travels.
    const copy = Buffer.from(bytes)
    const store = () => this.#store(copy, expected)
    if (this.#random.chance(repeat)) this.#send(undefined, store)
    return new Promise((resolve) => {
      const answer = (outcome: StoreOutcome) => this.#send(client, () => resolve(outcome))
      const fate = this.#random.next()
      if (fate < loseRequest) return answer({ kind: 'unknown' })
      if (fate < loseRequest + late) {
        this.#send(undefined, store)
        return answer({ kind: 'unknown' })
      }
      const isReplyLost = fate < loseRequest + late + loseReply
      this.#send(isReplyLost ? undefined : client, () => {
        const outcome = store()
        answer(isReplyLost ? { kind: 'unknown' } : outcome)
      })
    })
  }

  at(seq: number): StoredMessage | undefined {
    return seq < this.#first ? undefined : this.#messages[seq - 1]
  }

  trim(seq: number): void {
    this.#first = Math.max(this.#first, Math.min(seq, this.#messages.length))
  }

  /** Resolves when a message was stored, or when the signal ends the waiting. */
  stored(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        this.#watchers.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#watchers.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  /** Removes the newest messages, as a store does that was restored from an old copy. */
  rollBack(count: number): void {
    this.#messages.length -= count
  }

  /** Flips a bit of a stored message. */
  damage(seq: number, offset: number): void {
    const message = this.#messages[seq - 1]
    if (message === undefined) throw new Error(`there is no message ${seq}`)
    const bytes = Buffer.from(message.bytes)
    bytes[offset] = (bytes[offset] ?? 0) ^ 1
    this.#messages[seq - 1] = { seq, bytes }
  }

  #store(bytes: Uint8Array, expected: number | undefined): StoreOutcome {
    if (expected !== undefined && expected !== this.#messages.length) return { kind: 'conflict' }
    const seq = this.#messages.length + 1
    this.#messages.push({ seq, bytes })
    for (const wake of [...this.#watchers]) wake()
    return { kind: 'stored', seq }
  }

  #send(client: SimClient | undefined, happen: () => void): void {
    this.#events.push({ client, happen })
  }
}

/** The connection of one node. */
export class SimClient implements FrameStore {
  readonly messageBytesMax: number
  readonly #sim: SimFrameStore
  /** The events of this client wait while it is true. */
  isPartitioned = false
  /** The node was killed: no reply reaches it any more. */
  isGone = false

  constructor(sim: SimFrameStore, messageBytesMax: number) {
    this.#sim = sim
    this.messageBytesMax = messageBytesMax
  }

  append(bytes: Uint8Array, expected: number | undefined): Promise<StoreOutcome> {
    return this.#sim.append(this, bytes, expected)
  }

  at(seq: number): Promise<StoredMessage | undefined> {
    return this.#sim.call(this, () => this.#sim.at(seq))
  }

  range(): Promise<StoreRange> {
    return this.#sim.call(this, () => this.#sim.range)
  }

  async *read(from: number, to: number): AsyncIterable<StoredMessage> {
    for (let next = from; next <= to; ) {
      const messages = await this.#sim.call(this, () => this.#some(next, to))
      if (messages.length === 0) return
      for (const message of messages) {
        next = message.seq + 1
        yield message
      }
    }
  }

  async *watch(from: number, signal: AbortSignal): AsyncIterable<StoredMessage> {
    for (let next = from; !signal.aborted; ) {
      const messages = await this.#sim.call(this, () => this.#some(next, Number.POSITIVE_INFINITY))
      if (messages.length === 0 && this.#sim.range.last < next) await this.#sim.stored(signal)
      for (const message of messages) {
        next = message.seq + 1
        yield message
      }
    }
  }

  trim(seq: number): Promise<void> {
    return this.#sim.call(this, () => this.#sim.trim(seq))
  }

  close(): Promise<void> {
    this.isGone = true
    return Promise.resolve()
  }

  #some(from: number, to: number): StoredMessage[] {
    const { first, last } = this.#sim.range
    const messages: StoredMessage[] = []
    for (let seq = Math.max(first, from); seq <= Math.min(to, last) && messages.length < 16; seq++) {
      const message = this.#sim.at(seq)
      if (message !== undefined) messages.push(message)
    }
    return messages
  }
}
