// Where a replicated log keeps its frames: an ordered list of messages that several writers share. A store orders and
// keeps bytes; it knows nothing of epochs, chains, or LSNs. Implementations are a simulation, NATS JetStream, and object
// storage with conditional writes.

/** A message of the store: its position in the order (1, 2, 3 ...) and its bytes. */
export interface StoredMessage {
  readonly seq: number
  readonly bytes: Uint8Array
}

/**
 * What became of an append. `stored`: the message is durable at `seq`. `conflict`: the message was refused, because the
 * newest message is not the expected one. `unknown`: nobody answered; the message may be stored, be stored later, or
 * never. `cause` says why nobody answered, where that is known.
 */
export type StoreOutcome =
  | { readonly kind: 'stored'; readonly seq: number }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'unknown'; readonly cause?: Error | undefined }

/** The messages that a store holds: `first` to `last`. An empty store has `first` = `last` + 1. */
export interface StoreRange {
  readonly first: number
  readonly last: number
}

/** The store cannot be reached at the moment. Every method but `append` may reject with it; the caller tries again. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** An ordered list of messages, durable on a majority. Reads see every message that was stored before they began. */
export interface FrameStore {
  /** The largest message that it takes, in bytes. */
  readonly messageBytesMax: number
  /**
   * Appends one message. With `expected`, only if that is the newest sequence number (0: the store never had a
   * message); without, wherever it lands.
   */
  append(bytes: Uint8Array, expected: number | undefined): Promise<StoreOutcome>
  /** Returns the message at `seq`; undefined when there is none. */
  at(seq: number): Promise<StoredMessage | undefined>
  /** Returns the sequence numbers of the first and the newest message. */
  range(): Promise<StoreRange>
  /** Yields the messages from `from` to `to` in order, without those that are trimmed away. */
  read(from: number, to: number): AsyncIterable<StoredMessage>
  /** Yields the messages from `from` on in order, and waits for further ones, until the signal ends it. */
  watch(from: number, signal: AbortSignal): AsyncIterable<StoredMessage>
  /** Removes the messages below `seq`. The newest message stays. */
  trim(seq: number): Promise<void>
  /** Releases the connection. Idempotent. */
  close(): Promise<void>
}
