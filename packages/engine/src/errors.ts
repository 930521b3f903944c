// Errors caused by the environment, each with a stable code. Bugs in Annal are assertions instead.

/** docs/reference/errors.md explains every code with its cause and fix; `npm run check` compares. */
export type EngineErrorCode =
  | 'invalid_argument'
  | 'invalid_filter'
  | 'collection_not_found'
  | 'collection_exists'
  | 'collection_quarantined'
  | 'collection_has_aliases'
  | 'alias_exists'
  | 'alias_not_found'
  | 'collection_loading'
  | 'database_not_found'
  | 'database_exists'
  | 'token_not_found'
  | 'token_exists'
  | 'object_not_found'
  | 'conflict'
  | 'field_not_found'
  | 'limit_exceeded'
  | 'memory_exhausted'
  | 'overloaded'
  | 'cursor_expired'
  | 'request_key_reused'
  | 'request_key_in_use'
  | 'lsn_not_reached'
  | 'replica_behind'
  | 'unsupported_in_cluster'
  | 'rebuild_running'
  | 'read_only'
  | 'disk_failed'
  | 'closed'
  | 'worker_lost'
  | 'engine_file_missing'
  | 'kernel_stale'
  | 'node_too_old'
  | 'version_mismatch'
  | 'snapshot_damaged'
  | 'format_too_new'
  | 'backup_not_found'
  | 'backup_exists'
  | 'backup_running'
  | 'backup_damaged'
  | 'cancelled'
  | 'restore_unreachable'
  | 'feed_position_lost'
  | 'feed_cursor_not_found'
  | 'moment_unreachable'
  | 'moment_loading'
  | 'embedding_failed'
  | 'embedding_timeout'
  | 'embedding_unavailable'

/** The input that was wrong, its value, and the limit it exceeded. */
export interface ErrorDetails {
  readonly field?: string
  readonly value?: unknown
  readonly limit?: unknown
  readonly [detail: string]: unknown
}

/** An error with a stable code and details. The message names the object, the value, and the limit. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: EngineErrorCode
  readonly details: ErrorDetails

  constructor(code: EngineErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}

/**
 * Throws when the condition is false. That is a bug in Annal, and the process must not continue with a broken state.
 */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${what}`)
}
