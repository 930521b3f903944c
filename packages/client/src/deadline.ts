// How long a call may go on: until its time is over or its caller gives up, and what it then fails with.
import { AnnalError } from './errors.ts'

export interface Deadline {
  /** Aborts when the caller gives up or the time is over. */
  readonly signal: AbortSignal
  /** By performance.now(). */
  readonly deadlineMs: number
}

export interface CallLimits {
  /** Of the operation, for the message. */
  readonly name: string
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** Fails with `aborted` or `timeout` where the work fails with the signal's reason; other failures are passed on. */
export async function within<T>(
  { name, timeoutMs, signal }: CallLimits,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
  try {
    stop.throwIfAborted()
    return await work({ signal: stop, deadlineMs: performance.now() + timeoutMs })
  } catch (error) {
    if (!stop.aborted || error !== stop.reason) throw error
    if (error === signal?.reason) throw new AnnalError('aborted', `${name} was aborted by its caller`, { cause: error })
    throw new AnnalError('timeout', `${name} took longer than ${timeoutMs} ms`, { limit: timeoutMs })
  }
}
