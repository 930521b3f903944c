// What can be wrong with the world below the log, each with a stable code. Our own mistakes are assertions, not these.

/** Every code is explained with cause and cure in docs/reference/errors.md. */
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
  | 'identity_damaged'
  | 'repair_refused'

/** What a process should end with when it cannot go on because of the error; codes that need not end a process have none. */
const exitCodes: Partial<Record<WalErrorCode, number>> = {
  log_damaged: 65,
  identity_damaged: 65,
  repair_refused: 64,
  directory_locked: 73,
  log_failed: 74,
  format_too_new: 78,
}

/** Where it is and what was found: file, offset, lsn, evidence, limit, value. */
export type WalErrorDetails = Readonly<Record<string, string | number | boolean | undefined>>

export class WalError extends Error {
  override readonly name = 'WalError'
  readonly code: WalErrorCode
  readonly details: WalErrorDetails
  /** The exit code for a process that must stop because of this error, if there is one. */
  readonly exitCode: number | undefined

  constructor(code: WalErrorCode, message: string, details: WalErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
    this.exitCode = exitCodes[code]
  }
}

/** The errno name a system call failed with, or undefined when the error is of another kind. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  // Node's own codes for misuse look like ERR_OUT_OF_RANGE; those are bugs, not the world.
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined
}

/** True for the errors that mean "no room": they make the log read-only, where any other write error ends it. */
export function isDiskFull(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === 'ENOSPC' || errno === 'EDQUOT' || errno === 'EFBIG'
}

/** States what must hold; when it does not, the bug is ours and the process may not go on as if nothing was. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${what}`)
}
