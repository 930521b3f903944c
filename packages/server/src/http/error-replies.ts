// Sends every error reply in one form.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { asOfStatusPath } from '../wire/moment.ts'
import {
  type AnyCode,
  type CodedError,
  errorBody,
  isCoded,
  retryAfterSeconds,
  ServerError,
  statusOf,
} from './errors.ts'
import { withFieldOf } from './field-names.ts'
import { isMisdirected } from './forwarded-headers.ts'
import { fromFramework } from './framework-errors.ts'
import { unreadBytesMax } from './limits.ts'

/** Errors during a start, a stop, or an election are temporary, so they are logged in one line without a stack. */
const passing: ReadonlySet<AnyCode> = new Set([
  ...(['starting', 'stopping', 'collection_loading', 'moment_loading'] as const),
  ...(['not_leader', 'replica_stale', 'node_out_of_service', 'outcome_unknown'] as const),
])

export function sendError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const { missingCollectionStatus, statuses, fieldNames } = request.routeOptions?.config ?? {}
  const coded = withFieldOf(codedError(error), fieldNames)
  const expected = coded.code === 'collection_not_found' ? missingCollectionStatus : statuses?.[coded.code]
  const status = expected ?? statusFor(request, coded)
  if (passing.has(coded.code)) request.log.warn({ req: request, code: coded.code }, coded.message)
  else if (status >= 500) request.log.error({ req: request, err: error, code: coded.code }, 'request failed')
  const retryAfter = retryAfterSeconds(coded.code)
  if (retryAfter !== undefined && status !== 421) reply.header('retry-after', retryAfter)
  if (coded.code === 'moment_loading') reply.header('location', asOfStatusPath)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  readRest(request, reply)
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(coded, request.id)))
}

/** A client, or another node, that wants to know the leader gets 421 instead of 503. */
function statusFor({ headers }: FastifyRequest, { code }: CodedError): number {
  return code === 'not_leader' && isMisdirected(headers) ? 421 : statusOf(code)
}

/**
 * A client that sends its whole body before it reads would lose the reply if the connection were closed now. Instead, the rest of the body
 * is dropped, and the connection can be used for the next request. body-watch.ts limits how much is dropped.
 */
export function readRest({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete) return
  const isTooLarge = Number(raw.headers['content-length'] ?? 0) > unreadBytesMax
  // The framework closes the connection when a parser rejects a body. Node closes it after the last request that it accepts on a
  // connection; without the header it could not announce that.
  if (isTooLarge || isLastOfConnection(reply)) reply.header('connection', 'close')
  // A client that closes the connection itself after the reply would lose it as well.
  else if (/\bclose\b/i.test(raw.headers.connection ?? '')) reply.header('connection', 'keep-alive')
  else if (reply.hasHeader('connection')) reply.removeHeader('connection')
  raw.unpipe()
  raw.resume()
}

function isLastOfConnection({ raw }: FastifyReply): boolean {
  return (raw as { maxRequestsOnConnectionReached?: boolean }).maxRequestsOnConnectionReached === true
}

/** An error without a code of Annal is an internal error. It is logged in full, and the client gets no details. */
export function codedError(error: FastifyError | Error): CodedError {
  if (isCoded(error)) return error
  return (
    fromFramework(error) ?? new ServerError('internal', 'the server failed; see the server log', {}, { cause: error })
  )
}
