// The seam between the client and whatever answers it: a server over HTTP, or an engine in this process.
import type { OperationName, Operations } from './operations.ts'

export interface CallOptions {
  /** Ends the call early; it then fails with code `aborted`. A write may or may not have happened. */
  readonly signal?: AbortSignal | undefined
  /** The longest this call may take, its retries included. */
  readonly timeoutMs?: number | undefined
}

export interface Transport {
  /** Fails with AnnalError, whatever goes wrong outside this program. */
  call<Name extends OperationName>(
    name: Name,
    input: Operations[Name]['input'],
    options?: CallOptions,
  ): Promise<Operations[Name]['output']>
  /** Idempotent. */
  close(): Promise<void>
}
