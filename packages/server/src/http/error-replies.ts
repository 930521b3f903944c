// Sends every error reply in one form.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  type AnyCode,
  type CodedError,
  errorBody,
  isCoded,
  retryAfterSeconds,
  ServerError,
  statusOf,
} from '../errors.ts'
import { unreadBytesMax } from '../limits.ts'
import { createSparseLines, type SparseLines } from '../observe/sparse-lines.ts'
import { withFieldOf } from '../wire/field-names.ts'
import { asOfStatusPath } from '../wire/moment.ts'
import { dropRest } from './chunks.ts'
import { isMisdirected } from './forwarded-headers.ts'
import { fromFramework } from './framework-errors.ts'

/** States of the server that pass, and limits that requests meet: no fault of the program, so they are logged without a stack, and sparsely. */
const passing: ReadonlySet<AnyCode> = new Set([
  ...(['starting', 'stopping', 'closed', 'log_closed', 'collection_loading', 'moment_loading'] as const),
  ...(['not_leader', 'replica_stale', 'replica_behind', 'lsn_not_reached'] as const),
  ...(['node_out_of_service', 'outcome_unknown'] as const),
  ...(['overloaded', 'log_overloaded', 'memory_exhausted', 'disk_full', 'unsupported_in_cluster'] as const),
])

/** By the log of an application. */
const sparseLines = new WeakMap<object, SparseLines>()

function linesOf(log: object): SparseLines {
  const known = sparseLines.get(log) ?? createSparseLines()
  sparseLines.set(log, known)
  return known
}

function logError(error: Error, { code, message }: CodedError, request: FastifyRequest): void {
  if (!passing.has(code)) {
    request.log.error({ req: request, err: error, code }, 'request failed')
    return
  }
  const admitted = linesOf(request.log).admit(code)
  if (admitted === undefined) return
  const { omitted } = admitted
  request.log.warn({ req: request, code, ...(omitted > 0 && { omitted }) }, message)
}

export function sendError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const { missingCollectionStatus, statuses, fieldNames } = request.routeOptions?.config ?? {}
  const coded = withFieldOf(codedError(error), fieldNames)
  const expected = coded.code === 'collection_not_found' ? missingCollectionStatus : statuses?.[coded.code]
  const status = expected ?? statusFor(request, coded)
  if (status >= 500 || passing.has(coded.code)) logError(error, coded, request)
  const retryAfter = retryAfterSeconds(coded.code)
  if (retryAfter !== undefined && status !== 421) reply.header('retry-after', retryAfter)
  if (coded.code === 'moment_loading') reply.header('location', asOfStatusPath)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  readRest(request, reply)
  // Node.js takes no notice of the header here, and refused-bytes.ts must know that nothing follows this reply.
  if (reply.getHeader('connection') === 'close') reply.raw.shouldKeepAlive = false
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
  dropRest(raw)
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
