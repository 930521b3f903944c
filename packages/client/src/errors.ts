// What a call can fail with. Every failure is an AnnalError; none of them holds the token or a request header.

/**
 * Failures that this client finds itself; all other codes come from the server, and its reference lists them.
 * `http_error` is a failure without a code: something between client and server answered.
 */
export type ClientErrorCode =
  | 'invalid_argument'
  | 'timeout'
  | 'aborted'
  | 'unreachable'
  | 'invalid_reply'
  | 'http_error'
  | 'backup_failed'

export interface AnnalErrorDetails {
  /** HTTP status; absent where no answer came. */
  readonly status?: number | undefined
  /** The input that was wrong, as a path: `vectors[3].vector[17]`. */
  readonly field?: string | undefined
  /** What was given there. */
  readonly value?: unknown
  /** The limit that it broke. */
  readonly limit?: unknown
  /** Names the request in the server's log. */
  readonly requestId?: string | undefined
  /** The wait that the server asked for before another try. */
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** `code` is stable and meant for programs; `message` is meant for people and may change. */
export class AnnalError extends Error {
  override readonly name = 'AnnalError'
  readonly code: string
  readonly status: number | undefined
  readonly field: string | undefined
  readonly value: unknown
  readonly limit: unknown
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ClientErrorCode | (string & {}), message: string, details: AnnalErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.status = details.status
    this.field = details.field
    this.value = details.value
    this.limit = details.limit
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
  }

  /** True when the same call may succeed later without any change: the server was busy, starting or out of reach. */
  get retryable(): boolean {
    if (this.status === undefined) return this.code === 'timeout' || this.code === 'unreachable'
    return isPassing(this.status)
  }
}

/** Statuses that say "not now" rather than "not so". */
export function isPassing(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}
