// Errors caused by the environment of the log, each with a stable code. Bugs in Annal are assertions instead.

/** docs/reference/errors.md explains every code with its cause and fix. */
export type WalErrorCode =
  | 'log_damaged'
  | 'log_failed'
  | 'log_closed'
  | 'log_overloaded'
  | 'disk_full'
  | 'record_too_large'
  | 'record_invalid'
  | 'lsn_not_held'
  | 'format_too_new'
  | 'directory_locked'
  | 'directory_follows'
  | 'identity_damaged'
  | 'identity_mismatch'
  | 'repair_refused'
  | 'log_fenced'
  | 'not_leader'
  | 'outcome_unknown'

/** Exit codes for errors that must end the process. Errors that need not end a process have none. */
const exitCodes: Partial<Record<WalErrorCode, number>> = {
  log_damaged: 65,
  identity_damaged: 65,
  identity_mismatch: 65,
  repair_refused: 64,
  directory_locked: 73,
  directory_follows: 78,
  log_failed: 74,
  format_too_new: 78,
}

/** The location and the finding: file, offset, lsn, evidence, limit, value. */
export type WalErrorDetails = Readonly<Record<string, string | number | boolean | undefined>>

/** An error of the log with a stable code, the place, and the finding. */
export class WalError extends Error {
  override readonly name = 'WalError'
  readonly code: WalErrorCode
  readonly details: WalErrorDetails
  /** The exit code for a process that must stop because of this error; undefined when it need not stop. */
  readonly exitCode: number | undefined

  constructor(code: WalErrorCode, message: string, details: WalErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
    this.exitCode = exitCodes[code]
  }
}

/** Returns the errno name of a failed system call; undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  // Node's own codes for misuse look like ERR_OUT_OF_RANGE; those are bugs.
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined
}

/** True for errors that mean a full disk. They make the log read-only; any other write error stops the log for good. */
export function isDiskFull(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === 'ENOSPC' || errno === 'EDQUOT' || errno === 'EFBIG'
}

/**
 * Throws when the condition is false. That is a bug in Annal, and the process must not continue with a broken state.
 */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${what}`)
}
