// Reads the messages of a store through a chain: again where the store did not answer, and from where it begins where
// older messages were trimmed.
import { WalError } from '../errors.ts'
import type { ChainIndex } from './chain-index.ts'
import { type Accepted, type ChainPlace, FrameChain, placeBefore } from './frame-chain.ts'
import { type FrameStore, type StoredMessage, type StoreRange, StoreUnavailable } from './frame-store.ts'
import type { Patience } from './patience.ts'

/** What a reader works with. */
export interface MessageReaderParts {
  readonly store: FrameStore
  readonly logId: bigint
  readonly patience: Patience
  /** Where the reader notes the places that it passes. */
  readonly index: ChainIndex
}

/** The reading half of a replicated log. */
export class MessageReader {
  readonly #store: FrameStore
  readonly #logId: bigint
  readonly #patience: Patience
  readonly #index: ChainIndex

  constructor({ store, logId, patience, index }: MessageReaderParts) {
    this.#store = store
    this.#logId = logId
    this.#patience = patience
    this.#index = index
  }

  /** Yields what each message up to `last` is to the chain. */
  async *accepted(chain: FrameChain, last: number): AsyncIterable<Accepted> {
    for (let attempt = 0; chain.seq < last; attempt++) {
      if (attempt > 0) await this.#patience.pause(attempt)
      try {
        for await (const message of this.#store.read(chain.seq + 1, last)) {
          attempt = 0
          yield await this.accept(chain, message)
        }
        if (chain.seq < last) await this.skipTrimmed(chain)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        await this.range()
      }
    }
  }

  /** Takes one message, and notes where its records began. */
  async accept(chain: FrameChain, message: StoredMessage): Promise<Accepted> {
    if (message.seq > chain.seq + 1) await this.skipTrimmed(chain)
    if (message.seq <= chain.seq) return { kind: 'noise' }
    const accepted = chain.accept(message)
    if (accepted.kind === 'records') this.#index.note(chain.groupStart)
    return accepted
  }

  /** Continues behind messages that were trimmed, if none of them had records. Throws `lsn_not_held` otherwise. */
  async skipTrimmed(chain: FrameChain): Promise<void> {
    const { first } = await this.range()
    if (first <= chain.seq + 1) return
    if (!chain.skipTo(await this.oldest())) throw trimmed(first, chain.seq + 1)
  }

  /** Returns a chain that continues at a place. */
  chainFrom(place: ChainPlace): FrameChain {
    return new FrameChain(this.#logId, place)
  }

  /** Returns the place before the first message of the store. */
  async oldest(): Promise<ChainPlace> {
    const { first } = await this.range()
    return placeBefore(this.#logId, await this.messageAt(first))
  }

  /** Returns a message, or undefined if the store does not have it. */
  find(seq: number): Promise<StoredMessage | undefined> {
    return this.#patience.until(() => this.#store.at(seq))
  }

  /** Returns a message. Throws `lsn_not_held` when it was trimmed. */
  async messageAt(seq: number): Promise<StoredMessage> {
    const message = await this.find(seq)
    if (message === undefined)
      throw new WalError('lsn_not_held', `message ${seq} of the replicated log is gone`, { seq })
    return message
  }

  /** Returns the range of the store, and waits until the store answers. */
  range(): Promise<StoreRange> {
    return this.#patience.until(() => this.#store.range())
  }
}

/** The error for a message that was removed before it was read. */
export function trimmed(first: number, wanted: number): WalError {
  return new WalError(
    'lsn_not_held',
    `the replicated log begins with message ${first}; message ${wanted} was removed. This node needs a newer snapshot.`,
    { seq: wanted, limit: first },
  )
}
