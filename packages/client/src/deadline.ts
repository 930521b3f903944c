// Limits a call by its deadline and its caller's signal, and turns both into errors.
import { AnnalError } from './errors.ts'

export interface Deadline {
  /** Aborts when the caller aborts or the time is over. */
  readonly signal: AbortSignal
  /** When the time is over, in milliseconds of performance.now(). */
  readonly deadlineMs: number
}

export interface CallLimits {
  /** The name of the operation, for the message. */
  readonly name: string
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** Fails with `aborted` or `timeout` if the work fails with the signal's reason; other failures are passed on. */
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
    if (error === signal?.reason) throw new AnnalError('aborted', `the caller aborted ${name}`, { cause: error })
    throw new AnnalError('timeout', `${name} took longer than ${timeoutMs} ms`, { limit: timeoutMs })
  }
}
