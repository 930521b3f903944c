// Every error of a request: a stable code, its HTTP status, and one form of reply. Codes of the engine and of the log are used unchanged.
// docs/reference/errors.md explains all of them.
import type { AsOfReach, EngineErrorCode, ErrorDetails } from '@annal/engine'
import type { WalErrorCode } from '@annal/wal'
import { errorValueLengthMax } from './limits.ts'

/** Codes of the server itself. */
export type ServerErrorCode =
  | 'authorization_required'
  | 'invalid_token'
  | 'too_many_attempts'
  | 'host_refused'
  | 'origin_refused'
  | 'access_denied'
  | 'token_read_only'
  | 'database_inactive'
  | 'quota_exceeded'
  | 'enterprise_only'
  | 'license_required'
  | 'license_invalid'
  | 'license_expired'
  | 'trial_taken'
  | 'rate_limited'
  | 'too_many_streams'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'id_ambiguous'
  | 'user_not_found'
  | 'unsupported_media_type'
  | 'body_too_large'
  | 'reply_too_large'
  | 'request_key_unsupported'
  | 'invalid_json'
  | 'invalid_msgpack'
  | 'bad_request'
  | 'expectation_failed'
  | 'archive_late'
  | 'archive_unconfirmed'
  | 'replica_stale'
  | 'node_out_of_service'
  | 'not_clustered'
  | 'node_live'
  | 'node_not_found'
  | 'shared_store_full'
  | 'shared_store_unavailable'
  | 'shared_file_damaged'
  | 'starting'
  | 'stopping'
  | 'server_away'
  | 'internal'

/** Every code that a reply can have. */
export type AnyCode = ServerErrorCode | WalErrorCode | EngineErrorCode

const statusByCode: { readonly [C in AnyCode]: number } = {
  authorization_required: 401,
  invalid_token: 401,
  too_many_attempts: 429,
  host_refused: 403,
  origin_refused: 403,
  access_denied: 403,
  token_read_only: 403,
  database_inactive: 403,
  quota_exceeded: 403,
  enterprise_only: 403,
  license_required: 402,
  license_invalid: 400,
  license_expired: 400,
  trial_taken: 409,
  rate_limited: 429,
  too_many_streams: 503,
  route_not_found: 404,
  method_not_allowed: 405,
  id_ambiguous: 409,
  user_not_found: 404,
  unsupported_media_type: 415,
  body_too_large: 413,
  reply_too_large: 400,
  request_key_unsupported: 400,
  invalid_json: 400,
  invalid_msgpack: 400,
  bad_request: 400,
  expectation_failed: 417,
  archive_late: 503,
  archive_unconfirmed: 503,
  replica_stale: 503,
  node_out_of_service: 503,
  not_clustered: 404,
  node_live: 409,
  node_not_found: 404,
  shared_store_full: 507,
  shared_store_unavailable: 503,
  shared_file_damaged: 500,
  starting: 503,
  stopping: 503,
  server_away: 502,
  internal: 500,
  invalid_argument: 400,
  invalid_filter: 400,
  collection_not_found: 404,
  collection_exists: 409,
  database_not_found: 404,
  database_exists: 409,
  token_not_found: 404,
  token_exists: 409,
  collection_has_aliases: 409,
  alias_exists: 409,
  alias_not_found: 404,
  collection_quarantined: 503,
  collection_loading: 503,
  object_not_found: 404,
  conflict: 409,
  field_not_found: 400,
  limit_exceeded: 400,
  memory_exhausted: 507,
  overloaded: 503,
  cursor_expired: 410,
  request_key_reused: 422,
  request_key_in_use: 409,
  lsn_not_reached: 503,
  replica_behind: 503,
  unsupported_in_cluster: 501,
  rebuild_running: 409,
  read_only: 507,
  disk_failed: 503,
  closed: 503,
  worker_lost: 503,
  engine_file_missing: 500,
  kernel_stale: 500,
  node_too_old: 500,
  version_mismatch: 500,
  snapshot_damaged: 500,
  format_too_new: 400,
  backup_not_found: 404,
  backup_exists: 409,
  backup_running: 409,
  cancelled: 409,
  backup_damaged: 400,
  restore_unreachable: 400,
  feed_position_lost: 410,
  feed_cursor_not_found: 404,
  moment_unreachable: 410,
  // No error: the same request succeeds later.
  moment_loading: 202,
  embedding_failed: 502,
  embedding_timeout: 504,
  embedding_unavailable: 409,
  log_damaged: 500,
  directory_locked: 500,
  directory_follows: 500,
  log_failed: 503,
  disk_full: 507,
  log_overloaded: 503,
  record_too_large: 413,
  log_closed: 503,
  record_invalid: 500,
  lsn_not_held: 500,
  identity_damaged: 500,
  identity_mismatch: 500,
  repair_refused: 500,
  log_fenced: 503,
  not_leader: 503,
  outcome_unknown: 503,
}

/** Every code, for the description of the API. */
export const errorCodes: readonly string[] = Object.keys(statusByCode)

