// The frames of a replicated log in a JetStream stream. One message of the stream is one message of the store, with the
// same sequence numbers. Appends, ends, and single messages are answered by the leader of the stream; long reads by any
// NATS server that has it.
import {
  type FrameStore,
  type StoredMessage,
  type StoreOutcome,
  type StoreRange,
  StoreUnavailable,
} from '@annal/wal/replicated'
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { Announcements } from './announcements.ts'
import { ensureLogStream, type LogStream, logSubject, storedSubject } from './log-stream.ts'
import { MissingStreamError } from './missing-stream.ts'
import { refuseOldAnswer } from './old-answer.ts'

/** How a store is opened. */
export interface JetStreamStoreOptions extends LogStream {
  /** The connection belongs to the caller, who closes it, if need be in `onClose`. */
  readonly connection: NatsConnection
  /** How long a request may take, in milliseconds, until its outcome counts as unknown. */
  readonly requestMs?: number
  /** Called at the end of `close`. */
  readonly onClose?: () => Promise<void>
}

const requestMsDefault = 4000
/** Messages that a reader requests at once. */
const readAhead = 16

/** Creates the stream or verifies it, and opens a store on it. Throws WeakStreamError. */
export async function openJetStreamStore(options: JetStreamStoreOptions): Promise<FrameStore> {
  const timeout = options.requestMs ?? requestMsDefault
  const manager = await jetstreamManager(options.connection, { timeout, checkAPI: false })
  await ensureLogStream(manager, options)
  return new JetStreamStore(options, manager, jetstream(options.connection, { timeout }))
}

class JetStreamStore implements FrameStore {
  readonly messageBytesMax: number
  readonly #connection: NatsConnection
  readonly #stream: string
  readonly #timeout: number
  readonly #manager: JetStreamManager
  readonly #client: JetStreamClient
  readonly #closing = new AbortController()
  readonly #onClose: (() => Promise<void>) | undefined

  constructor(options: JetStreamStoreOptions, manager: JetStreamManager, client: JetStreamClient) {
    this.messageBytesMax = options.messageBytesMax
    this.#connection = options.connection
    this.#stream = options.name
    this.#timeout = options.requestMs ?? requestMsDefault
    this.#manager = manager
    this.#client = client
    this.#onClose = options.onClose
  }

  async append(bytes: Uint8Array, expected: number | undefined): Promise<StoreOutcome> {
    try {
      const expect = { streamName: this.#stream, ...(expected !== undefined && { lastSequence: expected }) }
      // One attempt: the log decides what follows when nobody answers.
      const { seq } = await this.#client.publish(logSubject(this.#stream), bytes, { expect, timeout: this.#timeout })
      return { kind: 'stored', seq }
    } catch (error) {
      const isConflict = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence
      return { kind: isConflict ? 'conflict' : 'unknown' }
    }
  }

  async at(seq: number): Promise<StoredMessage | undefined> {
    const found = await this.#available(() => this.#manager.streams.getMessage(this.#stream, { seq }))
    return found === null ? undefined : { seq: found.seq, bytes: found.data }
  }

  async range(): Promise<StoreRange> {
    const info = await this.#available(() => this.#manager.streams.info(this.#stream))
    refuseOldAnswer(info)
    const { first_seq, last_seq, messages } = info.state
    return { first: messages === 0 ? last_seq + 1 : first_seq, last: last_seq }
  }

  async *read(from: number, to: number): AsyncIterable<StoredMessage> {
    // Several requests are on their way; their replies are taken in order.
    const requests: Promise<StoredMessage | undefined>[] = []
    let next = from
    for (let seq = from; seq <= to; ) {
      while (next <= to && requests.length < readAhead) {
        const request = this.#direct(next++)
        // The loop may end before it takes this reply.
        request.catch(() => undefined)
        requests.push(request)
      }
      // A server that is behind the leader does not have the newest messages.
      const message = (await requests.shift()) ?? (await this.at(seq))
      if (message !== undefined) {
        yield message
        seq++
        continue
      }
      const { first } = await this.range()
      if (first <= seq) throw new StoreUnavailable(`the stream ${this.#stream} does not have message ${seq}`)
      requests.length = 0
      seq = first
      next = first
    }
  }

  async *watch(from: number, signal: AbortSignal): AsyncIterable<StoredMessage> {
    const ending = AbortSignal.any([signal, this.#closing.signal])
    const announced = new Announcements(this.#connection, storedSubject(this.#stream))
    const end = () => announced.end()
    ending.addEventListener('abort', end)
    try {
      let { last } = await this.range()
      for (let seq = from; !ending.aborted; ) {
        for await (const message of this.read(seq, last)) {
          seq = message.seq + 1
          yield message
          if (ending.aborted) return
        }
        last = (await announced.next(seq)) ?? (await this.range()).last
      }
    } finally {
      ending.removeEventListener('abort', end)
      announced.end()
    }
  }

  async trim(seq: number): Promise<void> {
    const { last } = await this.range()
    await this.#available(() => this.#manager.streams.purge(this.#stream, { seq: Math.min(seq, last) }))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#onClose?.()
  }

  async #direct(seq: number): Promise<StoredMessage | undefined> {
    const found = await this.#available(() => this.#manager.direct.getMessage(this.#stream, { seq }))
    return found === null ? undefined : { seq: found.seq, bytes: found.data }
  }

  async #available<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      // Nobody waits for a connection that was closed.
      if (this.#connection.isClosed()) throw error
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
        throw new MissingStreamError(this.#stream, { cause: error })
      throw new StoreUnavailable(`the stream ${this.#stream} does not answer: ${String(error)}`, { cause: error })
    }
  }
}
