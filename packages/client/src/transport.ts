// The interface between the client and its backend: a server over HTTP, or an engine in this process.
import type { AsOf, ContentOptions } from './model.ts'
import type { OperationName, Operations } from './operations.ts'

/** Options of every call. */
export interface CallOptions {
  /** Ends the call early with code `aborted`. A write may or may not have been executed. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of this call, including its retries. */
  readonly timeoutMs?: number | undefined
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Makes the call repeatable: 1 to 255 visible ASCII characters, unique among the writes of the database. A later call with the same key
   * and the same input changes nothing and resolves to what the first one did, for 24 hours. With another input it fails with
   * RequestKeyReusedError. By default, the client chooses a key for each call and repeats the call with it after an ambiguous failure.
   */
  readonly idempotencyKey?: string | undefined
  /** Who acts, for the history: 1 to 128 printable ASCII characters. By default, the `actor` of the client. */
  readonly actor?: string | undefined
}

/** What creates a collection from another state. */
export interface CopyOptions extends WriteOptions {
  /** The objects of the new collection do not expire, including those that have expired since the moment. Default: they keep their expiry. */
  readonly keepExpired?: boolean | undefined
}

/** Options of a write of several objects. */
export interface ConditionalOptions extends WriteOptions {
  /** Changes all objects or none: with a conflict or an error of one, the call fails with `conflict` and `results`. */
  readonly atomic?: boolean | undefined
}

/** Options of a delete by id. */
export interface DeleteOptions extends WriteOptions {
  /** Deletes the object only if it has this `lsn`; otherwise the call fails with `conflict`. */
  readonly ifLsn?: number | undefined
}

/** Options of a read. */
export interface ReadOptions extends CallOptions {
  /**
   * The result includes the write with this LSN: the read waits for it, at most 5 s, and fails with `lsn_not_reached` or `replica_behind`.
   * A client with several URLs adds the LSNs that it has seen.
   */
  readonly minLsn?: number | undefined
  /**
   * The read is as of a moment of the past, for `search`, `searchBatch`, `get`, `getMany`, `scroll`, `objects`, `count`, `facets`, and `recall`;
   * others ignore it. The call waits while the moment is loaded, at most its time limit, and then fails with `moment_loading`.
   */
  readonly asOf?: AsOf | undefined
  /**
   * `strong`: the result includes every write that was acknowledged before the call, from any client; the leader of the cluster answers.
   * Default `local`: any node answers. A single server always answers as `strong` says.
   */
  readonly consistency?: 'strong' | 'local' | undefined
  /**
   * The node has heard from the log within this time, in milliseconds. Otherwise another node is tried, and the call fails with
   * `replica_stale` if none has.
   */
  readonly maxStalenessMs?: number | undefined
}

/** Options of a read by id. */
export interface GetOptions extends ReadOptions, ContentOptions {}

/** What clients send their operations to. */
export interface Transport {
  /** Fails with AnnalError for every failure outside this program. */
  call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options?: WriteOptions & ReadOptions,
  ): Promise<Operations[Name]['output']>
  /** Idempotent. */
  close(): Promise<void>
}
