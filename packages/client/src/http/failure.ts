// Converts an error reply, or a missing reply, to an AnnalError.
import { AnnalError, annalError, type EmbedFailure, type Reach } from '../errors.ts'
import type { WriteResult } from '../model.ts'
import { moment, number, object } from './read.ts'
import { parseRetryAfter } from './retry.ts'

/** `{"error", "code", "request_id", "field", "value", "limit"}`; any other body comes from something in between. */
export function failureOf(response: Response, body: string): AnnalError {
  const reply = errorReply(body)
  const message =
    reply.error ?? shortText(response, body) ?? `the server responded with ${response.status} ${response.statusText}`
  return annalError(reply.code ?? 'http_error', message.trim(), {
    status: response.status,
    field: reply.field,
    value: reply.value,
    limit: reply.limit,
    results: reply.results,
    items: reply.items,
    reach: reply.reach,
    aliases: reply.aliases,
    requestId: reply.requestId ?? response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), Date.now()),
    leaderUrl: response.headers.get('annal-leader')?.replace(/\/+$/, ''),
  })
}

/** The errors of fetch say little; the system's error code, if there is one, says more. */
export function unreachable(origin: string, error: unknown): AnnalError {
  const code = systemCode(error)
  return new AnnalError('unreachable', `no response from ${origin}${code === undefined ? '' : ` (${code})`}`, {
    cause: error,
  })
}

/** True if the connection was refused, so that no part of the request arrived. */
export function wasRefused(error: AnnalError): boolean {
  return error.code === 'unreachable' && systemCode(error.cause) === 'ECONNREFUSED'
}

interface ErrorReply {
  readonly error?: string
  readonly code?: string
  readonly requestId?: string
  readonly field?: string
  readonly value?: unknown
  readonly limit?: unknown
  readonly results?: readonly WriteResult[]
  readonly items?: readonly EmbedFailure[]
  readonly reach?: Reach
  readonly aliases?: readonly string[]
}

function errorReply(body: string): ErrorReply {
  const reply = parsedObject(body)
  return {
    ...(typeof reply.error === 'string' && { error: reply.error }),
    ...(typeof reply.code === 'string' && { code: reply.code }),
    ...(typeof reply.request_id === 'string' && { requestId: reply.request_id }),
    ...(typeof reply.field === 'string' && { field: reply.field }),
    ...('value' in reply && { value: reply.value }),
    ...('limit' in reply && { limit: reply.limit }),
    // The members of an error reply are those of a reply.
    ...(Array.isArray(reply.results) && { results: reply.results as WriteResult[] }),
    ...(Array.isArray(reply.items) && { items: reply.items as EmbedFailure[] }),
    ...(reply.reach !== undefined && { reach: reachOf(reply.reach) }),
    ...(Array.isArray(reply.aliases) && { aliases: reply.aliases as string[] }),
  }
}

function reachOf(value: unknown): Reach {
  const { lsn_first, lsn_last, time_first, time_last } = object(value, 'reach')
  return {
    lsnFirst: number(lsn_first, 'lsn_first'),
    lsnLast: number(lsn_last, 'lsn_last'),
    timeFirst: moment(time_first, 'time_first'),
    timeLast: moment(time_last, 'time_last'),
  }
}

function parsedObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body)
    // An object that is not an array has string keys, which is all that a Record requires.
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

/** Some error replies are one plain sentence; an HTML page is not. */
function shortText(response: Response, body: string): string | undefined {
  const isPlain = response.headers.get('content-type')?.startsWith('text/plain') ?? true
  return isPlain && body.trim() !== '' && body.length <= 300 ? body : undefined
}

/** The code of the innermost cause that has one: ECONNREFUSED. */
export function systemCode(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
    if (cause instanceof AggregateError) return systemCode(cause.errors[0])
  }
  return undefined
}
