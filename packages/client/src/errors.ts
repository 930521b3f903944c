// The error of every failed call is an AnnalError. It never contains the token or a request header.
import type { WriteResult } from './model.ts'

/**
 * Failures that this client detects; all other codes come from the server and are in its error reference. `http_error` is a reply
 * without a code, from something between client and server.
 */
export type ClientErrorCode =
  | 'invalid_argument'
  | 'timeout'
  | 'aborted'
  | 'unreachable'
  | 'invalid_reply'
  | 'http_error'
  | 'backup_failed'

/** What an `AnnalError` says in addition to its code. Members that do not apply are absent. */
export interface AnnalErrorDetails {
  /** HTTP status; absent if there was no reply. */
  readonly status?: number | undefined
  /** The invalid input as a path: `vectors[3].vector[17]`. */
  readonly field?: string | undefined
  /** The value that was given. */
  readonly value?: unknown
  /** The violated limit. */
  readonly limit?: unknown
  /** The ID of the request in the server's log. */
  readonly requestId?: string | undefined
  /** The wait that the server requested before a retry. */
  readonly retryAfterMs?: number | undefined
  /** The URL of the leading node, if a node that does not lead named it. */
  readonly leaderUrl?: string | undefined
  /** With `conflict`: the result for each object. */
  readonly results?: readonly WriteResult[] | undefined
  /** With `embedding_failed` and `embedding_timeout`: the objects whose texts have no vector, and why. Nothing was written. */
  readonly items?: readonly EmbedFailure[] | undefined
  /** With `moment_unreachable`: the moments that can be reached. */
  readonly reach?: Reach | undefined
  /** With `collection_has_aliases`: the aliases that lead to the collection. */
  readonly aliases?: readonly string[] | undefined
  readonly cause?: unknown
}

/** An object whose text has no vector. */
export interface EmbedFailure {
  readonly id: string
  readonly reason: string
}

/** The first and the last moment that reads with `asOf` can reach. */
export interface Reach {
  readonly lsnFirst: number
  readonly lsnLast: number
  readonly timeFirst: Date
  readonly timeLast: Date
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
  readonly leaderUrl: string | undefined
  readonly results: readonly WriteResult[] | undefined
  readonly items: readonly EmbedFailure[] | undefined
  readonly reach: Reach | undefined
  readonly aliases: readonly string[] | undefined

  constructor(code: ClientErrorCode | (string & {}), message: string, details: AnnalErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.status = details.status
    this.field = details.field
    this.value = details.value
    this.limit = details.limit
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
    this.leaderUrl = details.leaderUrl
    this.results = details.results
    this.items = details.items
    this.reach = details.reach
    this.aliases = details.aliases
  }

  /** True if the same call may succeed later without a change: the server was busy, starting or unreachable. */
  get retryable(): boolean {
    if (this.status === undefined) return this.code === 'timeout' || this.code === 'unreachable'
    return isPassing(this.status) || this.code === 'request_key_in_use'
  }
}

/**
 * The `idempotencyKey` of a call was used for another call: another method, path, or body. Nothing was written. `code` is
 * `request_key_reused`.
 */
export class RequestKeyReusedError extends AnnalError {}

/** The error of a code, with the class of that code. */
export function annalError(code: string, message: string, details: AnnalErrorDetails): AnnalError {
  const Class = code === 'request_key_reused' ? RequestKeyReusedError : AnnalError
  return new Class(code, message, details)
}

/** Statuses that mean "not now". */
export function isPassing(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}
