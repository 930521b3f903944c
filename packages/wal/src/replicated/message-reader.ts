// Reads the messages of a store through a chain. It reads again if the store did not answer, and starts at the first message
// that is left if older ones were trimmed.
import { WalError } from '../errors.ts'
import type { ChainIndex } from './chain-index.ts'
import { decodeFrame } from './frame.ts'
import { type Accepted, type ChainPosition, FrameChain, positionBefore } from './frame-chain.ts'
import { type FrameStore, type StoredMessage, type StoreRange, StoreUnavailable } from './frame-store.ts'
import type { Patience } from './patience.ts'

/** What a reader works with. */
export interface MessageReaderParts {
  readonly store: FrameStore
  readonly logId: bigint
  readonly patience: Patience
  /** Where the reader notes the positions that it passes. */
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
    if (message.seq <= chain.seq) return { kind: 'ignored' }
    const accepted = chain.accept(message)
    if (accepted.kind === 'records') this.#index.note(chain.groupStart)
    return accepted
  }

  /** Continues behind messages that were trimmed, if none of them had records. Throws `lsn_not_held` otherwise. */
  async skipTrimmed(chain: FrameChain): Promise<void> {
    const { first } = await this.range()
    if (first <= chain.seq + 1) return
    const oldest = await this.oldest()
    if (oldest === undefined || !chain.skipTo(oldest)) throw trimmed(first, chain.seq + 1)
  }

  /** Returns a chain that continues at a position. */
  chainFrom(position: ChainPosition): FrameChain {
    return new FrameChain(this.#logId, position)
  }

  /** Returns the position before the first message of the store; undefined if it has none. */
  oldest(): Promise<ChainPosition | undefined> {
    return this.#patience.until(() => oldestPosition(this.#store, this.#logId))
  }

  /** Returns a message, or undefined if the store does not have it. */
  find(seq: number): Promise<StoredMessage | undefined> {
    return this.#patience.until(() => this.#store.at(seq))
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

/** Returns the position before the first message of a store; undefined if it has none. Rejects with StoreUnavailable and `log_damaged`. */
export async function oldestPosition(store: FrameStore, logId: bigint): Promise<ChainPosition | undefined> {
  for (;;) {
    const { first, last } = await store.range()
    if (first > last) return undefined
    const message = await store.at(first)
    // It may have been trimmed meanwhile.
    if (message !== undefined) return positionBefore(logId, message)
  }
}

/** Whether the newest message of a store is an intact frame of the log. False if the store is empty. Rejects with StoreUnavailable. */
export async function isStoreOf(store: FrameStore, logId: bigint): Promise<boolean> {
  const { last } = await store.range()
  const message = last === 0 ? undefined : await store.at(last)
  if (message === undefined) return false
  try {
    decodeFrame(logId, message)
    return true
  } catch (error) {
    if (error instanceof WalError) return false
    throw error
  }
}
