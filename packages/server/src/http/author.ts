// The author of a write: the token of the request, and what the header X-Annal-Actor says. Their records keep both.
import { type Author, actorLengthMax, checkedActor, writtenBy } from '@annal/engine'
import type { FastifyRequest } from 'fastify'
import { invalidArgument } from '../errors.ts'

export const actorHeader = 'X-Annal-Actor'
const headerName = 'x-annal-actor'

/** Runs `write`, whose records get the author of the request. */
export function asAuthor<T>(request: FastifyRequest, write: () => T): T {
  return writtenBy(authorOf(request), write)
}

/** Throws invalid_argument for a header that no record may have. */
export function checkActor({ headers }: FastifyRequest): void {
  const actor = headers[headerName]
  if (actor === undefined) return
  try {
    checkedActor(String(actor), actorHeader)
  } catch (error) {
    const details = { field: actorHeader, value: String(actor).slice(0, actorLengthMax), limit: actorLengthMax }
    throw invalidArgument((error as Error).message, details)
  }
}

function authorOf({ headers, principal }: FastifyRequest): Author {
  return { token: tokenNameOf(principal), actor: String(headers[headerName] ?? '') }
}

function tokenNameOf(principal: FastifyRequest['principal']): string {
  if (principal === undefined) return ''
  return principal.kind === 'root' ? 'root' : principal.token
}