/** The body of an error reply. */
export interface ErrorBody {
  readonly error: string
  readonly code: AnyCode
  readonly request_id: string
  readonly field?: string
  readonly value?: string | number | boolean | null
  readonly limit?: string | number | boolean | null
  /** URL of the node that takes writes. */
  readonly leader?: string
  /** Names of the aliases that keep a collection from being deleted. */
  readonly aliases?: readonly string[]
  /** The moments of the past that can be reached. */
  readonly reach?: ReturnType<typeof reachJson>
  /** What became of each object of an atomic write. */
  readonly results?: readonly unknown[]
  /** The objects whose texts have no vector, and why. */
  readonly items?: readonly unknown[]
}

/** Messages of the log, and those of the engine about its files, contain paths; the client gets these messages instead. */
const sentences: { readonly [C in AnyCode]?: string } = {
  snapshot_damaged: 'stored data is damaged; see the server log',
  // Data of the server in a newer format prevents its start, so the code refers to a backup here.
  format_too_new: 'the format of the backup is unknown: a newer version wrote it, or it is damaged',
  collection_quarantined: 'the collection is out of service; see its description for the reason',
  log_failed: 'the disk failed to make data durable; it is unknown whether this write is stored',
  log_closed: 'the log is closed',
  log_overloaded: 'the queue of writes is full; try again shortly',
  disk_full: 'the disk is full; reads and deletes still work, and writes resume when there is free space',
  record_too_large: 'this call is too large for one record of the log; send it in parts',
  log_fenced: 'another node leads the cluster now; this write was not stored',
  outcome_unknown: 'the write was not confirmed in time; it may be stored, now or later',
}
/** Messages of the log that contain no path. */
const logSentences: { readonly [C in AnyCode]?: string } = {
  not_leader: 'this node does not lead the cluster; try again',
}
const logSentence = 'the log rejected the write; see the server log'

export class ServerError extends Error {
  override readonly name = 'ServerError'
  readonly code: AnyCode
  readonly details: ErrorDetails

  constructor(code: AnyCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}

/** An invalid value from a client, with the field, the value, and the limit if there is one. */
export function invalidArgument(message: string, details: ErrorDetails): ServerError {
  return new ServerError('invalid_argument', message, details)
}

/** Any error with a known code, of this package, the engine or the log, distinguished only by the code. */
export interface CodedError extends Error {
  readonly code: AnyCode
  readonly details?: ErrorDetails
}

export function isCoded(error: unknown): error is CodedError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    Object.hasOwn(statusByCode, error.code)
  )
}

export function statusOf(code: AnyCode): number {
  return statusByCode[code]
}

/** What may be over in a second. */
const soon: ReadonlySet<AnyCode> = new Set(['overloaded', 'log_overloaded', 'not_leader', 'replica_stale'])

/** Seconds that a client should wait before a retry; undefined if a retry cannot succeed. */
export function retryAfterSeconds(code: AnyCode): number | undefined {
  const status = statusByCode[code]
  if (status === 202) return 1
  if (status === 503) return soon.has(code) ? 1 : 2
  if (status === 429) return code === 'rate_limited' ? 1 : 60
  if (status === 507) return 10
  return undefined
}

export function errorBody(error: CodedError, requestId: string): ErrorBody {
  const { field, value, limit, leader, aliases, reach, results, items } = error.details ?? {}
  return {
    error:
      sentences[error.code] ?? (error.name === 'WalError' ? (logSentences[error.code] ?? logSentence) : error.message),
    code: error.code,
    request_id: requestId,
    ...(field === undefined ? {} : { field }),
    ...(value === undefined ? {} : { value: shown(value) }),
    ...(limit === undefined ? {} : { limit: shown(limit) }),
    ...(typeof leader === 'string' && { leader }),
    // The engine's error has names only.
    ...(Array.isArray(aliases) && { aliases: aliases as readonly string[] }),
    ...(typeof reach === 'object' && reach !== null && { reach: reachJson(reach as AsOfReach) }),
    ...(Array.isArray(results) && { results }),
    ...(Array.isArray(items) && { items }),
  }
}

function reachJson({ lsnFirst, lsnLast, timeFirstMs, timeLastMs }: AsOfReach) {
  return {
    lsn_first: lsnFirst,
    lsn_last: lsnLast,
    time_first: new Date(timeFirstMs).toISOString(),
    time_last: new Date(timeLastMs).toISOString(),
  }
}

/** A value in the form that an error repeats: short, and always valid JSON. */
function shown(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'string') return shortened(value)
  if (Array.isArray(value)) return value.every(isPlain) ? shortened(value.join(', ')) : 'an array'
  if (typeof value === 'object') return 'an object'
  return shortened(String(value))
}

function isPlain(item: unknown): boolean {
  return typeof item === 'string' || typeof item === 'number'
}

function shortened(text: string): string {
  const wellFormed = text.toWellFormed()
  return wellFormed.length <= errorValueLengthMax ? wellFormed : `${wellFormed.slice(0, errorValueLengthMax)}...`
}

/** What `check` throws, for callers that hand errors on. */
export function refusal(check: () => void): Error | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    // The checks throw only errors. Anything else is treated as an internal error.
    return error instanceof Error ? error : new Error(String(error))
  }
}
