// The interface between the client and its backend: a server over HTTP, or an engine in this process.
import type { OperationName, Operations } from './operations.ts'

export interface CallOptions {
  /** Ends the call early with code `aborted`. A write may or may not have been executed. */
  readonly signal?: AbortSignal | undefined
  /** The time limit of this call, including its retries. */
  readonly timeoutMs?: number | undefined
}

/** Options of a read. */
export interface ReadOptions extends CallOptions {
  /** The result includes the write with this LSN: the read waits for it, at most 5 s, and fails with `lsn_not_reached`. */
  readonly minLsn?: number | undefined
}

export interface Transport {
  /** Fails with AnnalError for every failure outside this program. */
  call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>
  /** Idempotent. */
  close(): Promise<void>
}
