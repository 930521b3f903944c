// Request keys: a caller gives a write a key, and a repetition with the same key gets the answer of the first write. `requests/request-keys.ts`
// implements them, and decision 61 has the reasons.
import type { Acknowledgement } from './object.ts'

/** What every write takes besides its input. */
export interface WriteOptions {
  /**
   * Makes the write repeatable: 1 to 255 visible ASCII characters, unique among the writes of the database. A later call with the same key
   * and the same input changes nothing and returns what the first one returned, also after a crash. With another input it throws
   * `request_key_reused`. A claim comes from `RequestKeys.once`.
   */
  readonly requestKey?: string | RequestClaim | undefined
  /** Who acts, for the history: 1 to 128 printable ASCII characters. It is kept in the record of the write and not checked. */
  readonly actor?: string | undefined
}

/** Who made a write. */
export interface Author {
  /** Name of the token that the write came with: that of a database, `root`, or `owner`. Empty without a token. */
  readonly token: string
  /** What the caller says. Empty if it says nothing. */
  readonly actor: string
}

/** What conditional writes of several objects take besides. */
export interface ConditionalOptions extends WriteOptions {
  /** Changes either every object or none: if one has a conflict or an error, the call throws `conflict`. */
  readonly atomic?: boolean | undefined
  /** Called before texts of an upsert are sent to providers of vectors, when nothing is written yet. What it throws refuses the write. */
  readonly beforeEmbedding?: (() => void) | undefined
  /**
   * Bytes of memory that the objects may take while they are read, for example the length of a request's body. An upsert waits
   * for room before it reads them, and is refused with `overloaded` or `memory_exhausted` if there is none. By default 1 MiB.
   */
  readonly expectedBytes?: number | undefined
}

/** What deletes by id take besides. */
export interface DeleteOptions extends WriteOptions {
  /** Deletes the object only if it has this `lsn`; otherwise the call throws `conflict`. Needs exactly one id. */
  readonly ifLsn?: number | undefined
}

/** What restores, clones, and branches take besides. */
export interface RestoreOptions extends WriteOptions {
  /** The objects of the new collection do not expire, including those that have expired since the moment. Default: they keep their expiry. */
  readonly keepExpired?: boolean | undefined
}

/** A write with a key, as a host program describes it. */
export interface KeyedRequest {
  /** The database whose keys these are; undefined for those of the control plane. */
  readonly database: string | undefined
  /** 1 to 255 visible ASCII characters. */
  readonly key: string
  /** SHA-256 of everything that makes the request this one. Called when the record of the write is made, or after `readWhole`. */
  digest(): Uint8Array
  /** Reads what is left of the request, so that `digest` covers it. Called before `digest` where the write is not run. */
  readWhole?(): Promise<void>
}

/** The right to run the write of a key. Pass it to the call that writes, once. */
export interface RequestClaim {
  /** The record of the write, once it is appended. */
  readonly recorded: { readonly lsn: number; readonly timeMs: number } | undefined
  /** What a repetition returns besides the acknowledgment. */
  readonly facts: RequestFacts
  /** Adds facts that a repetition returns too. They are kept as JSON in the record. */
  addFacts(facts: RequestFacts): void
  /**
   * The write is answered now and appends its record later, or fails: `done` settles then. Until then a repetition gets the facts added so
   * far.
   */
  continueUntil(done: Promise<unknown>): void
}

/** What a repetition returns, besides the acknowledgment. */
export interface RequestFacts {
  readonly [name: string]: unknown
}

/** The record of an earlier write with the same key. */
export interface RecordedRequest extends Acknowledgement {
  readonly timeMs: number
  readonly facts: RequestFacts
}

/** Counts of request keys since the engine was opened. */
export interface RequestKeyStats {
  /** Keys that are kept. */
  readonly count: number
  /** Memory that they use. */
  readonly bytes: number
  /** Requests that were answered with the record of an earlier one. */
  readonly repeated: number
}

/** Runs writes once for each request key. */
export interface RequestKeys {
  /**
   * Runs `write` unless a write with this key was recorded, and passes it a claim for the call that writes. Otherwise it returns
   * `repeated(recorded)`, by default the acknowledgment and the facts. Waits for a write with the same key that is running. Throws
   * invalid_argument, request_key_reused, request_key_in_use, and what `write` throws; then nothing is recorded.
   *
   * @example
   * ```ts
   * import { createHash } from 'node:crypto'
   *
   * const objects = [{ id: 'alien', fields: { plot: [0.9, 0.1, 0.2] } }]
   * const digest = () => createHash('sha256').update(JSON.stringify(objects)).digest()
   * await engine.requestKeys.once({ database: 'default', key: 'order-17', digest }, (requestKey) =>
   *   films.upsert(objects, { requestKey }),
   * )
   * ```
   */
  once<R extends Acknowledgement>(
    request: KeyedRequest,
    write: (claim: RequestClaim) => Promise<R>,
    repeated?: (recorded: RecordedRequest) => R | Promise<R>,
  ): Promise<R>
}
