// What can be wrong with the world, each with a stable code. Our own mistakes are assertions, not these.

/** Every code is explained with cause and cure in docs/reference/errors.md; `npm run check` compares. */
export type EngineErrorCode =
  | 'invalid_argument'
  | 'invalid_filter'
  | 'collection_not_found'
  | 'collection_exists'
  | 'collection_quarantined'
  | 'collection_loading'
  | 'database_not_found'
  | 'database_exists'
  | 'token_not_found'
  | 'token_exists'
  | 'object_not_found'
  | 'field_not_found'
  | 'limit_exceeded'
  | 'memory_exhausted'
  | 'overloaded'
  | 'rebuild_running'
  | 'read_only'
  | 'closed'
  | 'worker_lost'
  | 'kernel_stale'
  | 'snapshot_damaged'
  | 'format_too_new'
  | 'backup_not_found'
  | 'backup_exists'
  | 'backup_running'
  | 'backup_damaged'
  | 'cancelled'
  | 'restore_unreachable'

/** The thing that was wrong: which input, its value, and the limit it broke. */
export interface ErrorDetails {
  readonly field?: string
  readonly value?: unknown
  readonly limit?: unknown
  readonly [detail: string]: unknown
}

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

/** States what must hold; when it does not, the bug is ours and the process may not go on as if nothing was. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${what}`)
}
