// The owner's end of all readers: hands out handles, says which replica serves which collection, and answers what readers cannot answer
// themselves. What is announced here is in shared memory or in every port when the call returns, so before any acknowledgement.
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { ChangedNames } from '../catalog/changed-names.ts'
import { assert, EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { CalibrationTable } from '../model/calibration.ts'
import type { ReaderHandle } from '../model/reader.ts'
import type { Replica } from '../replica/replica.ts'
import {
  type OwnerCall,
  type OwnerMessage,
  type ReaderMessage,
  type ReaderNews,
  readerProtocol,
  type SentQueries,
} from '../sharing/messages.ts'
import type { NewsHost, SharedReplica } from '../sharing/shared-replica.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { ReaderSlots } from '../vector/threads/reader-slots.ts'

export interface ReaderHubOptions {
  readonly pool: WorkerPool
  readonly slots: ReaderSlots
  readonly limits: Limits
  /** All names of collections, for a reader that attaches. */
  names(): readonly ChangedNames[]
  /** Answers a call of a reader. */
  answer(call: OwnerCall): Promise<unknown>
  /** Takes queries that readers ran. */
  receive(queries: SentQueries): void
}

interface Serving {
  readonly replica: Replica
  readonly shared: SharedReplica
}

export class ReaderHub implements NewsHost {
  readonly slots: ReaderSlots
  readonly #options: ReaderHubOptions
  readonly #readers: number
  /** The owner's port of each handle, by the number of the reader. */
  readonly #ports: (MessagePort | undefined)[]
  /** Readers that receive news. */
  readonly #listening = new Set<MessagePort>()
  /** By collection id. */
  readonly #serving = new Map<number, Serving>()

  constructor(options: ReaderHubOptions) {
    this.#options = options
    this.slots = options.slots
    const { attachments, threads } = options.pool
    this.#readers = attachments - threads
    this.#ports = new Array(this.#readers).fill(undefined)
    options.pool.onCollect(() => this.announce({ kind: 'collect' }))
  }

  /** Throws limit_exceeded if as many readers as the engine was opened for have a handle. */
  handle(): ReaderHandle {
    const reader = this.#ports.indexOf(undefined)
    if (reader < 0)
      throw new EngineError(
        'limit_exceeded',
        `the engine was opened with ${this.#readers} readers, and each has a handle`,
        {
          field: 'readers',
          limit: this.#readers,
        },
      )
    const { port1: port, port2 } = new MessageChannel()
    this.#ports[reader] = port
    port.on('message', (message: ReaderMessage) => this.#receive(port, message))
    // The thread of the reader has exited, or it has closed the reader.
    port.on('close', () => {
      this.#listening.delete(port)
      this.slots.clear(reader)
      this.#ports[reader] = undefined
    })
    port.unref()
    const { pool, slots } = this.#options
    return {
      protocol: readerProtocol,
      reader,
      readers: this.#readers,
      thread: pool.threads + reader,
      slots: slots.words,
      module: pool.module,
      port: port2,
    }
  }

  announce(news: ReaderNews): void {
    for (const port of this.#listening) port.postMessage(news satisfies OwnerMessage)
    // After the messages: a reader that sees the number finds them.
    this.slots.announce()
  }

  /** The replica serves the collection from now on, with these measurements. Undefined: none does. */
  serve(collectionId: number, replica: Replica | undefined, calibration?: CalibrationTable): void {
    const before = this.#serving.get(collectionId)
    if (before?.replica === replica) return
    if (replica === undefined) this.#serving.delete(collectionId)
    else {
      const shared = replica.share(this, collectionId)
      shared.serve(calibration)
      this.#serving.set(collectionId, { replica, shared })
    }
    // Last: a reader that finds the withdrawal has the replica that follows.
    before?.shared.withdraw()
  }

  /** Readers choose ef for the searches of a collection from the table from now on. */
  calibrate(collectionId: number, table: CalibrationTable): void {
    this.#serving.get(collectionId)?.shared.calibrate(table)
  }

  /** The matches of a filter for the readers of a header. */
  replicaOf(header: number): Replica | undefined {
    for (const { shared, replica } of this.#serving.values()) if (shared.header === header) return replica
    return undefined
  }

  /** Refuses every reader from now on. */
  close(): void {
    if (this.slots.isClosed) return
    for (const { shared } of this.#serving.values()) shared.withdraw()
    this.#serving.clear()
    this.slots.close()
    this.announce({ kind: 'closed' })
    for (const port of this.#ports) port?.close()
  }

  #receive(port: MessagePort, message: ReaderMessage): void {
    if (message.kind === 'hello') this.#welcome(port)
    else if (message.kind === 'queries') for (const queries of message.list) this.#options.receive(queries)
    else void this.#answer(port, message.id, message.call)
  }

  /** In one turn, so that the reader misses nothing. */
  #welcome(port: MessagePort): void {
    assert(!this.#listening.has(port), 'a reader attaches once')
    const post = (message: OwnerMessage) => port.postMessage(message)
    for (const { shared } of this.#serving.values()) post({ kind: 'serve', replica: shared.facts })
    for (const changed of this.#options.names()) post({ kind: 'names', changed })
    post({ kind: 'welcome', limits: this.#options.limits })
    this.#listening.add(port)
  }

  async #answer(port: MessagePort, id: number, call: OwnerCall): Promise<void> {
    let reply: OwnerMessage
    try {
      reply = { kind: 'reply', id, value: await this.#options.answer(call) }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      const { code, message, details } = error
      reply = { kind: 'refusal', id, error: { code, message, details } }
    }
    port.postMessage(reply)
  }
}
