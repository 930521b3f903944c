// The one shape in which a request is refused, whatever refused it.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import {
  type AnyCode,
  type CodedError,
  errorBody,
  isCoded,
  retryAfterSeconds,
  ServerError,
  statusOf,
} from './errors.ts'
import { fromFramework } from './framework-errors.ts'

/** What is answered before the body is read. */
const unread: ReadonlySet<number> = new Set([401, 402, 403, 413, 429])

/** What a start or a stop refuses: it passes by itself, so that it is told in one line and without a stack. */
const passing: ReadonlySet<AnyCode> = new Set(['starting', 'stopping', 'collection_loading'])

export function sendError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const coded = codedError(error)
  const { missingCollectionStatus, statuses } = request.routeOptions?.config ?? {}
  const expected = coded.code === 'collection_not_found' ? missingCollectionStatus : statuses?.[coded.code]
  const status = expected ?? statusOf(coded.code)
  if (passing.has(coded.code)) request.log.warn({ req: request, code: coded.code }, coded.message)
  else if (status >= 500) request.log.error({ req: request, err: error, code: coded.code }, 'request failed')
  const retryAfter = retryAfterSeconds(coded.code)
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  // A refused request whose body was not read cannot share its connection with a next one.
  if (unread.has(status)) reply.header('connection', 'close')
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(coded, request.id)))
}

/** Everything without a code of ours is our mistake: logged in full, and told to the client without a word of it. */
function codedError(error: FastifyError | Error): CodedError {
  if (isCoded(error)) return error
  return (
    fromFramework(error) ??
    new ServerError('internal', 'the server failed; the log of the server tells more', {}, { cause: error })
  )
}
