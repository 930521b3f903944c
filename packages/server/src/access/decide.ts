// Decides by the head of a request whether it is served. The main thread decides so about every request, and a serving thread about the
// requests that it may answer itself. They differ only in how they identify a caller: the main thread by the tokens, a serving thread by
// the callers that the main thread has accepted before.
import type { IncomingHttpHeaders } from 'node:http'
import { ServerError } from '../errors.ts'
import { bodyBytesMax } from '../limits.ts'
import { type Access, type CallerFacts, checkAccess, needsLicense } from './access.ts'
import { type BodyBudgets, type BodyRoom, createBodyRoom } from './body-room.ts'
import type { Budget } from './budget.ts'
import { checkOrigin } from './origins.ts'

/** A request, before its body is read. */
export interface DecidedHead {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly access: Access
  /** The Authorization header, or what stands for it. */
  readonly token: string | undefined
  readonly address: string
  /** Largest body of the route. */
  readonly bodyBytesMax: number
}

/** The state that decisions depend on. Each function throws ServerError to reject the request. */
export interface DecisionParts<C extends CallerFacts> {
  /** Origins whose pages may change data. */
  readonly origins: ReadonlySet<string>
  isStopping(): boolean
  identify(head: DecidedHead): C
  requireLicense(caller: C): void
  takeRate(caller: C, head: DecidedHead): void
  readonly writes: Budget
  readonly reads: Budget
  readonly bodies: BodyBudgets
  /** Whether large bodies and bodies of writes wait for room; otherwise each is rejected for which there is none. */
  readonly waitsForRoom?: boolean
}

/** What an accepted request is given. */
export interface Decision<C> {
  /** Undefined on open routes. */
  readonly caller: C | undefined
  /** Undefined for a request without a body, and on open routes. */
  readonly bodyRoom: BodyRoom | undefined
  /** Takes the room of a body that must wait until this does not throw. */
  readonly takeRoom?: () => void
}

/**
 * Checks in this order: origin, token, access, license, rate, number of requests, encoding and size of the body. Calls `hold` with a
 * function for each amount that it takes; call them when the request is complete, also if this throws. Calls `identified` with the caller,
 * also if the request is rejected afterwards.
 */
export function decide<C extends CallerFacts>(
  head: DecidedHead,
  parts: DecisionParts<C>,
  hold: (release: () => void) => void,
  identified: (caller: C) => void = () => undefined,
): Decision<C> {
  const { method, headers, access } = head
  checkOrigin(method, headers, parts.origins)
  if (parts.isStopping()) throw new ServerError('stopping', 'the server is stopping')
  if (access === 'open') return { caller: undefined, bodyRoom: undefined }
  const caller = parts.identify(head)
  identified(caller)
  checkAccess(caller, access)
  if (needsLicense(access, method)) parts.requireLicense(caller)
  parts.takeRate(caller, head)
  hold((access === 'write' ? parts.writes : parts.reads).take(1))
  refuseEncodings(headers)
  if (!hasBody(headers)) return { caller, bodyRoom: undefined }
  const bodyRoom = createBodyRoom(parts.bodies, head.bodyBytesMax)
  hold(bodyRoom.release)
  const bytes = announcedBytes(head)
  const takeRoom = () => bodyRoom.growTo(bytes)
  if (parts.waitsForRoom === true && (access === 'write' || bytes > bodyBytesMax)) return { caller, bodyRoom, takeRoom }
  takeRoom()
  return { caller, bodyRoom }
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

function refuseEncodings(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return
  throw new ServerError('unsupported_media_type', 'compressed bodies are not accepted', {
    field: 'content-encoding',
    value: encoding,
  })
}

/** Room that a body takes before any of it is read. Without Content-Length that is nothing: its readers take room as it arrives. */
function announcedBytes({ headers, bodyBytesMax }: DecidedHead): number {
  return Math.min(Number(headers['content-length'] ?? 0) || 0, bodyBytesMax)
}
